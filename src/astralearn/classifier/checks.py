"""What a fit refuses or warns of: labels, weights, costs, features, splits."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from astralearn.classifier.decision import is_cost
from astralearn.classifier.labels import TwoClasses, positive_index
from astralearn.engine.rows import Extent, RowCosts
from astralearn.engine.view import FAR

ClassWeight = dict[Any, Any] | str | None

# Of the weights of a class: float32 holds the squares and quotients of such sums.
LEAST_SUM, LARGEST_SUM = 1e-15, 1e15
TO_THE_CALLER = 6  # frames: from here through the checks, scikit-learn's decorator and fit


class LabelSums(NamedTuple):
    """What rows with weight add up to, label by label.

    labels: (labels,), as they sort; an array, for in a list dates are numbers.
    rows: (labels,), how many there are of each.
    weight: (labels,), what they weigh together.
    """

    labels: np.ndarray
    rows: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray) -> LabelSums:
        labels, place, rows = np.unique(y[weight > 0], return_inverse=True, return_counts=True)
        with np.errstate(over="ignore"):
            return cls(labels, rows, np.bincount(place.ravel(), weight[weight > 0], len(labels)))

    def plus(self, other: LabelSums) -> LabelSums:
        labels, place = np.unique(np.concatenate([self.labels, other.labels]), return_inverse=True)
        rows, weight = (
            np.bincount(place.ravel(), np.concatenate([mine, theirs]), len(labels))
            for mine, theirs in ((self.rows, other.rows), (self.weight, other.weight))
        )
        return LabelSums(labels, rows.astype(np.int64), weight)

    def of_label(self, label: Any) -> float:
        """What the label's rows weigh."""
        return float(self.weight[self.labels == label].sum())


@contextmanager
def explained_features(X: Any) -> Iterator[None]:
    """Names X, and who takes it, where the block fails because it is not numbers.

    Masks and dates are refused at once, which scikit-learn takes for plain numbers.
    """
    check_kind(X, "X")
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        why = _not_numbers(X)
        if why is None:
            raise
        kind = TypeError if isinstance(why, TypeError) else ValueError
        raise kind(
            f"X must hold numbers only; {str(why).rstrip('.'):.200}. "
            "astralearn.tabular.TabularASTraClassifier takes words, dates and gaps"
        ) from error


@contextmanager
def explained_validation(X: Any) -> Iterator[None]:
    """Say of errors inside that they are of validation rows.

    X: their features.
    """
    try:
        with explained_features(X):
            yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"in validation: {error}") from error


def _not_numbers(X: Any) -> Exception | None:
    """What NumPy says of X where it cannot be made numbers."""
    if hasattr(X, "toarray"):  # A sparse matrix is no array, and has an error of its own.
        return None
    try:
        array = np.asarray(X)
        if array.dtype.kind != "c":  # which would lose its imaginary part without a word
            array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as why:
        return why
    return None


