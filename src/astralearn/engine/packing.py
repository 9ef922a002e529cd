"""How rows are laid out for the compiled loop. NumPy alone.

Classes apart, features first, cut into chunks that fit the processor's cache.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from astralearn.engine.rows import Fold, Rows, share_rows
from astralearn.engine.view import View

CHUNK_ROWS = 1 << 16  # at most
# Blocks of a class at most: of each, every place is told the sums in every epoch.
MOST_BLOCKS = 256


class Cut(NamedTuple):
    """How the rows of one class are cut: blocks of chunks of rows.

    A chunk's rows are computed on at once, and a block's chunks one after the other. The sums of
    blocks are added in their order, wherever each was summed.
    """

    blocks: int
    chunks: int
    rows: int

    @property
    def block_rows(self) -> int:
        return self.chunks * self.rows


class Chunks(NamedTuple):
    """How rows are cut, in numbers per array: networks × rows.

    numbers: of a chunk. Its hidden units stay in the second-level cache.
    undivided: up to which one chunk holds all.
    """

    numbers: int
    undivided: int = 0

    def cut(self, n: int, *, of: int, n_networks: int) -> Cut:
        """How the n rows of a class are cut, of so many rows of both.

        Lengths are coarse, an eighth of a power of two and at least 32, so that folds of nearly one
        size are compiled once. Of many rows, either class has two blocks: a loop rounds alike
        wherever its blocks lie.
        """
        whole, most = (
            max(256, min(CHUNK_ROWS, numbers // n_networks))
            for numbers in (self.undivided, self.numbers)
        )
        n_chunks = 1 if n <= whole else -(-n // most)
        if of > CHUNK_ROWS:
            n_chunks = max(2, n_chunks)
        length = max(1, -(-n // n_chunks))
        grain = max(32, (1 << (length - 1).bit_length()) // 16)
        of_block = -(-n_chunks // MOST_BLOCKS)
        return Cut(-(-n_chunks // of_block), of_block, -(-length // grain) * grain)


# In short runs a second chunk takes longer to compile than it gains.
SHORT_RUN, LONG_RUN = Chunks(1 << 14, undivided=1 << 18), Chunks(1 << 13)


class Rescaling(NamedTuple):
    """From inputs that networks share to each one's own: ratio·shared + shift.

    ratio, shift: (K, features).
    """

    ratio: Any
    shift: Any


class Line(NamedTuple):
    """The rows of one class that have weight, end to end over all places.

    n: how many there are.
    start: the place in the line of the first row that is here.
    rows, numbers: those here, and their numbers among the rows.
    brought: what other places gave: where it starts, its X and its weights.
    """

    n: int
    start: int
    rows: Rows
    numbers: np.ndarray
    brought: Sequence[tuple[int, np.ndarray, np.ndarray]] = ()

    @classmethod
    def here(cls, rows: Rows, *, positive: bool) -> Line:
        """All are here."""
        numbers = rows.of_class(positive)
        return cls(len(numbers), 0, rows, numbers)

    def between(self, first: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """X and weights from one place in the line to another."""
        own = slice(max(first - self.start, 0), max(stop - self.start, 0))
        some = self.numbers[own]
        found = [(self.start + own.start, self.rows.X[some], self.rows.weight[some])]
        for start, X, weight in self.brought:
            part = slice(max(first - start, 0), max(stop - start, 0))
            found.append((start + part.start, X[part], weight[part]))
        found = sorted((piece for piece in found if len(piece[1])), key=lambda piece: piece[0])
        if len(found) == 1:
            return found[0][1:]
        return np.concatenate([X for _, X, _ in found]), np.concatenate([w for *_, w in found])


class ClassLines(NamedTuple):
    """What of one class is laid out here, and how.

    lines: of the training rows, and of those held out where there are any.
    blocks: which stand here, one after the other; −1 for room that nothing fills.
    """

    cut: Cut
    lines: Sequence[Line]
    blocks: np.ndarray


class ClassRows(NamedTuple):
    """The rows of one class.

    Training and validation rows stand together, so that one pass serves both: a validation row has
    weight 0 in `weight`, a training row in `held_out`, and a row that only fills up a chunk in
    both.

    features: (blocks, chunks, features + 1, rows), or (blocks, chunks, K, features + 1, rows).
    weight: (blocks, chunks, 1 or K, rows).
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
    here: Sequence[ClassLines] | None = None,
) -> Packed:
    """The rows of one fold that all networks share, or of one fold per network.

    Folds over the same rows become one matrix, under one scaling: a product with that serves all
    networks at once, which takes half of the time of a product for each.

    here: of the negatives and of the positives, what stands here of a fold that several places
        share; None: the folds' own rows.
    """
    together = len(folds) > 1 and share_rows(folds)
    cut = functools.partial(chunks.cut, n_networks=n_networks)
    alike = [] if together or here else _alike(folds, cut)

    def packed(positive: bool) -> ClassRows:
        if together:
            return _pack_once(folds, positive=positive, cut=cut, dtype=dtype)
        of_folds = [here[positive]] if here else alike[positive]
        return _pack_each(folds, of_folds, positive=positive, dtype=dtype)

    return Packed(
        negatives=packed(False),
        positives=packed(True),
        rescaling=_rescaling([fold.view for fold in folds], dtype) if together else None,
    )


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


