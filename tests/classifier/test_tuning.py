import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ttest_1samp
from threadpoolctl import threadpool_limits

from astralearn.classifier import tuning
from astralearn.classifier.tuning import (
    ALPHA_WITH_ROOM,
    ALPHAS,
    GAIN,
    PARTS,
    SURE,
    Choice,
    choice,
    clear_gain,
    margin,
    room,
    trials,
)
from astralearn.engine.rows import Fold, Rows
from astralearn.engine.view import View


def fold(n=60, positives=7, seed=0):
    """Each row's only feature is its number."""
    y = np.zeros(n, bool)
    y[np.random.default_rng(seed).permutation(n)[:positives]] = True
    weight = np.random.default_rng(seed).uniform(0.5, 2, n)
    rows = Rows(np.arange(n, dtype=float)[:, None], y, weight)
    return Fold(rows, View(np.zeros(1), np.ones(1)))


def numbers(rows):
    return rows.X[:, 0].astype(int)


def test_every_row_is_held_out_once_and_otherwise_seen():
    whole = fold()
    found = trials(whole, seed=3)
    assert len(found) == PARTS
    assert sorted(np.concatenate([numbers(trial.held_out) for trial in found])) == list(range(60))
    for trial in found:
        assert sorted([*numbers(trial.train), *numbers(trial.held_out)]) == list(range(60))
        np.testing.assert_array_equal(
            trial.held_out.positive, whole.train.positive[numbers(trial.held_out)]
        )
        np.testing.assert_array_equal(
            trial.held_out.weight, whole.train.weight[numbers(trial.held_out)]
        )
        assert trial.held_out.positive.sum() in (1, 2)
        for label in (False, True):
            assert trial.train.weight[trial.train.positive == label].sum() == pytest.approx(
                whole.train.weight[whole.train.positive == label].sum()
            )


def test_many_rows_are_drawn_from(monkeypatch):
    monkeypatch.setattr(tuning, "TRAINED_ON", 10)
    monkeypatch.setattr(tuning, "JUDGED", 25)
    whole = fold()
    found = trials(whole, seed=0)
    judged = np.concatenate([numbers(trial.held_out) for trial in found])
    assert len(judged) == len(set(judged)) == 25 + 7
    for trial in found:
        assert not set(numbers(trial.train)) & set(numbers(trial.held_out))
        assert (~trial.train.positive).sum() == 10
        assert trial.train.weight[~trial.train.positive].sum() == pytest.approx(
            whole.train.weight[~whole.train.positive].sum()
        )


