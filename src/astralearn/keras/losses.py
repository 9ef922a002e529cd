"""The losses of `core.LOSSES` on logits, with weights inside the soft counts, and over the replicas of tf.distribute."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np
from keras import ops

from astralearn.core import LOSSES
from astralearn.core.inputs import Array
from astralearn.core.sums import SUMMED, Sums, examine_known, gradient
from astralearn.keras.labels import rows
from astralearn.keras.replicas import joined
from astralearn.keras.tensors import (
    Gradients,
    as_factors,
    as_tensor,
    few,
    is_known,
    namespace,
    units_first,
    wide_dtype,
    with_gradient,
)


class SummedLoss(keras.losses.Loss):
    """What the losses share: each is a function of a few sums over the batch (`core.sums`), taken here.

    y_pred: logits (N, …), rebalanced by `ASTra` or not; probabilities cannot be told from logits, so pass none. y_true: 0 and 1; NaN marks
    missing labels. sample_weight and class_weight of fit() multiply every sum, so a doubled weight equals a duplicated row; Keras's
    own losses scale a finished loss instead, hence `__call__` is overridden.

    A batch without one of the classes counts as one correctly classified example of it: loss and gradient of the other class are
    finite and as useful as ever. A batch without any label has loss and gradient 0. Labels other than 0, 1 and NaN and weights
    below 0 raise ValueError where values are known, and make the loss NaN in a compiled step.

    per_output: one loss for each unit of logits (N, …, units), then averaged; the default pools all outputs into one.
    """

    kind: str

    def __init__(
        self, *, per_output: bool = False, name: str | None = None, dtype: Any = None
    ) -> None:
        policy = keras.dtype_policies.get(wide_dtype(dtype or keras.config.floatx()))
        super().__init__(name=name or f"{self.kind}_loss", dtype=policy.compute_dtype)
        self.per_output = per_output

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Array:
        g, y, weight, valid = rows(y_true, y_pred, sample_weight, self.dtype)
        if 0 in tuple(g.shape):
            g, y, weight = _without_weight(g, y)
        axis = self._axis(g)
        if self.per_output and keras.config.backend() == "tensorflow":
            g, y, weight = (None if part is None else units_first(part) for part in (g, y, weight))
            axis = tuple(dimension + 1 for dimension in axis)
        loss = _summed(self.kind, g, y, weight, axis)
        return loss if valid is None else ops.where(valid, loss, float("nan"))

    def call(self, y_true: Any, y_pred: Any) -> Array:
        return self(y_true, y_pred)

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "per_output": self.per_output, "dtype": self.dtype}

    def _axis(self, g: Array) -> tuple[int, ...]:
        """The dimensions that sums run over: all, or all but the last."""
        if not self.per_output:
            return tuple(range(len(g.shape)))
        if len(g.shape) < 2:
            raise ValueError(
                f"per_output wants logits of shape (N, …, units); found {tuple(g.shape)}"
            )
        return tuple(range(len(g.shape) - 1))


@keras.saving.register_keras_serializable(package="astralearn")
class GMNLoss(SummedLoss):
    """One minus the soft G-Mean, 1 − √(TPR·TNR) (Eq. 9). Arguments as in `SummedLoss`.

    >>> round(float(GMNLoss()([0, 1], [-2.0, 0.0])), 4)
    0.3364
    """

    kind = "gmn"


@keras.saving.register_keras_serializable(package="astralearn")
class RootGMNLoss(SummedLoss):
    """Between GMN and balanced cross-entropy: 4(1 − √(A₁A₀)), A₁ and A₀ each class's mean fourth root of the probability of being right.

    What `ASTraClassifier` trains on. Arguments as in `SummedLoss`.
    """

    kind = "root_gmn"


@keras.saving.register_keras_serializable(package="astralearn")
class F1Loss(SummedLoss):
    """One minus the soft F1, (FP+FN)/(2TP+FP+FN). Arguments as in `SummedLoss`."""

    kind = "f1"


@keras.saving.register_keras_serializable(package="astralearn")
class MCCLoss(SummedLoss):
    """One minus the soft Matthews correlation, in [0, 2]. Arguments as in `SummedLoss`."""

    kind = "mcc"


@keras.saving.register_keras_serializable(package="astralearn")
class BalancedAccuracyLoss(SummedLoss):
    """One minus the soft balanced accuracy, (FNR+FPR)/2. Arguments as in `SummedLoss`."""

    kind = "balanced_accuracy"


def _without_weight(g: Array, y: Array) -> tuple[Array, Array, Array]:
    """One example without weight instead of none: it counts for as little, has a minimum, and takes part in the sums of all replicas."""
    to_one = [(0, int(size == 0)) for size in g.shape]
    g, y = ops.pad(g, to_one), ops.pad(y, to_one)
    return g, y, ops.zeros_like(g)


def _examine(
    kind: str, g: Array, y: Array, weight: Array, axis: tuple[int, ...], xp: Any
) -> tuple[Sums, Array]:
    if (
        xp is not np and keras.config.backend() == "torch" and is_known(g)
    ):  # where every operation counts, and looking costs nothing
        sums, ((_, slopes),) = examine_known(kind, [(g, y, weight)], axis=axis, xp=xp, few=few)
        return sums, slopes
    return SUMMED[kind].examine(g, y, weight, axis=axis, xp=xp)


def _summed(kind: str, g: Array, y: Array, weight: Array, axis: tuple[int, ...]) -> Array:
    """J of the sums over all replicas, averaged over outputs.

    With several replicas the value is divided by their number and the gradient is not: Keras adds both up over replicas, and each replica
    has its own part of the whole gradient already.
    """
    loss = SUMMED[kind]
    outputs = math.prod(size for dimension, size in enumerate(g.shape) if dimension not in axis)

    def forward(g: Array) -> tuple[Array, Gradients]:
        (logits, labels, *weights), xp = few([g, y] if weight is None else [g, y, weight])
        sums, slopes = _examine(kind, logits, labels, weights[0] if weights else None, axis, xp)
        total, replicas = joined(kind, sums)
        numbers = namespace(total[0])
        value = as_tensor(numbers.sum(loss.value(total, xp=numbers)) / (outputs * replicas), g)

        def gradients(upstream: Array) -> tuple[Array]:
            (factor,) = as_factors(few([upstream])[0], logits)
            factors = as_factors(loss.factors(sums, total, xp=numbers), logits)
            return (as_tensor(gradient(factor / outputs * slopes, labels, factors), g),)

        return value, gradients

    def again(upstream: Array, g: Array) -> tuple[Array]:
        return (
            upstream / outputs * LOSSES[kind].gradient(g, y, weight, axis=axis, xp=namespace(g)),
        )

    return with_gradient(forward, again, g)
