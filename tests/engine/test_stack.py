import numpy as np
import pytest

from astralearn.engine.network import Architecture
from astralearn.engine.rows import Fold, Rows
from astralearn.engine.stack import Stack, split
from astralearn.engine.view import View


@pytest.mark.parametrize(
    ("fold_of", "rows", "sizes"),
    [
        ([0], 1000, [1]),
        ([0] * 4, 1000, [2, 2]),
        ([0] * 4, 10**7, [2, 2]),
        (list(range(50)), 16_000, [4] * 13),
        (list(range(50)), 4_000, [7] * 8),
        ([0, 0, 0, 1, 1, 1], 1000, [3, 3]),
    ],
)
def test_groups_depend_on_the_data_alone(fold_of, rows, sizes):
    groups = split(fold_of, rows)
    assert {k for group in groups for k in group} == set(range(len(fold_of)))
    assert len({len(group) for group in groups}) == 1
    assert sum(map(len, groups)) <= sum(sizes)


def stack(fold_of, n_folds=1, **extra):
    rows = Rows(np.zeros((5, 2)), np.arange(5) < 1, np.ones(5))
    fold = Fold(rows, View(np.zeros(2), np.ones(2)))
    n = len(fold_of)
    architecture = Architecture(2, ())
    parameters = np.arange(3.0 * n).reshape(n, 3)
    return Stack(architecture, [fold] * n_folds, fold_of, parameters, np.full(n, 7.0), **extra)


def test_networks_begin_within_their_limits():
    start = stack([0, 0, 0], slope_max=np.asarray([2.5, 9.0, 1.5])).start([0, 2, 1], 0.01)
    np.testing.assert_allclose(start.raw_slope, [0.5, np.log(0.5), 5.0])
    np.testing.assert_array_equal(start.parameters[:, 0], [0, 6, 3])
    np.testing.assert_array_equal(start.rate, 0.01)
    assert (start.best_epoch == -1).all()


def test_without_limits_there_is_none_and_no_l2():
    s = stack([0, 0])
    assert np.isinf(s.own_raw_slope_max([0, 1])).all()
    assert (s.own_alpha([0, 1]) == 0).all()


def test_networks_that_share_a_fold_take_it_once():
    s = stack([0, 0, 1, 1], n_folds=2)
    assert len(s.folds_of([0, 1])) == 1
    assert len(s.folds_of([1, 2])) == 2
