import keras
import numpy as np
import pytest

from astralearn.keras import BalancedCrossentropy, rare_head
from keras_backend import gradients

pytestmark = pytest.mark.usefixtures("few")

G = np.random.default_rng(0).normal(0, 2, 24).astype("float32")
Y = (np.arange(24) < 3).astype("float32")


def by_class(g, y, weight=None):
    """The loss, each class by itself, in NumPy."""
    weight = np.ones_like(g) if weight is None else weight
    each = np.logaddexp(0, np.where(y == 1, -g, g).astype("float64"))
    return np.mean([np.average(each[y == c], weights=weight[y == c]) for c in (0, 1)])


def loss(*batch):
    return keras.ops.convert_to_numpy(BalancedCrossentropy()(*batch)).item()


def test_the_slope_is_limited_by_the_class_ratio():
    layer = rare_head(np.arange(1000) < 5)
    layer.build((None, 1))
    found = keras.ops.convert_to_numpy(layer.slope).item()
    assert found == pytest.approx((995 / 5) ** 0.25, rel=1e-6)
    with pytest.raises(ValueError, match="hold both; found 0 positives and 3 negatives among 3"):
        rare_head([0, 0, 0])


def test_the_loss_is_the_mean_of_both_classes_cross_entropies():
    assert loss(Y, G) == pytest.approx(by_class(G, Y), rel=1e-6)
    weight = np.linspace(0.5, 2, 24).astype("float32")
    assert loss(Y, G, weight) == pytest.approx(by_class(G, Y, weight), rel=1e-6)
    assert loss(np.zeros(24), G) == pytest.approx(np.logaddexp(0, G).mean() / 2, rel=1e-5)
    gaps = np.where(np.arange(24) < 12, Y, np.nan)
    assert loss(gaps, G) == pytest.approx(by_class(G[:12], Y[:12]), rel=1e-6)
    with pytest.raises(ValueError, match="2"):
        loss(np.full(24, 2.0), G)


def test_its_gradient_is_each_class_s_own():
    (found,) = gradients(lambda g: BalancedCrossentropy()(Y, g), G)
    of_class = np.where(Y == 1, 3, 21)
    expected = 0.5 / of_class * (1 / (1 + np.exp(-G.astype("float64"))) - Y)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)


def test_it_is_saved_by_name():
    twin = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(BalancedCrossentropy(name="mine"))
    )
    assert (type(twin), twin.name) == (BalancedCrossentropy, "mine")
