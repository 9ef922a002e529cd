import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit

from astralearn.core import (
    LOSSES,
    SoftConfusion,
    rebalanced_logit,
    rebalanced_logit_db,
    rebalanced_logit_dx,
    soft_confusion,
)
from astralearn.core.confusion import right_and_wrong
from astralearn.core.row_terms import STEEP, plain_row_terms, row_terms, slope_numbers
from oracles import points

SLOPES = [1.0, 1.5, 7.396, 87.0, 1e4, 1e6]


def exact(x, b):
    """The same terms through the core's exact functions, which are held to mpmath."""
    right, wrong = right_and_wrong(rebalanced_logit(x, b), np)
    steepness = rebalanced_logit_dx(x, b)
    return {
        "right": right,
        "wrong": wrong,
        "pull": wrong * steepness,
        "steepness": steepness,
        "slope_pull": wrong * rebalanced_logit_db(x, b),
    }


def terms(x, b, xp=np):
    return row_terms(x, slope_numbers(b), steep=b > STEEP, xp=xp)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("b", SLOPES)
def test_against_the_exact_functions(b, dtype):
    x, _ = points(4000, np.float64, seed=int(b))
    x = np.concatenate([x, np.random.default_rng(0).uniform(-80, 80, 2000) / b, [0.0]]).astype(
        dtype
    )
    truth = exact(x.astype(np.float64), b)
    got = terms(x, b)
    for name, term in got._asdict().items():
        assert term.dtype == dtype, name
        scale = np.max(np.abs(truth[name]))
        allowed = 1e-4 if dtype == np.float32 else 1e-11
        assert np.max(np.abs(term - truth[name])) <= allowed * scale, name


@pytest.mark.parametrize("b", SLOPES)
def test_compiled_single_precision_is_as_exact(b):
    x = np.concatenate(
        [points(4000, np.float64, seed=int(b))[0], np.linspace(-80, 80, 2001) / b, [1e30, -1e30]]
    ).astype(np.float32)
    truth = exact(x.astype(np.float64), b)
    got = jax.jit(lambda x, at: row_terms(x, at, steep=b > STEEP, xp=jnp))(x, slope_numbers(b))
    for name, term in got._asdict().items():
        assert term.dtype == np.float32, name
        finite = np.abs(x) < 1e20 if name == "slope_pull" else slice(None)
        assert np.max(np.abs(np.asarray(term) - truth[name])[finite]) <= 1e-4 * np.max(
            np.abs(truth[name][finite])
        ), name
        assert np.isfinite(term).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_plain_sigmoid(dtype):
    x = np.linspace(-60, 60, 999).astype(dtype)
    got = plain_row_terms(x, xp=np)
    for term, truth in (
        (got.right, expit(-x.astype(float))),
        (got.wrong, expit(x.astype(float))),
        (got.pull, expit(x.astype(float))),
    ):
        assert term.dtype == dtype
        np.testing.assert_allclose(term, truth, rtol=1e-6 if dtype == np.float32 else 1e-14)
    assert (got.steepness, got.slope_pull) == (1.0, 0.0)
    assert all(
        np.isfinite(term).all()
        for term in plain_row_terms(np.asarray([1e30, -1e30, 1e4, -1e4], dtype), xp=np)
    )


@pytest.mark.parametrize("b", SLOPES[:4])
def test_the_curvature_factor_is_right_in_proportion(b):
    x = np.linspace(-40, 40, 4001)
    got = terms(x, b)
    np.testing.assert_allclose(got.steepness, rebalanced_logit_dx(x, b), rtol=1e-10)
    np.testing.assert_allclose(got.right[x < 30], exact(x, b)["right"][x < 30], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("b", SLOPES)
def test_extremes_are_finite_and_in_range(b, dtype):
    x = np.asarray([0.0, -0.0, 1e4, -1e4, 1e30, -1e30, 1e-45, 88.0, -88.0, 710.0, -710.0], dtype)
    with np.errstate(under="ignore", over="ignore"):
        got = terms(x, b)
    assert all(np.isfinite(term).all() for term in got)
    assert (got.steepness >= 1 - 1e-5).all()
    assert (got.steepness <= b * (1 + 1e-5)).all()
    assert ((got.right >= 0) & (got.wrong >= 0) & (got.pull >= 0)).all()


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if loss.partials])
def test_partials_are_the_derivatives_of_the_loss_in_the_counts(name):
    read = {"gmn": "g_mean", "f1": "f1", "mcc": "mcc", "balanced_accuracy": "balanced_accuracy"}[
        name
    ]
    with jax.enable_x64(True):

        def loss(tp, tn):
            return 1.0 - getattr(SoftConfusion(tn=tn, fp=90.0 - tn, fn=7.0 - tp, tp=tp), read)

        auto = jax.grad(loss, argnums=(0, 1))(jnp.asarray(3.0), jnp.asarray(70.0))
        closed = LOSSES[name].partials(SoftConfusion(tn=70.0, fp=20.0, fn=4.0, tp=3.0))
    np.testing.assert_allclose([float(v) for v in closed], [float(v) for v in auto], rtol=1e-12)


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if loss.partials])
@pytest.mark.parametrize(
    "counts",
    [
        (5, 0, 0, 0),
        (0, 0, 0, 5),
        (0, 5, 0, 0),
        (0, 0, 5, 0),
        (0, 5, 5, 0),
        (5, 0, 0, 5),
        (1e-320, 5, 5, 1e-320),
    ],
)
def test_partials_are_finite_for_any_counts(name, counts):
    with np.errstate(under="ignore"):
        assert np.isfinite(
            [float(p) for p in LOSSES[name].partials(SoftConfusion(*map(float, counts)))]
        ).all()


def test_counts_of_both_paths_agree():
    x = np.linspace(-3, 3, 101)
    found = terms(x, 7.396)
    counts = soft_confusion(rebalanced_logit(x, 7.396), np.zeros(101))
    assert found.right.sum() == pytest.approx(float(counts.tn), rel=1e-12)
    assert found.wrong.sum() == pytest.approx(float(counts.fp), rel=1e-12)
