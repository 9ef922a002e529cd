"""What trained networks say of rows together. NumPy alone: predicting needs no JAX."""

from __future__ import annotations

import math
from dataclasses import dataclass

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

    def scores(self, X: np.ndarray) -> np.ndarray:
        """g at the networks' mean logit and mean slope, (rows,): higher for the minority."""
        b = np.asarray(mean_slope(self.slope), X.dtype)
        g = np.empty(len(X), X.dtype)
        # The warp's temporaries, for all rows at once, would outweigh the rows.
        for start in range(0, len(X), BLOCK):
            block = slice(start, start + BLOCK)
            x = predict_logits(self.parameters, self.architecture, X[block], self.view)
            g[block] = rebalanced_logit(x.mean(axis=0), b, xp=np)
        return g


def mean_slope(slopes: np.ndarray) -> float:
    """Their geometric mean.

    >>> mean_slope(np.asarray([1.0, 4.0]))
    2.0
    """
    return float(np.exp(np.mean(np.log(slopes))))


def prior_shift(scores: np.ndarray, weight: np.ndarray, prior: float) -> float:
    """The c for which the weighted mean of σ(score − c), which falls as c rises, is the prior.

    prior: in (0, 1).
    """

    def excess(c: float) -> float:
        return float(np.average(sigmoid(g - c, np), weights=weight)) - prior

    g = scores.astype(np.float64)
    # One class may outweigh the other beyond rounding.
    prior = min(max(prior, TINY), float(np.nextafter(1.0, 0.0)))
    # σ(−reach) is below any prior, also where rounding swallows 50.
    reach = 50.0 - math.log(prior) + 1e-9 * float(np.abs(g).max())
    return float(brentq(excess, float(g.min()) - reach, float(g.max()) + reach, maxiter=1_000))
