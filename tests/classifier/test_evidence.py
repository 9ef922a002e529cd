import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from astralearn.classifier.evidence import FEWEST_IN_TAIL, LONGEST, TAIL, Evidence, evidence_of

SCORES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


def of(majority, weight=None, highest=None, **options):
    majority = np.asarray(majority, float)
    weight = np.ones(len(majority)) if weight is None else np.asarray(weight, float)
    highest = float(majority.max()) if highest is None else highest
    return evidence_of(majority, weight, highest=highest, **options)


@pytest.mark.parametrize("n", [30, 400, 900])
def test_below_the_tail_it_is_a_rank(n):
    scores = np.random.default_rng(0).normal(size=n)
    found = of(scores)
    above = (scores[:, None] < scores).sum(axis=1) + 0.5  # the row itself by half
    below_the_tail = above > max(FEWEST_IN_TAIL, TAIL * n)
    assert below_the_tail.sum() > n / 2
    np.testing.assert_allclose(
        found(scores[below_the_tail]),
        -np.log((above[below_the_tail] + 0.5) / (n + 1)),
        atol=5e-3 * np.log(n),  # knots are thinned out
    )


def test_ties_count_by_half():
    found = of([0.0] * 50 + [1.0] * 50, highest=1.0)
    np.testing.assert_allclose(found(np.asarray([0.0])), -np.log(75.5 / 101))
    assert found(np.asarray([1.0])) > found(np.asarray([0.0]))


def test_above_it_is_a_straight_line_with_the_mean_excess():
    scores = np.random.default_rng(0).exponential(size=2000)
    found = of(scores, highest=9.0, tail=0.05)
    begin = found.knots[-1]
    beyond = scores[scores > begin]
    assert len(beyond) == pytest.approx(100, abs=1)
    assert found.scale == pytest.approx(beyond.mean() - begin)
    np.testing.assert_allclose(np.diff(found(begin + found.scale * np.arange(4.0))), 1.0)
    assert found.values[-1] == pytest.approx(-np.log(0.05), abs=0.05)


def test_no_row_is_evidence_beyond_measure():
    scores = np.r_[np.zeros(500), np.linspace(0, 1e-6, 500)]
    found = of(scores, highest=1e6)
    assert found(np.asarray([1e6]))[0] <= found.values[-1] + LONGEST * (1 + 1e-9)


def test_of_majority_rows_its_mean_is_about_1():
    scores = np.random.default_rng(1).standard_t(3, size=5000)
    assert of(scores)(scores).mean() == pytest.approx(1.0, abs=0.02)
    new = np.random.default_rng(2).standard_t(3, size=20_000)
    rates = [(of(scores)(new) >= v).mean() for v in (1.0, 3.0, 5.0)]
    np.testing.assert_allclose(rates, np.exp([-1.0, -3.0, -5.0]), rtol=0.35)


@given(SCORES, st.data())
def test_a_weight_is_a_repetition(majority, data):
    times = data.draw(st.lists(st.integers(1, 4), min_size=len(majority), max_size=len(majority)))
    highest = max(majority) + data.draw(st.floats(0, 10))
    weighted = of(majority, times, highest)
    repeated = of(np.repeat(majority, times), None, highest)
    np.testing.assert_allclose(weighted.knots, repeated.knots)
    np.testing.assert_allclose(weighted.values, repeated.values, atol=1e-12)
    np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-6)


@given(SCORES, SCORES)
def test_it_is_finite_at_least_0_and_rises_with_the_score(majority, others):
    found = of(majority, highest=max(majority + others))
    asked = np.sort(np.asarray(majority + others))
    evidence = found(asked)
    assert np.isfinite(evidence).all()
    assert (evidence >= 0).all()
    assert (np.diff(evidence) >= -1e-12).all()
    assert (np.diff(found.knots) > 0).all()
    assert (np.diff(found.values) >= 0).all()


@given(SCORES, st.randoms())
def test_the_order_of_rows_does_not_matter(majority, random):
    shuffled = list(majority)
    random.shuffle(shuffled)
    one, two = of(majority), of(shuffled)
    np.testing.assert_array_equal(one.knots, two.knots)
    np.testing.assert_array_equal(one.values, two.values)
    assert one.scale == two.scale


@given(SCORES, st.floats(0.1, 10), st.floats(-100, 100))
def test_the_unit_of_scores_does_not_matter(majority, factor, shift):
    """But for scores that rounding makes equal."""
    majority = np.unique(np.round(majority, 1))
    other = factor * majority + shift
    assume(len(majority) > 1)
    one, two = of(majority, highest=majority.max()), of(other, highest=other.max())
    np.testing.assert_allclose(two(other), one(majority), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("majority", [[3.0], [3.0] * 100, [0.0, 1e200], [-1e200, 1e200]])
def test_scores_that_tell_nothing_or_too_much(majority):
    found = of(majority)
    assert np.isfinite(found(np.asarray([-1e200, 0.0, 3.0, 1e200]))).all()


def test_a_score_that_is_not_known_stays_so():
    found = Evidence(np.asarray([0.0, 1.0]), np.asarray([0.0, 2.0]), 0.5)
    np.testing.assert_array_equal(found(np.asarray([np.nan, 0.5, 2.0])), [np.nan, 1.0, 4.0])
