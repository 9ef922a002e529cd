"""Which of two classes is positive: one rule for networks, trees and files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

# What scikit-learn takes as labels, but not as objects: databases and columns with gaps give these.
LABEL_TYPES = {"bool": "bool", "bool_": "bool", "Decimal": "float"}


def positive_index(counts: Sequence[int] | np.ndarray) -> int:
    """Index of the positive class: the rarer; of two equally frequent ones the last.

    counts: rows of each of the two classes, in the order in which their labels sort.

    >>> positive_index([5, 900]), positive_index([900, 5]), positive_index([7, 7])
    (0, 1, 1)
    """
    first, last = counts
    return 0 if first < last else 1


def named(labels: np.ndarray) -> list[Any]:
    """Labels as users name them in a dict of costs; NumPy's dates as NumPy has them.

    >>> named(np.asarray([0, 1])), named(np.asarray(["2024-01-01"], "datetime64[ns]"))
    ([0, 1], [np.datetime64('2024-01-01T00:00:00.000000000')])
    """
    return list(labels) if labels.dtype.kind in "mM" else labels.tolist()


def check_labels(y: np.ndarray) -> None:
    """Refuse labels of several kinds and those that scikit-learn does not know."""
    try:
        check_classification_targets(y)
    except (TypeError, ValueError) as error:
        # It sorts them, unless the first is neither number nor text.
        kinds = sorted({type(label).__name__ for label in y.tolist()})
        if kinds[0] in LABEL_TYPES and len(kinds) == 1:
            raise ValueError(
                f"y must hold labels in an array of their type; found objects of type {kinds[0]}: "
                f"use np.asarray(y, {LABEL_TYPES[kinds[0]]})"
            ) from error
        if len(kinds) == 1:
            raise ValueError(f"y: {error}") from error
        found = ", ".join(kinds)
        raise ValueError(
            f"y must hold labels of one kind, without missing ones; found {found}"
        ) from error


class TwoClasses(NamedTuple):
    """Two labels as they sort, and which of them is the positive one.

    labels: (2,).
    positive: the index in them of the positive class, the minority.

    >>> fraud = TwoClasses(np.asarray(["fraud", "ok"]), 0)
    >>> fraud.decided(np.asarray([True, False])).tolist()
    ['fraud', 'ok']
    """

    labels: np.ndarray
    positive: int

    @property
    def minority(self) -> Any:
        return self.labels[self.positive]

    @property
    def majority(self) -> Any:
        return self.labels[1 - self.positive]

    def decided(self, is_minority: np.ndarray) -> np.ndarray:
        """The label of each row, (rows,), from whether it is the minority's."""
        return np.asarray(self.labels[np.where(is_minority, self.positive, 1 - self.positive)])

    def columns(self, *, minority: np.ndarray, majority: np.ndarray) -> np.ndarray:
        """Two values of each row as (rows, 2), in the order of the labels."""
        return np.stack([majority, minority] if self.positive else [minority, majority], axis=1)
