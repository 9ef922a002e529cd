import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from astralearn.boosting import ASTraObjective, ConfusionObjective, Objective
from astralearn.boosting.objective import make_objective
from astralearn.core import LOSSES, rebalanced_logit, slope_from_raw
from astralearn.core.confusion import signed
from objectives import ALL, OBJECTIVES, rows


def plain_loss(objective, y, w):
    """W·J as a function of the scores and β, from the formulas that autodiff can follow."""

    def loss(x, beta):
        b = slope_from_raw(beta, xp=jnp) if objective.activation == "astra" else 1.0
        return jnp.sum(w) * LOSSES[objective.loss].value(
            rebalanced_logit(x, b, xp=jnp), y, w, xp=jnp
        )

    return loss


@ALL
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tau", [0.25, 0.03, 0.5])
@pytest.mark.slow
def test_gradient_equals_autodiff(make, weighted, tau):
    y, x, w = rows()
    w = w if weighted else np.ones_like(w)
    objective = make(tau_init=tau)
    beta = objective.learner.beta
    gradient, _ = objective(y, x, w if weighted else None)
    with jax.enable_x64(True):
        auto = jax.grad(plain_loss(objective, jnp.asarray(y), jnp.asarray(w)))(
            jnp.asarray(x), jnp.asarray(beta)
        )
    np.testing.assert_allclose(gradient, np.asarray(auto), rtol=1e-10, atol=1e-10)


@ALL
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shared", [0.0, 0.25, 1.0])
@pytest.mark.slow
def test_curvature_row_by_row(make, weighted, shared):
    """From the definition, with g′ by autodiff: (1 − s)c + s w C/W, c = |gradient| σ(−m)g′."""
    y, x, w = rows(seed=13)
    w = w if weighted else np.ones_like(w)
    objective = make(tau_init=0.2)
    b = objective.slope
    gradient, curvature = objective.round(y, x, w if weighted else None, shared=shared)
    with jax.enable_x64(True):
        steepness = np.asarray(
            jax.vmap(jax.grad(lambda one: rebalanced_logit(one, b, xp=jnp)))(jnp.asarray(x))
        )
    right = 1 / (1 + np.exp(signed(rebalanced_logit(x, b), y)))
    own = np.abs(gradient) * right * steepness
    np.testing.assert_allclose(
        curvature, (1 - shared) * own + shared * w * own.sum() / w.sum(), rtol=1e-9, atol=1e-14
    )


@ALL
@pytest.mark.slow
def test_the_slope_takes_one_gradient_step(make):
    y, x, w = rows(seed=1)
    objective = make(tau_init=0.2, slope_rate_min=0.3)
    beta, rate = objective.learner.beta, objective.learner.rate
    objective(y, x, w)
    with jax.enable_x64(True):
        auto = float(
            jax.grad(plain_loss(objective, jnp.asarray(y), jnp.asarray(w)), argnums=1)(
                jnp.asarray(x), jnp.asarray(beta)
            )
        )
    expected = beta - rate * auto / w.sum() if objective.activation == "astra" else beta
    assert objective.learner.beta == pytest.approx(expected, abs=1e-6)
    assert len(objective.slope_path) == 2


@ALL
@pytest.mark.parametrize("scale", [0.0, 1.0, 50.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("side", ["mixed", "all wrong", "all right"])
@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_extreme_scores_are_finite_and_curvature_is_positive(make, scale, dtype, side, shared):
    y = np.asarray([0.0, 0, 0, 0, 1, 1])
    sign = {"mixed": [1, -1, 1, -1, 1, -1], "all wrong": 1 - 2 * y, "all right": 2 * y - 1}[side]
    objective = make()
    with np.errstate(under="ignore"):
        for weight in (None, np.asarray([1.0, 0.0, 2.0, 1.0, 1.0, 0.5])):
            gradient, curvature = objective.round(
                y, (np.asarray(sign) * scale).astype(dtype), weight, shared=shared
            )
            assert gradient.dtype == curvature.dtype == dtype
            assert np.isfinite(gradient).all()
            assert np.isfinite(curvature).all()
            assert (curvature >= 0).all()
            assert (curvature[(np.ones(6) if weight is None else weight) > 0] > 0).all()
    assert np.isfinite(objective.slope)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.booleans(), st.floats(-1e4, 1e4), st.just(0.0) | st.floats(1e-15, 100)),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from(list(OBJECTIVES)),
    st.floats(1e-5, 0.5),
    st.floats(0, 1),
)
def test_nothing_finite_gives_nan(drawn, name, tau, shared):
    y, x, w = (np.asarray(column, float) for column in zip(*drawn, strict=True))
    objective = OBJECTIVES[name](tau_init=tau)
    with np.errstate(under="ignore"):
        for _ in range(2):
            gradient, curvature = objective.round(y, x, w, shared=shared)
            assert np.isfinite(gradient).all()
            assert np.isfinite(curvature).all()
            assert (curvature >= 0).all()
    assert np.isfinite(objective.slope_path).all()


