"""What the gradient of any loss needs of a row labelled 0, from three transcendental functions instead of nine.

`rebalanced_logit` and its derivatives, called one after another, take the same exponentials again and again. Where a majority of
millions of rows is swept once per round (boosting), the sweep below shares them. The rare class goes through the exact functions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from astralearn.core.curve import threshold
from astralearn.core.derivatives import rebalanced_logit_db_offset
from astralearn.core.inputs import Array

BUFFERS = 8

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


def row_terms(x: Array, b: float, *, with_slope: bool, buffers: Array | None = None) -> RowTerms:
    """1 − z, z, z ∂g/∂x, ∂g/∂x and z ∂g/∂b of rows labelled 0.

    With p = b e^{bx}, v = 1 − ŷ = e^{−s}, o = τ/(1−τ) and D = ŷ + o v, Eqs. 4–6 read

        z = ŷ/D,   1 − z = o v/D,   z ∂g/∂x = σ/D,   ∂g/∂x = σ/ŷ,   z ∂g/∂b = (∂s/∂b)/D − z (∂s₀/∂b)/τ

    in which nothing cancels: s = max(ln(1 + p)/b, x + ln(b)/b), whose second entry takes over where p stops, and ŷ = 1 − v but for
    small p, where it is p/b·(1 − c₁p + c₂p²), and small s, where it is s − s²/2 + ….

    NumPy only, and in place: fresh temporaries would cost more than the arithmetic, because the allocator hands their pages back after
    every block. The terms live in `buffers`, shape (BUFFERS, *x.shape), until these are used again.

    x: scores, any shape, float32 or float64 (kept). b: slope ≥ 1, one number. Every term is finite for finite x. Errors
    against each term's largest value: 1e-11 (float64), 1e-4 (float32, whose b·x alone rounds that far).

    >>> import numpy as np
    >>> row_terms(np.asarray([-1.0, 0.0, 1.0]), 1.0, with_slope=False).pull.round(4).tolist()
    [0.2689, 0.5, 0.7311]
    """
    double = x.dtype == np.float64
    odds, s, sigma, v, y_hat, share, pull, wrong = np.empty((BUFFERS, *x.shape), x.dtype) if buffers is None else buffers[:BUFFERS]
    if b == 1.0 and not with_slope:
        largest = _LARGEST_EXPONENT[0 if double else 1]
        np.exp(np.clip(x, -largest, largest, out=odds), out=odds)
        right = np.divide(1.0, np.add(odds, 1.0, out=v), out=v)
        np.multiply(odds, right, out=wrong)
        return RowTerms(right, wrong, wrong, 1.0, None)
    a = 1.0 / b
    np.clip(np.multiply(x, b, out=odds), -_LARGEST_LOGIT, _LARGEST_LOGIT, out=odds)
    np.multiply(np.exp(odds, out=odds), b, out=odds)
    np.add(odds, 1.0, out=s)
    np.divide(odds, s, out=sigma)
    np.multiply(np.log(s, out=s), a, out=s)
    np.maximum(s, np.add(x, math.log(b) * a, out=v), out=s)
    np.exp(np.negative(s, out=v), out=v)
    _complement(odds, s, v, b, double, out=y_hat, spare=(share, pull))
    tau = float(threshold(b, xp=np))
    tail = np.multiply(v, tau / (1.0 - tau), out=v)
    np.divide(1.0, np.add(y_hat, tail, out=share), out=share)
    right = np.multiply(tail, share, out=v)
    np.multiply(sigma, share, out=pull)
    np.multiply(y_hat, share, out=wrong)
    steepness = np.divide(sigma, y_hat, out=y_hat)
    slope_pull = None
    if with_slope:
        slope_pull = np.multiply(np.add(x, a, out=odds), pull, out=odds)
        slope_pull -= np.multiply(s, share, out=s)
        slope_pull *= a
        slope_pull -= np.multiply(wrong, rebalanced_logit_db_offset(b), out=s)
    return RowTerms(right, wrong, pull, steepness, slope_pull)


def _complement(odds: Array, s: Array, v: Array, b: float, double: bool, *, out: Array, spare: tuple[Array, Array]) -> None:
    """ŷ = 1 − v into `out`, from a series where that rounds too far."""
    small_odds, small_s = (limits[0 if double else 1] for limits in (_SMALL_ODDS, _SMALL_S))
    a = 1.0 / b
    t, series = spare
    np.subtract(1.0, v, out=out)
    if b > _STEEP:
        np.minimum(s, small_s, out=t)
        _polynomial(t, (1.0, -0.5, 1.0 / 6.0, -1.0 / 24.0), out=series)
        np.copyto(out, series, where=s < small_s)
    np.minimum(odds, small_odds, out=t)
    _polynomial(t, (a, -0.5 * a * (1.0 + a), a * (1.0 + a) * (2.0 + a) / 6.0), out=series)
    np.copyto(out, series, where=odds < small_odds)


def _polynomial(t: Array, coefficients: tuple[float, ...], *, out: Array) -> None:
    """t(c₀ + t(c₁ + …)) into `out`."""
    out.fill(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        out *= t
        out += coefficient
    out *= t
