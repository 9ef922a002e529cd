"""Rows of data, and how they are laid out for the compiled loop. NumPy alone.

Classes apart, features first, cut into chunks that fit the processor's cache.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from astralearn.engine.view import FAR, View

CHUNK_ROWS = 1 << 16  # at most

T = TypeVar("T")
# From a number of rows to how many chunks of how many rows hold them.
Cut = Callable[[int], tuple[int, int]]


class Chunks(NamedTuple):
    """How rows are cut, in numbers per array: networks × rows.

    numbers: of a chunk. Its hidden units stay in the second-level cache.
    undivided: up to which one chunk holds all.
    """

    numbers: int
    undivided: int = 0

    def cut(self, n: int, n_networks: int) -> tuple[int, int]:
        """How many chunks of how many rows hold n rows.

        Lengths are coarse, an eighth of a power of two and at least 32, so that folds of nearly one
        size are compiled once.
        """
        whole, most = (
            max(256, min(CHUNK_ROWS, numbers // n_networks))
            for numbers in (self.undivided, self.numbers)
        )
        n_chunks = 1 if n <= whole else -(-n // most)
        length = max(1, -(-n // n_chunks))
        grain = max(32, (1 << (length - 1).bit_length()) // 16)
        return n_chunks, -(-length // grain) * grain


# In short runs a second chunk takes longer to compile than it gains.
SHORT_RUN, LONG_RUN = Chunks(1 << 14, undivided=1 << 18), Chunks(1 << 13)


class Extent(NamedTuple):
    """The lowest and the highest value of each feature, (features,), float64."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray) -> Extent:
        """That of rows, (rows, features); of none, what changes no other's."""
        return cls(
            low=X.min(axis=0, initial=np.inf).astype(np.float64),
            high=X.max(axis=0, initial=-np.inf).astype(np.float64),
        )

    def plus(self, other: Extent) -> Extent:
        return Extent(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


@dataclass(frozen=True)
class Rows:
    """Rows of data as the user has them. Those without weight are not seen.

    X: (n, features).
    positive: (n,), whether each row is of the minority.
    weight: (n,), ≥ 0.
    """

    X: np.ndarray
    positive: np.ndarray
    weight: np.ndarray

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.X.dtype

    @property
    def extent(self) -> Extent:
        return Extent.of(self.X)

    @property
    def n_negatives(self) -> int:
        return int((~self.positive).sum())

    def merged(self, look: Callable[[Rows], T], plus: Callable[[T, T], T]) -> T:  # noqa: ARG002
        """A look at all of them: they are in one place."""
        return look(self)

    def take(self, rows: np.ndarray) -> Rows:
        return Rows(self.X[rows], self.positive[rows], self.weight[rows])

    def of_class(self, positive: bool) -> np.ndarray:
        """The numbers of the rows of one class that have weight."""
        return np.flatnonzero((self.positive == positive) & (self.weight > 0))


class RowCosts(NamedTuple):
    """What a mistake on a row of either class costs: a factor of its weight."""

    of_negative: float = 1.0
    of_positive: float = 1.0


@dataclass(frozen=True)
class Fold:
    """What a network learns from.

    Folds that hold the very same arrays X and positive, under weights of their own, are packed
    once.

    train: the rows to learn from.
    view: how the network sees them.
    held_out: rows to monitor and select on, through the same view.
    costs: what mistakes on rows of either cost.
    everywhere: what negatives and positives weigh in all places, where the rows are those of one
        place among several.
    """

    train: Rows
    view: View
    held_out: Rows | None = None
    costs: RowCosts = field(default_factory=RowCosts)
    everywhere: tuple[float, float] | None = None

    @property
    def class_weights(self) -> tuple[float, float]:
        """What negatives and positives weigh."""
        if self.everywhere is not None:
            return self.everywhere
        weight, positive = self.train.weight, self.train.positive
        return float(weight[~positive].sum()), float(weight[positive].sum())

    def n_rows(self, positive: bool) -> int:
        """How many rows of a class it holds, those held out too."""
        return sum(len(rows.of_class(positive)) for rows in self.parts)

    @property
    def parts(self) -> list[Rows]:
        """The training rows and, where there are any, those held out."""
        return [self.train] if self.held_out is None else [self.train, self.held_out]


class Rescaling(NamedTuple):
    """From inputs that networks share to each one's own: ratio·shared + shift.

    ratio, shift: (K, features).
    """

    ratio: Any
    shift: Any


class Room(NamedTuple):
    """How many rows are laid out, alike in every place.

    negatives, positives: the most that a device holds.
    devices: in this place.
    """

    negatives: int
    positives: int
    devices: int


class ClassRows(NamedTuple):
    """The rows of one class.

    Training and validation rows stand together, so that one pass serves both: a validation row has
    weight 0 in `weight`, a training row in `held_out`, and a row that only fills up a chunk in
    both.

    features: (chunks, features + 1, rows), or (chunks, K, features + 1, rows).
    weight: (chunks, 1 or K, rows).
    held_out: the same for validation rows; None where nothing is held out.
    """

    features: Any
    weight: Any
    held_out: Any


class Packed(NamedTuple):
    """All that a group of networks trains on.

    rescaling: None where the features are each network's own inputs.
    """

    negatives: ClassRows
    positives: ClassRows
    rescaling: Rescaling | None


def pack(
    folds: Sequence[Fold],
    *,
    n_networks: int,
    dtype: Any = np.float32,
    chunks: Chunks = SHORT_RUN,
    room: Room | None = None,
) -> Packed:
    """The rows of one fold that all networks share, or of one fold per network.

    Folds over the same rows become one matrix, under one scaling: a product with that serves all
    networks at once, which takes half of the time of a product for each.

    room: for what several places hold, where they share one fold; None: for the folds' own rows.
    """
    together = len(folds) > 1 and share_rows(folds)
    cut = functools.partial(chunks.cut, n_networks=n_networks)

    def packed(positive: bool) -> ClassRows:
        if together:
            return _pack_once(folds, positive=positive, cut=cut, dtype=dtype)
        return _pack_each(folds, positive=positive, cut=cut, dtype=dtype, room=room)

    return Packed(
        negatives=packed(False),
        positives=packed(True),
        rescaling=_rescaling([fold.view for fold in folds], dtype) if together else None,
    )


def share_rows(folds: Sequence[Fold]) -> bool:
    """Whether they see the same rows, through scalings alone."""
    first = folds[0].train
    return all(
        rows.X is first.X and rows.positive is first.positive
        for fold in folds
        for rows in fold.parts
    ) and all(fold.view.root is None and fold.view.limit == FAR for fold in folds)


def _common_view(views: Sequence[View]) -> View:
    """Each feature as the fold with its smallest scale sees it.

    Under a larger scale, due to an outlier elsewhere, that fold's rows would be too close together
    to tell them apart.
    """
    scales = np.stack([view.scale for view in views])
    of = np.argmin(scales, axis=0), np.arange(scales.shape[1])
    return View(np.stack([view.mean for view in views])[of], scales[of])


def _rescaling(views: Sequence[View], dtype: Any) -> Rescaling:
    common = _common_view(views)
    return Rescaling(
        ratio=np.stack([common.scale / view.scale for view in views]).astype(dtype),
        shift=np.stack([(common.mean - view.mean) / view.scale for view in views]).astype(dtype),
    )


def _pack_once(folds: Sequence[Fold], *, positive: bool, cut: Cut, dtype: Any) -> ClassRows:
    """Rows of one class that any fold sees, once, with a weight for each fold."""
    first, view = folds[0].train, _common_view([fold.view for fold in folds])
    seen = np.zeros(len(first.positive), bool)
    for rows in (rows for fold in folds for rows in fold.parts):
        seen |= rows.weight > 0
    numbers = np.flatnonzero(seen & (first.positive == positive))
    n_chunks, length = cut(len(numbers))
    packed = _nothing(folds, (n_chunks, view.n_inputs + 1, length), dtype)
    for chunk, place, some in _pieces(numbers, 0, length):
        packed.features[chunk, :-1, place] = view.inputs(first.X[some])
        for k, fold in enumerate(folds):
            cost = fold.costs[positive]
            for weight, rows in _weights_and_rows(packed, fold):
                weight[chunk, k, place] = cost * rows.weight[some]
    return packed


def _pack_each(
    folds: Sequence[Fold], *, positive: bool, cut: Cut, dtype: Any, room: Room | None
) -> ClassRows:
    """The rows of one class, each fold's for itself.

    Rows become inputs on their way in, a chunk at a time: beside the caller's data there is this
    one copy.
    """
    if room is None:
        most = [max(fold.n_rows(of) for fold in folds) for of in (False, True)]
        room = Room(most[0], most[1], devices=1)
    n_chunks, length = cut(room[positive])
    n_chunks *= room.devices
    shape = (n_chunks, len(folds), folds[0].view.n_inputs + 1, length)
    packed = _nothing(folds, shape, dtype)
    for k, fold in enumerate(folds):
        cost, start = fold.costs[positive], 0
        for weight, rows in _weights_and_rows(packed, fold):
            numbers = rows.of_class(positive)
            for chunk, place, some in _pieces(numbers, start, length):
                packed.features[chunk, k, :-1, place] = fold.view.inputs(rows.X[some])
                weight[chunk, k, place] = cost * rows.weight[some]
            start += len(numbers)
    return packed._replace(features=packed.features[:, 0]) if len(folds) == 1 else packed


def _nothing(folds: Sequence[Fold], shape: tuple[int, ...], dtype: Any) -> ClassRows:
    """Room for rows without weight; their last input, the bias's, is 1."""
    features = aligned_zeros(shape, dtype)
    features[..., -1, :] = 1
    of_weights = (shape[0], len(folds), shape[-1])
    validates = folds[0].held_out is not None
    return ClassRows(
        features=features,
        weight=aligned_zeros(of_weights, dtype),
        held_out=aligned_zeros(of_weights, dtype) if validates else None,
    )


def _weights_and_rows(packed: ClassRows, fold: Fold) -> Iterator[tuple[np.ndarray, Rows]]:
    """Where the weights of the training rows go, and where those of the rows held out."""
    yield packed.weight, fold.train
    if fold.held_out is not None:
        yield packed.held_out, fold.held_out


def _pieces(rows: np.ndarray, start: int, length: int) -> Iterator[tuple[int, slice, np.ndarray]]:
    """(chunk, place in it, rows) for rows laid end to end from `start`."""
    done = 0
    while done < len(rows):
        chunk, offset = divmod(start + done, length)
        some = rows[done : done + length - offset]
        yield chunk, slice(offset, offset + len(some)), some
        done += len(some)


def aligned_zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Zeros at a multiple of 64 bytes, which XLA takes without a copy."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    buffer = np.zeros(size + 64, np.uint8)
    start = -buffer.__array_interface__["data"][0] % 64
    return buffer[start : start + size].view(dtype).reshape(shape)
