import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import lambertw

import astralearn
from astralearn.core import curve, derivatives
from namespaces import NAMESPACES
from oracles import tolerance, worst_relative_error

ELEMENTWISE = ["astra", "astra_complement", "rebalanced_logit"]
EDGES = [
    0.0,
    -0.0,
    1e30,
    -1e30,
    5e-324,
    -5e-324,
    1e-310,
    -1e-310,
    1e-45,
    -1e-45,
    1e-38,
    -1e-38,
    1.0,
    -1.0,
    88.0,
    -88.0,
    710.0,
    -710.0,
]
SLOPES = [1.0, 1.0000001, 1.5, 2.0, 7.396, 87.0, 1e3, 1e6]


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.slow
def test_against_mpmath(space, name, sample):
    x, b, truth = sample
    with space.double():
        got = space.numpy(getattr(curve, name)(space.asarray(x), space.asarray(b), **space.options))
    assert got.dtype == x.dtype
    assert worst_relative_error(got, [t[name] for t in truth]) <= tolerance(space, x.dtype)


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
def test_threshold_and_its_inverse(space, sample):
    _, b, truth = sample
    with space.double():
        tau = curve.threshold(space.asarray(b), **space.options)
        back = space.numpy(curve.slope(tau, **space.options))
        tau = space.numpy(tau)
    assert tau.dtype == back.dtype == b.dtype
    assert worst_relative_error(tau, [t["threshold"] for t in truth]) <= tolerance(space, b.dtype)
    np.testing.assert_allclose(back, b, rtol=tolerance(space, b.dtype))


def test_slope_is_the_lambert_w_form():
    tau = np.linspace(0.001, 0.5, 200)
    a = -np.log1p(-tau)
    np.testing.assert_allclose(
        curve.slope(tau), -lambertw(-a * np.exp(-a), -1).real / a - 1, rtol=1e-9
    )


@given(st.floats(1e-300, 0.5))
def test_threshold_of_slope_is_the_threshold(tau):
    b = float(curve.slope(tau))
    assert b >= 1
    # ln b carries the rounding of ln τ, so the error grows with |ln τ|.
    assert float(curve.threshold(b)) == pytest.approx(tau, rel=1e-15 * (5 - math.log(tau)))


