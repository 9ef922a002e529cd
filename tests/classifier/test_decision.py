import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, matthews_corrcoef, precision_score

from astralearn.classifier import decision
from astralearn.classifier.decision import (
    MOST_POSITIVES,
    Worlds,
    check_decision,
    cut_for,
    expectations,
    left_out,
    possible_worlds,
    usual_mean,
)


def seen(k=8, n=5000, mean=5.0, seed=0, weight=1.0):
    """Positives and majority rows with exponential evidence."""
    rng = np.random.default_rng(seed)
    return left_out(
        positives=rng.exponential(mean, k),
        positive_weight=np.full(k, weight),
        majority=rng.exponential(1.0, n),
        majority_weight=np.ones(n),
        prior=k / (k + n),
    )


@pytest.fixture(scope="module")
def worlds():
    return possible_worlds(seen())


def cut(aim, worlds, **options):
    return cut_for(aim, worlds, positive="yes", negative="no", **options)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 30), st.integers(1, 300))
def test_scores_are_scikit_learn_s_at_known_counts(hits, misses, alarms, rest):
    y = np.repeat([1, 1, 0, 0], [hits, misses, alarms, rest])
    flagged = np.repeat([1, 0, 1, 0], [hits, misses, alarms, rest])
    world = Worlds(
        cuts=np.ones(1),
        recall=np.asarray([[hits / (hits + misses)]]),
        false_alarms=np.asarray([[alarms / (alarms + rest)]]),
        prior=y.mean(),
    )
    found = {name: values.item() for name, values in world.scores().items()}
    assert found["precision"] == pytest.approx(precision_score(y, flagged))
    assert found["f1"] == pytest.approx(f1_score(y, flagged))
    assert found["mcc"] == pytest.approx(matthews_corrcoef(y, flagged))
    rates = hits / (hits + misses) * rest / (alarms + rest)
    assert found["g_mean"] == pytest.approx(np.sqrt(rates))


@pytest.mark.parametrize("aim", ["g_mean", "mcc", "f1"])
def test_an_aim_s_cut_has_the_highest_mean(aim, worlds):
    scores = worlds.scores()[aim]
    means = [np.mean(scores[:, i]) for i in range(len(worlds.cuts))]
    assert cut(aim, worlds) == worlds.cuts[int(np.argmax(means))]


def test_mcc_flags_fewer_rows_than_the_g_mean(worlds):
    assert cut("g_mean", worlds) < cut("mcc", worlds)


def test_costs_of_rates_move_the_g_mean_s_cut(worlds):
    cuts = [cut("g_mean", worlds, positive_share=a) for a in (0.0, 0.2, 0.5, 0.8, 1.0)]
    assert cuts == sorted(cuts, reverse=True)
    assert cuts[0] > cuts[2] > cuts[4]


def test_the_least_cost(worlds):
    def cost(i, of_miss, of_alarm):
        missed = worlds.prior * (1 - worlds.recall[:, i])
        alarms = (1 - worlds.prior) * worlds.false_alarms[:, i]
        return np.mean(of_miss * missed + of_alarm * alarms)

    cuts = []
    for of_miss in (1.0, 30.0, 1000.0):
        found = cut({"cost": {"yes": of_miss, "no": 2.0}}, worlds)
        costs = [cost(i, of_miss, 2.0) for i in range(len(worlds.cuts))]
        assert cost(worlds.cuts.tolist().index(found), of_miss, 2.0) == pytest.approx(min(costs))
        cuts.append(found)
    assert cuts == sorted(cuts, reverse=True)
    assert cuts[0] > cuts[-1]


@pytest.mark.parametrize("share", [1e-9, 0.001, 0.01, 0.3])
def test_no_more_alerts_than_asked_for(share, worlds):
    i = worlds.cuts.tolist().index(cut({"alerts": share}, worlds))
    flagged = worlds.prior * worlds.recall + (1 - worlds.prior) * worlds.false_alarms
    mean = flagged.mean(axis=0)
    if share < mean.min():
        assert i == len(worlds.cuts) - 1
    else:
        assert mean[i] <= share
        assert (mean[:i] > share).all()


@pytest.mark.parametrize("least", [0.01, 0.5, 0.9, 1 - 1e-12])
def test_at_least_the_recall_asked_for(least, worlds):
    i = worlds.cuts.tolist().index(cut({"recall": least}, worlds))
    mean = worlds.recall.mean(axis=0)
    assert (mean[i + 1 :] < least).all()
    assert mean[i] >= least or i == 0


@pytest.mark.parametrize("least", [0.001, 0.01, 0.1, 1 - 1e-12])
def test_at_least_the_precision_asked_for(least, worlds):
    i = worlds.cuts.tolist().index(cut({"precision": least}, worlds))
    mean = worlds.scores()["precision"].mean(axis=0)
    if mean.max() < least:
        assert mean[i] == mean.max()
    else:
        assert mean[i] >= least
        assert (mean[:i] < least).all()


