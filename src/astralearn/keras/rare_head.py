"""The recipe for a rare class: the layer for its class ratio, and its loss."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from astralearn.core.curve import slope_for_ratio
from astralearn.core.inputs import Array
from astralearn.core.weight_decay import weight_decay_for
from astralearn.keras.labels import checked_batch
from astralearn.keras.layer import ASTra
from astralearn.keras.tensors import dtype_of_loss


def rare_head(labels: Any, **settings: Any) -> ASTra:
    """ASTra with a slope that starts at and stays below (n₀/n₁)^¼.

        model = keras.Sequential([model, rare_head(y)])
        inner = keras.optimizers.AdamW(1e-3, weight_decay=rare_weight_decay(y))
        model.compile(SlopeRateOptimizer(inner), loss=AdjustedCrossentropy(), metrics=[ERatio()])
        model.fit(StratifiedBatches(x, y, batch_size=64, positives_per_batch=4), epochs=20)

    The limit keeps the slope from running away where batches show few positives.

    labels: 0 and 1 of all training rows.
    settings: those of `ASTra`.

    >>> round(float(rare_head([0] * 810 + [1] * 10).slope_max), 2)
    3.0
    """
    negatives, positives = _counts(labels)
    return ASTra(slope_max=slope_for_ratio(negatives / positives), **settings)


def rare_weight_decay(labels: Any) -> float:
    """AdamW's weight decay beside so few positives n₁: 6/n₁, at most 1.

    labels: 0 and 1 of all training rows.

    >>> rare_weight_decay([0] * 810 + [1] * 100)
    0.06
    """
    return weight_decay_for(_counts(labels)[1])


def _counts(labels: Any) -> tuple[int, int]:
    """Negatives and positives among training labels."""
    try:
        y = np.asarray(labels, np.float64).reshape(-1)
    except ValueError as error:
        raise ValueError(f"labels must be 0 and 1: {error}; pass e.g. labels == 'fraud'") from None
    negatives, positives = int((y == 0).sum()), int((y == 1).sum())
    if not negatives or not positives or negatives + positives < len(y):
        raise ValueError(
            "labels must be 0 and 1 and hold both; found "
            f"{positives} positives and {negatives} negatives among {len(y)}"
        )
    return negatives, positives


@keras.saving.register_keras_serializable(package="astralearn")
class AdjustedCrossentropy(keras.losses.Loss):
    """Mean cross-entropy of logits less the logarithm of the batch's class ratio.

    So logit 0 is the balanced decision whatever the batch's ratio is (logit adjustment). A class
    that the batch lacks counts as one example of it in the ratio. Labels, weights and what happens
    to wrong ones are as in `SummedLoss`.

    name: in the logs.
    dtype: dtype or policy to compute in.

    >>> loss = AdjustedCrossentropy()
    >>> g = np.log(np.asarray([2.0, 2.0, 2.0], "float32"))  # less ln 2 these are 0
    >>> round(float(loss(np.asarray([0.0, 0.0, 1.0]), g)), 4)
    0.6931
    """

    def __init__(self, name: str = "adjusted_crossentropy", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype_of_loss(dtype))

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Array:
        g, y, weight, valid = checked_batch(y_true, y_pred, sample_weight, self.dtype)
        weight = ops.ones_like(y) if weight is None else weight * ops.ones_like(y)
        total, positives = ops.sum(weight), ops.sum(weight * y)
        one = total / ops.maximum(ops.sum(ops.cast(weight > 0, g.dtype)), 1.0)
        negatives = ops.sum(weight * (1.0 - y))
        adjusted = g - _log_or(negatives, one) + _log_or(positives, one)
        each = ops.softplus((1.0 - 2.0 * y) * adjusted)
        # Shares of the mean add up where the largest losses would not.
        loss = ops.sum(weight / ops.where(total > 0, total, 1.0) * each)
        return loss if valid is None else ops.where(valid, loss, float("nan"))

    def call(self, y_true: Any, y_pred: Any) -> Array:
        return self(y_true, y_pred)

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype}


def _log_or(total: Array, one: Array) -> Array:
    """The logarithm of a class's weight, of one example's where it has none."""
    some = ops.where(total > 0, total, one)
    return ops.log(ops.where(some > 0, some, 1.0))
