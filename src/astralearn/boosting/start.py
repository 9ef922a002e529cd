"""The score that boosting starts from: the best constant for the loss."""

from __future__ import annotations

import math

import numpy as np

from astralearn.core import rebalanced_logit


def start_score(loss: str, y: np.ndarray, sample_weight: np.ndarray | None, slope: float) -> float:
    """The constant x that the loss likes best.

    BCE: z equal to the (weighted) share of positives. Losses of the counts: 0, that is z = ½, where the soft G-Mean of a constant
    is largest; F1 and MCC have no useful best constant.

    y: labels 0 and 1. sample_weight: ≥ 0 or None. slope: b that training starts with.

    >>> round(start_score("bce", np.asarray([0, 0, 0, 1]), None, 1.0), 4)
    -1.0986
    """
    if loss != "bce":
        return 0.0
    if sample_weight is not None and np.sum(sample_weight) == 0:
        raise ValueError("sample_weight must be above 0 for some row; found a sum of 0")
    share = float(np.average(y, weights=sample_weight))
    share = min(max(share, 1e-12), 1.0 - 1e-12)
    return inverse_warp(math.log(share) - math.log1p(-share), slope)


def inverse_warp(g: float, slope: float) -> float:
    """The x with g(x, b) = g, by bisection: g rises with a slope between 1 and b.

    >>> round(inverse_warp(float(rebalanced_logit(-0.7, 7.396)), 7.396), 12)
    -0.7
    """
    low, high = (g, g / slope) if g < 0 else (0.0, g)
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high)
            if float(rebalanced_logit(np.float64(middle), slope, xp=np)) < g
            else (low, middle)
        )
    return 0.5 * (low + high)