def test_the_seed_decides():
    one, same, other = (trials(fold(), seed) for seed in (1, 1, 2))
    assert all((numbers(a.train) == numbers(b.train)).all() for a, b in zip(one, same, strict=True))
    assert any(
        (numbers(a.held_out) != numbers(b.held_out)).any() for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize(("positives", "n"), [(0, 0), (1, 0), (2, 2), (4, 4), (5, 5), (30, 5)])
def test_every_trial_has_both_classes_on_both_sides(positives, n):
    found = trials(fold(positives=positives), seed=0)
    assert len(found) == n
    assert all(set(side.positive) == {False, True} for trial in found for side in trial.parts)


def test_rows_without_weight_are_not_seen():
    whole = fold()
    whole.train.weight[::2] = 0
    assert all(
        (numbers(side) % 2 == 1).all() for trial in trials(whole, seed=0) for side in trial.parts
    )


def of_twenty_seeds():
    """Rows whose negatives are judged alike by g and by the others; positives better on average."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = np.arange(46) < 6
        than = rng.normal(-2, 1, 46)
        yield than + y * rng.normal(0.8, 1.5, 46), than, y


def test_with_equal_negatives_it_is_a_t_test_among_the_positives():
    reasons = set()
    for g, than, y in of_twenty_seeds():
        gain = (1 / (1 + np.exp(-g[:6]))) ** 0.25 - (1 / (1 + np.exp(-than[:6]))) ** 0.25
        is_chance, is_small = (
            ttest_1samp(gain, 0, alternative="greater").pvalue > 0.1,
            gain.mean() < GAIN,
        )
        assert clear_gain(g, than, y, np.ones(46)) == pytest.approx(
            0.0 if is_chance or is_small else gain.mean()
        )
        reasons.add((bool(is_chance), bool(is_small)))
    assert {
        (False, False),
        (True, True),
        (False, True),
    } <= reasons  # the oracle does not always say the same


def test_a_large_gain_may_be_chance():
    y, than = np.arange(44) < 4, np.full(44, -3.0)
    lucky = than + np.r_[9.0, 9.0, -3.0, -3.0, np.zeros(40)]
    assert (
        np.mean(((1 / (1 + np.exp(-lucky))) ** 0.25 - (1 / (1 + np.exp(-than))) ** 0.25)[:4]) > GAIN
    )
    assert clear_gain(lucky, than, y, np.ones(44)) == 0
    assert clear_gain(than + 3 * y, than, y, np.ones(44)) > GAIN


def test_what_the_negatives_lose_counts():
    y, weight = np.arange(208) < 8, np.ones(208)
    than = np.where(y, -1.0, -4.0) + np.random.default_rng(0).normal(0, 0.3, 208)
    assert clear_gain(than + 2 * y, than, y, weight) > GAIN
    assert clear_gain(than + 2 * y + 8 * ~y, than, y, weight) == 0


def test_the_alpha_with_the_largest_clear_gain_is_the_best():
    y, weight = np.arange(208) < 8, np.ones(208)
    g = np.where(y, -2.0, -4.0)
    ways = {ALPHAS[0]: (0, 0.3), ALPHAS[1]: (2, 1), ALPHAS[2]: (1, 2)}
    for alpha, (second, third) in ways.items():
        assert choice(ALPHAS, [g, g + second * y, g + third * y], [3.0] * 3, y, weight) == Choice(
            alpha, 0.0
        )


def test_where_positives_have_room_there_is_a_margin_and_less_l2():
    y, weight = np.arange(208) < 8, np.ones(208)
    g = np.where(y, np.linspace(7.0, 9.0, 208), -4.0)
    moved = {slope: margin(room(g[:8], weight[:8]), slope) for slope in (2.0, 3.0)}
    assert choice(ALPHAS, [g, g, g], [3.0, 2.0, 2.0], y, weight) == Choice(
        ALPHA_WITH_ROOM, moved[3.0]
    )
    assert choice([5.0], [g], [3.0], y, weight) == Choice(5.0, moved[3.0])
    assert choice(ALPHAS, [g - 20 * y, g, g - 20 * y], [3.0, 2.0, 3.0], y, weight) == Choice(
        ALPHAS[1], moved[2.0]
    )


@pytest.mark.parametrize("n", [2, 5, 20])
def test_one_more_positive_lies_within_the_room_as_often_as_it_says(n):
    rng = np.random.default_rng(n)
    drawn = rng.normal(1_000, 1, (20_000, n + 1))
    within = [row[n] >= room(row[:n], np.ones(n)) for row in drawn]
    assert np.mean(within) == pytest.approx(SURE, abs=0.003)


def test_there_is_no_room_on_the_wrong_side_or_with_scattered_positives():
    assert room(np.asarray([-8.0, -7.0, -8.0]), np.ones(3)) == 0
    assert room(np.asarray([8.0, 30.0, 1.0]), np.ones(3)) == 0
    assert room(np.full(3, 8.0), np.ones(3)) == 8


def test_positives_with_weight_count_for_more():
    g = np.r_[np.full(10, 6.0), np.full(10, 12.0)]
    light, even, heavy = (room(g, np.r_[np.full(10, w), np.ones(10)]) for w in (0.1, 1.0, 10.0))
    assert light > heavy
    assert light > even
    assert room(g, np.full(20, 4.0)) == pytest.approx(even)


def test_the_margin_is_the_middle_of_the_gap():
    for slope in (1.0, 2.5, 8.0):
        begin, end = 6.0, -6.0 / slope
        assert margin(6.0, slope) == pytest.approx((begin + end) / 2)
    assert margin(6.0, 1.0) == 0


logits = arrays(np.float64, 12, elements=st.floats(-1e4, 1e4))


@settings(max_examples=200, deadline=None)
@given(logits, logits, arrays(np.float64, 12, elements=st.floats(1e-3, 1e3)))
def test_never_both_ways_and_never_over_itself(g, than, weight):
    y = np.arange(12) < 4
    gain = clear_gain(g, than, y, weight)
    assert gain == 0 or gain >= GAIN
    assert 0 in (gain, clear_gain(than, g, y, weight))
    assert clear_gain(g, g, y, weight) == 0


@settings(max_examples=200, deadline=None)
@given(logits, arrays(np.float64, 12, elements=st.floats(1e-3, 1e3)))
def test_the_room_is_no_more_than_the_mean(g, weight):
    assert 0 <= room(g, weight) <= max(0.0, np.average(g, weights=weight)) * (1 + 1e-9)


def test_the_gain_does_not_depend_on_the_threads_of_linear_algebra():
    rng = np.random.default_rng(0)
    y = np.arange(60_000) < 20_000
    than, weight = rng.normal(size=(5, 60_000)), rng.uniform(0.5, 2, 60_000)
    gains = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            gains.append([clear_gain(of + 2 * y, of, y, weight) for of in than])
    assert gains[0] == gains[1]
    assert min(gains[0]) > GAIN


@pytest.mark.parametrize("unit", [2.0**-20, 2.0**20])
def test_the_unit_of_the_weights_is_free(unit):
    rng = np.random.default_rng(0)
    for _ in range(50):
        y, weight = np.arange(35) < 5, rng.uniform(0.1, 3, 35)
        g, than = rng.normal(size=(2, 35))
        assert clear_gain(g + y, than, y, weight) == clear_gain(g + y, than, y, unit * weight)
