"""Rows of data, laid out for the engine: classes apart, features first, cut into chunks that fit the processor's cache."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from astralearn.engine.view import View

# Numbers per array of one chunk (networks × rows) that still sit in a core's second-level cache beside a dozen others.
CHUNK_NUMBERS = 1 << 16


@dataclass(frozen=True)
class Fold:
    """What a network learns from: rows (n, features), labels 0/1, weights, and the view through which it sees them."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    view: View


class ClassRows(NamedTuple):
    """The rows of one class: features (chunks, features + 1, rows) or (chunks, K, features + 1, rows), weights (chunks, 1 or K, rows).

    Training and validation rows stand together, so that one pass serves both: a validation row has weight 0 in `weight`, a training row
    in `held_out`, and a row that only fills up a chunk in both. `held_out` is None where nothing is held out.
    """

    features: Any
    weight: Any
    held_out: Any


def pack(
    folds: Sequence[Fold],
    validation: Sequence[Fold] | None,
    *,
    positive: bool,
    n_networks: int,
    dtype: Any = np.float32,
    chunk_numbers: int = CHUNK_NUMBERS,
) -> ClassRows:
    """The rows of one class, from one fold that all networks share or from one fold per network.

    Rows become inputs on their way in, a chunk at a time: beside the caller's data there is this one copy.
    """
    parts = [[(fold, _of_class(fold, positive))] for fold in folds]
    for k, fold in enumerate(validation or ()):
        parts[k].append((fold, _of_class(fold, positive)))
    n_chunks, length = chunking(max(1, *(sum(len(rows) for _, rows in part) for part in parts)), max(256, chunk_numbers // n_networks))
    features = aligned_zeros((n_chunks, len(folds), folds[0].view.n_inputs + 1, length), dtype)
    weights = [aligned_zeros((n_chunks, len(folds), length), dtype) for _ in ("training", "held out")]
    features[:, :, -1] = 1
    for k, part in enumerate(parts):
        start = 0
        for (fold, rows), weight in zip(part, weights, strict=False):
            for c, place, some in _pieces(rows, start, length):
                features[c, k, :-1, place] = fold.view.inputs(fold.X[some])
                weight[c, k, place] = fold.weight[some]
            start += len(rows)
    return ClassRows(features[:, 0] if len(folds) == 1 else features, weights[0], weights[1] if validation else None)


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
    return np.flatnonzero((fold.y > 0.5) == positive)


def chunking(n: int, most: int) -> tuple[int, int]:
    """How many chunks of how many rows hold n rows, none longer than about `most`.

    Lengths are coarse, an eighth of a power of two and at least 32, so that folds of nearly one size are compiled once.
    """
    n_chunks = -(-n // most)
    length = -(-n // n_chunks)
    grain = max(32, (1 << (length - 1).bit_length()) // 16)
    return n_chunks, -(-length // grain) * grain
