"""How a network sees a row: its features scaled and, as one more input, how far the row lies from the majority."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astralearn.engine.reproducible import product

FAR = 1e9  # standard deviations; no input lies beyond them, so that no finite row overflows on its way through a network


class View(NamedTuple):
    """Scaling of every input, and the majority's centre and spread where the distance from it is an input too.

    mean, scale: (inputs,). centre: (features,), the majority's mean of the scaled features u. root: (features, features) with
    root·rootᵀ = Σ⁻¹, Σ the majority's covariance of u. The last input is then the Mahalanobis distance ‖rootᵀ(u − centre)‖, scaled.
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

    def distance(self, u: np.ndarray) -> np.ndarray:
        """The Mahalanobis distance of scaled rows u (rows, features) from the majority, (rows,)."""
        assert self.root is not None
        return np.asarray(np.sqrt(np.sum(np.square(product(u - self.centre, self.root)), axis=1)))

    def _features(self, of_inputs: np.ndarray) -> np.ndarray:
        return of_inputs if self.root is None else of_inputs[:-1]


def _within(limit: float, u: np.ndarray) -> np.ndarray:
    return np.clip(u, -limit, limit, out=u)
