from functools import cache, partial

import mpmath as mp
import numpy as np
import pytest
from array_api_compat import array_namespace

from astralearn.core import derivatives
from astralearn.core.warp import Pulls, negatives, of_slope, positives, slope_derivative, warp
from namespaces import NAMESPACES
from oracles import exact, points

EDGES = [0.0, -0.0, 1e30, -1e30, 1e-45, -1e-45, 1.0, -1.0, 88.0, -88.0, 710.0, -710.0, 1e4, -1e4]
SLOPES = [1.0, 1.0000001, 1.5, 7.396, 87.0, 1e6]


def evaluate(space, x, b):
    """g, ∂g/∂x, ∂g/∂b as NumPy arrays."""
    ax, ab = space.asarray(x), space.asarray(b)
    xp = space.xp or array_namespace(ax)
    w = warp(ax, ab, **space.options)
    db = slope_derivative(of_slope(ab, xp=xp), w.dx * ax, w.dx, w.lag, 0.0 * ax + 1.0)
    return tuple(space.numpy(part) for part in (w.g, w.dx, db))


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
def test_against_mpmath(space, sample):
    """g to its absolute promise, both derivatives to rounding of their scale."""
    x, b, truth = sample
    rounding = np.finfo(x.dtype).eps
    with space.double(), np.errstate(under="ignore"):
        g, dx, db = (part.astype(float) for part in evaluate(space, x, b))
    exact_g, exact_dx, exact_db = (
        np.asarray([float(t[name]) for t in truth])
        for name in ("rebalanced_logit", "rebalanced_logit_dx", "rebalanced_logit_db")
    )
    x, b = x.astype(float), b.astype(float)
    t = np.abs(b * x) + np.log(b)
    assert np.max(np.abs(g - exact_g) / (1 + np.abs(exact_g) + np.log(b))) <= 6 * rounding
    # e^t carries the rounding of t, and t counts only until ∂g/∂x reaches its limits b and 1.
    assert np.max(np.abs(dx - exact_dx) / exact_dx / (1 + np.minimum(t, 40))) <= 6 * rounding
    assert (
        np.max(np.abs(db - exact_db) / (np.abs(x) * (1 + np.minimum(t, 40)) + (2 + np.log(b)) / b))
        <= 6 * rounding
    )


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_extremes_are_finite(space, dtype):
    x, b = (a.ravel() for a in np.meshgrid(np.asarray(EDGES, dtype), np.asarray(SLOPES, dtype)))
    with space.double(), np.errstate(under="ignore"):
        parts = evaluate(space, x, b)
    assert all(part.dtype == dtype for part in parts)
    assert all(np.isfinite(part).all() for part in parts)


def test_slope_derivative_of_sums_is_the_sum_of_derivatives():
    rng = np.random.default_rng(0)
    x, weight, b = rng.normal(0, 2, 50), rng.normal(0, 1, 50), np.asarray(7.396)
    w = warp(x, b)
    sums = [np.sum(weight * part) for part in (w.dx * x, w.dx, w.lag, np.ones(50))]
    expected = np.sum(weight * derivatives.rebalanced_logit_db(x, b))
    assert float(slope_derivative(of_slope(b, xp=np), *sums)) == pytest.approx(expected, rel=1e-12)


def test_bad_slope_is_refused():
    with pytest.raises(ValueError, match="b must be finite and at least 1"):
        warp(0.0, 0.9)


@cache
def exact_pulls(dtype, *, positive):
    """Logits, slopes, and what `Pulls` promises of them, in mpmath."""
    x, b = points(400, dtype, seed=3)
    sign = -1 if positive else 1
    rows = []
    for at, slope in zip(x.tolist(), b.tolist(), strict=True):
        curve = exact(at, slope)
        with mp.workdps(60):
            m = sign * curve["rebalanced_logit"]
            wrong, right = 1 / (1 + mp.exp(-m)), 1 / (1 + mp.exp(m))
            dx, db = curve["rebalanced_logit_dx"], curve["rebalanced_logit_db"]
            log_right = -m if m > 1000 else mp.log(right)
            rows.append([right, wrong, log_right, sign * wrong * dx, sign * wrong * db, dx])
    columns = np.asarray([[float(value) for value in row] for row in rows]).T
    return x, b, Pulls(*columns)


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("kind", ["negatives", "steep negatives", "positives"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.slow
def test_pulls_against_mpmath(space, kind, dtype):
    """Off by less than 1e-5 in float32, up to b = 1e6.

    Probabilities and dx in proportion to their own value, as far as it is above 1e-9 of the
    largest; wrong of negatives in proportion to 1 where no steepness is asked for. db in proportion
    to the larger of its two parts before they cancel near x = 0, ln right to that of 1 + |ln
    right|.
    """
    x, b, truth = exact_pulls(dtype, positive=kind == "positives")
    xp = space.xp or array_namespace(space.asarray(x))
    options = {"with_steepness": True} if kind == "steep negatives" else {}
    with space.double(), np.errstate(under="ignore"):
        ax, ab = space.asarray(x), space.asarray(b)
        kernel = positives if kind == "positives" else negatives
        got = kernel(ax, of_slope(ab, xp=xp), xp=xp, **options)
    scales = {name: np.abs(values) for name, values in truth._asdict().items()}
    scales["log_right"] = 1 + scales["log_right"]
    if kind == "negatives":
        scales["wrong"] = 1.0
    scales["db"] = scales["wrong"] * (np.abs(x) * (1 + np.abs(b * x)) + (2 + np.log(b)) / b)
    for name, values in got._asdict().items():
        if name == {"negatives": "steepness", "steep negatives": "log_right"}.get(kind):
            assert values is None
            continue
        found = space.numpy(values)
        assert found.dtype == dtype, name
        expected = getattr(truth, name)
        seen = np.abs(expected) > 1e-9 * np.max(np.abs(expected))
        error = np.abs(found - expected)[seen] / (scales[name] + 0 * expected)[seen]
        assert np.max(error) <= (1e-5 if dtype == np.float32 else 5e-14), name


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", [negatives, partial(negatives, with_steepness=True), positives])
def test_pulls_of_extremes_are_finite_and_in_range(kernel, dtype):
    x, b = (a.ravel() for a in np.meshgrid(np.asarray(EDGES, dtype), np.asarray(SLOPES, dtype)))
    with np.errstate(under="ignore"):
        got = kernel(x, of_slope(b, xp=np), xp=np)
    assert all(np.isfinite(values).all() for values in got if values is not None)
    assert ((got.right >= 0) & (got.wrong >= 0) & (got.right <= 1) & (got.wrong <= 1)).all()
    if got.steepness is not None:
        assert ((got.steepness >= 1 - 1e-5) & (got.steepness <= b * (1 + 1e-5))).all()


@pytest.mark.parametrize("kernel", [negatives, positives])
def test_the_plain_sigmoid_is_slope_one(kernel):
    x = np.linspace(-30, 30, 61)
    plain, warped = (kernel(x, shared, xp=np) for shared in (None, of_slope(np.ones(1), xp=np)))
    for name in ("right", "wrong", "log_right", "dx"):
        np.testing.assert_allclose(
            getattr(plain, name), getattr(warped, name), rtol=1e-9, atol=1e-12
        )
    assert plain.db is None
    assert plain.steepness == 1.0