@pytest.mark.parametrize("loss", ["gmn", "balanced_accuracy"])
def test_weighted_cross_entropy_bounds_the_loss_and_touches_it(loss):
    """W·J(x) ≤ W·J(x₀) + Σω[ln(1+e^m) − ln(1+e^{m₀})] for every x, with equality at x₀."""
    y, x0, w = rows(seed=2)
    gradient, _ = ConfusionObjective(loss)(y, x0, w)
    wrong = 1 / (1 + np.exp(-signed(x0, y)))
    omega = np.abs(gradient) / wrong
    value = LOSSES[loss].value
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x = x0 + rng.normal(0, rng.choice([0.01, 1.0, 5.0]), len(x0)) + rng.normal(0, 3)
        bound = omega @ (np.logaddexp(0, signed(x, y)) - np.logaddexp(0, signed(x0, y)))
        assert w.sum() * (value(x, y, w) - value(x0, y, w)) <= bound + 1e-9


def test_gmn_weights_add_up_to_half_the_g_mean_in_each_class():
    y, x, w = rows(seed=3)
    objective = ConfusionObjective("gmn")
    gradient, _ = objective(y, x, w)
    omega = np.abs(gradient) * (1 + np.exp(-signed(x, y)))
    for label in (0, 1):
        assert omega[y == label].sum() == pytest.approx(
            w.sum() * float(objective.counts.g_mean) / 2, rel=1e-12
        )


@ALL
def test_a_doubled_weight_is_a_duplicated_row(make):
    y, x, _ = rows(40, seed=4, positives=6)
    weight = np.ones(40)
    weight[[0, 5, int(np.flatnonzero(y)[0])]] = 2
    again = np.concatenate([np.arange(40), np.flatnonzero(weight == 2)])
    one, two = make(), make()
    for mine, theirs in zip(one(y, x, weight), two(y[again], x[again]), strict=True):
        np.testing.assert_allclose(mine, theirs[:40] * weight, rtol=1e-9, atol=1e-15)
    assert one.slope == pytest.approx(two.slope, rel=1e-12)


@ALL
def test_single_precision_follows_double(make):
    y, x, w = rows(seed=6, scale=1.0)
    for double, single in zip(make()(y, x, w), make()(y, x.astype(np.float32), w), strict=True):
        np.testing.assert_allclose(single, double, rtol=2e-3, atol=1e-4 * np.max(np.abs(double)))


