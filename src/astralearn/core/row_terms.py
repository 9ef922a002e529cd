"""What the gradient of any loss needs of a row labelled 0, from three transcendental functions instead of nine.

`rebalanced_logit` and its derivatives, called one after another, take the same exponentials again and again. Where a majority of
millions of rows is swept once per round (boosting), the sweep below shares them. The rare class goes through the exact functions.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from astralearn.core.confusion import right_and_wrong
from astralearn.core.curve import threshold
from astralearn.core.derivatives import rebalanced_logit_db_offset
from astralearn.core.inputs import Array

# Below these odds ŷ is taken from its series, whose next term is 1e-6 of it.
_SMALL_ODDS = 1e-2

# Beyond this logit the odds b e^{bx} stop: 1 beside them is lost in either precision, and float32 still holds b = 1e6 times e^60.
_LARGEST_LOGIT = 60.0


class RowTerms(NamedTuple):
    """Terms of rows labelled 0, each shaped as x. Multiplied by weights they sum to counts and gradients."""

    right: Array  # 1 − z
    wrong: Array  # z
    pull: Array  # z ∂g/∂x: the row's gradient of −ln(1 − z)
    steepness: Array  # ∂g/∂x, in [1, b]
    slope_pull: Array | None  # z ∂g/∂b; None where the slope is fixed


def row_terms(x: Array, b: float, *, with_slope: bool, xp: Any) -> RowTerms:
    """1 − z, z, z ∂g/∂x, ∂g/∂x and z ∂g/∂b of rows labelled 0.

    With p = b e^{bx}, v = 1 − ŷ = e^{−s}, o = τ/(1−τ) and D = ŷ + o v, Eqs. 4–6 read

        z = ŷ/D,   1 − z = o v/D,   z ∂g/∂x = σ/D,   ∂g/∂x = σ/ŷ,   z ∂g/∂b = (∂s/∂b)/D − z (∂s₀/∂b)/τ

    in which nothing cancels: s = max(ln(1 + p)/b, x + ln(b)/b), whose second entry takes over where p stops, and ŷ = 1 − v but for
    small p, where it is p/b·(1 − c₁p + c₂p²).

    x: scores, any shape, float32 or float64 (kept). b: slope ≥ 1, one number. Every term is finite for finite x. Errors in
    float64: 1e-14 of the term's largest value; but `wrong`, `steepness` and `slope_pull`, which serve as counts, curvature and
    step, 1e-6. In float32: 1e-6·b and 1e-3.

    >>> import numpy as np
    >>> row_terms(np.asarray([-1.0, 0.0, 1.0]), 1.0, with_slope=False, xp=np).pull.round(4).tolist()
    [0.2689, 0.5, 0.7311]
    """
    if b == 1.0 and not with_slope:
        right, wrong = right_and_wrong(x, xp)
        return RowTerms(right, wrong, wrong, xp.ones_like(x), None)
    a = 1.0 / b
    odds = b * xp.exp(xp.clip(b * x, -_LARGEST_LOGIT, _LARGEST_LOGIT))
    whole = 1.0 + odds
    sigma = odds / whole
    s = xp.maximum(xp.log(whole) * a, x + math.log(b) * a)
    v = xp.exp(-s)
    p = xp.minimum(odds, _SMALL_ODDS)
    series = (a * p) * (1.0 + p * ((-0.5 * (1.0 + a)) + p * ((1.0 + a) * (2.0 + a) / 6.0)))
    y_hat = xp.where(odds < _SMALL_ODDS, series, 1.0 - v)
    tau = float(threshold(b, xp=xp))
    tail = (tau / (1.0 - tau)) * v
    share = 1.0 / (y_hat + tail)
    wrong = y_hat * share
    slope_pull = None
    if with_slope:
        slope_pull = (sigma * (x + a) - s) * (a * share) - rebalanced_logit_db_offset(b) * wrong
    return RowTerms(tail * share, wrong, sigma * share, sigma / y_hat, slope_pull)
