import numpy as np
import pytest
from array_api_compat import array_namespace

from astralearn.core import derivatives
from astralearn.core.warp import of_slope, slope_derivative, warp
from namespaces import NAMESPACES

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
