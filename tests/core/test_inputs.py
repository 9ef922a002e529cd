import numpy as np
import pytest

import astralearn
from astralearn.core import astra


@pytest.mark.parametrize(
    "value",
    [
        1 + 2j,
        np.complex64(1),
        np.asarray(1j),
        np.asarray([1j]),
        np.datetime64("2020-01-01"),
        np.timedelta64(3, "D"),
        np.asarray(["2020-01-01"], dtype="M8[D]"),
        np.str_("3"),
    ],
    ids=repr,
)
def test_what_is_no_real_number_is_refused(value):
    with pytest.raises(TypeError, match="x must hold real numbers"):
        astra(value, 2.0)


def test_what_is_missing_is_named():
    with pytest.raises(TypeError, match="x must be an array or a number; found None"):
        astra(None, 2.0)


def test_the_masked_constant_is_refused_as_masked_arrays_are():
    with pytest.raises(TypeError, match="x must have no mask"):
        astra(np.ma.masked, 2.0)


def test_labels_that_a_compiled_function_closes_over_pass():
    jax = pytest.importorskip("jax")
    g, y = jax.numpy.asarray([0.0, 1.0, -1.0]), jax.numpy.asarray([0.0, 1.0, 0.0])
    compiled = jax.jit(lambda logits: astralearn.gmn_loss(logits, y, sample_weight=1 + y))(g)
    assert float(compiled) == pytest.approx(float(astralearn.gmn_loss(g, y, sample_weight=1 + y)))
