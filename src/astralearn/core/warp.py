"""g and both its derivatives from shared intermediates: the training pass, where speed counts and rounding near g = 0 does not.

With t = bx + ln b, σ = σ(t), s = ln(1 + e^t)/b and ŷ = 1 − e^{−s} (maths.md):

    g = s + ln ŷ − ln(e^{s₀} − 1),    ∂g/∂x = σ/ŷ,    ∂g/∂b = [(∂g/∂x)(x + 1/b) − s/ŷ]/b − k,

where s₀ is s, and k the rest of ∂g/∂b, at x = 0. Four transcendental functions and no selection between branches, which costs
array libraries more than a logarithm: the limits enter as bounds, s ≥ t/b above and g + ln(e^{s₀} − 1) ≤ bx below.
Finite as long as b·x is: a bound on x would cost the training pass (docs/pytorch.md). Errors are absolute, a few roundings of
1 + |g| + ln b; `rebalanced_logit` keeps its relative accuracy at g = 0 as well.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from astralearn.core.curve import checked_logits
from astralearn.core.inputs import Array, ArrayLike

# Beyond these values of t the bounds are exact to rounding. float32 holds e^t up to the upper one, and e^t/b from the lower one.
LOWEST, HIGHEST = -36.0, 80.0


class Warp(NamedTuple):
    """g(x, b), ∂g/∂x and the lag s/ŷ, from which `slope_derivative` makes ∂g/∂b."""

    g: Array
    dx: Array
    lag: Array


class OfSlope(NamedTuple):
    """What every logit shares, each of the shape of b: b, ln b, 1/b, ln(e^{s₀} − 1) and k."""

    b: Array
    log_b: Array
    inverse: Array
    origin: Array
    k: Array


def warp(x: ArrayLike, b: ArrayLike, *, xp: Any = None) -> Warp:
    """The rebalanced logit with its derivative in x and what its derivative in b needs.

    x: logits, any shape. b: slope ≥ 1, broadcast against x. Returns a `Warp` of arrays.

    >>> [round(float(part), 3) for part in warp(2.0, 7.396)]
    [3.26, 1.115, 2.532]
    """
    xp, x, b = checked_logits(x, b, xp)
    shared, bx = of_slope(b, xp=xp), b * x
    return warp_at(bx, shared, *softplus_and_sigmoid(bx + shared.log_b, xp=xp), xp=xp)


def of_slope(b: Array, *, xp: Any) -> OfSlope:
    """The part of `warp` that depends on the slope alone."""
    s0 = xp.log1p(b) / b
    return OfSlope(
        b, xp.log(b), 1.0 / b, xp.log(xp.expm1(s0)), (s0 - 1.0 / (1.0 + b)) / (b * xp.expm1(-s0))
    )


def softplus_and_sigmoid(t: Array, *, xp: Any) -> tuple[Array, Array]:
    """ln(1 + e^t) and σ(t) from one exponential; both stop falling at t = LOWEST, so that their ratio tends to 1."""
    odds = xp.exp(xp.clip(t, LOWEST, HIGHEST))
    return xp.maximum(xp.log1p(odds), t), odds / (1.0 + odds)


def warp_at(bx: Array, shared: OfSlope, softplus_t: Array, sigmoid_t: Array, *, xp: Any) -> Warp:
    """The rest of `warp`, given bx, ln(1 + e^t) and σ(t)."""
    s = softplus_t * shared.inverse
    y_hat = xp.one_minus_exp_minus(s) if hasattr(xp, "one_minus_exp_minus") else -xp.expm1(-s)
    per_y_hat = 1.0 / y_hat
    logit = xp.minimum(xp.log(y_hat) + s, bx)
    return Warp(logit - shared.origin, sigmoid_t * per_y_hat, s * per_y_hat)


def slope_derivative(
    shared: OfSlope, dx_x: Array, dx: Array, lag: Array, one: Array | float
) -> Array:
    """∂g/∂b from (∂g/∂x)·x, ∂g/∂x, s/ŷ and 1.

    It is linear in these four, so Σ wᵢ ∂gᵢ/∂b follows from their four sums Σ wᵢ(∂gᵢ/∂x)xᵢ, Σ wᵢ ∂gᵢ/∂x, Σ wᵢsᵢ/ŷᵢ and Σ wᵢ: all
    that a backward pass needs, and much cheaper than an array of derivatives.

    shared: of `of_slope`. The rest: arrays that broadcast against it.
    """
    return (dx_x + dx * shared.inverse - lag) * shared.inverse - shared.k * one
