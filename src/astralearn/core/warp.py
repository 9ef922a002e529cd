"""The one training kernel: what a gradient needs of a logit.

Speed counts here, and rounding near g = 0 does not; `curve` and `derivatives` are exact there too.
With t = bx + ln b, σ = σ(t), s = ln(1 + e^t)/b, ŷ = 1 − e^{−s} and o = e^{s₀} − 1 (maths.md):

    g = s + ln ŷ − ln o,    ∂g/∂x = σ/ŷ,    ∂g/∂b = [(∂g/∂x)(x + 1/b) − s/ŷ]/b − k,
    z = ŷ/D,    1 − z = o e^{−s}/D,    D = ŷ + o e^{−s},

where s₀ is s, and k the rest of ∂g/∂b, at x = 0. `warp` gives g with its derivatives, for layers;
`negatives` and `positives` give what examples of a known class pull at, for whole training steps.
No selection between branches where bounds serve, which costs array libraries more than a logarithm:
s ≥ t/b above, and g + ln o ≤ bx below. Finite as long as b·x is: a bound on x would cost the
training pass (docs/pytorch.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from astralearn.core.confusion import right_and_wrong
from astralearn.core.curve import checked_logits, log_complement_at_zero
from astralearn.core.elementary import at_least, at_most, log1p_of_odds, one_minus_exp, softplus
from astralearn.core.inputs import Array, ArrayLike

# Beyond these values of t the bounds are exact to rounding. float32 holds e^t up to the upper one,
# and e^t/b from the lower one.
LOWEST, HIGHEST = -36.0, 80.0

# Where pulls that come with a steepness stop falling.
_DEEPEST = -60.0


class Warp(NamedTuple):
    """g(x, b), ∂g/∂x and the lag s/ŷ, from which `slope_derivative` makes ∂g/∂b.

    Errors of g are absolute, a few roundings of 1 + |g| + ln b.
    """

    g: Array
    dx: Array
    lag: Array


class Pulls(NamedTuple):
    """What examples of one class pull at; m is their logit of being wrong, g or −g.

    right, wrong: σ(−m) and σ(m), of the shape of x.
    log_right: ln σ(−m); None where steepness was asked for instead.
    dx, db: wrong·∂m/∂x and wrong·∂m/∂b, BCE's gradient; db is None for the plain sigmoid.
    steepness: ∂g/∂x in [1, b]; 1 for the plain sigmoid, None where it was not asked for.
    """

    right: Array
    wrong: Array
    log_right: Array
    dx: Array
    db: Array
    steepness: Array


class OfSlope(NamedTuple):
    """What every logit shares: b, ln b, 1/b, ln o, k and o, each of the shape of b."""

    b: Array
    log_b: Array
    inverse: Array
    origin: Array
    k: Array
    odds: Array


def warp(x: ArrayLike, b: ArrayLike, *, xp: Any = None) -> Warp:
    """The rebalanced logit with what its derivatives need.

    x: logits, any shape. b: slope ≥ 1, broadcast against x. Returns a `Warp` of arrays.

    >>> [round(float(part), 3) for part in warp(2.0, 7.396)]
    [3.26, 1.115, 2.532]
    """
    xp, x, b = checked_logits(x, b, xp)
    return warp_by(x, of_slope(b, xp=xp), xp=xp)


def warp_by(x: Array, shared: OfSlope, *, xp: Any) -> Warp:
    """`warp`, given what every logit shares."""
    bx = shared.b * x
    return warp_at(bx, shared, *softplus_and_sigmoid(bx + shared.log_b, xp=xp), xp=xp)


def of_slope(b: Array, *, xp: Any) -> OfSlope:
    """The part of the kernel that depends on the slope alone."""
    s0 = log_complement_at_zero(b, xp)
    odds = xp.expm1(s0)
    return OfSlope(
        b=b,
        log_b=xp.log(b),
        inverse=1.0 / b,
        origin=xp.log(odds),
        k=(s0 - 1.0 / (1.0 + b)) / (b * xp.expm1(-s0)),
        odds=odds,
    )


def softplus_and_sigmoid(t: Array, *, xp: Any) -> tuple[Array, Array]:
    """ln(1 + e^t) and σ(t) from one exponential.

    Both stop falling at t = LOWEST, so that their ratio tends to 1.
    """
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

    It is linear in these four, so Σ wᵢ ∂gᵢ/∂b follows from their sums Σ wᵢ(∂gᵢ/∂x)xᵢ, Σ wᵢ ∂gᵢ/∂x,
    Σ wᵢsᵢ/ŷᵢ and Σ wᵢ. That is all that a backward pass needs, and much cheaper than an array of
    derivatives.

    shared: of `of_slope`. The rest: arrays that broadcast against it.
    """
    return (dx_x + dx * shared.inverse - lag) * shared.inverse - shared.k * one


