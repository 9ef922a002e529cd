import numpy as np

from astralearn.engine.rows import Extent, Fold, Rows, share_rows
from astralearn.engine.view import View


def test_an_extent_of_no_rows_changes_no_others():
    some = Extent.of(np.asarray([[1.0, -2.0], [3.0, 0.0]], np.float32))
    with_none = some.plus(Extent.of(np.empty((0, 2), np.float32)))
    np.testing.assert_array_equal(with_none.low, [1.0, -2.0])
    np.testing.assert_array_equal(with_none.high, [3.0, 0.0])


def test_folds_share_rows_that_are_the_very_same_seen_through_scalings():
    rows = Rows(np.ones((3, 1)), np.asarray([True, False, False]), np.asarray([1.0, 0.0, 2.0]))
    view = View(np.zeros(1), np.ones(1))
    folds = [Fold(rows, view), Fold(rows, view, held_out=rows)]
    assert share_rows(folds)
    assert not share_rows([folds[0], Fold(rows.take(np.arange(3)), view)])
    assert not share_rows([folds[0], Fold(rows, view._replace(limit=3.0))])


def test_a_row_without_weight_is_of_no_class_and_weighs_nothing():
    rows = Rows(np.ones((3, 1)), np.asarray([True, False, False]), np.asarray([1.0, 0.0, 2.0]))
    np.testing.assert_array_equal(rows.of_class(False), [2])
    fold = Fold(rows, View(np.zeros(1), np.ones(1)))
    assert fold.class_weights == (2.0, 1.0)
