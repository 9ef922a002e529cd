"""tf.distribute.MirroredStrategy on two virtual CPU devices.

A process of its own, for devices are made before TensorFlow starts.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from astralearn.core import soft_confusion
from astralearn.keras import (
    ASTra,
    BalancedAccuracyLoss,
    ERatio,
    F1Loss,
    GMNLoss,
    MCCLoss,
    RootGMNLoss,
    SlopeRate,
    SlopeRateOptimizer,
)

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)

OTHER_LOSSES = (F1Loss, BalancedAccuracyLoss, RootGMNLoss)
N = 60
Y = np.zeros(N, "float32")
Y[:7] = 1  # all of them on the first replica
X = (np.random.default_rng(0).normal(size=(N, 3)) + Y[:, None]).astype("float32")
W = np.random.default_rng(1).uniform(0.2, 2, N).astype("float32")


def trained(strategy, loss, epochs, optimizer, **options):
    with strategy.scope():
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1), ASTra()])
        model.compile(
            SlopeRateOptimizer(optimizer(), 0.3),
            loss=loss(),
            weighted_metrics=[ERatio()],
            **options,
        )
    history = model.fit(
        X,
        Y,
        sample_weight=W,
        batch_size=N,
        epochs=epochs,
        shuffle=False,
        verbose=0,
        callbacks=[SlopeRate()],
    )
    return model.get_weights(), history.history


def strategies():
    return tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


@pytest.mark.parametrize(
    "loss",
    [
        GMNLoss,
        MCCLoss,
        *(pytest.param(loss, marks=pytest.mark.long) for loss in OTHER_LOSSES),
    ],
)
def test_one_step_of_sgd_is_that_of_the_joined_batch(loss):
    """SGD's step is the gradient, so equal weights after it are equal gradients."""
    single, mirrored = strategies()
    assert mirrored.num_replicas_in_sync == 2
    expected, history = trained(single, loss, 1, lambda: keras.optimizers.SGD(1.0))
    found, mirrored_history = trained(mirrored, loss, 1, lambda: keras.optimizers.SGD(1.0))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    for name, values in history.items():
        np.testing.assert_allclose(mirrored_history[name], values, rtol=1e-5)


def test_training_is_that_of_the_joined_batch():
    single, mirrored = strategies()
    expected, history = trained(single, GMNLoss, 20, lambda: keras.optimizers.Adam(0.05))
    found, mirrored_history = trained(mirrored, GMNLoss, 20, lambda: keras.optimizers.Adam(0.05))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
    for name, values in history.items():
        np.testing.assert_allclose(mirrored_history[name], values, rtol=1e-3)


def test_evaluation_counts_all_replicas():
    _, mirrored = strategies()
    with mirrored.scope():
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1), ASTra()])
        model.compile(loss=GMNLoss(), weighted_metrics=[ERatio()])
    found = model.evaluate(X, Y, sample_weight=W, batch_size=N, verbose=0, return_dict=True)
    counts = soft_confusion(
        model.predict(X, verbose=0)[:, 0].astype("float64"),
        Y.astype("float64"),
        W.astype("float64"),
    )
    assert found["e_ratio"] == pytest.approx(float(counts.e_ratio), rel=1e-5)
    assert found["loss"] == pytest.approx(1 - float(counts.g_mean), rel=1e-5)
