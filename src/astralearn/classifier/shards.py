"""Rows in many places: partitions of a cluster, or the rows of processes.

A look at the rows of every place gives a few sums. They add up to what one machine would find, so
that the fit is the same: labels, statistics, and the pool of rows that a committee looks at.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from sklearn.utils.validation import _get_feature_names, check_array, column_or_1d

from astralearn.classifier.checks import LabelSums, checked_weight
from astralearn.classifier.committee import places_in_pool
from astralearn.classifier.labels import check_labels
from astralearn.classifier.rows import MERGED_UP_TO, merged
from astralearn.engine.rows import Extent, Rows

T = TypeVar("T")


class Piece(NamedTuple):
    """The rows of one place, as the user has them.

    X: (rows, features), a frame or an array.
    y: (rows,), labels.
    weight: (rows,), or None where every row weighs 1.
    """

    X: Any
    y: Any
    weight: Any


class Pieces(Protocol):
    """Places that hold rows, in an order.

    kind: what messages call one of them.
    """

    kind: str

    def each(
        self, look: Callable[..., T], given: Sequence[tuple[Any, ...]] | None = None
    ) -> list[T]:
        """What a look at every piece finds; `given`: further arguments for each."""
        ...

    def merged(self, look: Callable[[Piece], T], plus: Callable[[T, T], T]) -> T:
        """What a look at every piece adds up to, in their order."""
        return functools.reduce(plus, self.each(look))

    def first(self, value: T) -> T:
        """The value that counts, where several processes fit and each has one."""
        return value


@dataclass(frozen=True)
class Described:
    """What a fit asks of a piece before anything else.

    names: the features' names; None where they have none.
    dtype: of its numbers.
    sums: of its labels.
    """

    names: tuple[str, ...] | None
    n_features: int
    dtype: np.dtype[Any]
    sums: LabelSums
    extent: Extent


def describe(piece: Piece) -> Described | str:
    """The piece's description; a sentence where a fit cannot use it."""
    try:
        names = _get_feature_names(piece.X)
        X = _numbers(piece.X, (np.float64, np.float32))
        y, weight = _labels_and_weight(piece, X)
        check_labels(y)
    except (TypeError, ValueError) as error:
        return str(error)
    return Described(
        names=None if names is None else tuple(names),
        n_features=X.shape[1],
        dtype=X.dtype,
        sums=LabelSums.of(y, weight),
        # A copy of all rows is the most memory that a look takes.
        extent=Extent.of(X if np.all(weight > 0) else X[weight > 0]),
    )


def checked(found: Sequence[Described | str], kind: str) -> list[Described]:
    """The descriptions; refuses pieces that are wrong or that do not go together."""
    good: list[Described] = []
    for number, described in enumerate(found):
        if isinstance(described, str):
            raise ValueError(f"{kind} {number}: {described}")
        first = good[0] if good else described
        if (described.names, described.n_features) != (first.names, first.n_features):
            raise ValueError(
                f"{kind} {number} has other columns than {kind} 0: "
                f"{_columns(described)}, not {_columns(first)}"
            )
        with_labels = [one for one in (*good, described) if len(one.sums.labels)]
        kinds = {one.sums.labels.dtype.kind in "biuf" for one in with_labels}
        if len(kinds) > 1:
            raise ValueError(
                f"{kind} {number} has labels of another kind than those before it: "
                f"{described.sums.labels[:2].tolist()}, not "
                f"{with_labels[0].sums.labels[:2].tolist()}"
            )
        good.append(described)
    return good


def _columns(described: Described) -> str:
    if described.names is None:
        return f"{described.n_features} without names"
    return ", ".join(described.names)


@dataclass(frozen=True)
class PieceReading:
    """How pieces become rows.

    dtype: of all of their numbers.
    minority: the label of the positives.
    ignored: labels whose rows have no weight.
    """

    dtype: np.dtype[Any]
    minority: Any
    ignored: tuple[Any, ...]

    def rows(self, piece: Piece) -> Rows:
        """Those of the piece that have weight."""
        X = _numbers(piece.X, self.dtype)
        y, weight = _labels_and_weight(piece, X)
        for label in self.ignored:
            weight = np.where(y == label, 0.0, weight)
        rows = Rows(X, y == self.minority, weight)
        return rows if np.all(weight > 0) else rows.take(weight > 0)


