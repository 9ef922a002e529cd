"""What a fit refuses or warns of in labels, weights, features and splits, and how it says so."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from astralearn.classifier.labels import positive_index
from astralearn.engine.rows import Fold
from astralearn.engine.view import FAR

LEAST_SUM, LARGEST_SUM = (
    1e-15,
    1e15,
)  # of the weights of a class: float32 holds the squares and quotients of such sums
TO_THE_CALLER = 5  # frames: from here through a check, scikit-learn's decorator and fit


def check_labels(y: np.ndarray) -> None:
    try:
        check_classification_targets(y)
    except (
        TypeError,
        ValueError,
    ) as error:  # it sorts them, unless the first is neither number nor text
        kinds = sorted({type(label).__name__ for label in y.tolist()})
        if len(kinds) == 1:
            raise ValueError(f"y: {error}") from error
        raise ValueError(
            f"y must hold labels of one kind, without missing ones; found {', '.join(kinds)}"
        ) from error


def two_classes(y: np.ndarray, weight: np.ndarray, positive: Any = None) -> tuple[np.ndarray, Any]:
    """The classes of rows with weight, and the positive one: the rarer, unless another is settled."""
    classes, counts = np.unique(y[weight > 0], return_counts=True)
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported. y has {len(classes)} classes: pick two of them, or wrap the classifier in "
            "sklearn.multiclass.OneVsRestClassifier."
        )
    if len(classes) < 2:
        found = f"one class only: {classes.tolist()}" if len(classes) else "none with weight"
        raise ValueError(f"y must contain two classes to tell apart; found {found}")
    check_sums(y, weight, "sample_weight")
    if positive is None:
        return classes, classes[positive_index(counts)]
    if positive not in classes.tolist():
        raise ValueError(
            f"warm_start=True goes on with networks that tell {positive} from the rest, which y no longer has; found "
            f"{classes.tolist()}. Set warm_start=False to start anew."
        )
    return classes, positive


def check_sums(y: np.ndarray, weight: np.ndarray, name: str) -> None:
    for label in np.unique(
        y[weight > 0]
    ):  # no list of them, in which dates are numbers and equal none of y
        with np.errstate(over="ignore"):
            total = float(weight[y == label].sum())
        if not LEAST_SUM <= total <= LARGEST_SUM:
            raise ValueError(
                f"{name} must add up to {LEAST_SUM} at least and {LARGEST_SUM} at most in each class, or it is lost in float32; found "
                f"{total:.3g} for class {label}. Scale the weights to a mean of 1."
            )


def warn_of_small_weights(weight: np.ndarray) -> None:
    n_rows, total = int(np.count_nonzero(weight)), float(weight.sum())
    if total < n_rows / 10:
        warnings.warn(
            f"sample_weight sums to {total:.3g} for {n_rows} rows; alpha is shared out over that sum, so L2 is "
            f"{n_rows / total:.3g} times as strong as with weights of 1. Scale the weights to a mean of 1, or lower alpha.",
            UserWarning,
            stacklevel=TO_THE_CALLER,
        )


def warn_of_far_features(X: np.ndarray) -> None:
    if (reach := max(X.max(), -X.min())) > FAR:
        warnings.warn(
            f"with standardize=False, features beyond ±{FAR:.0e} are taken there; X reaches {reach:.3g}. Scale it.",
            UserWarning,
            stacklevel=TO_THE_CALLER,
        )


def checked_splits(
    splits: Iterable[Sequence[Any]], n_rows: int | None
) -> list[tuple[np.ndarray, ...]]:
    """Pairs or triples of row indices. n_rows: None where the labels do not say, which are then refused themselves."""
    if not isinstance(splits, Iterable) or isinstance(splits, (str, bytes)):
        raise ValueError(
            f"splits must be (train, test) pairs of row indices, as a splitter's split(X, y) gives them; found {splits!r:.80}"
        )
    checked = []
    for i, split in enumerate(splits):
        if not isinstance(split, (tuple, list)):
            raise ValueError(
                f"splits[{i}] must be a (train, test) pair or a (train, validation, test) triple; found {split!r:.80}"
            )
        checked.append(tuple(_indices(part, n_rows, f"splits[{i}]") for part in split))
    lengths = {len(split) for split in checked}
    if lengths not in ({2}, {3}):
        raise ValueError(
            "splits must all be (train, test) pairs or all (train, validation, test) triples of row indices; "
            f"found lengths {sorted(lengths)}"
        )
    return checked


def _indices(rows: Any, n_rows: int | None, name: str) -> np.ndarray:
    """Row indices, from indices or a mask."""
    rows = np.asarray(rows)
    if rows.size == 0:
        return np.empty(0, int)
    if rows.ndim != 1 or rows.dtype.kind not in "iub":
        raise ValueError(
            f"{name} must hold row indices or masks, 1-dimensional; found {rows.dtype} of shape {rows.shape}"
        )
    if rows.dtype.kind == "b":
        if n_rows is not None and len(rows) != n_rows:
            raise ValueError(f"{name} must hold masks of {n_rows} rows; found one of {len(rows)}")
        return np.flatnonzero(rows)
    if n_rows is not None and (rows.max() >= n_rows or rows.min() < -n_rows):
        raise ValueError(
            f"{name} must hold indices of {n_rows} rows; found {rows.max() if rows.max() >= n_rows else rows.min()}"
        )
    return rows


def check_seeds(random_states: Sequence[int], n_splits: int) -> None:
    if not hasattr(random_states, "__len__") or len(random_states) != n_splits:
        raise ValueError(
            f"random_states must be a list of one seed per split, of which there are {n_splits}; found {random_states!r:.80}"
        )


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
