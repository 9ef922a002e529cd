"""What a fit refuses or warns of in labels, weights, features and splits, and how it says so."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

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
        return classes, classes[0 if counts[0] < counts[1] else 1]
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
