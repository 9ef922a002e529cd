"""Rows in many places add up to what they are in one."""

import functools
import itertools

import numpy as np
import pandas as pd
import pytest

from astralearn.classifier.checks import LabelSums
from astralearn.classifier.committee import plan
from astralearn.classifier.rows import ViewOptions, make_fold, view_of
from astralearn.classifier.shards import Piece, PieceReading, Shards, checked, describe
from astralearn.engine.rows import RowCosts, Rows

OPTIONS = ViewOptions(standardize=True, clip=5.0, distance=True)
# Uneven, one without any row, one with nothing but positives.
CUTS = [0, 9, 9, 70_000, 70_030, 103_000]


class Listed:
    """Pieces in memory."""

    kind = "piece"

    def __init__(self, X, y, weight=None, cuts=CUTS):
        ends = list(itertools.pairwise(cuts))
        self.pieces = [
            Piece(X[a:b], y[a:b], None if weight is None else weight[a:b]) for a, b in ends
        ]

    def each(self, look, given=None):
        given = given or [()] * len(self.pieces)
        return [look(piece, *more) for piece, more in zip(self.pieces, given, strict=True)]

    def merged(self, look, plus):
        return functools.reduce(plus, self.each(look))


def shards_of(pieces, minority=1):
    described = checked(pieces.each(describe), pieces.kind)
    dtype = np.result_type(*[one.dtype for one in described])
    return Shards(pieces, PieceReading(dtype, minority, ()), described)


@pytest.fixture(scope="module")
def table():
    """103,000 rows, 40 positives; some rows without weight, some positives given twice."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(103_000, 3)) * [1, 50, 1e-4] + [0, 1e3, 7]
    y = np.zeros(103_000, int)
    y[70_000:70_030] = 1
    y[80_000:80_010] = 1
    X[80_000:80_005] = X[70_000:70_005]
    weight = rng.integers(0, 4, 103_000).astype(float)
    weight[y == 1] += 1
    return X, y, weight


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_statistics_are_those_of_one_place(table, dtype):
    X, y, weight = table
    X = X.astype(dtype)
    has = weight > 0
    alone = view_of(Rows(X[has], y[has] == 1, weight[has]), OPTIONS)
    spread = shards_of(Listed(X, y, weight))
    assert spread.dtype == dtype
    for mine, theirs in zip(view_of(spread, OPTIONS), alone, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-10)


def test_the_pool_is_the_one_that_would_be_drawn_in_one_place(table):
    X, y, weight = table
    rows = Rows(X, y == 1, weight)
    whole = make_fold(rows, None, OPTIONS, fraction=0.0, seed=3, costs=RowCosts())
    expected = plan(whole, 2, 3, committee=True).fold.train
    drawn = shards_of(Listed(X, y, weight)).pool(3)
    seen = drawn.take(drawn.weight > 0)  # Copies of positives weigh nothing, as there.
    np.testing.assert_array_equal(seen.X, expected.X)
    np.testing.assert_array_equal(seen.positive, expected.positive)
    np.testing.assert_array_equal(seen.weight, expected.weight)
    assert seen.positive.sum() == 35


def test_of_many_rows_of_both_classes_the_pool_is_drawn_and_nothing_merged():
    X = np.arange(230_000.0)[:, None] // 2
    y = np.arange(230_000) % 2
    expected = plan(
        make_fold(
            Rows(X, y == 1, np.ones(len(y))), None, OPTIONS, fraction=0.0, seed=1, costs=RowCosts()
        ),
        1,
        1,
        committee=True,
    ).fold.train
    drawn = shards_of(Listed(X, y, cuts=[0, 5, 120_001, 230_000])).pool(1)
    np.testing.assert_array_equal(drawn.X, expected.X)
    np.testing.assert_array_equal(drawn.positive, expected.positive)


def test_sums_of_labels_add_up(table):
    _, y, weight = table
    y = np.where(y == 1, "yes", "no")
    parts = [LabelSums.of(y[a:b], weight[a:b]) for a, b in [(0, 0), (0, 5), (5, len(y))]]
    for mine, theirs in zip(
        functools.reduce(LabelSums.plus, parts), LabelSums.of(y, weight), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


GOOD = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (
            Piece(GOOD.rename(columns={"b": "c"}), [0, 1], None),
            "piece 1 has other columns than piece 0: a, c, not a, b",
        ),
        (
            Piece(GOOD, [0.0, np.nan], None),
            "piece 1: the target is missing in 1 of 2 rows",
        ),
        (Piece(GOOD, [0], None), "piece 1: X has 2 rows and y 1"),
        (Piece(GOOD.assign(b=[np.nan, 1.0]), [0, 1], None), "piece 1: Input X contains NaN"),
        (Piece(GOOD, ["no", "yes"], None), "piece 1 has labels of another kind"),
        (Piece(GOOD, [0, 1], [1.0, -1.0]), "piece 1: Negative values in data"),
    ],
)
def test_a_bad_piece_is_named(bad, said):
    pieces = Listed(GOOD, np.asarray([0, 1]), cuts=[0, 2])
    pieces.pieces.append(bad)
    with pytest.raises(ValueError, match=f"^{said}"):
        checked(pieces.each(describe), pieces.kind)
