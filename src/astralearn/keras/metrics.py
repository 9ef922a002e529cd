"""Readings of the soft confusion matrix, added up over batches, as metrics."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from astralearn.core import SoftConfusion, soft_confusion
from astralearn.core.inputs import Array
from astralearn.keras.labels import checked_batch
from astralearn.keras.tensors import backend_namespace, dtype_of_loss


class SoftConfusionMetric(keras.metrics.Metric):
    """The soft confusion matrix (Eq. 8), added up since the last reset.

    Logits, labels, missing labels and weights are as in the losses. Keras passes sample_weight and
    class_weight only to `weighted_metrics`.

    name: in the logs; None takes that of the reading.
    dtype: of the counts, float32 unless said otherwise.
    """

    reading: str
    _direction: str

    def __init__(self, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name or METRIC_NAMES[self.reading], dtype=dtype_of_loss(dtype))
        self.counts = [
            self.add_variable(shape=(), initializer="zeros", name=count)
            for count in SoftConfusion._fields
        ]

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Count a batch of (rebalanced) logits."""
        g, y, weight, valid = checked_batch(y_true, y_pred, sample_weight, self.dtype)
        batch = soft_confusion(g, y, weight, xp=backend_namespace(g))
        for kept, found in zip(self.counts, batch, strict=True):
            kept.assign_add(found if valid is None else ops.where(valid, found, float("nan")))

    def result(self) -> Array:
        """The reading of everything counted since the last reset."""
        return getattr(self.confusion(), self.reading)

    def confusion(self) -> SoftConfusion:
        """The counts themselves, with every reading that `SoftConfusion` has."""
        return SoftConfusion(*(ops.convert_to_tensor(count) for count in self.counts))

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype}


@keras.saving.register_keras_serializable(package="astralearn")
class SoftFNR(SoftConfusionMetric):
    """False negative rate FN/(TP+FN), named "soft_fnr".

    >>> metric = SoftFNR()
    >>> metric.update_state([0, 1], [-2.0, 0.0])
    >>> round(float(metric.result()), 4)
    0.5
    """

    reading, _direction = "fnr", "down"


@keras.saving.register_keras_serializable(package="astralearn")
class SoftFPR(SoftConfusionMetric):
    """False positive rate FP/(TN+FP), named "soft_fpr".

    >>> metric = SoftFPR()
    >>> metric.update_state([0, 1], [-2.0, 0.0])
    >>> round(float(metric.result()), 4)
    0.1192
    """

    reading, _direction = "fpr", "down"


@keras.saving.register_keras_serializable(package="astralearn")
class SoftGMean(SoftConfusionMetric):
    """√(TPR·TNR), named "soft_g_mean".

    >>> metric = SoftGMean()
    >>> metric.update_state([0, 1], [-2.0, 0.0])
    >>> round(float(metric.result()), 4)
    0.6636
    """

    reading, _direction = "g_mean", "up"


@keras.saving.register_keras_serializable(package="astralearn")
class SoftMCC(SoftConfusionMetric):
    """Matthews correlation, named "soft_mcc".

    >>> metric = SoftMCC()
    >>> metric.update_state([0, 1], [-2.0, 0.0])
    >>> round(float(metric.result()), 4)
    0.4118
    """

    reading, _direction = "mcc", "up"


@keras.saving.register_keras_serializable(package="astralearn")
class ERatio(SoftConfusionMetric):
    """FNR/FPR (Eq. 11), named "e_ratio", which the callback `SlopeRate` reads.

    >>> metric = ERatio()
    >>> metric.update_state([0, 1], [-2.0, 0.0])
    >>> round(float(metric.result()), 4)
    4.1945
    """

    reading, _direction = "e_ratio", "down"


METRIC_NAMES = {
    "fnr": "soft_fnr",
    "fpr": "soft_fpr",
    "g_mean": "soft_g_mean",
    "mcc": "soft_mcc",
    "e_ratio": "e_ratio",
}
