"""How a network sees a row: scaled, with its distance from the majority. NumPy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astralearn.engine.reproducible import tiled_product

# Standard deviations. No input lies beyond them, so that no finite row overflows in a network.
FAR = 1e9


class View(NamedTuple):
    """Scaling of every input and, where the distance is one, the majority's shape.

    The last input is then the Mahalanobis distance ‖rootᵀ(u − centre)‖, scaled.

    mean, scale: (inputs,).
    centre: (features,), the majority's mean of the scaled features u.
    root: (features, features) with root·rootᵀ = Σ⁻¹, Σ the majority's covariance of u.
    limit: what lies outside ±limit in u is taken there, also for the distance.
    """

    mean: np.ndarray
    scale: np.ndarray
    centre: np.ndarray | None = None
    root: np.ndarray | None = None
    limit: float = FAR

    @property
    def n_inputs(self) -> int:
        return len(self.mean)

    def inputs(self, X: np.ndarray) -> np.ndarray:
        """(inputs, rows), from X (rows, features) as the user has it, in its dtype."""
        with np.errstate(over="ignore"):
            u = _within(self.limit, (X - self._features(self.mean)) / self._features(self.scale))
        if self.root is None:
            return np.asarray(u.T, X.dtype)
        distance = _within(FAR, (self.distance(u) - self.mean[-1]) / self.scale[-1])
        return np.concatenate([u.T, distance[None]]).astype(X.dtype)

    def features(self, X: np.ndarray) -> np.ndarray:
        """The scaled features, (rows, features), float32.

        Beyond ±limit they grow as a logarithm: no two values look alike, and no outlier is far from
        all other rows.
        """
        with np.errstate(over="ignore"):
            u = (X - self._features(self.mean)) / self._features(self.scale)
        far = np.abs(u)
        beyond = np.log1p(np.maximum(np.minimum(far, FAR) - self.limit, 0.0))
        return np.sign(u).astype(np.float32) * (np.minimum(far, self.limit) + beyond).astype(
            np.float32
        )

    def distance(self, u: np.ndarray) -> np.ndarray:
        """The Mahalanobis distance of scaled rows from the majority, (rows,).

        u: (rows, features).
        """
        assert self.root is not None
        return np.asarray(
            np.sqrt(np.sum(np.square(tiled_product(u - self.centre, self.root)), axis=1))
        )

    def _features(self, of_inputs: np.ndarray) -> np.ndarray:
        return of_inputs if self.root is None else of_inputs[:-1]


def _within(limit: float, u: np.ndarray) -> np.ndarray:
    return np.clip(u, -limit, limit, out=u)
