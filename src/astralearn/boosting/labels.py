"""Which class is the positive one: the rarer, whatever its label."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_y

from astralearn.classifier.labels import positive_index


class MinorityLabels:
    """Labels to 0 and 1 and back, 1 for the rarer class.

    classes: both labels, sorted. positive: the index in them of the rarer class; of two equally frequent ones, that which sorts last.

    >>> labels = MinorityLabels.of(["fraud", "ok", "ok"])
    >>> labels.minority, labels.to_binary(["ok", "fraud"]).tolist(), labels.from_binary(np.asarray([1, 0])).tolist()
    ('fraud', [0, 1], ['fraud', 'ok'])
    """

    def __init__(self, classes: np.ndarray, positive: int) -> None:
        self.classes = classes
        self.positive = positive

    @classmethod
    def of(cls, y: Any) -> MinorityLabels:
        """Found from training labels, any two of them: numbers, booleans, strings."""
        y = _checked(y)
        kind = type_of_target(y, input_name="y")
        classes, counts = np.unique(y, return_counts=True)
        if len(classes) == 0:
            raise ValueError("y must hold two classes; found 0 sample(s)")
        if len(classes) == 1:
            raise ValueError(f"y must hold two classes; found one class only, {classes[0]!r}")
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        return cls(classes, positive_index(counts))

    @property
    def minority(self) -> Any:
        return (
            self.classes.tolist()[self.positive]
            if self.classes.dtype.kind in "OU"
            else self.classes[self.positive]
        )

    def to_binary(self, y: Any) -> np.ndarray:
        """1 for the minority class, 0 for the other; ValueError for any other label."""
        y = _checked(y)
        index = np.searchsorted(self.classes, y)
        known = index < 2
        known[known] = self.classes[index[known]] == y[known]
        if not known.all():
            raise ValueError(
                f"y must hold only the classes seen in training, {self.classes.tolist()}; found {y[~known][0]!r}"
            )
        return np.asarray(index == self.positive, dtype=np.int64)

    def from_binary(self, decided: np.ndarray) -> np.ndarray:
        """Labels of decisions 0 and 1."""
        return np.asarray(
            self.classes[np.where(np.asarray(decided) == 1, self.positive, 1 - self.positive)]
        )

    def probabilities(self, z: np.ndarray, complement: np.ndarray) -> np.ndarray:
        """Columns in the order of the classes, from the probability of the minority and of the other."""
        return np.column_stack([z, complement] if self.positive == 0 else [complement, z])

    def weights_by_binary(self, class_weight: Any) -> Any:
        """A class_weight dictionary keyed by labels, keyed by 0 and 1; anything else as it is."""
        if not isinstance(class_weight, dict):
            return class_weight
        unknown = [label for label in class_weight if label not in self.classes.tolist()]
        if unknown:
            raise ValueError(
                f"class_weight must name the classes {self.classes.tolist()}; found {unknown[0]!r}"
            )
        for label, weight in class_weight.items():
            if not 0 < weight < np.inf:
                raise ValueError(
                    f"class_weight must be above 0 and finite; found {weight} for {label!r}"
                )
        return {int(self.to_binary([label])[0]): weight for label, weight in class_weight.items()}

    def as_plain(self) -> dict[str, Any]:
        """What a model file keeps."""
        return {
            "classes": self.classes.tolist(),
            "dtype": self.classes.dtype.str,
            "positive": self.positive,
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> MinorityLabels:
        return cls(
            np.asarray(plain["classes"], dtype=np.dtype(plain["dtype"])), int(plain["positive"])
        )


def _checked(y: Any) -> np.ndarray:
    y = column_or_1d(_check_y(y, multi_output=False, y_numeric=False, estimator=None), warn=True)
    check_classification_targets(y)
    return np.asarray(y)