def check_kind(values: Any, name: str) -> None:
    """Refuse arrays with a mask, which would be lost, and dates, whose unit would."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"{name} must have no mask; found a MaskedArray: leave masked rows out, or fill them"
        )
    dtypes: Any = getattr(values, "dtypes", getattr(values, "dtype", None))
    for dtype in dtypes.tolist() if hasattr(dtypes, "tolist") else [dtypes]:
        if getattr(dtype, "kind", "") in ("m", "M"):
            raise TypeError(
                f"{name} must hold numbers only; found {dtype}. astralearn.tabular."
                "TabularASTraClassifier takes dates as features"
            )


def checked_weight(sample_weight: Any, X: np.ndarray) -> np.ndarray:
    """The weight of each row, (rows,), float64, at least 0; 1 where there are none.

    X: the rows.
    """
    check_kind(sample_weight, "sample_weight")
    given = sample_weight
    if not hasattr(given, "toarray") and np.asarray(given).dtype.kind in "OUS":
        try:
            given = None if given is None else np.asarray(given).astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"sample_weight must hold a number for each row; {error!s:.200}") from error
    weight = np.asarray(_check_sample_weight(given, X, dtype=np.float64, ensure_non_negative=True))
    if not np.isfinite(weight).all():
        raise ValueError(f"sample_weight must be finite; found {sample_weight!r:.80}")
    return weight


def two_classes(sums: LabelSums, positive: Any = None) -> TwoClasses:
    """The classes of rows with weight.

    positive: the label of the positive one, where it is settled; None: the rule decides.
    """
    classes = sums.labels
    if len(classes) > 2:
        raise ValueError(
            f"Only binary classification is supported. y has {len(classes)} classes: pick two of "
            "them, or wrap the classifier in sklearn.multiclass.OneVsRestClassifier."
        )
    if len(classes) < 2:
        found = f"one class only: {classes.tolist()}" if len(classes) else "none with weight"
        raise ValueError(f"y must contain two classes to tell apart; found {found}")
    check_sums(sums, "sample_weight")
    if positive is None:
        return TwoClasses(classes, positive_index(sums.rows))
    settled = [i for i, label in enumerate(classes) if label == positive]
    if not settled:
        raise ValueError(
            f"warm_start=True goes on with networks that tell {positive} from the rest, which y no "
            f"longer has; found {classes.tolist()}. Set warm_start=False to start anew."
        )
    return TwoClasses(classes, settled[0])


def check_sums(sums: LabelSums, name: str) -> None:
    """Refuse weights of a class that float32 would lose."""
    for label, total in zip(sums.labels, sums.weight, strict=True):
        if not LEAST_SUM <= total <= LARGEST_SUM:
            raise ValueError(
                f"{name} must add up to {LEAST_SUM} at least and {LARGEST_SUM} at most in each "
                f"class, or it is lost in float32; found {total:.3g} for class {label}. Scale the "
                "weights to a mean of 1."
            )


def warn_of_far_features(extent: Extent) -> None:
    """Views take features no further than FAR."""
    if (reach := max(extent.high.max(), -extent.low.min())) > FAR:
        warnings.warn(
            f"with standardize=False, features beyond ±{FAR:.0e} are taken there; X reaches "
            f"{reach:.3g}. Scale it.",
            UserWarning,
            stacklevel=TO_THE_CALLER,
        )


def check_class_weight(class_weight: dict[Any, Any], labels: list[Any]) -> None:
    """Refuse unknown labels and costs that mean nothing."""
    unknown = [label for label in class_weight if label not in labels]
    if unknown and not set(labels) <= set(class_weight):
        raise ValueError(f"class_weight must name labels of y, which has {labels}; found {unknown}")
    wrong = {label: cost for label, cost in class_weight.items() if not is_cost(cost)}
    if wrong:
        raise ValueError(
            f"class_weight must be finite and at least 0 for every label; found {wrong}"
        )


def costs_of(class_weight: ClassWeight, classes: TwoClasses, sums: LabelSums) -> RowCosts:
    """What `class_weight` means for cross-entropy: factors of the sample weights.

    sums: of the training rows.
    """
    if class_weight is None:
        return RowCosts()
    if isinstance(class_weight, dict):
        return _named(class_weight, classes)
    negatives, positives = sums.of_label(classes.majority), sums.of_label(classes.minority)
    total = negatives + positives
    return RowCosts(of_negative=total / (2 * negatives), of_positive=total / (2 * positives))


def positive_share(class_weight: ClassWeight, classes: TwoClasses) -> float:
    """What `class_weight` means for losses made of rates.

    Factors of weights cancel in rates. The minority's share of the two costs; ½ without any or
    where they are "balanced".
    """
    if not isinstance(class_weight, dict):
        return 0.5
    costs = _named(class_weight, classes)
    if sum(costs) <= 0:
        raise ValueError(
            f"class_weight must be above 0 for one class at least; found {class_weight}"
        )
    return costs.of_positive / sum(costs)


def _named(class_weight: dict[Any, Any], classes: TwoClasses) -> RowCosts:
    """A label that is not named costs 1."""
    return RowCosts(
        of_negative=float(class_weight.get(classes.majority, 1.0)),
        of_positive=float(class_weight.get(classes.minority, 1.0)),
    )


def checked_splits(
    splits: Iterable[Sequence[Any]], n_rows: int | None
) -> list[tuple[np.ndarray, ...]]:
    """Pairs or triples of row numbers.

    n_rows: None where the labels do not say, which are then refused themselves.
    """
    if not isinstance(splits, Iterable) or isinstance(splits, (str, bytes)):
        raise ValueError(
            "splits must be (train, test) pairs of row indices, as a splitter's split(X, y) gives "
            f"them; found {splits!r:.80}"
        )
    checked = []
    for i, split in enumerate(splits):
        if not isinstance(split, (tuple, list)):
            raise ValueError(
                f"splits[{i}] must be a (train, test) pair or a (train, validation, test) triple; "
                f"found {split!r:.80}"
            )
        checked.append(tuple(_row_numbers(part, n_rows, f"splits[{i}]") for part in split))
    lengths = {len(split) for split in checked}
    if lengths not in ({2}, {3}):
        raise ValueError(
            "splits must all be (train, test) pairs or all (train, validation, test) triples of "
            f"row indices; found lengths {sorted(lengths)}"
        )
    return checked


def _row_numbers(rows: Any, n_rows: int | None, name: str) -> np.ndarray:
    """Row numbers, from such or a mask."""
    rows = np.asarray(rows)
    if rows.size == 0:
        return np.empty(0, int)
    if rows.ndim != 1 or rows.dtype.kind not in "iub":
        raise ValueError(
            f"{name} must hold row indices or masks, 1-dimensional; found {rows.dtype} of shape "
            f"{rows.shape}"
        )
    if rows.dtype.kind == "b":
        if n_rows is not None and len(rows) != n_rows:
            raise ValueError(f"{name} must hold masks of {n_rows} rows; found one of {len(rows)}")
        return np.flatnonzero(rows)
    if n_rows is not None and (rows.max() >= n_rows or rows.min() < -n_rows):
        found = rows.max() if rows.max() >= n_rows else rows.min()
        raise ValueError(f"{name} must hold indices of {n_rows} rows; found {found}")
    return rows


def check_seeds(random_states: Sequence[int], n_splits: int) -> None:
    """Refuse what is not one seed for each split."""
    if not hasattr(random_states, "__len__") or len(random_states) != n_splits:
        raise ValueError(
            f"random_states must be a list of one seed per split, of which there are {n_splits}; "
            f"found {random_states!r:.80}"
        )
