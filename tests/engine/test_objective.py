import jax
import jax.numpy as jnp
import numpy as np
import pytest

from astralearn.engine.objective import Sums, confusion, gradients, held_out


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
    (by_negatives, _), (by_positives, _) = gradients(negatives, positives, "gmn", jnp.asarray(share))
    of_tn, of_tp = jax.grad(weighted_g_mean, argnums=(0, 1))(tn, tp)
    np.testing.assert_allclose(by_positives[0] / by_negatives[0], of_tp / of_tn, rtol=1e-5)
