import numpy as np
import pytest

from astralearn.datasets import Problem, Redraw, TooFewPositivesError
from astralearn.study import make_splits

Y = np.array([1] * 11 + [0] * 89, dtype=np.int8)
PROBLEM = Problem("p", np.zeros((100, 1)), Y)
REDRAWN = Problem("p", np.zeros((100, 1)), Y, redraw=Redraw(5, 60))


@pytest.mark.parametrize("problem", [PROBLEM, REDRAWN])
@pytest.mark.parametrize("folds", [2, 3, 5])
def test_every_row_is_tested_once_and_has_one_role_a_fold(problem, folds):
    splits = make_splits(problem, folds=folds, repetitions=3, seed=4)
    assert [(s.repetition, s.fold) for s in splits] == [
        (r, f) for r in range(3) for f in range(folds)
    ]
    for repetition in range(3):
        mine = [s for s in splits if s.repetition == repetition]
        rows = np.sort(np.concatenate([s.test for s in mine]))
        assert len(set(rows)) == len(rows) == problem.rows
        np.testing.assert_array_equal(rows, np.sort(np.concatenate([s.validation for s in mine])))
        for s in mine:
            np.testing.assert_array_equal(
                np.sort(np.concatenate([s.train, s.validation, s.test])), rows
            )
            np.testing.assert_array_equal(np.sort(s.learn), np.setdiff1d(rows, s.test))


def test_folds_are_stratified_and_three_one_one():
    for s in make_splits(REDRAWN, folds=5, repetitions=4):
        assert [int(Y[rows].sum()) for rows in (s.train, s.validation, s.test)] == [3, 1, 1]
        assert [len(rows) for rows in (s.train, s.validation, s.test)] == [39, 13, 13]


def test_repetitions_differ_and_seeds_repeat():
    one, again, other = (make_splits(REDRAWN, repetitions=2, seed=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a.test, b.test) for a, b in zip(one, again, strict=True))
    assert not any(np.array_equal(a.test, b.test) for a, b in zip(one, other, strict=True))
    assert not np.array_equal(one[0].test, one[5].test)
    positives = {
        tuple(np.unique(np.concatenate([s.test[Y[s.test] == 1] for s in one[r * 5 : r * 5 + 5]])))
        for r in range(2)
    }
    assert len(positives) == 2


@pytest.mark.parametrize(
    ("positives", "folds", "error", "message"),
    [
        (
            3,
            5,
            TooFewPositivesError,
            r"few has 3 positives \('1'\), fewer than 5 folds: .*`folds=3`",
        ),
        (1, 5, TooFewPositivesError, "few has 1 positives .*at least two are needed"),
        (3, 1, ValueError, "`folds` must be at least 2; found 1"),
    ],
)
def test_too_few_positives(positives, folds, error, message):
    few = Problem("few", np.zeros((50, 1)), np.arange(50) < positives)
    with pytest.raises(error, match=message):
        make_splits(few, folds=folds)


def test_too_few_negatives():
    most = Problem("most", np.zeros((50, 1)), np.arange(50) >= 3, labels=("no", "yes"))
    with pytest.raises(
        TooFewPositivesError,
        match=r"most has 3 negatives \('no'\), fewer than 5 folds: ask for .*\(`folds=3`\)$",
    ):
        make_splits(most, folds=5)


def grouped_problem(rows=120, positives=12):
    rng = np.random.default_rng(0)
    y = (np.arange(rows) < positives).astype(np.int8)
    groups = rng.integers(0, 30, rows)
    groups[:positives] = np.arange(positives) // 2
    return Problem("p", np.zeros((rows, 1)), y, groups=groups, times=None)


def test_groups_stay_together_and_every_fold_has_a_positive():
    problem = grouped_problem()
    for split in make_splits(problem, folds=3, repetitions=2):
        assert not set(problem.groups[split.test]) & set(problem.groups[split.learn])
        assert problem.y[split.test].sum() > 0
    tested = np.concatenate([s.test for s in make_splits(problem, folds=3, repetitions=1)])
    assert sorted(tested) == list(range(120))
    with pytest.raises(TooFewPositivesError, match="positives in 6 groups, fewer than 7 folds"):
        make_splits(problem, folds=7)


def test_later_rows_are_tested_by_earlier_ones():
    rng = np.random.default_rng(0)
    y = (rng.permutation(100) < 12).astype(np.int8)
    times = rng.permutation(np.repeat(np.arange(50.0), 2))
    problem = Problem("p", np.zeros((100, 1)), y, times=times)
    splits = make_splits(problem, folds=3, repetitions=5)
    assert [(s.repetition, s.fold) for s in splits] == [(0, 0), (0, 1), (0, 2)]
    for split in splits:
        assert times[split.learn].max() < times[split.test].min()
        assert 0 < y[split.test].sum() < len(split.test)
        assert y[split.learn].sum() > 0
    with pytest.raises(TooFewPositivesError, match="too few for 12 folds"):
        make_splits(problem, folds=12)
