"""The losses of `core.LOSSES` on logits, with weights inside the soft counts."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np
from keras import ops

from astralearn.core import LOSSES
from astralearn.core.class_means import Means, gradient
from astralearn.core.counting import Counted
from astralearn.core.inputs import Array
from astralearn.keras.labels import checked_batch
from astralearn.keras.replicas import over_replicas
from astralearn.keras.tensors import (
    Gradients,
    as_factors,
    as_tensor,
    backend_namespace,
    dtype_of_loss,
    few,
    is_known,
    units_first,
    with_gradient,
)


@keras.saving.register_keras_serializable(package="astralearn")
class SummedLoss(keras.losses.Loss):
    """Any loss of `core.LOSSES`: a function of both classes' means over the batch.

    y_pred: logits (N, …), rebalanced by `ASTra` or not. Probabilities cannot be told from logits,
        so pass none.
    y_true: 0 and 1; NaN marks missing labels.
    sample_weight: ≥ 0. It multiplies every sum, as class_weight of fit() does, so a doubled
        weight equals a duplicated row. Keras's own losses scale a finished loss instead, hence
        `__call__` is overridden.

    A batch without one of the classes counts as one correctly classified example of it: loss and
    gradient of the other class are finite and as useful as ever. A batch without any label has
    loss and gradient 0. Labels other than 0, 1 and NaN, and weights below 0 or not finite, raise
    ValueError where values are known. A compiled step cannot raise: its loss is NaN, its gradient
    0.

    kind: the loss's name in `core.LOSSES`. The subclasses have theirs.
    per_output: one loss for each unit of logits (N, …, units), then averaged; the default pools
        all outputs into one.
    name: in the logs.
    dtype: dtype or policy to compute in.

    >>> loss = SummedLoss("gmn", per_output=True)
    >>> round(float(loss([[0, 0], [1, 1]], [[-2.0, -1.0], [0.0, 1.0]])), 4)
    0.3027
    """

    kind: str = ""

    def __init__(
        self,
        kind: str | None = None,
        *,
        per_output: bool = False,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        self.kind = self.kind if kind is None else kind
        if self.kind not in LOSSES:
            raise ValueError(f"kind must be one of {', '.join(LOSSES)}; found {self.kind!r}")
        super().__init__(name=name or f"{self.kind}_loss", dtype=dtype_of_loss(dtype))
        self.per_output = per_output

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Array:
        g, y, weight, valid = checked_batch(y_true, y_pred, sample_weight, self.dtype)
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
        config = {"name": self.name, "per_output": self.per_output, "dtype": self.dtype}
        return config if type(self).kind else {**config, "kind": self.kind}

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
    """Between GMN and balanced cross-entropy: 4(1 − √(A₁A₀)).

    A₁ and A₀ are each class's mean fourth root of the probability of being right. It is what
    `ASTraClassifier` trains on. Arguments as in `SummedLoss`.

    >>> round(float(RootGMNLoss()([0, 1], [-2.0, 0.0])), 4)
    0.3897
    """

    kind = "root_gmn"


@keras.saving.register_keras_serializable(package="astralearn")
class F1Loss(SummedLoss):
    """One minus the soft F1, (FP+FN)/(2TP+FP+FN). Arguments as in `SummedLoss`.

    >>> round(float(F1Loss()([0, 1], [-2.0, 0.0])), 4)
    0.3824
    """

    kind = "f1"


@keras.saving.register_keras_serializable(package="astralearn")
class MCCLoss(SummedLoss):
    """One minus the soft Matthews correlation, in [0, 2].

    Arguments as in `SummedLoss`.

    >>> round(float(MCCLoss()([0, 1], [-2.0, 0.0])), 4)
    0.5882
    """

    kind = "mcc"


@keras.saving.register_keras_serializable(package="astralearn")
class BalancedAccuracyLoss(SummedLoss):
    """One minus the soft balanced accuracy, (FNR+FPR)/2. Arguments as in `SummedLoss`.

    >>> round(float(BalancedAccuracyLoss()([0, 1], [-2.0, 0.0])), 4)
    0.3096
    """

    kind = "balanced_accuracy"


def _without_weight(g: Array, y: Array) -> tuple[Array, Array, Array]:
    """One example without weight instead of none: it counts for as little."""
    to_one = [(0, int(size == 0)) for size in g.shape]
    g, y = ops.pad(g, to_one), ops.pad(y, to_one)
    return g, y, ops.zeros_like(g)


def _counted(
    kind: str, g: Array, y: Array, weight: Array, axis: tuple[int, ...], xp: Any
) -> Counted:
    # On PyTorch every operation counts, and looking costs nothing.
    if xp is not np and keras.config.backend() == "torch" and is_known(g):
        means, (part,) = LOSSES[kind].count_known([(g, y, weight)], axis=axis, xp=xp)
        return Counted(means, *part)
    return LOSSES[kind].count(g, y, weight, axis=axis, xp=xp)


def _summed(kind: str, g: Array, y: Array, weight: Array, axis: tuple[int, ...]) -> Array:
    """J of the means over all replicas, averaged over outputs.

    With several replicas the value is divided by their number and the gradient is not: Keras adds
    both up over replicas, and each replica has its own part of the whole gradient already.
    """
    loss = LOSSES[kind]
    outputs = math.prod(size for dimension, size in enumerate(g.shape) if dimension not in axis)

    def forward(g: Array) -> tuple[Array, Gradients]:
        (logits, labels, *weights), xp = few([g, y] if weight is None else [g, y, weight])
        own = _counted(kind, logits, labels, weights[0] if weights else None, axis, xp)
        means, replicas = over_replicas(loss, own.means)
        (*flat, peak_0, peak_1), numbers = few([*means.flat, *own.peaks])
        means, peaks = Means.of_flat(flat), (peak_0, peak_1)
        losses = loss.of_means(means, xp=numbers)
        value = as_tensor(numbers.sum(losses) / (outputs * replicas), g)

        def gradients(upstream: Array) -> tuple[Array]:
            (factor,) = as_factors(few([upstream])[0], logits)
            of_class = as_factors(loss.factors(means, peaks, xp=numbers), logits)
            in_g = gradient(factor / outputs * own.pulls, labels, (of_class[0], of_class[1]))
            return (as_tensor(in_g, g),)

        return value, gradients

    def again(upstream: Array, g: Array) -> tuple[Array]:
        in_g = loss.gradient(g, y, weight, axis=axis, xp=backend_namespace(g))
        return (upstream / outputs * in_g,)

    return with_gradient(forward, again, g)