@ALL
def test_pickle_and_clone(make):
    y, x, w = rows(seed=8)
    objective = make()
    objective(y, x, w)
    again = pickle.loads(pickle.dumps(objective))
    assert again.slope_path == objective.slope_path
    for mine, theirs in zip(again(y, x, w), objective(y, x, w), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    fresh = clone(objective, safe=False)
    assert len(fresh.slope_path) == 1
    assert len(objective.slope_path) == 3


@ALL
def test_labels_and_weights_may_change_in_place(make):
    """They are kept between rounds, but never taken for unchanged."""
    y, x, w = rows(seed=12)
    objective = make(learnable=False)
    objective.round(y, x, w)
    y[:], w[0] = y[::-1].copy(), 7.0
    for mine, theirs in zip(
        objective.round(y, x, w), make(learnable=False).round(y, x, w), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)
    for mine, theirs in zip(objective.round(y, x), make(learnable=False).round(y, x), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    with pytest.raises(ValueError, match="of one length"):
        objective.round(y, x[:-1])


def test_pickles_hold_no_training_data():
    objective = ASTraObjective()
    y = np.arange(100_000) % 2
    objective(y, np.linspace(-1, 1, 100_000))
    assert len(pickle.dumps(objective)) < 10_000


def test_equal_scores_begin_a_new_training():
    y, x, _ = rows(seed=9)
    objective = ASTraObjective()
    objective(y, x)
    objective(y, x)
    objective(y, np.zeros_like(x))
    assert len(objective.slope_path) == 2
    assert objective.slope_path[0] == pytest.approx(7.396, abs=1e-3)


def test_the_slope_rate_follows_equation_10():
    y = np.asarray([0.0, 0, 0, 1])
    objective = ASTraObjective()
    objective.round(y, np.asarray([-3.0, -3, -3, -3]))  # positives are the harder class
    assert objective.learner.rate == pytest.approx(0.011)
    objective.round(y, np.asarray([3.0, 3, 3, 3]))
    assert objective.learner.rate == pytest.approx(0.011 * 0.99)


def test_a_fixed_slope_stays_and_is_recorded():
    y, x, _ = rows()
    objective = ASTraObjective(learnable=False)
    for _ in range(3):
        objective(y, x)
    assert len(set(objective.slope_path)) == 1
    assert len(objective.slope_path) == 4


@pytest.mark.parametrize("loss", ["gmn", "f1", "mcc", "balanced_accuracy"])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_one_class_only_still_teaches_that_class(loss, label):
    gradient, curvature = ConfusionObjective(loss)(np.full(3, label), np.asarray([-1.0, 0.5, 2.0]))
    assert (gradient * (1 - 2 * label) > 0).all()
    assert (curvature > 0).all()


def test_no_rows():
    gradient, curvature = ConfusionObjective("gmn")(np.zeros(0), np.zeros(0))
    assert gradient.shape == curvature.shape == (0,)


def test_scale_pos_weight():
    y, x, _ = rows(seed=10)
    heavy, plain = ASTraObjective(scale_pos_weight=3.0), ASTraObjective()
    for mine, theirs in zip(
        heavy.round(y, x, shared=0.5),
        plain.round(y, x, np.where(y == 1, 3.0, 1.0), shared=0.5),
        strict=True,
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-15)
    gmn = ConfusionObjective("gmn", scale_pos_weight=3.0)(y, x)[0]
    np.testing.assert_allclose(
        gmn, ConfusionObjective("gmn")(y, x)[0] * np.where(y == 1, 3.0, 1.0), rtol=1e-12
    )


def test_value_is_the_loss():
    y, x, w = rows()
    objective = ConfusionObjective("gmn", activation="astra")
    assert objective.value(y, x, w) == pytest.approx(
        float(LOSSES["gmn"].value(rebalanced_logit(x, objective.slope), y, w))
    )
    assert len(objective.slope_path) == 1


@pytest.mark.parametrize("tau", [0.5, 0.4, 0.25, 0.01])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_the_start_is_the_best_constant(tau, weighted, scale):
    y, _, w = rows(300, positives=30)
    weight = w if weighted else None
    objective = ASTraObjective(tau_init=tau, scale_pos_weight=scale)
    rows_weight = np.where(y == 1, scale, 1.0) * (w if weighted else 1.0)

    def loss(x):
        g = rebalanced_logit(np.full(len(y), x), objective.slope)
        return float(LOSSES["bce"].value(g, y, rows_weight))

    best = minimize_scalar(loss, bounds=(-10, 10), method="bounded", options={"xatol": 1e-10})
    assert objective.best_constant(y, weight) == pytest.approx(best.x, abs=1e-5)
    assert ConfusionObjective("gmn").best_constant(y, weight) == 0.0
    steps = [float(LOSSES["gmn"].value(np.full(len(y), x), y, weight)) for x in (-0.1, 0.0, 0.1)]
    assert min(steps) == steps[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ConfusionObjective("auc"),
            "loss must be one of gmn, f1, mcc, balanced_accuracy; found 'auc'",
        ),
        (
            lambda: make_objective("root_gmn", "astra"),
            "loss must be one of bce, gmn, f1, mcc, balanced_accuracy; found 'root_gmn'",
        ),
        (
            lambda: ConfusionObjective(activation="relu"),
            "activation must be 'astra' or 'sigmoid'; found 'relu'",
        ),
        (lambda: ASTraObjective(tau_init=0.7), "tau must be in"),
        (
            lambda: ASTraObjective(slope_rate_min=0.5, slope_rate_max=0.1),
            "slope_rate_min and slope_rate_max",
        ),
        (lambda: ASTraObjective(scale_pos_weight=0), "scale_pos_weight must be above 0"),
        (
            lambda: ASTraObjective()(np.asarray([0.0, 2.0]), np.zeros(2)),
            "y_true must be 0 or 1; found 2.0",
        ),
        (lambda: ASTraObjective()(np.zeros(3), np.zeros(2)), "of one length"),
        (
            lambda: ASTraObjective()(np.zeros(2), np.zeros(2), np.ones(3)),
            "sample_weight must have the shape of y_true",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_base_class_is_one_type():
    assert isinstance(ASTraObjective(), Objective)
    assert isinstance(ConfusionObjective(), Objective)


@pytest.mark.parametrize(("weight", "found"), [(-1.0, "-1.0"), (np.nan, "nan"), (np.inf, "inf")])
def test_weights_are_checked(weight, found):
    with pytest.raises(
        ValueError, match=f"sample_weight must be finite and at least 0; found {found}"
    ):
        ConfusionObjective("gmn")(np.asarray([0.0, 1.0]), np.zeros(2), np.asarray([1.0, weight]))
