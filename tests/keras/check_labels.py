import keras
import numpy as np
import pytest

from astralearn.keras import ASTra, GMNLoss
from keras_backend import BACKEND

pytestmark = pytest.mark.usefixtures("few")

Z = np.zeros


def batch(n=60, seed=0, scale=3.0):
    rng = np.random.default_rng(seed)
    y = rng.random((n, 1)) < 0.2
    y[:2], y[2] = True, False
    return [
        a.astype("float32")
        for a in (rng.normal(0, scale, y.shape), y, rng.uniform(0.1, 3, y.shape))
    ]


@pytest.mark.skipif(BACKEND != "tensorflow", reason="elsewhere shapes are known before a step runs")
@pytest.mark.parametrize("jit_compile", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.parametrize(
    ("labels", "weights"),
    [
        ((5, 3, 1), (5,)),
        ((5, 1, 1), (5,)),
        ((3, 5, 1), (5,)),
        ((5, 3, 1), (5, 2)),
        ((5, 3, 1), (3, 5)),
    ],
    ids=str,
)
def test_shapes_that_only_the_step_knows(labels, weights, jit_compile):
    """The first fit, as without a compiled step; the others fail in it.

    They are not broadcast.
    """
    import tensorflow as tf

    rng = np.random.default_rng(0)
    g, y = (
        rng.normal(size=(5, 3, 1)).astype("float32"),
        (rng.random(labels) < 0.4).astype("float32"),
    )
    w = np.linspace(1, 2, np.prod(weights), dtype="float32").reshape(weights)
    signature = [tf.TensorSpec([None] * a.ndim) for a in (y, g, w)]
    step = tf.function(GMNLoss(), input_signature=signature, jit_compile=jit_compile)
    if (labels, weights) == ((5, 3, 1), (5,)):
        assert float(step(y, g, w)) == pytest.approx(float(GMNLoss()(y, g, w)), rel=1e-6)
    else:
        with pytest.raises(tf.errors.InvalidArgumentError):
            step(y, g, w)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="elsewhere shapes are known before a step runs")
def test_a_batch_that_only_the_step_knows_to_be_empty_is_zero():
    import tensorflow as tf

    step = tf.function(GMNLoss(), input_signature=[tf.TensorSpec((None, 1))] * 2)
    assert float(step(Z((0, 1), "float32"), Z((0, 1), "float32"))) == 0


@pytest.mark.parametrize("shape", [(60,), (60, 1)])
@pytest.mark.parametrize("weight_shape", [(60,), (60, 1)])
@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
def test_labels_and_weights_as_keras_users_write_them(shape, weight_shape, dtype):
    g, y, w = batch()
    expected = float(GMNLoss()(y, g, w))
    assert float(
        GMNLoss()(y.reshape(shape).astype(dtype), g, w.reshape(weight_shape))
    ) == pytest.approx(expected, rel=1e-6)


def test_weights_of_the_first_dimensions():
    rng = np.random.default_rng(1)
    g, y = (
        rng.normal(size=(6, 4, 2)).astype("float32"),
        (rng.random((6, 4, 2)) < 0.3).astype("float32"),
    )
    w = rng.uniform(0.5, 2, (6, 4)).astype("float32")
    expected = float(GMNLoss()(y, g, np.repeat(w[..., None], 2, -1)))
    assert float(GMNLoss()(y, g, w)) == pytest.approx(expected, rel=1e-6)


def test_a_mask_of_the_predictions_multiplies_the_weights():
    layers = [keras.layers.Masking(), keras.layers.Dense(1), ASTra()]
    model = keras.Sequential([keras.Input((5, 2)), *layers])
    x = np.random.default_rng(0).normal(size=(8, 5, 2)).astype("float32")
    x[:, 3:] = 0
    y = (np.random.default_rng(1).random((8, 5, 1)) < 0.4).astype("float32")
    shown = model(x)
    expected = float(GMNLoss()(y[:, :3], keras.ops.convert_to_numpy(shown)[:, :3]))
    assert float(keras.ops.convert_to_numpy(GMNLoss()(y, shown))) == pytest.approx(
        expected, rel=1e-6
    )
