import keras
import numpy as np
import pytest

from astralearn.core import (
    astra,
    raw_from_slope,
    rebalanced_logit,
    rebalanced_logit_db,
    rebalanced_logit_dx,
    rebalanced_logit_dx2,
    slope,
    slope_from_raw_dbeta,
    threshold,
)
from astralearn.keras import ASTra
from keras_backend import gradients, model_gradients, recorded_values, second_derivatives, values

pytestmark = pytest.mark.usefixtures("few")

TAUS = [0.5, 0.4, 0.25, 0.05, 0.01]
X = np.concatenate([-np.geomspace(1e-3, 300, 40)[::-1], [0.0], np.geomspace(1e-3, 300, 40)]).astype(
    "float32"
)[:, None]


def built(tau, shape=(None, 1), **options):
    layer = ASTra(tau, **options)
    layer.build(shape)
    return layer


def numpy(tensor):
    return keras.ops.convert_to_numpy(tensor)


def close(found, expected):
    """1e-6 of 1 + |value|: a few roundings of float32."""
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("values", [values, recorded_values])
def test_values_are_the_cores(tau, values):
    layer = built(tau)
    b = np.asarray(numpy(layer.slope), "float64")
    close(values(layer, X), rebalanced_logit(X.astype("float64"), b))
    close(numpy(layer.threshold), threshold(b))
    close(values(layer.activation, X), astra(X.astype("float64"), b))
    assert float(b[0]) == pytest.approx(float(slope(tau)), rel=1e-6)


@pytest.mark.parametrize("tau", TAUS)
def test_gradients_are_the_cores(tau):
    layer = built(tau)
    b = np.asarray(numpy(layer.slope), "float64")
    (in_x,) = gradients(layer, X)
    np.testing.assert_allclose(in_x, rebalanced_logit_dx(X.astype("float64"), b), rtol=1e-6)
    _, (in_raw,) = model_gradients(layer, lambda y, g, w: keras.ops.mean(g), X, None)
    expected = np.mean(rebalanced_logit_db(X.astype("float64"), b)) * slope_from_raw_dbeta(
        raw_from_slope(b)
    )
    np.testing.assert_allclose(in_raw, expected, rtol=1e-6, atol=1e-6)


def test_second_derivatives_are_the_cores():
    layer = built(0.25)
    x = np.linspace(-3, 3, 41, dtype="float32")[:, None]
    expected = rebalanced_logit_dx2(x.astype("float64"), float(numpy(layer.slope)[0]))
    np.testing.assert_allclose(second_derivatives(layer, x), expected, rtol=1e-4, atol=1e-4)


def test_one_slope_per_unit():
    layer = built(0.25, (None, 3, 2))
    layer.raw_slope.assign([1.0, 20.0])
    x = np.random.default_rng(0).normal(0, 3, (5, 3, 2)).astype("float32")
    expected = rebalanced_logit(x.astype("float64"), np.asarray([3.0, 22.0]))
    close(values(layer, x), expected)
    close(recorded_values(layer, x), expected)
    _, (in_raw,) = model_gradients(layer, lambda y, g, w: keras.ops.sum(g), x, None)
    np.testing.assert_allclose(
        in_raw,
        rebalanced_logit_db(x.astype("float64"), np.asarray([3.0, 22.0])).sum((0, 1)),
        rtol=1e-5,
        atol=1e-5,
    )


def test_many_rows_keep_their_digits():
    layer = built(0.25, (None, None, 3))
    b = np.asarray(numpy(layer.slope), "float64")
    x = np.random.default_rng(0).normal(-3, 2, (8, 65536, 3)).astype("float32")
    _, (in_raw,) = model_gradients(layer, lambda y, g, w: keras.ops.mean(g), x, None)
    in_b = rebalanced_logit_db(x.astype("float64"), b).mean((0, 1)) / 3
    np.testing.assert_allclose(in_raw, in_b * slope_from_raw_dbeta(raw_from_slope(b)), rtol=1e-6)


def test_logits_without_units_share_one_slope():
    layer = ASTra()
    close(numpy(layer(X[:, 0])), values(built(0.25), X)[:, 0])
    assert layer.raw_slope.shape == (1,)


def test_whatever_sees_logits_first_builds_the_layer():
    for name in ("probabilities", "activation"):
        close(numpy(getattr(ASTra(), name)(X)), numpy(getattr(built(0.25), name)(X)))


def test_the_decision_is_that_of_the_logit():
    assert (np.sign(values(built(0.05), X)) == np.sign(X)).all()


def test_what_is_learned():
    assert len(built(0.25).trainable_variables) == 1
    fixed = built(0.25, learnable=False)
    assert len(fixed.trainable_variables) == 0
    assert len(fixed.weights) == 1


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float16"])
def test_half_precision_is_computed_in_float32(policy):
    layer = ASTra(dtype=policy)
    x = keras.ops.cast(X, "bfloat16" if "b" in policy else "float16")
    g = layer(x)
    assert keras.backend.standardize_dtype(g.dtype) == "float32"
    assert np.isfinite(numpy(g)).all()


def test_config():
    layer = ASTra(0.1, learnable=False, name="warp")
    twin = ASTra.from_config(layer.get_config())
    assert (twin.tau_init, twin.learnable, twin.name) == (0.1, False, "warp")
    assert keras.saving.get_registered_name(ASTra) == "astralearn>ASTra"


def test_a_limited_slope_starts_at_its_limit_and_can_come_back():
    layer = built(0.25, slope_max=3.0)
    close(numpy(layer.slope), np.asarray([3.0]))
    layer.raw_slope.assign([9.0])
    close(values(layer, X), rebalanced_logit(X.astype("float64"), 3.0))
    _, (in_raw,) = model_gradients(layer, lambda y, g, w: keras.ops.sum(g), X, None)
    assert abs(in_raw.item()) > 0
    assert ASTra.from_config(layer.get_config()).slope_max == 3.0


def test_symbolic_shape():
    inputs = keras.Input((4,))
    assert ASTra()(inputs).shape == (None, 4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ASTra(0.0), ValueError, r"tau must be in \(0, 0.5\]; found 0.0"),
        (lambda: ASTra(0.7), ValueError, r"tau must be in \(0, 0.5\]; found 0.7"),
        (
            lambda: ASTra()(keras.Input((None,))),
            ValueError,
            "last dimension of its input must be known",
        ),
        (
            lambda: ASTra()(keras.ops.zeros((2, 1), dtype="int32")),
            TypeError,
            "ASTra takes logits in floating point; found int32",
        ),
        (lambda: ASTra().slope, ValueError, "has no slope yet"),
    ],
)
def test_mistakes_get_a_clear_error(call, error, message):
    with pytest.raises(error, match=message):
        call()
