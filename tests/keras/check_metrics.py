import keras
import numpy as np
import pytest

from astralearn.core import soft_confusion
from astralearn.keras import ERatio, SoftFNR, SoftFPR, SoftGMean, SoftMCC

METRICS = [SoftFNR, SoftFPR, SoftGMean, SoftMCC, ERatio]
every_metric = pytest.mark.parametrize("metric", METRICS)


def batch(n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random((n, 1)) < 0.1).astype("float32")
    return (
        rng.normal(-1 + 2 * y, 2).astype("float32"),
        y,
        rng.uniform(0.1, 3, (n, 1)).astype("float32"),
    )


def test_names_and_directions():
    assert [metric().name for metric in METRICS] == [
        "soft_fnr",
        "soft_fpr",
        "soft_g_mean",
        "soft_mcc",
        "e_ratio",
    ]
    assert [metric._direction for metric in METRICS] == ["down", "down", "up", "up", "down"]


@every_metric
def test_counts_are_added_up_not_ratios(metric):
    """Batches of very different make-up: the reading is that of all rows joined."""
    g, y, w = batch()
    order = np.argsort(y[:, 0])
    g, y, w = g[order], y[order], w[order]
    found = metric()
    for part in (slice(0, 30), slice(30, 85), slice(85, 90)):
        found.update_state(y[part], g[part], w[part])
    expected = soft_confusion(*(a.astype("float64") for a in (g, y, w)))
    assert float(found.result()) == pytest.approx(
        float(getattr(expected, metric.reading)), rel=1e-5
    )
    found.reset_state()
    assert float(found.confusion().tp) == 0


@every_metric
def test_config(metric):
    twin = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(metric(name="mine"))
    )
    assert (type(twin), twin.name, twin.dtype) == (metric, "mine", "float32")


def test_missing_labels_do_not_count():
    g, y, _ = batch()
    target = np.where(np.arange(90)[:, None] % 2 == 0, y, np.nan)
    metric = SoftFNR()
    metric.update_state(target, g)
    assert float(metric.result()) == pytest.approx(
        float(soft_confusion(g[::2], y[::2]).fnr), rel=1e-5
    )


def test_labels_that_are_none_are_refused():
    with pytest.raises(ValueError, match="y_true must hold 0, 1 or NaN"):
        SoftFNR().update_state([[2.0]], [[0.5]])


def test_a_class_that_never_came_is_read_as_found():
    metric = SoftFNR()
    metric.update_state([[0.0]], [[0.5]])
    assert float(metric.result()) == 0
