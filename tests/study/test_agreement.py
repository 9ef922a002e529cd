"""Means of draws: against SciPy, against simulation, and where nothing varies."""

import numpy as np
import pytest
from scipy import stats

from astralearn.study import agreement as module
from astralearn.study.agreement import Estimate, design_effect, of_draws, of_published, welch
from astralearn.study.paper import TABLE_2, PublishedScore
from astralearn.study.record import StartRecord


def record(repetition, fold, start, tp, *, method="BCE", problem="skin-4000", fp=0, **bounds):
    return StartRecord(
        problem=problem,
        method=method,
        repetition=repetition,
        fold=fold,
        start=start,
        learned=16000,
        tn=4000 - fp,
        fp=fp,
        fn=1 - tp,
        tp=tp,
        average_precision=None,
        fit_seconds=0.1,
        last_fp=fp,
        last_tp=tp,
        **{"best_g_mean": 1.0, "best_mcc": 1.0, **bounds},
    )


def test_the_interval_is_students_over_draws():
    scores = np.random.default_rng(0).normal(size=(10, 5, 2))
    of_each = scores.mean(axis=(1, 2))
    expected = stats.t.interval(0.95, 9, of_each.mean(), stats.sem(of_each))
    assert of_draws(scores).interval == pytest.approx(expected)


def test_without_starts_and_draws_that_matter_the_effect_is_one():
    scores = np.random.default_rng(1).normal(size=(2000, 5, 1))
    assert design_effect(scores) == pytest.approx(1.0, abs=0.1)


def test_folds_that_all_say_what_their_draw_says_count_once():
    draws = np.random.default_rng(2).normal(size=(2000, 1, 1))
    assert design_effect(np.broadcast_to(draws, (2000, 5, 1))) == pytest.approx(5.0, rel=1e-2)
    assert design_effect(np.ones((10, 5, 2))) == 1.0


def test_the_effect_is_that_of_one_start():
    """Starts that differ within a fold make folds less alike, as the paper's single start did."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(4000, 1, 1)) + 2.0 * rng.normal(size=(4000, 5, 3))
    # Of a fold's variance 5, a fifth is the draw's: 1 + (5 − 1)/5.
    assert design_effect(scores) == pytest.approx(1.8, abs=0.1)


def test_welch_is_scipys_where_both_sides_are_known():
    rng = np.random.default_rng(4)
    first, second = rng.normal(size=10), rng.normal(0.5, 2.0, size=5)
    estimates = [Estimate(v.mean(), stats.sem(v), len(v)) for v in (first, second)]
    assert welch(*estimates) == pytest.approx(stats.ttest_ind(first, second, equal_var=False)[1])


def test_means_without_error():
    assert welch(Estimate(0.0, 0.0, 10), Estimate(-0.0002, 0.0, 5)) == 1.0
    assert welch(Estimate(0.1, 0.0, 10), Estimate(0.0, 0.0, 5)) == 0.0
    assert 0 < welch(Estimate(0.1, 0.05, 10), Estimate(0.0, 0.0, 5)) < 1


@pytest.mark.parametrize("problem", TABLE_2)
def test_the_published_means_agree_with_themselves(problem):
    for cell in TABLE_2[problem]["mcc"].values():
        assert welch(of_published(cell, 1.0), of_published(cell, 2.0)) == 1.0


def test_draws_that_folds_share_are_not_taken_for_differences():
    """Two studies of one truth: by folds alone a fifth is told apart, by draws near a twentieth."""
    rng = np.random.default_rng(5)

    def study(draws):
        skill = rng.normal(0.5, 0.3, size=(draws, 1, 1))
        return (rng.random((draws, 5, 1)) < skill).astype(float)

    by_draws = by_folds = 0
    for _ in range(400):
        ours, theirs = study(10), study(5)
        cell = PublishedScore(theirs.mean(), theirs.std(ddof=1), wins=False)
        by_draws += welch(of_draws(ours), of_published(cell, design_effect(ours))) <= 0.05
        by_folds += stats.ttest_ind(ours.ravel(), theirs.ravel(), equal_var=False)[1] <= 0.05
    assert by_draws / 400 < 0.11
    assert by_folds / 400 > 0.15


def test_a_cell_has_its_bounds():
    cell = TABLE_2["skin-4000"]["g_mean"]["BCE"]
    records = [
        record(r, f, s, tp=0, best_g_mean=0.5 * (s == 0)) for r in range(4) for f in range(5)
        for s in range(2)
    ]  # fmt: skip
    found = module.agreement(records, cell, "g_mean")
    assert (found.ours.mean, found.lowest, found.highest) == (0.0, 0.0, 0.25)
    assert not found.agrees
    assert not found.is_within_reach


def test_spread_over_starts_and_over_draws():
    records = [record(r, f, s, tp=s) for r in range(2) for f in range(5) for s in range(2)]
    assert module.spread(records, "mcc") == pytest.approx((0.5**0.5, 0.0))
    records = [record(r, f, s, tp=r) for r in range(2) for f in range(5) for s in range(2)]
    assert module.spread(records, "mcc") == pytest.approx((0.0, 0.5**0.5))
    assert module.spread([one for one in records if one.start == 0], "mcc").starts == 0.0
