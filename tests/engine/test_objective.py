import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from astralearn.core import LOSSES
from astralearn.core.class_means import ClassMeans
from astralearn.core.losses import Loss
from astralearn.core.warp import of_slope
from astralearn.engine.epoch import compile_options
from astralearn.engine.network import Architecture, initialise
from astralearn.engine.objective import BothSums, ClassSums, Gradient, Seen, class_sums
from astralearn.engine.packing import CHUNK_ROWS, ClassRows
from astralearn.engine.rows import Fold, Rows
from astralearn.engine.training import Settings, Stack, train
from astralearn.engine.view import View

ONE, ZERO = jnp.ones((1, 1)), jnp.zeros(1)


@pytest.mark.parametrize("loss", ["root_gmn", "gmn", "bce"])
def test_a_class_all_wrong_up_to_rounding_has_rates_of_zero(loss):
    wrong = jnp.nextafter(jnp.ones(1), 2.0)
    means = ClassMeans(jnp.full(1, 7.0), wrong, jnp.full(1, -100.0))
    lost = ClassSums(means, ZERO, Gradient(ONE, ZERO), held_out=means)
    both = BothSums(lost, lost)
    for counts in (Seen.of(LOSSES[loss], both.means), both.validation(LOSSES[loss])):
        assert counts.counts.tpr == counts.counts.tnr == counts.counts.g_mean == 0
        assert np.isfinite(counts.counts.mcc).all()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_with_costs_gmn_is_a_weighted_geometric_mean(share):
    def weighted_g_mean(tn, tp):
        return jnp.sum((tp / 6) ** share * (tn / 90) ** (1 - share))

    def of_class(total, right):
        rate = right / total
        means = ClassMeans(jnp.full(1, total), 1 - rate, jnp.log(rate))
        return ClassSums(means, ZERO, Gradient(ONE, ZERO), held_out=None)

    tn, tp = jnp.full(1, 70.0), jnp.full(1, 2.0)
    both = BothSums(of_class(90.0, tn), of_class(6.0, tp))
    by_negatives, by_positives = both.gradients(LOSSES["gmn"], jnp.asarray(share))
    of_tn, of_tp = jax.grad(weighted_g_mean, argnums=(0, 1))(tn, tp)
    np.testing.assert_allclose(
        by_positives.parameters[0] / by_negatives.parameters[0], of_tp / of_tn, rtol=1e-5
    )


ROWS = {  # features and weights of many rows, and how far their sums may be off
    "all different": (
        lambda rng, shape: rng.normal(size=shape),
        lambda rng, n: rng.uniform(0.5, 2, n),
        5e-6,
    ),
    "much the same": (
        lambda rng, shape: rng.random(shape) < 0.01,
        lambda rng, n: np.full(n, 0.1),
        1e-4,
    ),
}


@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize("n_networks", [1, 3])
@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.slow
def test_sums_over_a_whole_chunk_keep_their_digits(kind, n_networks, thorough):
    architecture, n = Architecture(3, (2,)), CHUNK_ROWS
    rng = np.random.default_rng(0)
    some_features, some_weights, bound = ROWS[kind]
    features = np.ones((1, 1, 4, n))
    features[0, 0, :3] = some_features(rng, (3, n))
    parameters = rng.normal(size=(n_networks, architecture.n_parameters))
    weight, slope = some_weights(rng, n).reshape(1, 1, 1, n), np.linspace(2, 8, n_networks)

    def sums(dtype):
        rows = ClassRows(features.astype(dtype), weight.astype(dtype), None)
        look = functools.partial(
            class_sums,
            architecture=architecture,
            positive=False,
            loss=LOSSES["bce"],
            valued=True,
        )
        with jax.enable_x64(dtype == np.float64):
            return jax.jit(look, compiler_options=compile_options(thorough))(
                parameters.astype(dtype), of_slope(slope.astype(dtype)[:, None], xp=np), rows=rows
            )

    exact, single = sums(np.float64), sums(np.float32)
    for name in ClassMeans._fields:
        np.testing.assert_allclose(
            getattr(single.means, name), getattr(exact.means, name), rtol=bound, err_msg=name
        )


def harmonic_value(means, *, xp):
    """One minus the harmonic mean of both rates."""
    return 1.0 - 2.0 / (xp.exp(-means.negatives.log_right) + xp.exp(-means.positives.log_right))


def harmonic_falls(means, *, xp):
    inverse_tnr, inverse_tpr = (xp.exp(-of_class.log_right) for of_class in means)
    square = (inverse_tnr + inverse_tpr) ** 2
    return 2.0 * inverse_tnr / square, 2.0 * inverse_tpr / square


def test_a_seventh_loss_joins_the_table_and_trains(monkeypatch):
    monkeypatch.setitem(LOSSES, "harmonic", Loss(1.0, harmonic_value, harmonic_falls))
    rng = np.random.default_rng(0)
    y = (np.arange(400) < 20).astype(np.float32)
    X = rng.normal(size=(400, 3)).astype(np.float32) + 2 * y[:, None]
    view = View(np.zeros(3, np.float32), np.ones(3, np.float32))
    fold = Fold(Rows(X, y == 1, np.ones(400, np.float32)), view)
    architecture = Architecture(3, (2,))
    stack = Stack(architecture, [fold], [0], initialise(architecture, rng)[None], np.full(1, 7.396))
    settings = Settings(loss="harmonic", epochs=300, learning_rate=0.02)
    history = train(stack, settings).history[0]
    assert history["loss"][0] > 0.3
    assert history["loss"][-1] < 0.1
    tpr, tnr = 1 - history["fnr"], 1 - history["fpr"]
    np.testing.assert_allclose(history["loss"], 1 - 2 / (1 / tpr + 1 / tnr), rtol=1e-4, atol=1e-6)
