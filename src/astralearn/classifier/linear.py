"""A linear score: discriminant analysis with shrunken covariances. NumPy alone.

    w = S⁻¹ (μ₁ − μ₀),  score(u) = w·(u − ½ (μ₀ + μ₁)),  S = ½ (S₀ + S₁)

Both classes count alike in S. Each covariance is drawn towards its own diagonal by as much as
Ledoit and Wolf (2004) say of its rows: the fewer, the more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from astralearn.classifier.crossed import PARTS, cross_scored
from astralearn.engine.reproducible import cholesky, tiled_product

ROWS_PER_MODEL = 2_000  # of a class in one model
SOFTENING = 1e-3  # of a feature's variance, added to S: a feature may be constant in both classes


@dataclass(frozen=True)
class Linear:
    """A direction, and where along it the classes meet.

    direction: (features,), float64.
    offset: the score of a row of zeros.
    """

    direction: np.ndarray
    offset: float

    def score(self, u: np.ndarray) -> np.ndarray:
        """w·u + offset, (rows,). u: (rows, features), float32."""
        return tiled_product(u.astype(np.float64), self.direction[:, None])[:, 0] + self.offset


def fit_linear(
    u: np.ndarray, positive: np.ndarray, weight: np.ndarray, *, seed: int
) -> tuple[Linear, np.ndarray]:
    """Fit the model; return it and the rows' scores by models that did not see them.

    NaN and rows that are not left out as in `cross_scored`, arguments as in `trees.grow_forest`.
    """
    rng = np.random.default_rng([seed, PARTS, ROWS_PER_MODEL])
    return cross_scored(lambda classes: _fit(u, weight, classes, rng), u, positive, rng)


class _Class(NamedTuple):
    """A class of rows.

    mean: (features,).
    rows: (n, features), centred, each times the root of its share: their product is the covariance.
    diagonal: (features,), the variances.
    shrinkage: how much of the diagonal replaces the covariance, in [0, 1].
    """

    mean: np.ndarray
    rows: np.ndarray
    diagonal: np.ndarray
    shrinkage: float


def _fit(
    u: np.ndarray, weight: np.ndarray, classes: list[np.ndarray], rng: np.random.Generator
) -> Linear:
    drawn = [
        rows
        if len(rows) <= ROWS_PER_MODEL
        else np.sort(rng.choice(rows, ROWS_PER_MODEL, replace=False))
        for rows in classes
    ]
    majority, minority = (_class(u[rows].astype(np.float64), weight[rows]) for rows in drawn)
    half = 0.5 * (majority.shrinkage * majority.diagonal + minority.shrinkage * minority.diagonal)
    roots = [
        np.sqrt(0.5 * (1.0 - of_class.shrinkage)) * of_class.rows
        for of_class in (majority, minority)
    ]
    direction = _solved(np.concatenate(roots), half + SOFTENING, minority.mean - majority.mean)
    middle = 0.5 * (majority.mean + minority.mean)
    return Linear(direction, -float(np.sum(direction * middle)))


def _class(u: np.ndarray, weight: np.ndarray) -> _Class:
    share = weight / weight.sum()
    mean = np.sum(share[:, None] * u, axis=0)
    centred = u - mean
    diagonal = np.sum(share[:, None] * centred**2, axis=0)
    rows = np.sqrt(share)[:, None] * centred
    varies = diagonal > SOFTENING**2
    scaled = rows[:, varies] / np.sqrt(diagonal[varies])
    return _Class(mean, rows, diagonal, _shrinkage(scaled, share, float(weight.sum())))


def _shrinkage(rows: np.ndarray, share: np.ndarray, n: float) -> float:
    """Ledoit and Wolf's share of the identity, for rows of unit variance.

    rows: (rows, features), centred, each times the root of its share of the weight.
    n: how many rows these stand for.
    """
    features = rows.shape[1]
    small = tiled_product(rows, rows.T) if len(rows) < features else tiled_product(rows.T, rows)
    norm = float(np.sum(small**2))
    apart = norm - features  # From the identity: the trace is the number of features.
    if apart <= 0.0:
        return 1.0
    lengths = np.sum(rows**2, axis=1)
    noise = (float(np.sum(lengths**2 / share)) - norm) / n
    return min(max(noise / apart, 0.0), 1.0)


def _solved(rows: np.ndarray, diagonal: np.ndarray, d: np.ndarray) -> np.ndarray:
    """(rowsᵀ rows + diagonal)⁻¹ d, by the smaller of two equal systems.

    rows: (n, features).
    diagonal: (features,), > 0.
    """
    if len(rows) >= len(d):
        return _divided(tiled_product(rows.T, rows) + np.diag(diagonal), d)
    scaled = rows / diagonal
    within = _divided(tiled_product(scaled, rows.T) + np.eye(len(rows)), np.sum(scaled * d, axis=1))
    return d / diagonal - np.sum(scaled * within[:, None], axis=0)


def _divided(a: np.ndarray, d: np.ndarray) -> np.ndarray:
    """a⁻¹ d for a positive definite a."""
    lower = cholesky(a)
    return np.asarray(
        solve_triangular(lower, solve_triangular(lower, d, lower=True), lower=True, trans=1)
    )
