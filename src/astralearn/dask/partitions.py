"""Dask collections as pieces: a task looks at each partition where it lies."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import dask
import dask.array as da
import numpy as np

from astralearn.classifier.shards import Piece, Pieces

T = TypeVar("T")

ADDED_AT_ONCE = 8  # partial sums that one task adds up
# What labels and weights are called beside a frame's columns.
Y, WEIGHT = "astralearn y", "astralearn weight"


@dataclass(frozen=True)
class Partitions(Pieces):
    """The partitions of a table, as delayed arguments of `as_piece`.

    Every look computes them anew, so that no more of them are in memory than workers have threads,
    unless they were persisted.
    """

    pieces: Sequence[tuple[Any, ...]]
    kind: str = "partition"

    @classmethod
    def of(cls, X: Any, y: Any, weight: Any) -> Partitions:
        """Those of Dask collections.

        X: a Dask array or frame.
        y, weight: Dask arrays or series in as many partitions; weight may be None.
        """
        columns = {name: one for name, one in ((Y, y), (WEIGHT, weight)) if one is not None}
        if all(hasattr(one, "divisions") for one in (X, *columns.values())):
            # In one frame: read apart, the columns of a file may come in other partitions.
            return cls([(part,) for part in X.assign(**columns).to_delayed()])
        apart = [_delayed(X, "X"), _delayed(_cut_like(y, X), "y")]
        if weight is not None:
            apart.append(_delayed(_cut_like(weight, X), "sample_weight"))
        sizes = [len(parts) for parts in apart]
        if len(set(sizes)) > 1:
            raise ValueError(
                "y and sample_weight must have as many partitions as X; found "
                f"{' and '.join(map(str, sizes[1:]))}, and {sizes[0]} of X"
            )
        return cls(list(zip(*apart, strict=True)))

    def each(
        self, look: Callable[..., T], given: Sequence[tuple[Any, ...]] | None = None
    ) -> list[T]:
        """What a look at every partition finds."""
        tasks = self._looks(look, given or [()] * len(self.pieces))
        try:
            return list(dask.compute(*tasks))
        except (KeyError, AttributeError, TypeError, ValueError, OSError):
            for number, task in enumerate(tasks):
                try:
                    dask.compute(task)
                except Exception as error:
                    raise ValueError(
                        f"partition {number} cannot be read: {type(error).__name__}: {error}"
                    ) from error
            raise

    def merged(self, look: Callable[[Piece], T], plus: Callable[[T, T], T]) -> T:
        """What a look at every partition adds up to, in their order."""
        sums = self._looks(look, [()] * len(self.pieces))
        added = dask.delayed(functools.reduce, pure=False)
        while len(sums) > 1:
            starts = range(0, len(sums), ADDED_AT_ONCE)
            sums = [added(plus, sums[start : start + ADDED_AT_ONCE]) for start in starts]
        return dask.compute(*sums)[0]

    def piece(self, number: int) -> Any:
        """A partition's piece, delayed."""
        return dask.delayed(as_piece, pure=False, traverse=False)(*self.pieces[number])

    def _looks(self, look: Callable[..., T], given: Sequence[tuple[Any, ...]]) -> list[Any]:
        # One copy of the look serves all tasks.
        shared = dask.delayed(look, pure=False, traverse=False)
        task = dask.delayed(_look, pure=False, traverse=False)
        return [task(shared, self.piece(number), *more) for number, more in enumerate(given)]


def as_piece(X: Any, y: Any = None, weight: Any = None) -> Piece:
    """The piece of a partition.

    X: its rows, where y is None with labels and weights as columns.
    """
    if y is not None:
        return Piece(X, y, weight)
    features = X.drop(columns=[Y, WEIGHT], errors="ignore")
    return Piece(features, X[Y], X.get(WEIGHT))


def _look(look: Callable[..., T], piece: Piece, *given: Any) -> T:
    return look(piece, *given)


def _cut_like(column: Any, X: Any) -> Any:
    """The column in the chunks of X, where both are arrays of known sizes."""
    if not (isinstance(column, da.Array) and isinstance(X, da.Array)):
        return column
    is_known = np.isfinite([*column.chunks[0], *X.chunks[0]]).all()
    return column.rechunk((X.chunks[0],)) if is_known and len(column) == len(X) else column


def _delayed(collection: Any, name: str) -> list[Any]:
    """The partitions of an array or a frame, whole rows each."""
    if isinstance(collection, da.Array) and collection.ndim == 2:
        collection = collection.rechunk({1: -1})
    if not hasattr(collection, "to_delayed"):
        raise ValueError(
            f"{name} must be a Dask array, frame or series; found {type(collection).__name__}. "
            "ASTraClassifier takes what is in memory."
        )
    parts = collection.to_delayed()
    return list(parts.ravel()) if hasattr(parts, "ravel") else list(parts)
