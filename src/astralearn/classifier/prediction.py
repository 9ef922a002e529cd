"""What trained networks say of rows together, in NumPy alone: predicting needs no JAX."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from astralearn.core.curve import TINY, rebalanced_logit
from astralearn.core.sigmoid import sigmoid
from astralearn.engine.network import BLOCK, Architecture, predict_logits
from astralearn.engine.view import View


def averaged(
    X: np.ndarray, coefs: np.ndarray, hidden: tuple[int, ...], slopes: np.ndarray, view: View
) -> np.ndarray:
    """g at the networks' mean logit and mean slope, (rows,): the minority above 0. coefs: (K, P). slopes: (K,)."""
    architecture = Architecture(view.n_inputs, hidden)
    b = np.asarray(mean_slope(slopes), X.dtype)
    g = np.empty(len(X), X.dtype)
    for start in range(
        0, len(X), BLOCK
    ):  # the warp's temporaries, for all rows at once, would outweigh the rows
        x = predict_logits(coefs, architecture, X[start : start + BLOCK], view)
        g[start : start + BLOCK] = rebalanced_logit(x.mean(axis=0), b, xp=np)
    return g


def mean_slope(slopes: np.ndarray) -> float:
    """Their geometric mean.

    >>> mean_slope(np.asarray([1.0, 4.0]))
    2.0
    """
    return float(np.exp(np.mean(np.log(slopes))))


def prior_shift(g: np.ndarray, weight: np.ndarray, prior: float) -> float:
    """The c for which the weighted mean of σ(g − c), which falls as c rises, is the prior, in (0, 1)."""

    def excess(c: float) -> float:
        return float(np.average(sigmoid(g - c, np), weights=weight)) - prior

    g = g.astype(np.float64)
    prior = min(
        max(prior, TINY), float(np.nextafter(1.0, 0.0))
    )  # where one class outweighs the other beyond rounding
    reach = (
        50.0 - math.log(prior) + 1e-9 * float(np.abs(g).max())
    )  # σ(−reach) is below any prior, also where rounding swallows 50
    return float(brentq(excess, float(g.min()) - reach, float(g.max()) + reach, maxiter=1_000))
