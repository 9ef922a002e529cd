"""What the gradient of any loss needs of a row labelled 0, from three transcendental functions instead of nine.

`rebalanced_logit` and its derivatives, called one after another, take the same exponentials again and again. Where a majority of
millions of rows is swept once per round (boosting), the sweep below shares them. The rare class goes through the exact functions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from astralearn.core.curve import threshold
from astralearn.core.derivatives import rebalanced_logit_db_offset
from astralearn.core.inputs import Array

# ŷ is taken from a series where the odds p, or s, are below these: double and single precision. The next term is lost in rounding.
_SMALL_ODDS, _SMALL_S = (1e-4, 1e-2), (1e-3, 1e-2)

# Above this slope, e^{−s} rounds to 1 at odds that are not small, and 1 − e^{−s} needs a series in s too.
_STEEP = 50.0

# Beyond this logit the odds b e^{bx} stop: 1 beside them is lost in either precision, and float32 still holds b = 1e6 times e^60.
_LARGEST_LOGIT = 60.0

# Of the plain sigmoid: e^x and e^{−x} are normal numbers up to here, in double and single precision.
_LARGEST_EXPONENT = (700.0, 80.0)


class RowTerms(NamedTuple):
    """Terms of rows labelled 0, each shaped as x. Multiplied by weights they sum to counts and gradients."""

    right: Array  # 1 − z
    wrong: Array  # z
    pull: Array  # z ∂g/∂x: the row's gradient of −ln(1 − z)
    steepness: Array  # ∂g/∂x, in [1, b]; the number 1 for the plain sigmoid
    slope_pull: Array | None  # z ∂g/∂b; None where the slope is fixed


def row_terms(x: Array, b: float, *, with_slope: bool, xp: Any) -> RowTerms:
    """1 − z, z, z ∂g/∂x, ∂g/∂x and z ∂g/∂b of rows labelled 0.

    With p = b e^{bx}, v = 1 − ŷ = e^{−s}, o = τ/(1−τ) and D = ŷ + o v, Eqs. 4–6 read

        z = ŷ/D,   1 − z = o v/D,   z ∂g/∂x = σ/D,   ∂g/∂x = σ/ŷ,   z ∂g/∂b = (∂s/∂b)/D − z (∂s₀/∂b)/τ

    in which nothing cancels: s = max(ln(1 + p)/b, x + ln(b)/b), whose second entry takes over where p stops, and ŷ = 1 − v but for
    small p, where it is p/b·(1 − c₁p + c₂p²), and small s, where it is s − s²/2 + ….

    x: scores, any shape, float32 or float64 (kept). b: slope ≥ 1, one number. Every term is finite for finite x. Errors
    against each term's largest value: 1e-11 (float64), 1e-4 (float32, whose b·x alone rounds that far).

    >>> import numpy as np
    >>> row_terms(np.asarray([-1.0, 0.0, 1.0]), 1.0, with_slope=False, xp=np).pull.round(4).tolist()
    [0.2689, 0.5, 0.7311]
    """
    if b == 1.0 and not with_slope:
        largest = _LARGEST_EXPONENT[0 if x.dtype == xp.float64 else 1]
        grown = xp.exp(xp.minimum(xp.maximum(x, -largest), largest))
        right = 1.0 / (1.0 + grown)
        wrong = grown * right
        return RowTerms(right, wrong, wrong, 1.0, None)
    a = 1.0 / b
    odds = b * xp.exp(xp.minimum(xp.maximum(b * x, -_LARGEST_LOGIT), _LARGEST_LOGIT))
    whole = 1.0 + odds
    sigma = odds / whole
    s = xp.maximum(xp.log(whole) * a, x + math.log(b) * a)
    v = xp.exp(-s)
    small_odds, small_s = (limits[0 if x.dtype == xp.float64 else 1] for limits in (_SMALL_ODDS, _SMALL_S))
    p = xp.minimum(odds, small_odds)
    series = (a * p) * (1.0 + p * ((-0.5 * (1.0 + a)) + p * ((1.0 + a) * (2.0 + a) / 6.0)))
    y_hat = 1.0 - v
    if b > _STEEP:
        t = xp.minimum(s, small_s)
        y_hat = xp.where(s < small_s, t * (1.0 - t * (0.5 - t * (1.0 / 6.0 - t / 24.0))), y_hat)
    y_hat = xp.where(odds < small_odds, series, y_hat)
    tau = float(threshold(b, xp=xp))
    tail = (tau / (1.0 - tau)) * v
    share = 1.0 / (y_hat + tail)
    wrong = y_hat * share
    slope_pull = None
    if with_slope:
        slope_pull = (sigma * (x + a) - s) * (a * share) - rebalanced_logit_db_offset(b) * wrong
    return RowTerms(tail * share, wrong, sigma * share, sigma / y_hat, slope_pull)
