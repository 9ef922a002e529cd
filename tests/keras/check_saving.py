import importlib.util
import random

import keras
import numpy as np
import pytest

from astralearn.keras import ASTra, ERatio, GMNLoss, SlopeRate, SlopeRateOptimizer, SoftGMean
from keras_backend import BACKEND, once

RNG = np.random.default_rng(0)
Y = (np.arange(80) % 8 == 0).astype("float32")
X = (RNG.normal(size=(80, 3)) + Y[:, None]).astype("float32")


def compiled():
    random.seed(3)  # From which Keras draws the seeds of weights.
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1), ASTra(0.1)])
    model.compile(
        SlopeRateOptimizer(keras.optimizers.Adam(0.05), 0.02),
        loss=GMNLoss(name="g"),
        metrics=[ERatio()],
        weighted_metrics=[SoftGMean()],
    )
    return model


def fit(model, epochs):
    return model.fit(
        X, Y, batch_size=40, epochs=epochs, verbose=0, shuffle=False, callbacks=[SlopeRate()]
    )


def rate(model):
    return float(keras.ops.convert_to_numpy(model.optimizer.slope_rate))


def test_a_saved_model_continues_where_it_stopped(tmp_path):
    straight = compiled()
    fit(straight, 6)
    first = compiled()
    fit(first, 3)
    first.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert rate(loaded) == pytest.approx(rate(first), rel=1e-6) != 0.02
    np.testing.assert_array_equal(loaded.predict(X, verbose=0), first.predict(X, verbose=0))
    assert (type(loaded.loss), loaded.loss.name) == (GMNLoss, "g")
    fit(loaded, 3)
    for found, expected in zip(loaded.get_weights(), straight.get_weights(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    assert rate(loaded) == pytest.approx(rate(straight), rel=1e-6)


@once
def test_a_legacy_h5_file_is_loaded_compiled(tmp_path):
    model = compiled()
    fit(model, 2)
    model.save(tmp_path / "model.h5")
    loaded = keras.saving.load_model(tmp_path / "model.h5")
    np.testing.assert_array_equal(loaded.predict(X, verbose=0), model.predict(X, verbose=0))
    before = loaded.get_weights()[-1]
    fit(loaded, 1)
    assert loaded.get_weights()[-1] != before


@once
@pytest.mark.filterwarnings(
    "ignore:Skipping variable loading"
)  # as with any optimizer that has not taken a step yet
def test_weights_alone(tmp_path):
    model, other = compiled(), compiled()
    fit(model, 2)
    model.save_weights(tmp_path / "model.weights.h5")
    other.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(
        other.layers[-1].get_weights()[0], model.layers[-1].get_weights()[0]
    )


@once
def test_a_clone_learns_its_own_slope():
    model = compiled()
    clone = keras.models.clone_model(model)
    clone.compile(SlopeRateOptimizer("adam"), loss=GMNLoss())
    before = model.get_weights()
    clone.fit(X, Y, verbose=0)
    for found, expected in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.skipif(
    BACKEND == "torch" or importlib.util.find_spec("tensorflow") is None,
    reason="Keras 3.15 exports no SavedModel from PyTorch",
)
@pytest.mark.filterwarnings("ignore")  # those of Keras, TensorFlow and jax2tf about each other
def test_an_exported_saved_model_predicts_the_same(tmp_path):
    import tensorflow as tf

    model = compiled()
    fit(model, 2)
    model.export(tmp_path / "exported", verbose=False)
    wide = np.concatenate([X, 50 * X])  # far below 0 as well
    loaded = tf.saved_model.load(str(tmp_path / "exported"))
    np.testing.assert_allclose(
        loaded.serve(wide).numpy(), model.predict(wide, verbose=0), rtol=1e-6, atol=1e-6
    )