@given(st.floats(1, 1e6), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_sign_and_finiteness_hold_for_any_x(b, x, single):
    dtype = np.float32 if single else np.float64
    with np.errstate(all="ignore"):
        x, b = dtype(x), dtype(b)
        if not np.isfinite(x):
            return
        g = curve.rebalanced_logit(np.asarray([x]), b)[0]
        y, rest = curve.astra(np.asarray([x]), b)[0], curve.astra_complement(np.asarray([x]), b)[0]
    assert np.sign(g) == np.sign(x)
    assert np.isfinite(g)
    assert 0 <= y <= 1
    assert 0 <= rest <= 1


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.slow
def test_extremes_are_finite_in_value_and_autodiff(space, dtype):
    with np.errstate(all="ignore"):
        x, b = (a.ravel() for a in np.meshgrid(np.asarray(EDGES, dtype), np.asarray(SLOPES, dtype)))
    with space.double(), np.errstate(under="ignore"):
        for name in ELEMENTWISE:
            arguments = space.asarray(x), space.asarray(b)
            value = space.numpy(getattr(curve, name)(*arguments, **space.options))
            assert np.isfinite(value).all(), name
            if name == "rebalanced_logit":
                normal = (
                    np.abs(x) >= np.finfo(dtype).smallest_normal
                    if space.flushes_subnormals
                    else np.ones_like(x, bool)
                )
                np.testing.assert_array_equal(np.sign(value)[normal], np.sign(x)[normal])
            if space.gradients:
                for gradient in space.gradients(
                    lambda *a, n=name: getattr(curve, n)(*a, **space.options), arguments
                ):
                    assert np.isfinite(space.numpy(gradient)).all(), name


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.slow
def test_the_largest_floats(space, dtype):
    largest = np.finfo(dtype).max
    x, b = (
        a.ravel()
        for a in np.meshgrid(np.asarray([largest, -largest], dtype), np.asarray(SLOPES, dtype))
    )
    with space.double(), np.errstate(under="ignore"):
        arguments = space.asarray(x), space.asarray(b)
        y, rest = (
            space.numpy(f(*arguments, **space.options))
            for f in (curve.astra, curve.astra_complement)
        )
        with np.errstate(over="ignore"):  # of b·x, which g is: bounded by the lowest float
            g = space.numpy(curve.rebalanced_logit(*arguments, **space.options))
            if space.gradients:
                for name in ELEMENTWISE:
                    gradients = space.gradients(
                        lambda *a, n=name: getattr(curve, n)(*a, **space.options), arguments
                    )
                    assert all(np.isfinite(space.numpy(part)).all() for part in gradients), name
    np.testing.assert_array_equal(y, x > 0)
    np.testing.assert_array_equal(rest, x < 0)
    np.testing.assert_array_equal(g, x)


def test_slope_one_is_the_plain_sigmoid():
    x = np.concatenate([np.linspace(-40, 40, 801), [-700.0, 700.0, 1e-12, -1e-12]])
    np.testing.assert_allclose(curve.rebalanced_logit(x, 1.0), x, rtol=1e-14)
    np.testing.assert_allclose(curve.astra(x, 1.0), 1 / (1 + np.exp(-x)), rtol=1e-13)
    assert float(curve.threshold(1.0)) == 0.5
    assert float(curve.slope(0.5)) == pytest.approx(1, rel=1e-15)


@given(st.floats(1e-6, 1 - 1e-6), st.floats(1e-6, 0.5))
def test_rebalance_is_the_sigmoid_of_the_rebalanced_logit(y_hat, tau):
    z = float(curve.rebalance(y_hat, tau))
    assert math.log(z / (1 - z)) == pytest.approx(
        math.log(y_hat / (1 - y_hat)) - math.log(tau / (1 - tau)), rel=1e-6, abs=1e-9
    )


def test_rebalance_of_astra_agrees_with_rebalanced_logit():
    x, b = np.meshgrid(np.linspace(-2, 3, 41), [1.0, 2.0, 7.396, 87.0])
    z = curve.rebalance(curve.astra(x, b), curve.threshold(b))
    np.testing.assert_allclose(z, 1 / (1 + np.exp(-curve.rebalanced_logit(x, b))), rtol=1e-12)


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
def test_raw_slope_and_back(space):
    b = np.asarray([1.0, 1 + 1e-9, 1.5, 2.0, 2.5, 7.396, 1e6])
    with space.double():
        raw = curve.raw_from_slope(space.asarray(b), **space.options)
        assert np.isfinite(space.numpy(raw)).all()
        np.testing.assert_allclose(
            space.numpy(curve.slope_from_raw(raw, **space.options)), b, rtol=1e-15
        )


def test_raw_slope_by_the_papers_equation():
    for beta in (-50.0, -1.0, 0.0, 1e-9, 3.0):
        assert float(curve.slope_from_raw(beta)) == (2 + beta if beta > 0 else 1 + math.exp(beta))


@pytest.mark.parametrize("space", NAMESPACES[:3], ids=lambda s: s.name)
def test_one_slope_per_column_broadcasts_and_keeps_the_dtype(space):
    x = space.asarray(np.ones((4, 3), np.float32))
    got = space.numpy(
        curve.rebalanced_logit(x, space.asarray(np.asarray([1.0, 2.0, 3.0], np.float32)))
    )
    assert got.shape == (4, 3)
    assert got.dtype == np.float32
    assert [float(v) for v in got[0]] == pytest.approx(
        [float(curve.rebalanced_logit(1.0, b)) for b in (1.0, 2.0, 3.0)], rel=1e-6
    )


@pytest.mark.parametrize(
    "x",
    [
        np.float16([-10, -3, 5]),
        torch.tensor([-10, -3, 5], dtype=torch.bfloat16),
        jnp.float16([-10, -3, 5]),
    ],
)
def test_half_precision_is_computed_in_single(x):
    for function in (
        curve.astra,
        curve.rebalanced_logit,
        derivatives.rebalanced_logit_dx,
        derivatives.rebalanced_logit_db,
    ):
        got = function(x, 7.396)
        assert "float32" in str(got.dtype)
        np.testing.assert_allclose(
            np.asarray(got), function(np.asarray([-10.0, -3.0, 5.0]), 7.396), rtol=1e-5
        )


@pytest.mark.parametrize("b", [2, 2.0, np.float64(2), np.int64(2)])
def test_numbers_take_the_dtype_of_the_array_beside_them(b):
    assert curve.astra(np.ones(3, np.float32), b).dtype == np.float32
    assert curve.astra(np.ones(3, int), b).dtype == np.float64


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: astralearn.astra(0.0, 0.5), r"b must be finite and at least 1 .*found 0\.5"),
        (lambda: astralearn.astra([0.0, 1.0], [2.0, math.nan]), r"b must be .*found nan"),
        (lambda: astralearn.rebalanced_logit(0.0, math.inf), r"b must be finite.*found inf"),
        (lambda: astralearn.threshold(0.0), r"b must be .*found 0\.0"),
        (lambda: astralearn.slope(0.0), r"tau must be in \(0, 0\.5\]; found 0\.0"),
        (lambda: astralearn.slope([0.25, 0.6]), r"tau must be in \(0, 0\.5\]; found 0\.6"),
        (
            lambda: astralearn.rebalance(1.5, 0.25),
            r"y_hat must be a probability in \[0, 1\]; found 1\.5",
        ),
        (lambda: astralearn.rebalance(0.5, 0.75), r"tau must be .*found 0\.75"),
        (lambda: astralearn.raw_from_slope(-1.0), r"b must be .*found -1\.0"),
        (
            lambda: astralearn.astra(np.ones((4, 3)), np.ones(4) * 2),
            r"shapes must broadcast; found x \(4, 3\) and b \(4,\)",
        ),
        (lambda: astralearn.astra([], 2.0), r"x must hold at least one value; found shape \(0,\)"),
    ],
)
def test_bad_input_names_the_argument_and_the_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_no_array_is_a_type_error():
    with pytest.raises(TypeError, match="x must be an array or a number; found 'abc'"):
        astralearn.astra("abc", 2.0)


