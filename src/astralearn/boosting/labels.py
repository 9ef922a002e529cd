"""Labels as boosting needs them: 1 for the rarer class, 0 for the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_y

from astralearn.classifier.labels import TwoClasses, check_labels, positive_index


class MinorityLabels(TwoClasses):
    """Two classes whose labels become 0 and 1, and a plain dictionary for model files.

    >>> fraud = MinorityLabels.of(["fraud", "ok", "ok"])
    >>> fraud.minority, fraud.to_binary(["ok", "fraud"]).tolist()
    ('fraud', [0, 1])
    """

    __slots__ = ()

    @classmethod
    def of(cls, y: Any) -> Self:
        """Find both classes in training labels: numbers, booleans, strings."""
        y = _checked(y)
        kind = type_of_target(y, input_name="y")
        labels, counts = np.unique(y, return_counts=True)
        if len(labels) == 0:
            raise ValueError("y must hold two classes; found 0 sample(s)")
        if len(labels) == 1:
            raise ValueError(f"y must hold two classes; found one class only, {labels[0]!r}")
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        return cls(labels, positive_index(counts))

    @property
    def minority(self) -> Any:
        """The positive class's label; a text as Python's own."""
        labels = self.labels.tolist() if self.labels.dtype.kind in "OU" else self.labels
        return labels[self.positive]

    def to_binary(self, y: Any) -> np.ndarray:
        """1 for the minority class, 0 for the other; ValueError for any other label."""
        y = _checked(y)
        index = np.searchsorted(self.labels, y)
        known = index < 2
        known[known] = self.labels[index[known]] == y[known]
        if not known.all():
            raise ValueError(
                f"y must hold only the classes seen in training, {self.labels.tolist()}; "
                f"found {y[~known][0]!r}"
            )
        return np.asarray(index == self.positive, dtype=np.int64)

    def class_weights(self, of_labels: dict[Any, float] | Sequence[float]) -> tuple[float, float]:
        """Weights of 0 and of 1 from those of labels.

        of_labels: by label, 1 for one without; or of both, in the order in which they sort.
        """
        labels = self.labels.tolist()
        if not isinstance(of_labels, dict):
            if len(of_labels) != 2:
                raise ValueError(
                    f"class_weights must have a weight for each of the classes {labels}; "
                    f"found {of_labels!r:.80}"
                )
            of_labels = dict(zip(labels, of_labels, strict=True))
        for label, weight in of_labels.items():
            if label not in labels:
                raise ValueError(f"class_weight must name the classes {labels}; found {label!r}")
            if not 0 < weight < np.inf:
                raise ValueError(
                    f"class_weight must be above 0 and finite; found {weight} for {label!r}"
                )
        weights = [float(of_labels.get(label, 1.0)) for label in labels]
        return weights[1 - self.positive], weights[self.positive]

    def as_plain(self) -> dict[str, Any]:
        """What a model file keeps."""
        return {
            "classes": self.labels.tolist(),
            "dtype": self.labels.dtype.str,
            "positive": self.positive,
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """The labels that `as_plain` described."""
        labels = np.asarray(plain["classes"], dtype=np.dtype(plain["dtype"]))
        return cls(labels, int(plain["positive"]))


def negatives_per_positive(binary: np.ndarray) -> float:
    """Rows of class 0 for each of class 1: the weight that balances them."""
    positives = int(np.count_nonzero(binary))
    return (len(binary) - positives) / positives


def _checked(y: Any) -> np.ndarray:
    y = column_or_1d(_check_y(y, multi_output=False, y_numeric=False, estimator=None), warn=True)
    y = np.asarray(y)
    check_labels(y)
    return y
