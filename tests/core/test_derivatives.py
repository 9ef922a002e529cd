import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astralearn.core import curve, derivatives
from namespaces import NAMESPACES
from oracles import exact, points, tolerance, worst_relative_error

IN_X = ["astra_dx", "rebalanced_logit_dx", "rebalanced_logit_dx2"]
ALL = [*IN_X, "rebalanced_logit_db"]


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("name", IN_X)
def test_against_mpmath(space, name, sample):
    x, b, truth = sample
    with space.double():
        got = space.numpy(
            getattr(derivatives, name)(space.asarray(x), space.asarray(b), **space.options)
        )
    assert got.dtype == x.dtype
    curved = b > 1 if name == "rebalanced_logit_dx2" else np.ones_like(b, bool)
    assert worst_relative_error(
        got[curved], [t[name] for t, keep in zip(truth, curved, strict=True) if keep]
    ) <= tolerance(space, x.dtype)
    assert (got[~curved] == 0).all()


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
def test_in_b_against_mpmath(space, sample):
    x, b, truth = sample
    with space.double():
        got = space.numpy(
            derivatives.rebalanced_logit_db(space.asarray(x), space.asarray(b), **space.options)
        )
    scale = np.maximum(np.maximum(-x, 0), 1 / b)
    error = [
        abs(float(t["rebalanced_logit_db"]) - g)
        for t, g in zip(truth, got.astype(float), strict=True)
    ]
    assert np.max(error / scale) <= (1e-14 if x.dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("space", [s for s in NAMESPACES if s.gradients], ids=lambda s: s.name)
@pytest.mark.slow
def test_against_autodiff_of_the_plain_formula(space):
    x, b = points(500, np.float64, seed=2)
    x = np.concatenate([x, [0.0, 0.0]])
    b = np.concatenate([b, [1.0, 7.396]])
    moderate = np.abs(x * b) < 200  # autodiff multiplies 0 by large numbers beyond
    with space.double():
        arguments = space.asarray(x[moderate]), space.asarray(b[moderate])
        dx, db = space.gradients(lambda *a: curve.rebalanced_logit(*a, **space.options), arguments)
        dy, _ = space.gradients(lambda *a: curve.astra(*a, **space.options), arguments)
        closed = {
            name: space.numpy(getattr(derivatives, name)(*arguments, **space.options))
            for name in ALL
        }
        dx2, _ = space.gradients(
            lambda *a: derivatives.rebalanced_logit_dx(*a, **space.options), arguments
        )
    np.testing.assert_allclose(space.numpy(dx), closed["rebalanced_logit_dx"], rtol=1e-9)
    np.testing.assert_allclose(space.numpy(dy), closed["astra_dx"], rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(space.numpy(db), closed["rebalanced_logit_db"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        space.numpy(dx2), closed["rebalanced_logit_dx2"], rtol=1e-6, atol=1e-7 * np.max(b)
    )


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_extremes_are_finite(space, dtype):
    edges = [0.0, -0.0, 1e30, -1e30, 1e-45, -1e-45, 1.0, -1.0, 88.0, -88.0, 710.0, -710.0]
    x, b = (
        a.ravel()
        for a in np.meshgrid(
            np.asarray(edges, dtype), np.asarray([1.0, 1.5, 7.396, 87.0, 1e6], dtype)
        )
    )
    with space.double(), np.errstate(under="ignore"):
        for name in ALL:
            assert np.isfinite(
                space.numpy(
                    getattr(derivatives, name)(space.asarray(x), space.asarray(b), **space.options)
                )
            ).all(), name


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.slow
def test_the_largest_floats_are_at_the_limits(space, dtype):
    """NumPy's warnings are errors here: b·x must not overflow."""
    largest = np.finfo(dtype).max
    slopes = np.asarray([1.0, 1.0000001, 1.5, 7.396, 87.0, 1e6], dtype)
    x = np.concatenate(
        [sign * largest / over for sign in (1, -1) for over in (np.ones_like(slopes), slopes)]
    )
    b = np.tile(slopes, 4)
    truth = [
        exact(*map(float, point)) for point in zip(np.minimum(x, 300), b, strict=True)
    ]  # constant from there on
    with space.double(), np.errstate(under="ignore"):
        arguments = space.asarray(x), space.asarray(b)
        for name in ALL:
            got = space.numpy(getattr(derivatives, name)(*arguments, **space.options)).astype(float)
            expected = np.asarray([float(t[name]) for t in truth])
            np.testing.assert_allclose(
                got, expected, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-6, err_msg=name
            )
            if space.gradients:
                again = space.gradients(
                    lambda *a, f=name: getattr(derivatives, f)(*a, **space.options), arguments
                )
                assert all(np.isfinite(space.numpy(part)).all() for part in again), name


@given(st.floats(1, 1e6), st.floats(-1e30, 1e30))
def test_bounds_hold_for_any_x(b, x):
    with np.errstate(under="ignore"):
        dx, dx2 = (
            float(derivatives.rebalanced_logit_dx(x, b)),
            float(derivatives.rebalanced_logit_dx2(x, b)),
        )
        assert 1 - 1e-15 <= dx <= b * (1 + 1e-15)
        assert -np.inf < dx2 <= 0
        assert 0 <= float(derivatives.astra_dx(x, b)) <= 1
        assert np.isfinite(derivatives.rebalanced_logit_db(x, b))


def test_raw_slope_derivative():
    beta = np.asarray([-3.0, -1e-6, 1e-6, 4.0])
    step = 1e-7
    numeric = (curve.slope_from_raw(beta + step) - curve.slope_from_raw(beta - step)) / (2 * step)
    np.testing.assert_allclose(derivatives.slope_from_raw_dbeta(beta), numeric, rtol=1e-6)


def test_bad_slope_is_refused():
    for name in ALL:
        with pytest.raises(ValueError, match="b must be finite and at least 1"):
            getattr(derivatives, name)(0.0, 0.9)
