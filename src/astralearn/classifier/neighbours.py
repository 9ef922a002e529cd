"""How much nearer a row lies to the positives than to the majority. NumPy alone.

    ½ ln mean(1/d₁²) − ⅛ ln mean(1/d₀⁸)

d₁ runs over the positives, d₀ over some majority rows: a soft nearest distance. Far from the
majority the score is high without any positive near: the few positives often lie where the
majority is thin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from astralearn.core.elementary import TINY
from astralearn.engine.network import BLOCK
from astralearn.engine.reproducible import tiled_product

REFERENCES = 1_500  # rows of a class that distances are taken from
IN_CACHE = 256  # rows whose distances from the references stay in the processor's cache
SOFTENING = 1e-3  # of each feature's variance, added to squared distances: no two rows are nearer


@dataclass(frozen=True)
class Neighbours:
    """The rows that distances are taken from.

    majority, positives: (references, features), float32.
    weight: (positives,), their shares, which add up to 1.
    """

    majority: np.ndarray
    positives: np.ndarray
    weight: np.ndarray

    def score(self, u: np.ndarray) -> np.ndarray:
        """How near rows are to the positives, (rows,). u: (rows, features), float32."""
        scores = np.empty(len(u))
        classes = as_references(self.majority), as_references(self.positives)
        for start in range(0, len(u), IN_CACHE):
            rows = slice(start, start + IN_CACHE)
            to_majority, to_positives = (squared(u[rows], of_class) for of_class in classes)
            scores[rows] = _nearness(to_majority, to_positives, self.weight)
        return scores


def take_neighbours(
    u: np.ndarray, positive: np.ndarray, weight: np.ndarray, *, seed: int
) -> tuple[Neighbours, np.ndarray]:
    """Choose the references; return them and the rows' scores.

    No row is its own neighbour; a single positive, with nothing left to be near to, has NaN.
    Arguments as in `trees.grow_forest`.
    """
    rng = np.random.default_rng([seed, REFERENCES])
    majority, positives = (
        _drawn(np.flatnonzero(positive == label), weight, rng) for label in (False, True)
    )
    share = weight[positives] / weight[positives].sum()
    found = Neighbours(u[majority], u[positives], share)
    scores = np.empty(len(u))
    for start in range(0, len(u), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(u)))
        scores[rows] = _left_out_scores(u, rows, majority, positives, share)
    return found, scores


def _left_out_scores(
    u: np.ndarray, rows: np.ndarray, majority: np.ndarray, positives: np.ndarray, share: np.ndarray
) -> np.ndarray:
    to_majority, to_positives = (
        squared(u[rows], as_references(u[of_class])) for of_class in (majority, positives)
    )
    to_majority[rows[:, None] == majority] = np.inf
    others = np.where(rows[:, None] == positives, 0.0, share)
    with np.errstate(invalid="ignore", divide="ignore"):
        others /= others.sum(axis=1, keepdims=True)
        return _nearness(to_majority, to_positives, others)


def as_references(b: np.ndarray) -> np.ndarray:
    """Rows as `squared` asks for them: −2b, ‖b‖² softened, and 1; a column each."""
    b = b.astype(np.float64)
    lengths = np.sum(b * b, axis=1) + SOFTENING * b.shape[1]
    return np.vstack([-2.0 * b.T, lengths, np.ones(len(b))])


def squared(a: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Squared distances, (rows of a, references), softened, float32.

    In float64 until then: a difference of large numbers, rounded as the shapes of a and of the
    references would have it, would tell a row by those it is asked with.
    """
    a = a.astype(np.float64)
    distances = tiled_product(
        np.column_stack([a, np.ones(len(a)), np.sum(a * a, axis=1)]), references
    )
    return np.maximum(distances, SOFTENING * a.shape[1], out=distances).astype(np.float32)


def _nearness(to_majority: np.ndarray, to_positives: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The score. weight: (positives,) or (rows, positives), of each positive."""
    inverse = 1.0 / to_majority
    inverse *= inverse
    inverse *= inverse
    crowd = np.mean(inverse, axis=1, dtype=np.float64)
    near = np.sum(weight / to_positives.astype(np.float64), axis=1)
    return 0.5 * np.log(near) - 0.125 * np.log(np.maximum(crowd, TINY))


def _drawn(rows: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if len(rows) <= REFERENCES:
        return rows
    share = weight[rows] / weight[rows].sum()
    return np.sort(rng.choice(rows, REFERENCES, replace=False, p=share))