@pytest.mark.parametrize("space", [s for s in NAMESPACES if s.xp is None], ids=lambda s: s.name)
def test_bad_slope_is_refused_in_every_namespace(space):
    with space.double(), pytest.raises(ValueError, match=r"b must be .*found 0\.5"):
        curve.astra(space.asarray(np.ones(2)), space.asarray(np.asarray([1.0, 0.5])))


def test_arrays_of_two_libraries_are_refused_in_words():
    torch = pytest.importorskip("torch")
    with pytest.raises(
        TypeError, match="all arrays must come from one library, but x is a Tensor, b is a ndarray"
    ):
        curve.astra(torch.ones(2), np.ones(2))


@pytest.mark.filterwarnings(
    "ignore:Dynamo detected a call to a `functools.lru_cache`"
)  # array-api-compat finding the namespace
@pytest.mark.slow
def test_traced_values_are_left_alone():
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    bad = 0.5
    assert np.isfinite(float(jax.jit(curve.astra)(1.0, bad)))
    assert np.isfinite(
        torch.func.vmap(curve.astra)(torch.ones(2), torch.full((2,), bad)).numpy()
    ).all()
    compiled = torch.compile(curve.astra, backend="eager", fullgraph=True)
    assert torch.isfinite(compiled(torch.ones(2), torch.tensor(bad))).all()


def test_masks_and_complex_numbers_are_refused_not_lost():
    with pytest.raises(
        TypeError, match="x must have no mask; found a MaskedArray: take what is not masked"
    ):
        curve.rebalanced_logit(np.ma.masked_array([1.0, 2.0], [False, True]), 2.0)
    for array in (np.asarray([1j]), torch.tensor([1j])):
        with pytest.raises(TypeError, match=r"x must hold real numbers; found .*complex"):
            curve.rebalanced_logit(array, 2.0)


@pytest.mark.slow
def test_differentiated_twice_it_is_finite_far_below_zero():
    """Odds stop where float32 still holds their third power."""
    x = jnp.linspace(-40.0, -5.0, 141, dtype=jnp.float32) / 7.396
    for argument in (0, 1):
        second = jax.grad(jax.grad(curve.rebalanced_logit, argument), argument)
        assert jnp.isfinite(jax.vmap(second, (0, None))(x, jnp.float32(7.396))).all()
