import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from astralearn.engine.epoch import compile_options
from astralearn.engine.network import Architecture
from astralearn.engine.objective import Sums, class_sums, confusion, gradients, held_out
from astralearn.engine.rows import CHUNK_ROWS, ClassRows


@pytest.mark.parametrize("loss", ["root_gmn", "gmn", "bce"])
def test_a_class_all_wrong_up_to_rounding_has_rates_of_zero(loss):
    total, zero = jnp.full(1, 7.0), jnp.zeros(1)
    wrong = jnp.nextafter(total, 8.0)
    lost = Sums(total, wrong, zero, zero, zero, jnp.zeros((1, 3)), zero, (total, wrong, zero))
    for counts in (confusion(lost, lost, loss), held_out(lost, lost, loss)[1]):
        assert counts.tpr == counts.tnr == counts.g_mean == 0
        assert np.isfinite(counts.mcc).all()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_with_costs_gmn_is_a_weighted_geometric_mean(share):
    def weighted_g_mean(tn, tp):
        return jnp.sum((tp / 6) ** share * (tn / 90) ** (1 - share))

    tn, tp, one, zero = jnp.full(1, 70.0), jnp.full(1, 2.0), jnp.ones((1, 1)), jnp.zeros(1)
    negatives = Sums(jnp.full(1, 90.0), 90 - tn, zero, zero, tn, one, zero, None)
    positives = Sums(jnp.full(1, 6.0), 6 - tp, zero, zero, tp, one, zero, None)
    (by_negatives, _), (by_positives, _) = gradients(
        negatives, positives, "gmn", jnp.asarray(share)
    )
    of_tn, of_tp = jax.grad(weighted_g_mean, argnums=(0, 1))(tn, tp)
    np.testing.assert_allclose(by_positives[0] / by_negatives[0], of_tp / of_tn, rtol=1e-5)


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
def test_sums_over_a_whole_chunk_keep_their_digits(kind, n_networks, thorough):
    architecture, n = Architecture(3, (2,)), CHUNK_ROWS
    rng = np.random.default_rng(0)
    some_features, some_weights, bound = ROWS[kind]
    features = np.ones((1, 4, n))
    features[0, :3] = some_features(rng, (3, n))
    parameters = rng.normal(size=(n_networks, architecture.n_parameters))
    weight, slope = some_weights(rng, n).reshape(1, 1, n), np.linspace(2, 8, n_networks)

    def sums(dtype):
        rows = ClassRows(features.astype(dtype), weight.astype(dtype), None)
        look = functools.partial(
            class_sums, architecture=architecture, positive=False, loss="bce", valued=True
        )
        with jax.enable_x64(dtype == np.float64):
            return jax.jit(look, compiler_options=compile_options(thorough))(
                parameters.astype(dtype), slope.astype(dtype), rows
            )

    exact, single = sums(np.float64), sums(np.float32)
    for name in ("total", "wrong", "of_loss", "right"):
        np.testing.assert_allclose(
            getattr(single, name), getattr(exact, name), rtol=bound, err_msg=name
        )