@pytest.mark.parametrize(
    "aim",
    [
        "g_mean",
        "mcc",
        "f1",
        {"alerts": 0.01},
        {"recall": np.float32(0.9)},
        {"precision": 0.5},
        {"cost": {"yes": 10, "no": 0}},
        {"cost": {"yes": np.int64(10), "no": np.float32(1)}},
    ],
)
def test_decisions_that_are_right(aim, worlds):
    check_decision(aim, ["no", "yes"])
    assert cut(aim, worlds) in worlds.cuts


KEYS = "'cost', 'alerts', 'recall', 'precision'"
NO_DECISION = (
    f"decision must be one of 'g_mean', 'mcc', 'f1', or a dict with one of the keys {KEYS}"
)
NOT_NAMED = (
    "decision={'cost': …} must name the cost of a mistake on a row of each label, 'no' and 'yes'"
)
NOT_A_COST = "decision={'cost': …} must be finite, at least 0 and above 0 somewhere"


@pytest.mark.parametrize(
    ("aim", "message"),
    [
        ("gmean", f"{NO_DECISION}; found 'gmean'"),
        (None, f"{NO_DECISION}; found None"),
        (0.5, f"{NO_DECISION}; found 0.5"),
        ({}, f"{NO_DECISION}; found {{}}"),
        ({"budget": 3}, f"{NO_DECISION}; found {{'budget': 3}}"),
        ({"recall": 0.5, "alerts": 0.1}, NO_DECISION),
        ({"recall": 1.0}, "decision={'recall': …} must be in (0, 1); found 1.0"),
        ({"alerts": 0}, "decision={'alerts': …} must be in (0, 1); found 0"),
        ({"alerts": True}, "decision={'alerts': …} must be in (0, 1); found True"),
        ({"precision": "high"}, "decision={'precision': …} must be in (0, 1); found 'high'"),
        ({"recall": np.nan}, "decision={'recall': …} must be in (0, 1); found nan"),
        ({"cost": 3.0}, f"{NOT_NAMED}; found 3.0"),
        ({"cost": {"yes": 3.0}}, f"{NOT_NAMED}; found {{'yes': 3.0}}"),
        ({"cost": {"yes": 3.0, "maybe": 1.0}}, f"{NOT_NAMED}; found {{'yes': 3.0, 'maybe': 1.0}}"),
        ({"cost": {"yes": 0, "no": 0}}, f"{NOT_A_COST}; found {{'yes': 0, 'no': 0}}"),
        ({"cost": {"yes": -1, "no": 1}}, NOT_A_COST),
        ({"cost": {"yes": np.inf, "no": 1}}, NOT_A_COST),
        ({"cost": {"yes": np.nan, "no": 1}}, NOT_A_COST),
        ({"cost": {"yes": "much", "no": 1}}, NOT_A_COST),
    ],
)
def test_what_is_no_decision_is_said(aim, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        check_decision(aim, ["no", "yes"])


def test_left_out_counts_alarms_by_weight():
    found = left_out(
        positives=np.asarray([5.0, 2.0, 9.0]),
        positive_weight=np.asarray([1.0, 2.0, 3.0]),
        majority=np.asarray([0.5, 1.5, 3.0, 0.1]),
        majority_weight=np.asarray([4.0, 2.0, 1.0, 3.0]),
        prior=0.1,
    )
    assert found.positives.tolist() == [2.0, 5.0, 9.0]
    assert found.weight.tolist() == [2.0, 1.0, 3.0]
    assert found.majority == 10
    expected = [
        4.0 * (c <= 0.5) + 2.0 * (c <= 1.5) + 1.0 * (c <= 3.0) + 3.0 * (c <= 0.1)
        for c in found.cuts
    ]
    np.testing.assert_allclose(found.alarms, expected)
    assert (np.diff(found.cuts) > 0).all()
    assert found.cuts[-1] > 9


def test_many_positives_are_grouped():
    rng = np.random.default_rng(0)
    many, weight = rng.exponential(5, 5 * MOST_POSITIVES), rng.uniform(1, 2, 5 * MOST_POSITIVES)
    n = np.ones(300)
    found = left_out(
        positives=many, positive_weight=weight, majority=n, majority_weight=n, prior=0.5
    )
    assert len(found.positives) == len(found.weight) == MOST_POSITIVES
    assert (np.diff(found.positives) >= 0).all()
    assert found.weight.sum() == pytest.approx(weight.sum())
    assert found.weight @ found.positives == pytest.approx(weight @ many)
    truth = [np.average(many >= c, weights=weight) for c in (2.0, 5.0, 10.0)]
    grouped = [np.average(found.positives >= c, weights=found.weight) for c in (2.0, 5.0, 10.0)]
    np.testing.assert_allclose(grouped, truth, atol=0.02)


def test_without_positives_what_is_usual_is_expected():
    assert usual_mean(np.zeros(0), np.zeros(0)) == decision.PRIOR_EVIDENCE
    worlds = possible_worlds(
        left_out(
            positives=np.zeros(0),
            positive_weight=np.zeros(0),
            majority=np.random.default_rng(0).exponential(1.0, 1000),
            majority_weight=np.ones(1000),
            prior=0.001,
        )
    )
    for aim in ("g_mean", "mcc", "f1", {"alerts": 0.01}, {"recall": 0.9}, {"precision": 0.5}):
        assert np.isfinite(cut(aim, worlds))
    expected = expectations(worlds, cut("g_mean", worlds), positives=0.0)
    assert 0 <= expected.recall.low < expected.recall.mean < expected.recall.high <= 1
    assert expected.recall.high - expected.recall.low > 0.4


def test_worlds_are_rates_that_fall_as_the_cut_rises(worlds):
    for rates in (worlds.recall, worlds.false_alarms):
        assert rates.shape == (decision.WORLDS, len(worlds.cuts))
        assert (rates >= 0).all()
        assert (rates <= 1).all()
    assert (np.diff(worlds.recall, axis=1) <= 1e-12).all()
    # Where no row of the majority lies between two cuts, the growing doubt lifts the mean.
    mean = worlds.false_alarms.mean(axis=0)
    assert (mean[1:] <= 1.02 * mean[:-1]).all()
    assert mean[0] > 0.9
    assert mean[-1] < 1e-3


def test_worlds_are_drawn_alike_by_the_same_seed(worlds):
    again, other = possible_worlds(seen()), possible_worlds(seen(), seed=1)
    assert again.recall.tobytes() == worlds.recall.tobytes()
    assert again.false_alarms.tobytes() == worlds.false_alarms.tobytes()
    assert other.recall.tobytes() != worlds.recall.tobytes()


def test_false_alarm_rates_are_those_that_were_seen():
    left = seen(n=20_000)
    worlds = possible_worlds(left)
    for v in (0.5, 1.0, 3.0):
        i = int(np.argmin(np.abs(worlds.cuts - v)))
        assert np.median(worlds.false_alarms[:, i]) == pytest.approx(
            left.alarms[i] / left.majority, rel=0.15
        )


NAMES = ("recall", "false_alarms", "precision", "g_mean", "mcc", "f1")


@pytest.mark.parametrize("at", [0.5, 2.0, 4.0])
def test_intervals_hold_the_mean_and_the_curve_agrees(at, worlds):
    found = expectations(worlds, at, positives=8.0)
    for name in NAMES:
        expected = getattr(found, name)
        assert expected.low <= expected.mean <= expected.high
        along = [np.interp(at, found.curve["cut"], ends) for ends in found.curve[name]]
        np.testing.assert_allclose(tuple(expected), along)
        assert found.curve[name].shape == (3, len(worlds.cuts))


def test_at_a_cut_of_the_grid_an_interval_is_the_middle_90_percent(worlds):
    i = 40
    found = expectations(worlds, float(worlds.cuts[i]), positives=8.0)
    inside = (found.recall.low <= worlds.recall[:, i]) & (worlds.recall[:, i] <= found.recall.high)
    assert inside.mean() == pytest.approx(0.9, abs=0.01)
    assert found.recall.mean == pytest.approx(worlds.recall[:, i].mean())
    assert found.false_alarms.mean == pytest.approx(1000 * worlds.false_alarms[:, i].mean())


def test_the_fewer_positives_the_wider_the_interval_of_recall():
    def width(k):
        left = left_out(
            positives=np.full(k, 4.0) * np.linspace(0.5, 1.5, k),
            positive_weight=np.ones(k),
            majority=np.random.default_rng(0).exponential(1.0, 5000),
            majority_weight=np.ones(5000),
            prior=k / 5000,
        )
        recall = expectations(possible_worlds(left), 4.0, positives=float(k)).recall
        return recall.high - recall.low

    widths = [width(k) for k in (3, 10, 50)]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 1.3 * widths[-1]


def test_a_positive_s_weight_is_a_repetition():
    few, values = np.ones(400), np.asarray([1.0, 3.0, 6.0])
    rest = {"majority": few, "majority_weight": few, "prior": 0.01}
    weighted = left_out(positives=values, positive_weight=np.asarray([1.0, 2.0, 3.0]), **rest)
    repeated = left_out(positives=np.repeat(values, [1, 2, 3]), positive_weight=np.ones(6), **rest)
    means = [possible_worlds(left).recall.mean(axis=0) for left in (weighted, repeated)]
    np.testing.assert_allclose(means[0], means[1], atol=0.05)


def test_expectations_read_well(worlds):
    said = str(expectations(worlds, 2.0, positives=8.0))
    assert said.startswith("On new rows, from 8 training positives (90 % intervals):\n  recall ")
    of_none = str(expectations(worlds, 2.0, positives=0.0))
    assert of_none.startswith("On new rows, from no left-out positives (90 % intervals):")
    assert re.search(r"false alarms per 1,000  \d[\d.]* \([\d.]+ to [\d.]+\)", said)
    assert re.search(r"precision +[\d.e-]+ \([\d.e-]+ to [\d.e-]+\)$", said)
