"""MirroredStrategy without a compiled step.

A process of its own, for TensorFlow mixes up reductions of eager and of compiled steps.
"""

import keras
import numpy as np
import tensorflow as tf

from astralearn.keras import ASTra, GMNLoss, SlopeRateOptimizer

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)

N = 41
Y = np.zeros(N, "float32")
Y[:7] = 1
X = (np.random.default_rng(0).normal(size=(N, 3)) + Y[:, None]).astype("float32")


def trained(strategy):
    with strategy.scope():
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1), ASTra()])
        model.compile(
            SlopeRateOptimizer(keras.optimizers.SGD(1.0), 0.3), loss=GMNLoss(), run_eagerly=True
        )
    model.fit(X, Y, batch_size=N - 1, shuffle=False, verbose=0)
    return model.get_weights()


def test_a_replica_without_rows_takes_part():
    """The second step has a single row for two replicas."""
    found, expected = (
        trained(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])),
        trained(tf.distribute.get_strategy()),
    )
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
