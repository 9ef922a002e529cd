import keras
import numpy as np
import pytest

from astralearn.keras import AdjustedCrossentropy, rare_head, rare_weight_decay
from keras_backend import gradients

pytestmark = pytest.mark.usefixtures("few")

G = np.random.default_rng(0).normal(0, 2, 24).astype("float32")
Y = (np.arange(24) < 3).astype("float32")


def adjusted(g, y, weight=None, one=1.0):
    """The loss in NumPy, in float64.

    one: what counts for a class that is missing.
    """
    weight = np.ones_like(g) if weight is None else weight
    of_negatives, of_positives = (weight[y == c].sum() or one for c in (0, 1))
    shifted = g.astype("float64") - np.log(of_negatives / of_positives)
    return np.average(np.logaddexp(0, np.where(y == 1, -shifted, shifted)), weights=weight)


def loss(*batch):
    return keras.ops.convert_to_numpy(AdjustedCrossentropy()(*batch)).item()


def test_the_slope_is_limited_by_the_class_ratio():
    layer = rare_head(np.arange(1000) < 5)
    layer.build((None, 1))
    found = keras.ops.convert_to_numpy(layer.slope).item()
    assert found == pytest.approx((995 / 5) ** 0.25, rel=1e-6)
    with pytest.raises(ValueError, match="hold both; found 0 positives and 3 negatives among 3"):
        rare_head([0, 0, 0])
    with pytest.raises(ValueError, match=r"labels must be 0 and 1: .*'ok'; pass e.g. labels == "):
        rare_weight_decay(["ok", "fraud"])


def test_weights_decay_less_the_more_positives_there_are():
    assert rare_weight_decay(np.arange(1000) < 5) == 1.0
    assert rare_weight_decay(np.arange(1000) < 60) == pytest.approx(0.1)
    with pytest.raises(ValueError, match="hold both; found 3 positives and 0 negatives among 3"):
        rare_weight_decay([1, 1, 1])


def test_the_loss_is_cross_entropy_less_the_batch_s_log_ratio():
    assert loss(Y, G) == pytest.approx(adjusted(G, Y), rel=1e-6)
    with pytest.raises(ValueError, match="2"):
        loss(np.full(24, 2.0), G)


def test_weights_count_in_the_ratio_too():
    weight = np.linspace(0.5, 2, 24).astype("float32")
    assert loss(Y, G, weight) == pytest.approx(adjusted(G, Y, weight), rel=1e-6)
    assert loss(Y, G, weight / 100) == pytest.approx(loss(Y, G, weight), rel=1e-5)


def test_a_class_that_is_missing_counts_as_one_and_missing_labels_do_not():
    for y in (np.zeros(24, "float32"), np.ones(24, "float32")):
        assert loss(y, G) == pytest.approx(adjusted(G, y), rel=1e-5)
        weight = np.full(24, 0.5, "float32")
        assert loss(y, G, weight) == pytest.approx(adjusted(G, y, weight, one=0.5), rel=1e-5)
    gaps = np.where(np.arange(24) < 12, Y, np.nan)
    assert loss(gaps, G) == pytest.approx(adjusted(G[:12], Y[:12]), rel=1e-6)
    assert loss(np.full(24, np.nan), G) == 0


def test_its_gradient_is_that_of_the_adjusted_logits():
    (found,) = gradients(lambda g: AdjustedCrossentropy()(Y, g), G)
    expected = (1 / (1 + np.exp(np.log(7) - G.astype("float64"))) - Y) / 24
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)


def test_the_largest_logits_have_a_finite_loss():
    assert loss(np.zeros(3, "float32"), np.full(3, 3e38, "float32")) == pytest.approx(3e38)


def test_it_is_saved_by_name():
    twin = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(AdjustedCrossentropy(name="mine"))
    )
    assert (type(twin), twin.name) == (AdjustedCrossentropy, "mine")
