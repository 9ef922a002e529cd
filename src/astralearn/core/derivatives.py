"""Closed-form derivatives of the curve; symbols as in `curve`.

With σ = σ(bx + ln b), s = −ln(1 − ŷ), s₀ = s at x = 0:

    ∂ŷ/∂x   = (1−ŷ) σ
    ∂g/∂x   = σ/ŷ
    ∂²g/∂x² = (∂g/∂x) [b(1−σ) − (∂g/∂x)(1−ŷ)]
    ∂g/∂b   = (∂s/∂b)/ŷ − (∂s₀/∂b)/τ,    ∂s/∂b = [σ(x + 1/b) − s]/b

Taken literally these are 0/0 far below 0 and cancel elsewhere; each function says how it avoids
that. Arguments as in `astra`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from astralearn.core.curve import FARTHEST, checked_logits, log_complement
from astralearn.core.elementary import at_least, minus_abs
from astralearn.core.inputs import Array, ArrayLike, as_arrays

# Where `_is_deep` takes over, odds need to go no lower; float32 holds their square.
_SMALLEST_ODDS = 1e-14

# 2·(1/3 + w²/5 + w⁴/7 + …), highest power first, is the series of ln(1 + y) in w = y/(2 + y)
# without its first term.
_ATANH_SERIES = tuple(2.0 / k for k in range(35, 2, -2))


def astra_dx(x: ArrayLike, b: ArrayLike, *, xp: Any = None) -> Array:
    """∂ŷ/∂x = (1−ŷ)σ, largest at x = 0.

    >>> float(astra_dx(0.0, 1.0))
    0.25
    """
    xp, x, b = _within_reach(x, b, xp)
    sigma = xp.where(_is_deep(x, b, xp), xp.exp(_log_odds(x, b, xp)), _sigma(_parts(x, b, xp)))
    return sigma * xp.exp(-log_complement(x, b, xp))


def rebalanced_logit_dx(x: ArrayLike, b: ArrayLike, *, xp: Any = None) -> Array:
    """∂g/∂x = σ/ŷ, falling from b (x → −∞) to 1 (x → +∞).

    >>> rebalanced_logit_dx([-1e30, 0.0, 1e30], 2.0).round(4).tolist()
    [2.0, 1.5774, 1.0]
    """
    xp, x, b = _within_reach(x, b, xp)
    return _dx(_parts(x, b, xp))


def rebalanced_logit_dx2(x: ArrayLike, b: ArrayLike, *, xp: Any = None) -> Array:
    """∂²g/∂x² ≤ 0: the bracket b(1−σ) − (∂g/∂x)(1−ŷ) without its cancellation.

    With Q = e^{bx} and δ = ln(1+Q) − s ≥ 0 the bracket is −b(e^δ − 1)/((1+bQ) ŷ) below 0 and
    −(1+1/Q)(1−ŷ)(1 − e^{−δ})(∂g/∂x) above. δ cancels only below 0, and there it is a sum of terms
    of one sign: δ = [l((b−1) r) + (b−1) l(−r)]/b with r = Q/(1+Q) and l(y) = y − ln(1+y) ≥ 0. Far
    below 0, ∂²g/∂x² → −½ b²(b−1) Q.

    >>> rebalanced_logit_dx2([-1.0, 0.0, 1.0], 1.0).tolist()
    [-0.0, -0.0, -0.0]
    """
    xp, x, b = _within_reach(x, b, xp)
    parts = _parts(x, b, xp)
    q, excess = parts.q, b - 1.0
    r = q / (1.0 + q)
    delta_below = excess * r * (_log1p_defect(excess * r, xp) - _log1p_defect(-r, xp)) / b
    below = (
        -b * xp.expm1(xp.where(parts.negative, delta_below, 0.0)) * parts.pull / (b * parts.y_hat)
    )
    delta_above = (
        excess * (xp.where(parts.negative, 0.0, x) + xp.log1p(q) / b)
        - xp.log1p(excess / (1.0 + q)) / b
    )
    above = (1.0 + q) * xp.exp(-parts.s) * xp.expm1(-delta_above) * _dx(parts)
    deep = -0.5 * (excess / b) * xp.exp(_log_odds(x, b, xp) + 2.0 * xp.log(b))
    return xp.where(_is_deep(x, b, xp), deep, _dx(parts) * xp.where(parts.negative, below, above))


def rebalanced_logit_db(x: ArrayLike, b: ArrayLike, *, xp: Any = None) -> Array:
    """∂g/∂b: x plus a constant far below 0, a constant far above it, 0 at x = 0.

    Exact to rounding of max(|x|, 1/b): near x = 0 its two terms cancel.

    >>> float(rebalanced_logit_db(0.0, 2.0))
    0.0
    """
    xp, x, b = checked_logits(x, b, xp)
    _, near, _ = _within_reach(x, b, xp)
    zero = xp.where(b < 0, b, 0.0)  # zeros of b's shape, which keras.ops can make too
    db = _ds_db_over_y(_parts(near, b, xp), xp) - _ds_db_over_y(_parts(zero, b, xp), xp)
    # Farther below 0 the constant is lost in rounding of x, while (σx)/ŷ, evaluated, passes bx,
    # which may overflow.
    return xp.where(x < -FARTHEST, x, db)


def slope_from_raw_dbeta(beta: ArrayLike, *, xp: Any = None) -> Array:
    """db/dβ of Eq. 7: 1 if β > 0, otherwise e^β.

    >>> slope_from_raw_dbeta([0.0, 3.0]).tolist()
    [1.0, 1.0]
    """
    if xp is None:
        xp, beta = as_arrays(beta=beta)
    return xp.exp(xp.where(beta > 0, 0.0, beta))


def _within_reach(x: ArrayLike, b: ArrayLike, xp: Any) -> tuple[Any, Array, Array]:
    """`checked_logits`, with x where b·x is finite.

    Beyond, the derivatives in x are at their limits to rounding.
    """
    xp, x, b = checked_logits(x, b, xp)
    return xp, xp.clip(x, -FARTHEST, FARTHEST), b


class _Parts(NamedTuple):
    """What the derivatives share.

    Far below 0 the odds b e^{bx} stop at _SMALLEST_ODDS, where every ratio is at its limit.
    """

    x: Array
    b: Array
    negative: Array
    q: Array  # e^{−|bx|}
    odds: Array  # b e^{bx} below 0, b above
    pull: Array  # bσ/odds
    lift: Array  # bŷ/odds
    rest: Array  # s − max(x, 0)
    s: Array
    y_hat: Array


def _parts(x: Array, b: Array, xp: Any) -> _Parts:
    negative = x < 0
    q = xp.exp(minus_abs(b * x, xp))
    odds = xp.where(negative, at_least(b * q, _SMALLEST_ODDS, xp), b)
    rest = xp.log1p(xp.where(negative, odds, (b - 1.0) + q)) / b
    s = xp.where(negative, 0.0, x) + rest
    y_hat = -xp.expm1(-s)
    pull, lift = b / (xp.where(negative, 1.0, q) + odds), b * y_hat / odds
    return _Parts(x, b, negative, q, odds, pull, lift, rest, s, y_hat)


def _is_deep(x: Array, b: Array, xp: Any) -> Array:
    """Where the first order in b e^{bx} is exact, while e^{bx} may be subnormal."""
    return b * x + xp.log(b) < -30


def _log_odds(x: Array, b: Array, xp: Any) -> Array:
    """bx + ln b where `_is_deep`, −30 elsewhere."""
    return xp.where(_is_deep(x, b, xp), b * x + xp.log(b), -30.0)


def _sigma(p: _Parts) -> Array:
    return p.pull * p.odds / p.b


def _dx(p: _Parts) -> Array:
    return p.pull / p.lift


def _ds_db_over_y(p: _Parts, xp: Any) -> Array:
    # σx − s as (σ−1)x − rest above 0, where x and s agree to many digits; σ−1 is −q/(b+q) there.
    of_x = xp.where(p.negative, p.pull, -p.q * p.pull / p.b) * p.x
    constant = p.pull / p.b - p.rest / p.odds * p.b
    return (of_x + constant) / (p.lift * p.b)


def _log1p_defect(y: Array, xp: Any) -> Array:
    """1 − ln(1+y)/y for y ≥ −½, y/2 near 0, by the series in w = y/(2+y) up to y = 1."""
    large = y > 1
    small_y = xp.where(large, 1.0, y)
    w = small_y / (2.0 + small_y)
    series = 0.0
    for coefficient in _ATANH_SERIES:
        series = coefficient + (w * w) * series
    large_y = xp.where(large, y, 1.0)
    return xp.where(large, 1.0 - xp.log1p(large_y) / large_y, w - w * w * series / (2.0 + small_y))
