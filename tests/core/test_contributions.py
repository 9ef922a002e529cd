"""What one example contributes, against the curve, its derivatives and mpmath."""

import numpy as np
import pytest

from astralearn.core import (
    contributions,
    rebalanced_logit,
    rebalanced_logit_db,
    rebalanced_logit_dx,
)
from astralearn.core.elementary import sigmoid, softplus
from namespaces import NAMESPACES
from oracles import exact, points


def by_hand(x, b, positive):
    sign = -1.0 if positive else 1.0
    g = rebalanced_logit(x, b)
    wrong = sigmoid(sign * g, np)
    return (
        wrong,
        -softplus(sign * g, np),
        sign * wrong * rebalanced_logit_dx(x, b),
        sign * wrong * rebalanced_logit_db(x, b),
    )


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("positive", [False, True])
def test_against_the_curve(space, positive):
    x, b = points(2000, np.float64, seed=4)
    f = contributions.of_positives if positive else contributions.of_negatives
    xp = space.xp or __import__("array_api_compat").array_namespace(space.asarray(x))
    with space.double(), np.errstate(under="ignore"):
        got = [space.numpy(value) for value in f(space.asarray(x), space.asarray(b), xp)]
        expected = by_hand(x, b, positive)
    for name, value, truth in zip(contributions.Contribution._fields, got, expected, strict=True):
        scale = np.maximum(1.0, np.abs(x)) if name == "pull_b" else 1.0
        np.testing.assert_allclose(value, truth, rtol=1e-9, atol=1e-9 * np.max(scale), err_msg=name)


@pytest.mark.parametrize("positive", [False, True])
def test_pulls_keep_relative_accuracy_where_they_vanish(positive):
    x, b = points(1500, np.float64, seed=5)
    b = np.minimum(b, 1e3)
    f = contributions.of_positives if positive else contributions.of_negatives
    with np.errstate(under="ignore"):
        pull = f(x, b, np).pull_x
        truth = by_hand(x, b, positive)[2]
    visible = np.abs(truth) > 1e-290
    np.testing.assert_allclose(pull[visible], truth[visible], rtol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("positive", [False, True])
def test_extremes_are_finite(dtype, positive):
    x, b = (
        a.ravel().astype(dtype)
        for a in np.meshgrid(
            [0.0, 1e30, -1e30, 1.0, -1.0, 88.0, -88.0, 1e4, -1e4, 1e-40],
            [1.0, 1.5, 7.396, 87.0, 1e6],
        )
    )
    f = contributions.of_positives if positive else contributions.of_negatives
    with np.errstate(under="ignore"):
        for name, value in zip(contributions.Contribution._fields, f(x, b, np), strict=True):
            assert np.isfinite(value).all(), name


def test_plain_logits_are_slope_one():
    x = np.linspace(-30, 30, 61)
    for positive in (False, True):
        plain = contributions.of_plain_logits(x, np, positive=positive)
        f = contributions.of_positives if positive else contributions.of_negatives
        warped = f(x, np.ones_like(x), np)
        for a, b in zip(plain[:3], warped[:3], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_a_lost_positive_against_mpmath():
    for x, b in ((-2.0, 87.0), (-50.0, 7.396), (-0.001, 1e6)):
        got = contributions.of_positives(np.asarray([x]), np.asarray([b]), np)
        assert float(got.log_right[0]) == pytest.approx(
            min(0.0, float(exact(x, b)["rebalanced_logit"])), rel=2e-2 if x == -0.001 else 1e-9
        )