def negatives(x: Array, shared: OfSlope | None, *, with_steepness: bool = False, xp: Any) -> Pulls:
    """What rows labelled 0 pull at: z, 1 − z, ln(1 − z), z ∂g/∂x and z ∂g/∂b.

    x: logits, any shape.
    shared: `of_slope` of a slope that broadcasts against x; None for the plain sigmoid.
    with_steepness: whether ∂g/∂x is wanted instead of ln(1 − z); small odds then need more care.
    """
    if shared is None and with_steepness:
        odds = xp.exp(at_most(x, HIGHEST, xp))
        right = 1.0 / (1.0 + odds)
        wrong = odds * right
        return Pulls(right, wrong, log_right=None, dx=wrong, db=None, steepness=1.0)
    if shared is None:
        return _plain(x, 1.0, xp)
    t = shared.b * x + shared.log_b
    if with_steepness:
        # From the lower bound on, steepness, a ratio of two that vanish, is at its limit.
        odds = xp.exp(xp.clip(t, _DEEPEST, HIGHEST))
        from_one = 1.0 + odds
        softplus_t = log1p_of_odds(odds, from_one, xp)
    else:
        odds = xp.exp(at_most(t, HIGHEST, xp))
        from_one = 1.0 + odds
        softplus_t = xp.log(from_one)
    c = _curve(at_least(softplus_t, t, xp), shared, xp)
    # One division serves both quotients.
    both = 1.0 / (c.weighed * from_one)
    share, dx = both * from_one, both * odds
    wrong = c.y_hat * share
    return Pulls(
        right=c.tail * share,
        wrong=wrong,
        log_right=None if with_steepness else shared.origin - c.s - xp.log(c.weighed),
        dx=dx,
        db=(dx * (x + shared.inverse) - c.s * share) * shared.inverse - shared.k * wrong,
        steepness=dx / wrong if with_steepness else None,
    )


def positives(x: Array, shared: OfSlope | None, *, xp: Any) -> Pulls:
    """What rows labelled 1 pull at: 1 − z, z, ln z, −(1−z) ∂g/∂x and −(1−z) ∂g/∂b.

    Exact however far below 0 they are, for there they matter most. Arguments as in `negatives`.
    """
    if shared is None:
        return _plain(x, -1.0, xp)
    bx = shared.b * x
    t = bx + shared.log_b
    odds = xp.exp(at_least(at_most(t, HIGHEST, xp), LOWEST, xp))
    from_one = 1.0 + odds
    c = _curve(at_least(log1p_of_odds(odds, from_one, xp), t, xp), shared, xp)
    share, per_y_hat = 1.0 / c.weighed, 1.0 / c.y_hat
    wrong, steepness = c.tail * share, odds / from_one * per_y_hat
    by_b = slope_derivative(shared, steepness * x, steepness, c.s * per_y_hat, 1.0)
    log_y_hat = xp.log(c.y_hat)
    return Pulls(
        right=c.y_hat * share,
        wrong=wrong,
        log_right=-at_least(-log_y_hat, -bx, xp) - xp.log(c.weighed),
        dx=-wrong * steepness,
        db=-wrong * by_b,
        steepness=steepness,
    )


class _Curve(NamedTuple):
    """s, ŷ, the tail o e^{−s} and the weighed sum D of both."""

    s: Array
    y_hat: Array
    tail: Array
    weighed: Array


def _curve(softplus_t: Array, shared: OfSlope, xp: Any) -> _Curve:
    s = softplus_t * shared.inverse
    rest = xp.exp(-s)
    y_hat, tail = one_minus_exp(s, rest, xp), shared.odds * rest
    return _Curve(s, y_hat, tail, y_hat + tail)


def _plain(x: Array, sign: float, xp: Any) -> Pulls:
    """With the plain sigmoid, g = x."""
    m = sign * x
    right, wrong = right_and_wrong(m, xp)
    return Pulls(right, wrong, -softplus(m, xp), sign * wrong, None, 1.0)