def _pack_once(
    folds: Sequence[Fold], *, positive: bool, cut: Callable[..., Cut], dtype: Any
) -> ClassRows:
    """Rows of one class that any fold sees, once, with a weight for each fold."""
    first, view = folds[0].train, _common_view([fold.view for fold in folds])
    seen = np.zeros(len(first.positive), bool)
    for rows in (rows for fold in folds for rows in fold.parts):
        seen |= rows.weight > 0
    numbers = np.flatnonzero(seen & (first.positive == positive))
    shape = cut(len(numbers), of=len(seen))
    packed = _nothing(folds, shape.blocks, shape, (view.n_inputs + 1,), dtype)
    for start in range(0, len(numbers), shape.rows):
        some = numbers[start : start + shape.rows]
        at = (*divmod(start // shape.rows, shape.chunks), ..., slice(len(some)))
        packed.features[at][:-1] = view.inputs(first.X[some])
        for k, fold in enumerate(folds):
            for weight, rows in zip(_weights(packed), fold.parts, strict=True):
                weight[at][k] = fold.costs[positive] * rows.weight[some]
    return packed


def _alike(folds: Sequence[Fold], cut: Callable[..., Cut]) -> list[list[ClassLines]]:
    """Each fold's negatives and positives, all of them here, cut alike."""
    lines = [
        [[Line.here(rows, positive=positive) for rows in fold.parts] for fold in folds]
        for positive in (False, True)
    ]
    counts = np.asarray([[sum(line.n for line in parts) for parts in each] for each in lines])
    of_both = int(counts.sum(axis=0).max())
    cuts = [cut(int(most), of=of_both) for most in counts.max(axis=1)]
    return [
        [ClassLines(one, parts, np.arange(one.blocks)) for parts in each]
        for one, each in zip(cuts, lines, strict=True)
    ]


def _pack_each(
    folds: Sequence[Fold], of_folds: Sequence[ClassLines], *, positive: bool, dtype: Any
) -> ClassRows:
    """The rows of one class, each fold's for itself.

    Rows become inputs on their way in, a chunk at a time: beside the caller's data there is this
    one copy.
    """
    cut, _, blocks = of_folds[0]
    packed = _nothing(folds, len(blocks), cut, (len(folds), folds[0].view.n_inputs + 1), dtype)
    slots = [
        (slot, chunk, block * cut.block_rows + chunk * cut.rows)
        for slot, block in enumerate(blocks.tolist())
        for chunk in range(cut.chunks)
        if block >= 0
    ]
    for k, (fold, of_class) in enumerate(zip(folds, of_folds, strict=True)):
        cost, before = fold.costs[positive], 0
        for weights, line in zip(_weights(packed), of_class.lines, strict=True):
            for slot, chunk, begin in slots:
                first, stop = (
                    min(max(place, before), before + line.n) for place in (begin, begin + cut.rows)
                )
                if first < stop:
                    X, weight = line.between(first - before, stop - before)
                    at = slice(first - begin, stop - begin)
                    packed.features[slot, chunk, k, :-1, at] = fold.view.inputs(X)
                    weights[slot, chunk, k, at] = cost * weight
            before += line.n
    return packed._replace(features=packed.features[:, :, 0]) if len(folds) == 1 else packed


def _nothing(
    folds: Sequence[Fold], blocks: int, cut: Cut, of_row: tuple[int, ...], dtype: Any
) -> ClassRows:
    """Room for rows without weight; their last input, the bias's, is 1."""
    features = aligned_zeros((blocks, cut.chunks, *of_row, cut.rows), dtype)
    features[..., -1, :] = 1
    of_weights = (blocks, cut.chunks, len(folds), cut.rows)
    validates = folds[0].held_out is not None
    return ClassRows(
        features=features,
        weight=aligned_zeros(of_weights, dtype),
        held_out=aligned_zeros(of_weights, dtype) if validates else None,
    )


def _weights(packed: ClassRows) -> list[np.ndarray]:
    """Where the weights of the training rows go, and where those of the rows held out."""
    return [packed.weight] if packed.held_out is None else [packed.weight, packed.held_out]


def aligned_zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Zeros at a multiple of 64 bytes, which XLA takes without a copy."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    buffer = np.zeros(size + 64, np.uint8)
    start = -buffer.__array_interface__["data"][0] % 64
    return buffer[start : start + size].view(dtype).reshape(shape)
