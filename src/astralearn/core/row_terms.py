"""What the gradient of any loss needs of a row labelled 0, from three transcendental functions instead of nine.

`rebalanced_logit` and its derivatives, called one after another, take the same exponentials again and again. Where a majority of
millions of rows is swept once per round (boosting), the sweep below shares them. The rare class goes through the exact functions.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from astralearn.core.curve import threshold
from astralearn.core.derivatives import rebalanced_logit_db_offset
from astralearn.core.inputs import Array

# ŷ is taken from a series where the odds p, or s, are below these: double and single precision. The next term is lost in rounding.
_SMALL_ODDS, _SMALL_S = (1e-4, 1e-2), (1e-3, 1e-2)

# Above this slope, e^{−s} rounds to 1 at odds that are not small, and 1 − e^{−s} needs a series in s too.
STEEP = 50.0

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
    slope_pull: Array  # z ∂g/∂b; the number 0 for the plain sigmoid


class SlopeNumbers(NamedTuple):
    """What the terms need of b, in double precision and before any row is looked at."""

    b: float
    shift: float  # ln(b)/b
    odds: float  # τ/(1 − τ)
    offset: float  # (∂s₀/∂b)/τ


@functools.lru_cache(maxsize=16)  # CatBoost asks for the same slope a hundred times a round
def slope_numbers(b: float) -> SlopeNumbers:
    """Of a slope b ≥ 1."""
    tau = float(threshold(b, xp=np))
    return SlopeNumbers(b, math.log(b) / b, tau / (1.0 - tau), rebalanced_logit_db_offset(b))


def plain_row_terms(x: Array, *, xp: Any) -> RowTerms:
    """Of the plain sigmoid, z = σ(x).

    >>> plain_row_terms(np.asarray([-1.0, 0.0, 1.0]), xp=np).pull.round(4).tolist()
    [0.2689, 0.5, 0.7311]
    """
    largest = _LARGEST_EXPONENT[_precision(x)]
    odds = xp.exp(xp.clip(x, -largest, largest))
    right = 1.0 / (1.0 + odds)
    wrong = odds * right
    return RowTerms(right, wrong, wrong, 1.0, 0.0)


def row_terms(x: Array, at: SlopeNumbers, *, steep: bool, xp: Any) -> RowTerms:
    """1 − z, z, z ∂g/∂x, ∂g/∂x and z ∂g/∂b of rows labelled 0.

    With p = b e^{bx}, v = 1 − ŷ = e^{−s}, o = τ/(1−τ) and D = ŷ + o v, Eqs. 4–6 read

        z = ŷ/D,   1 − z = o v/D,   z ∂g/∂x = σ/D,   ∂g/∂x = σ/ŷ,   z ∂g/∂b = (∂s/∂b)/D − z (∂s₀/∂b)/τ

    in which nothing cancels: s = max(ln(1 + p)/b, x + ln(b)/b), whose second entry takes over where p stops, and ŷ = 1 − v but for
    small p, where it is p/b·(1 − c₁p + c₂p²), and small s, where it is s − s²/2 + ….

    x: scores, any shape, float32 or float64 (kept). at: of one slope. steep: whether that slope is above STEEP; said apart, so that a
    compiler may know it while the numbers change. Every term is finite for finite x. Errors against each term's
    largest value: 1e-11 (float64), 1e-4 (float32, whose b·x alone rounds that far).

    >>> row_terms(np.asarray([-1.0, 0.0, 1.0]), slope_numbers(1.0), steep=False, xp=np).pull.round(4).tolist()
    [0.2689, 0.5, 0.7311]
    """
    b, shift, odds_at_zero, offset = at
    a = 1.0 / b
    p = b * xp.exp(xp.clip(b * x, -_LARGEST_LOGIT, _LARGEST_LOGIT))
    from_one = 1.0 + p
    s = xp.maximum(a * xp.log(from_one), x + shift)
    v = xp.exp(-s)
    y_hat = _complement(p, s, v, a, steep, _precision(x), xp)
    tail = odds_at_zero * v
    share = 1.0 / (y_hat + tail)
    sigma = p / from_one
    pull = sigma * share
    wrong = y_hat * share
    slope_pull = a * ((x + a) * pull - s * share) - offset * wrong
    return RowTerms(tail * share, wrong, pull, sigma / y_hat, slope_pull)


def _complement(
    p: Array, s: Array, v: Array, a: Any, steep: bool, precision: int, xp: Any
) -> Array:
    """ŷ = 1 − v, from a series where that rounds too far."""
    small_odds, small_s = _SMALL_ODDS[precision], _SMALL_S[precision]
    y_hat = 1.0 - v
    if steep:
        t = xp.clip(s, 0.0, small_s)
        y_hat = xp.where(
            s < small_s, t * (1.0 - t * (0.5 - t * (1.0 / 6.0 - t * (1.0 / 24.0)))), y_hat
        )
    t = xp.clip(p, 0.0, small_odds)
    series = a * t * (1.0 - (0.5 * (1.0 + a)) * t * (1.0 - ((2.0 + a) / 3.0) * t))
    return xp.where(p < small_odds, series, y_hat)


def _precision(x: Array) -> int:
    """0 for double, 1 for single."""
    return 0 if x.dtype == np.float64 else 1
