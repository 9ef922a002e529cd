"""g and both its derivatives from shared intermediates: the training pass, where speed counts and rounding near g = 0 does not.

With t = bx + ln b, E = e^t, s = ln(1 + E)/b and ŷ = 1 − e^{−s} (maths.md):

    g = s + ln ŷ − ln(e^{s₀} − 1),    ∂g/∂x = E/((1 + E) ŷ),    ∂g/∂b = [(∂g/∂x)(x + 1/b) − s/ŷ]/b − k,

where s₀ is s, and k the rest of ∂g/∂b, at x = 0. Four transcendental functions and no selection between branches, which costs
array libraries more than a logarithm: the limits enter as bounds, s ≥ t/b above and g + ln(e^{s₀} − 1) ≤ bx below.
Errors are absolute, a few roundings of 1 + |g| + ln b; `rebalanced_logit` keeps its relative accuracy at g = 0 as well.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from astralearn.core.curve import checked_logits
from astralearn.core.inputs import Array, ArrayLike

# Beyond these values of t the bounds are exact to rounding. float32 holds e^t up to the upper one, and e^t/b from the lower one.
_LOWEST, _HIGHEST = -36.0, 80.0


class Warp(NamedTuple):
    """g(x, b), ∂g/∂x and the lag s/ŷ, from which `slope_derivative` makes ∂g/∂b."""

    g: Array
    dx: Array
    lag: Array


def warp(x: ArrayLike, b: ArrayLike, *, xp: Any = None) -> Warp:
    """The rebalanced logit with its derivative in x and what its derivative in b needs.

    x: logits, any shape. b: slope ≥ 1, broadcast against x. Returns a `Warp` of arrays.

    >>> [round(float(part), 3) for part in warp(2.0, 7.396)]
    [3.26, 1.115, 2.532]
    """
    xp, x, b = checked_logits(x, b, xp)
    bx = b * x
    t = bx + xp.log(b)
    odds = xp.exp(xp.clip(t, _LOWEST, _HIGHEST))
    minus_s = xp.maximum(xp.log1p(odds), t) * (-1.0 / b)
    minus_y_hat = xp.expm1(minus_s)
    y_hat = -minus_y_hat
    logit = xp.minimum(xp.log(y_hat) - minus_s, bx)
    return Warp(logit - xp.log(xp.expm1(xp.log1p(b) / b)), odds / ((1.0 + odds) * y_hat), minus_s / minus_y_hat)


def slope_derivative(b: Array, dx_x: Array, dx: Array, lag: Array, one: Array, *, xp: Any) -> Array:
    """∂g/∂b from (∂g/∂x)·x, ∂g/∂x, s/ŷ and 1.

    It is linear in these four, so Σ wᵢ ∂gᵢ/∂b follows from their four sums Σ wᵢ(∂gᵢ/∂x)xᵢ, Σ wᵢ ∂gᵢ/∂x, Σ wᵢsᵢ/ŷᵢ and Σ wᵢ: all
    that a backward pass needs, and much cheaper than an array of derivatives.

    b: slope ≥ 1. The rest: arrays that broadcast against b.
    """
    s0 = xp.log1p(b) / b
    k = (s0 - 1.0 / (1.0 + b)) / (b * xp.expm1(-s0))
    return (dx_x + dx / b - lag) / b - k * one
