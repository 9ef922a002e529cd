"""Rows of data, laid out for the engine: classes apart, features first, cut into chunks that fit the processor's cache."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from astralearn.engine.view import FAR, View

# Rows of a chunk, and numbers per array (networks × rows), at most. A second chunk costs more than leaving the second-level cache: the
# loop over chunks copies each one out of the matrix.
CHUNK_ROWS, CHUNK_NUMBERS = 1 << 16, 1 << 18


@dataclass(frozen=True)
class Fold:
    """What a network learns from: rows (n, features), labels 0/1, weights, and the view through which it sees them.

    Rows without weight are not seen. Folds that hold the very same arrays X and y, under weights of their own, are packed once.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    view: View


class Rescaling(NamedTuple):
    """From inputs that networks share to each one's own: own = ratio·shared + shift, both (K, features)."""

    ratio: Any
    shift: Any


class ClassRows(NamedTuple):
    """The rows of one class: features (chunks, features + 1, rows) or (chunks, K, features + 1, rows), weights (chunks, 1 or K, rows).

    Training and validation rows stand together, so that one pass serves both: a validation row has weight 0 in `weight`, a training row
    in `held_out`, and a row that only fills up a chunk in both. `held_out` is None where nothing is held out.
    """

    features: Any
    weight: Any
    held_out: Any


class Packed(NamedTuple):
    """All that a group of networks trains on. rescaling: None where the features are each network's own inputs."""

    negatives: ClassRows
    positives: ClassRows
    rescaling: Rescaling | None


def pack(
    folds: Sequence[Fold],
    validation: Sequence[Fold] | None,
    *,
    n_networks: int,
    dtype: Any = np.float32,
    chunk_numbers: int = CHUNK_NUMBERS,
) -> Packed:
    """From one fold that all networks share or from one fold per network.

    Folds over the same rows become one matrix, under one scaling: a product with that serves all networks at once, which takes half of
    the time of a product for each.
    """
    together = len(folds) > 1 and share_rows([*folds, *(validation or ())])
    pack_class = _pack_once if together else _pack_each
    negatives, positives = (
        pack_class(
            folds,
            validation,
            positive=positive,
            n_networks=n_networks,
            dtype=dtype,
            chunk_numbers=chunk_numbers,
        )
        for positive in (False, True)
    )
    return Packed(
        negatives, positives, _rescaling([fold.view for fold in folds], dtype) if together else None
    )


def share_rows(folds: Sequence[Fold]) -> bool:
    """Whether they see the same rows, through scalings alone."""
    X, y = folds[0].X, folds[0].y
    return all(
        fold.X is X and fold.y is y and fold.view.root is None and fold.view.limit == FAR
        for fold in folds
    )


def _common_view(views: Sequence[View]) -> View:
    """Each feature as the fold with its smallest scale sees it: under a larger one, due to an outlier elsewhere, that fold's rows would
    be too close together to tell them apart."""
    scales = np.stack([view.scale for view in views])
    of = np.argmin(scales, axis=0), np.arange(scales.shape[1])
    return View(np.stack([view.mean for view in views])[of], scales[of])


def _rescaling(views: Sequence[View], dtype: Any) -> Rescaling:
    mean, scale, *_ = _common_view(views)
    return Rescaling(
        np.stack([scale / view.scale for view in views]).astype(dtype),
        np.stack([(mean - view.mean) / view.scale for view in views]).astype(dtype),
    )


def _pack_once(
    folds: Sequence[Fold],
    validation: Sequence[Fold] | None,
    *,
    positive: bool,
    n_networks: int,
    dtype: Any,
    chunk_numbers: int,
) -> ClassRows:
    """The rows of one class that any of the folds sees, once, with a weight for each fold."""
    first, kinds, view = (
        folds[0],
        (folds, validation or ()),
        _common_view([fold.view for fold in folds]),
    )
    seen = np.zeros(len(first.y), bool)
    for fold in (*folds, *(validation or ())):
        seen |= fold.weight > 0
    rows = np.flatnonzero(seen & ((first.y > 0.5) == positive))
    n_chunks, length = chunking(len(rows), chunk_numbers // n_networks)
    features = aligned_zeros((n_chunks, view.n_inputs + 1, length), dtype)
    features[:, -1] = 1
    weights = [aligned_zeros((n_chunks, len(folds), length), dtype) for _ in kinds]
    for c, place, some in _pieces(rows, 0, length):
        features[c, :-1, place] = view.inputs(first.X[some])
        for weight, kind in zip(weights, kinds, strict=True):
            for k, fold in enumerate(kind):
                weight[c, k, place] = fold.weight[some]
    return ClassRows(features, weights[0], weights[1] if validation else None)


def _pack_each(
    folds: Sequence[Fold],
    validation: Sequence[Fold] | None,
    *,
    positive: bool,
    n_networks: int,
    dtype: Any,
    chunk_numbers: int,
) -> ClassRows:
    """The rows of one class, each fold's for itself.

    Rows become inputs on their way in, a chunk at a time: beside the caller's data there is this one copy.
    """
    parts = [[(fold, _of_class(fold, positive))] for fold in folds]
    for k, fold in enumerate(validation or ()):
        parts[k].append((fold, _of_class(fold, positive)))
    n_chunks, length = chunking(
        max(sum(len(rows) for _, rows in part) for part in parts), chunk_numbers // n_networks
    )
    features = aligned_zeros((n_chunks, len(folds), folds[0].view.n_inputs + 1, length), dtype)
    weights = [
        aligned_zeros((n_chunks, len(folds), length), dtype) for _ in ("training", "held out")
    ]
    features[:, :, -1] = 1
    for k, part in enumerate(parts):
        start = 0
        for (fold, rows), weight in zip(part, weights, strict=False):
            for c, place, some in _pieces(rows, start, length):
                features[c, k, :-1, place] = fold.view.inputs(fold.X[some])
                weight[c, k, place] = fold.weight[some]
            start += len(rows)
    return ClassRows(
        features[:, 0] if len(folds) == 1 else features,
        weights[0],
        weights[1] if validation else None,
    )


def _pieces(rows: np.ndarray, start: int, length: int) -> Iterator[tuple[int, slice, np.ndarray]]:
    """(chunk, place in it, rows) for rows laid end to end from `start`."""
    done = 0
    while done < len(rows):
        chunk, offset = divmod(start + done, length)
        some = rows[done : done + length - offset]
        yield chunk, slice(offset, offset + len(some)), some
        done += len(some)


def aligned_zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Zeros at an address that XLA takes as it is, without a copy of its own (a multiple of 64 bytes)."""
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    buffer = np.zeros(size + 64, np.uint8)
    start = -buffer.__array_interface__["data"][0] % 64
    return buffer[start : start + size].view(dtype).reshape(shape)


def _of_class(fold: Fold, positive: bool) -> np.ndarray:
    return np.flatnonzero(((fold.y > 0.5) == positive) & (fold.weight > 0))


def chunking(n: int, most: int) -> tuple[int, int]:
    """How many chunks of how many rows hold n rows, none longer than about `most` and CHUNK_ROWS.

    Lengths are coarse, an eighth of a power of two and at least 32, so that folds of nearly one size are compiled once.
    """
    n_chunks = max(1, -(-n // max(256, min(most, CHUNK_ROWS))))
    length = max(1, -(-n // n_chunks))
    grain = max(32, (1 << (length - 1).bit_length()) // 16)
    return n_chunks, -(-length // grain) * grain
