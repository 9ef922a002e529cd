"""keras.distribution.DataParallel on two virtual CPU devices of JAX.

A process of its own, for devices are made before JAX starts.
"""

import jax
import keras
import numpy as np
import pytest

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

OTHER_LOSSES = (F1Loss, BalancedAccuracyLoss, RootGMNLoss)
N = 60
Y = np.zeros(N, "float32")
Y[:7] = 1  # all of them on the first device
X = (np.random.default_rng(0).normal(size=(N, 3)) + Y[:, None]).astype("float32")
W = np.random.default_rng(1).uniform(0.2, 2, N).astype("float32")


def trained(distribution, loss, epochs=1):
    keras.distribution.set_distribution(distribution)
    try:
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1), ASTra()])
        model.compile(
            SlopeRateOptimizer(keras.optimizers.SGD(1.0), 0.3),
            loss=loss(),
            weighted_metrics=[ERatio()],
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
    finally:
        keras.distribution.set_distribution(None)


@pytest.mark.parametrize(
    "loss",
    [
        GMNLoss,
        MCCLoss,
        *(pytest.param(loss, marks=pytest.mark.long) for loss in OTHER_LOSSES),
    ],
)
def test_steps_of_sgd_are_those_of_the_joined_batch(loss):
    assert len(jax.devices()) == 2
    expected, history = trained(None, loss, 2)
    found, parallel_history = trained(
        keras.distribution.DataParallel(devices=keras.distribution.list_devices()), loss, 2
    )
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    for name, values in history.items():
        np.testing.assert_allclose(parallel_history[name], values, rtol=1e-5)