@dataclass(frozen=True)
class Shards:
    """Rows of many pieces; statistics ask of them what they ask of `Rows`.

    described: each of the pieces.
    """

    pieces: Pieces
    reading: PieceReading
    described: Sequence[Described]

    @property
    def n_features(self) -> int:
        return self.described[0].n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.reading.dtype

    @property
    def extent(self) -> Extent:
        return functools.reduce(Extent.plus, [one.extent for one in self.described])

    @property
    def n_rows(self) -> int:
        return int(self.counts().sum())

    @property
    def n_negatives(self) -> int:
        return int(self.counts()[:, 0].sum())

    def counts(self) -> np.ndarray:
        """Negatives and positives of each piece, (pieces, 2)."""
        found = []
        for one in self.described:
            counted = ~np.isin(one.sums.labels, self.reading.ignored)
            positive = one.sums.labels == self.reading.minority
            found.append([one.sums.rows[counted & is_it].sum() for is_it in (~positive, positive)])
        return np.asarray(found, np.int64)

    def each(
        self, look: Callable[..., T], given: Sequence[tuple[Any, ...]] | None = None
    ) -> list[T]:
        """What a look at the rows of every piece finds."""
        return self.pieces.each(functools.partial(_look_at_rows, self.reading, look), given)

    def merged(self, look: Callable[[Rows], T], plus: Callable[[T, T], T]) -> T:
        """What a look at the rows of every piece adds up to."""
        return self.pieces.merged(functools.partial(_look_at_rows, self.reading, look), plus)

    def pool(self, seed: int) -> Rows:
        """The rows that a committee would look at if all of them were in one place."""
        counts = self.counts()
        places = [np.sort(of_class) for of_class in places_in_pool(counts.sum(axis=0), seed)]
        ends = np.cumsum(counts, axis=0)
        given = []
        for begin, end in zip(ends - counts, ends, strict=True):
            here = [np.searchsorted(places[k], [begin[k], end[k]]) for k in (0, 1)]
            given.append(tuple(places[k][slice(*here[k])] - begin[k] for k in (0, 1)))
        drawn = joined_rows(self.each(_take_places, given))
        # Copies of many rows of both classes stay apart, as they do in one place.
        return drawn if counts.sum(axis=0).min() > MERGED_UP_TO else merged(drawn)


def joined_rows(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts, in their order."""
    return Rows(
        np.concatenate([rows.X for rows in parts]),
        np.concatenate([rows.positive for rows in parts]),
        np.concatenate([rows.weight for rows in parts]),
    )


def whole_piece(piece: Piece) -> Piece:
    """The piece's rows with weight as arrays, to be joined with those of others."""
    X = _numbers(piece.X, (np.float64, np.float32))
    y, weight = _labels_and_weight(piece, X)
    has_weight = weight > 0
    if np.all(has_weight):
        return Piece(X, y, weight)
    return Piece(X[has_weight], y[has_weight], weight[has_weight])


def _look_at_rows(reading: PieceReading, look: Callable[..., T], piece: Piece, *given: Any) -> T:
    return look(reading.rows(piece), *given)


def _take_places(rows: Rows, negatives: np.ndarray, positives: np.ndarray) -> Rows:
    """Rows by their places in their class, in the rows' own order."""
    chosen = [rows.of_class(False)[negatives], rows.of_class(True)[positives]]
    return rows.take(np.sort(np.concatenate(chosen)))


def _numbers(X: Any, dtype: Any) -> np.ndarray:
    if getattr(X, "shape", (1,))[0] == 0:
        # What is empty has no numbers that could decide about their kind.
        settled = np.dtype(dtype[1] if isinstance(dtype, tuple) else dtype)
        return np.empty(X.shape, settled)
    return check_array(X, dtype=dtype, ensure_min_samples=0, input_name="X")


def _labels_and_weight(piece: Piece, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import pandas as pd

    y = column_or_1d(np.asarray(piece.y))
    if len(y) != len(X):
        raise ValueError(f"X has {len(X)} rows and y {len(y)}")
    if n_missing := int(pd.isna(y).sum()):
        raise ValueError(f"the target is missing in {n_missing} of {len(y)} rows")
    if not len(y):
        return y, np.empty(0)
    weight = None if piece.weight is None else np.asarray(piece.weight)
    return y, checked_weight(weight, X)
