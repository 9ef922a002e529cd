"""Rows of data, laid out for the engine: classes apart, features first, cut into chunks that fit the processor's cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

# Numbers per array of one chunk (networks × rows) that still sit in a core's second-level cache beside a dozen others.
CHUNK_NUMBERS = 1 << 16


@dataclass(frozen=True)
class Fold:
    """What one group of networks learns from: scaled rows (n, features), labels 0/1, weights ≥ 0, of one float dtype."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray


class ClassRows(NamedTuple):
    """The rows of one class: features (chunks, features + 1, rows) or (chunks, K, features + 1, rows), weights (chunks, 1 or K, rows).

    Training and validation rows stand together, so that one pass serves both: a validation row has weight 0 in `weight`, a training row
    in `held_out`, and a row that only fills up a chunk in both. `held_out` is None where nothing is held out.
    """

    features: Any
    weight: Any
    held_out: Any


def pack(
    folds: Sequence[Fold], validation: Sequence[Fold] | None, *, positive: bool, n_networks: int, chunk_numbers: int = CHUNK_NUMBERS
) -> ClassRows:
    """The rows of one class, from one fold that all networks share or from one fold per network."""
    parts = [[_of_class(fold, positive)] for fold in folds]
    for k, fold in enumerate(validation or ()):
        parts[k].append(_of_class(fold, positive))
    n_chunks, length = chunking(max(1, *(sum(len(rows) for _, rows in part) for part in parts), 1), max(256, chunk_numbers // n_networks))
    n_features, dtype = folds[0].X.shape[1], folds[0].X.dtype
    features = np.zeros((len(folds), n_features + 1, n_chunks, length), dtype)
    weights = np.zeros((2 if validation else 1, len(folds), n_chunks * length), dtype)
    features[:, -1] = 1
    for k, part in enumerate(parts):
        start = 0
        for which, (fold, rows) in enumerate(part):
            features[k, :-1].reshape(n_features, -1)[:, start : start + len(rows)] = fold.X[rows].T
            weights[which, k, start : start + len(rows)] = fold.weight[rows]
            start += len(rows)
    by_chunk = np.ascontiguousarray(np.moveaxis(features, 2, 0))
    weight, *held_out = (np.ascontiguousarray(w.reshape(len(folds), n_chunks, length).swapaxes(0, 1)) for w in weights)
    return ClassRows(by_chunk[:, 0] if len(folds) == 1 else by_chunk, weight, held_out[0] if held_out else None)


def _of_class(fold: Fold, positive: bool) -> tuple[Fold, np.ndarray]:
    return fold, np.flatnonzero((fold.y > 0.5) == positive)


def chunking(n: int, most: int) -> tuple[int, int]:
    """How many chunks of how many rows hold n rows, none longer than about `most`: even, and few different sizes for similar n."""
    n_chunks = -(-n // most)
    grain = 8 if n <= 256 else 256
    return n_chunks, -(-n // (n_chunks * grain)) * grain
