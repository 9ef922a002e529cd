import jax.numpy as jnp
import numpy as np
import pytest

from astralearn.engine.objective import Sums, confusion, held_out


@pytest.mark.parametrize("loss", ["root_gmn", "gmn", "bce"])
def test_a_class_all_wrong_up_to_rounding_has_rates_of_zero(loss):
    total, zero = jnp.full(1, 7.0), jnp.zeros(1)
    wrong = jnp.nextafter(total, 8.0)
    lost = Sums(total, wrong, zero, zero, zero, jnp.zeros((1, 3)), zero, (total, wrong, zero))
    for counts in (confusion(lost, lost, loss), held_out(lost, lost, loss)[1]):
        assert counts.tpr == counts.tnr == counts.g_mean == 0
        assert np.isfinite(counts.mcc).all()
