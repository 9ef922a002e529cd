"""From a user's rows to what the engine trains on: held out, merged, scaled, labelled 0 and 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from astralearn.engine.network import BLOCK
from astralearn.engine.rows import Fold

MERGED_UP_TO = 100_000  # rows; sorting more to find equal ones costs more than it saves


@dataclass(frozen=True)
class Rows:
    """X: (n, features). positive: whether each row is of the minority. weight: ≥ 0."""

    X: np.ndarray
    positive: np.ndarray
    weight: np.ndarray

    def take(self, rows: np.ndarray) -> Rows:
        return Rows(self.X[rows], self.positive[rows], self.weight[rows])


class Prepared(NamedTuple):
    """What to train on, and what is held out, through the scaling of the training rows."""

    train: Fold
    held_out: Fold | None


def prepare(train: Rows, held_out: Rows | None, *, standardize: bool) -> Prepared:
    train = merged(train)
    n_features = train.X.shape[1]
    mean, scale = scaling(train) if standardize else (np.zeros(n_features), np.ones(n_features))

    def fold(rows: Rows) -> Fold:
        return Fold(rows.X, rows.positive, rows.weight, mean, scale)

    return Prepared(fold(train), None if held_out is None else fold(held_out))


def hold_out(rows: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """(kept, held out): the fraction of each class, but at least one row of each class on either side."""
    n = int(rows.positive.sum())
    if n < 2:
        raise ValueError(
            f"validation_fraction={fraction} needs at least two rows of the minority class, one to train and one to validate on; "
            f"found {n}. Set validation_fraction=0 to train on every row."
        )
    rng = np.random.default_rng(seed)
    away = np.zeros(len(rows.positive), bool)
    for members in (np.flatnonzero(rows.positive), np.flatnonzero(~rows.positive)):
        away[rng.permutation(members)[: min(len(members) - 1, max(1, round(fraction * len(members))))]] = True
    return rows.take(~away), rows.take(away)


def merged(rows: Rows) -> Rows:
    """Equal rows of one class as one row with their weights added, in a fixed order; rows without weight left out.

    The loss is the same, and so, to the bit, is what a weight of 2 and a row given twice lead to, or the same rows in another order.
    """
    if not np.all(rows.weight > 0):
        rows = rows.take(rows.weight > 0)
    if len(rows.X) > MERGED_UP_TO:
        return rows
    distinct, inverse = np.unique(np.column_stack([rows.positive, rows.X]), axis=0, return_inverse=True)
    X = np.ascontiguousarray(distinct[:, 1:]).astype(rows.X.dtype)
    return Rows(X, distinct[:, 0] > 0, np.bincount(inverse.ravel(), rows.weight))


def scaling(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of each feature, in float64; 1 for one that does not vary."""
    total = rows.weight.sum()
    mean = _weighted_sum(rows, lambda X: X) / total
    variance = _weighted_sum(rows, lambda X: np.square(X - mean)) / total
    varies = variance > np.square(np.finfo(rows.X.dtype).eps * np.abs(mean)) * len(rows.X)
    return mean, np.where(varies, np.sqrt(np.where(varies, variance, 1.0)), 1.0)


def _weighted_sum(rows: Rows, of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Σ w·of(X), a block of rows at a time, so that nothing as large as X is made."""
    blocks = range(0, len(rows.X), BLOCK)
    parts = (rows.weight[start : start + BLOCK] @ of(rows.X[start : start + BLOCK].astype(np.float64)) for start in blocks)
    return np.sum(list(parts), axis=0)
