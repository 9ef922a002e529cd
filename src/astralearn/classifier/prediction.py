"""What trained networks say of rows together. NumPy alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from astralearn.core.curve import rebalanced_logit
from astralearn.core.elementary import TINY, sigmoid
from astralearn.engine.network import BLOCK, Architecture, predict_logits
from astralearn.engine.view import View


@dataclass(frozen=True)
class Networks:
    """Trained networks, and how they see a row.

    parameters: (K, P).
    slope: (K,).
    """

    architecture: Architecture
    parameters: np.ndarray
    slope: np.ndarray
    view: View

    def take(self, members: np.ndarray) -> Networks:
        """Some of the networks."""
        return replace(self, parameters=self.parameters[members], slope=self.slope[members])

    def each(self, X: np.ndarray) -> np.ndarray:
        """g of every network for every row, (K, rows): above 0 for the minority."""
        x = predict_logits(self.parameters, self.architecture, X, self.view)
        return np.asarray(rebalanced_logit(x, self.slope.astype(x.dtype)[:, None], xp=np))

    def scores(self, X: np.ndarray) -> np.ndarray:
        """The logit of the networks' mean output, (rows,), float64."""
        # The warp's temporaries, for all rows at once, would outweigh the rows.
        starts = range(0, len(X), BLOCK)
        return np.concatenate([mean_output(self.each(X[i : i + BLOCK])) for i in starts])


def mean_output(g: np.ndarray, counted: np.ndarray | None = None) -> np.ndarray:
    """The logit of the mean of σ(g) over networks, (rows,), float64.

    A mean of outputs is ruled by no member, however large its logits are.

    g: (K, rows).
    counted: (K, rows), bool, whose outputs count; all by default. NaN where none does.

    >>> mean_output(np.asarray([[-900.0, 1.0], [0.0, 1.0]])).round(3).tolist()
    [-1.099, 1.0]
    """
    g = g.astype(np.float64)
    if counted is None and len(g) == 1:
        return np.asarray(g[0])
    return _log_of_sum(g, counted) - _log_of_sum(-g, counted)


def _log_of_sum(g: np.ndarray, counted: np.ndarray | None) -> np.ndarray:
    """ln Σ σ(g) over networks that count, finite for finite g; NaN without any."""
    below = np.minimum(g, 0.0)
    if counted is not None:
        below = np.where(counted, below, -np.inf)
    highest = below.max(axis=0)
    with np.errstate(invalid="ignore"):
        terms = np.exp(below - highest) / (1.0 + np.exp(-np.abs(g)))
        return np.asarray(highest + np.log(terms.sum(axis=0)))


def prior_shift(scores: np.ndarray, weight: np.ndarray, prior: float) -> float:
    """The c for which the weighted mean of σ(score − c) is the prior.

    prior: in (0, 1).
    """
    g = scores.astype(np.float64)

    def mean(c: float) -> float:
        return float(np.average(sigmoid(g - c, np), weights=weight))

    return solved_shift(mean, float(g.min()), float(g.max()), prior)


def solved_shift(mean: Callable[[float], float], low: float, high: float, prior: float) -> float:
    """The c at which a mean of σ(score − c) is the prior.

    mean: of c.
    low, high: the least and the greatest score.
    """
    # One class may outweigh the other beyond rounding.
    prior = min(max(prior, TINY), float(np.nextafter(1.0, 0.0)))
    # σ(−reach) is below any prior, also where rounding swallows 50.
    reach = 50.0 - math.log(prior) + 1e-9 * max(abs(low), abs(high))
    return float(brentq(lambda c: mean(c) - prior, low - reach, high + reach, maxiter=1_000))
