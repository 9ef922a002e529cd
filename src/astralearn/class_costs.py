"""What a mistake on a row of either class costs: scikit-learn's `class_weight`.

Cross-entropy feels it as a factor of the sample weights. In the other losses, which are made of rates, such factors cancel: there the
positives' share of the two costs weighs the rates.
"""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from astralearn.engine.rows import Fold

ClassWeight = dict[Any, Any] | str | None


class Costs(NamedTuple):
    """Factors of the sample weights."""

    of_negative: float = 1.0
    of_positive: float = 1.0

    def on(self, fold: Fold) -> Fold:
        if self == (1.0, 1.0):
            return fold
        return replace(
            fold, weight=fold.weight * np.where(fold.y, self.of_positive, self.of_negative)
        )


def check_class_weight(class_weight: dict[Any, Any], labels: list[Any]) -> None:
    unknown = [label for label in class_weight if label not in labels]
    if unknown and not set(labels) <= set(class_weight):
        raise ValueError(f"class_weight must name labels of y, which has {labels}; found {unknown}")
    wrong = {
        label: cost
        for label, cost in class_weight.items()
        if not (isinstance(cost, Real) and 0 <= float(cost) < math.inf)
    }
    if wrong:
        raise ValueError(
            f"class_weight must be finite and at least 0 for every label; found {wrong}"
        )


def costs_of(
    class_weight: ClassWeight, classes: tuple[Any, Any], y: np.ndarray, weight: np.ndarray
) -> Costs:
    """For cross-entropy. classes: the majority's label and the minority's. y, weight: labels and sample weights of the training rows."""
    if class_weight is None:
        return Costs()
    if isinstance(class_weight, dict):
        return Costs(*(float(class_weight.get(label, 1.0)) for label in classes))
    negatives, positives = (float(weight[y == label].sum()) for label in classes)
    return Costs(
        (negatives + positives) / (2 * negatives), (negatives + positives) / (2 * positives)
    )


def positive_share(class_weight: ClassWeight, classes: tuple[Any, Any]) -> float:
    """For the other losses: the minority's share of the two costs, ½ without any or where they are "balanced"."""
    if not isinstance(class_weight, dict):
        return 0.5
    negative, positive = (float(class_weight.get(label, 1.0)) for label in classes)
    if negative + positive <= 0:
        raise ValueError(
            f"class_weight must be above 0 for one class at least; found {class_weight}"
        )
    return positive / (negative + positive)
