"""The ASTra curve, its threshold, and the warp of the logit, exact everywhere.

Symbols: `x` is the network's output (a logit), b ≥ 1 the slope, τ = ASTra(0, b) the threshold,
ŷ = ASTra(x, b), z the rebalanced ŷ and g = logit(z). Arrays of any shape broadcast: one b for all,
or one per output column. The dtype is kept, but for half precision, which becomes single.
"""

from __future__ import annotations

import math
from typing import Any

from astralearn.core.elementary import TINY, at_least, is_double, largest, minus_abs
from astralearn.core.inputs import Array, ArrayLike, as_arrays, check

# Beyond this logit every bounded quantity is at its limit to rounding, and b·x still fits float32
# for b = 1e6. A clip there keeps NumPy from warning of e^{−|bx|} at an infinite bx, and automatic
# differentiation from multiplying 0 by it.
FARTHEST = 1e18

# Everything is tested up to this slope, and from about its threshold on. In float32 b times e^60
# overflows from b = 1e12 on.
LARGEST_SLOPE, LEAST_THRESHOLD = 1e6, 1e-5

# The power of the class ratio up to which a slope may rise, unless said otherwise.
SLOPE_LIMIT = 0.25

SLOPE_RULE = "finite and at least 1 (b = 1 is the plain sigmoid)"


def astra(x: ArrayLike, b: ArrayLike, *, xp: Any = None) -> Array:
    """The asymmetric sigmoid: ŷ, positive when at least threshold(b).

        ŷ = 1 − (1 + b e^{bx})^{−1/b}                                   (Eq. 4)

    x: logits, any shape.
    b: slope ≥ 1, broadcast against x.
    Returns ŷ in [0, 1].

    >>> astra([-1.0, 0.0, 1.0], 7.396).round(4).tolist()
    [0.0006, 0.25, 0.7193]
    """
    xp, x, b = checked_logits(x, b, xp)
    return -xp.expm1(-log_complement(x, b, xp))


def astra_complement(x: ArrayLike, b: ArrayLike, *, xp: Any = None) -> Array:
    """1 − ŷ = (1 + b e^{bx})^{−1/b}, accurate where ŷ rounds to 1.

    Arguments as in `astra`.

    >>> float(astra_complement(300.0, 2.0)) > 0
    True
    """
    xp, x, b = checked_logits(x, b, xp)
    return xp.exp(-log_complement(x, b, xp))


def threshold(b: ArrayLike, *, xp: Any = None) -> Array:
    """The ŷ at x = 0, above which the positive class is predicted.

        τ = 1 − (1 + b)^{−1/b}                                          (Eq. 5)

    b: slope ≥ 1, any shape. Returns τ in (0, 0.5], falling as b grows.

    >>> round(float(threshold(7.396)), 4)
    0.25
    """
    if xp is None:
        xp, b = as_arrays(b=b)
        check(xp, "b", b, xp.isfinite(b) & (b >= 1), SLOPE_RULE)
    tau = -xp.expm1(-log_complement_at_zero(b, xp))
    return xp.where(tau > 0.5, 0.5, tau)


def slope(tau: ArrayLike, *, xp: Any = None) -> Array:
    """The b whose threshold is τ: the inverse of Eq. 5.

    With a = −ln(1 − τ) and v = ln(1 + b), Eq. 5 reads ln((e^v − 1)/v) = −ln a, almost a straight
    line in v: Newton's method from v = ln(1/a) + ln(1 + ln(1/a)) + ½ is exact to rounding after
    five steps for every τ.

    tau: threshold in (0, 0.5], any shape. Returns b ≥ 1.

    >>> round(float(slope(0.25)), 3)
    7.396
    """
    if xp is None:
        xp, tau = as_arrays(tau=tau)
        check(xp, "tau", tau, (tau > 0) & (tau <= 0.5), "in (0, 0.5]")
    log_a = xp.log(-xp.log1p(-tau))
    v = xp.log1p(-log_a) - log_a + 0.5
    for _ in range(5):
        decay = -xp.expm1(-v)
        v = v - (v + xp.log(decay / v) + log_a) / (1.0 / decay - 1.0 / v)
    b = xp.expm1(v)
    return xp.where(b < 1, 1.0, b)


def starting_slope(tau_init: float) -> float:
    """b for the threshold that a network or trees start from.

    tau_init: in [LEAST_THRESHOLD, 0.5].
    0.5 is the plain sigmoid and stays so: the β that `raw_from_slope` gives lies where Eq. 7 is
    flat.

    >>> starting_slope(0.5)
    1.0
    """
    b = 1.0 if tau_init == 0.5 else float(slope(tau_init))
    if tau_init < LEAST_THRESHOLD:
        raise ValueError(f"tau_init must be in [{LEAST_THRESHOLD:g}, 0.5]; found {tau_init}")
    return b


def raw_limit(slope_max: float | None) -> float:
    """β of the largest slope that a layer may have; infinite where it has no limit.

    >>> raw_limit(3.0), raw_limit(None)
    (1.0, inf)
    """
    if slope_max is None:
        return math.inf
    if not 1 <= slope_max < math.inf:
        raise ValueError(f"slope_max must be None or finite and at least 1; found {slope_max}")
    return float(raw_from_slope(slope_max))


def slope_for_ratio(ratio: float, limit: float = SLOPE_LIMIT) -> float:
    """The largest slope for so many negatives per positive: ratio^limit, at least 1.

    A slope is an allowance for the rarer class; where neither is rare it is 1, the plain sigmoid.

    >>> slope_for_ratio(81.0), slope_for_ratio(0.5)
    (3.0, 1.0)
    """
    return float(max(ratio, 1.0) ** limit)


def rebalance(y_hat: ArrayLike, tau: ArrayLike, *, xp: Any = None) -> Array:
    """The z-transform: moves the threshold of ŷ to ½.

        z = ŷ(1−τ) / (ŷ(1−τ) + (1−ŷ)τ)                                  (Eq. 6)

    y_hat: probabilities in [0, 1]. tau: threshold in (0, 0.5], broadcast. Returns z in [0, 1].
    From a logit, σ(rebalanced_logit(x, b)) is the same and keeps its accuracy in both tails.

    >>> float(rebalance(0.25, 0.25))
    0.5
    """
    if xp is None:
        xp, y_hat, tau = as_arrays(y_hat=y_hat, tau=tau)
        check(xp, "y_hat", y_hat, (y_hat >= 0) & (y_hat <= 1), "a probability in [0, 1]")
        check(xp, "tau", tau, (tau > 0) & (tau <= 0.5), "in (0, 0.5]")
    positive = y_hat * (1.0 - tau)
    return positive / (positive + (1.0 - y_hat) * tau)


def rebalanced_logit(x: ArrayLike, b: ArrayLike, *, xp: Any = None) -> Array:
    """The logit of z: ASTra and the z-transform as one warp (Eqs. 4–6).

        g(x, b) = ln((e^s − 1)/(e^{s₀} − 1)),   s = ln(1 + b e^{bx})/b,   s₀ = s at x = 0

    g(0) = 0, g rises with slope b far below 0 and slope 1 far above it, and b = 1 gives g = x. So
    z = σ(g), and predicting 1 when g ≥ 0, when z ≥ ½, when ŷ ≥ τ and when x ≥ 0 is one decision.

    x: logits, any shape.
    b: slope ≥ 1, broadcast against x.
    Returns g, finite for finite x: where b·x is below the lowest float, g is that float, to
    automatic differentiation a constant. NumPy warns where b·x overflows.

    >>> rebalanced_logit([-2.0, 0.0, 2.0], 7.396).round(3).tolist()
    [-13.693, 0.0, 3.26]
    """
    xp, x, b = checked_logits(x, b, xp)
    bx = b * x
    # Two forms of g are each far from cancellation on their side of bx = −4. They take the same
    # three steps, log1p then expm1 then log, so only the arguments of the steps are chosen.
    far = bx < -4
    negative = x < 0
    rise = xp.where(negative, 0.0, x)
    below = xp.clip(bx, -largest(bx), 0.0)
    p = at_least(b * xp.exp(below), smallest_odds(bx), xp)
    # With u = e^{−|bx|} − 1, d = s − s₀ = max(x, 0) + ln(1 + u·b/(1+b) or u/(1+b))/b does not
    # cancel near 0.
    u = xp.expm1(minus_abs(bx, xp)) * (xp.where(negative, b, 1.0) / (1.0 + b))
    s_or_d = rise + xp.log1p(xp.where(far, p, u)) / b
    e = xp.expm1(xp.where(far | negative, s_or_d, -s_or_d))
    s0 = log_complement_at_zero(b, xp)
    odds0 = xp.expm1(s0)
    near_g = xp.where(negative, 0.0, s_or_d) + xp.log1p(
        xp.where(far, 0.0, e * xp.where(negative, -1.0 / xp.expm1(-s0), -1.0 / odds0))
    )
    far_g = below + xp.log(xp.where(far, b * e / p, 1.0)) - xp.log(odds0)
    g = xp.where(far, far_g, near_g)
    # g is 0 only at x = 0; a subnormal x would round to it. The derivative there is that of the
    # tangent.
    return xp.where(g == 0, x * (-b / ((1.0 + b) * xp.expm1(-s0))), g)


def slope_from_raw(beta: ArrayLike, *, xp: Any = None) -> Array:
    """The slope b > 1 of an unconstrained β, the parameter that is learned.

        b = 2 + β if β > 0, otherwise 1 + e^β                           (Eq. 7)

    beta: any shape, any sign. Returns b ≥ 1, differentiable once at β = 0.

    >>> slope_from_raw([0.0, 5.396]).tolist()
    [2.0, 7.396]
    """
    if xp is None:
        xp, beta = as_arrays(beta=beta)
    return xp.where(beta > 0, 2.0 + beta, 1.0 + xp.exp(xp.where(beta > 0, 0.0, beta)))


def raw_from_slope(b: ArrayLike, *, xp: Any = None) -> Array:
    """The β of a slope b: the inverse of Eq. 7.

    b = 1, which no finite β reaches, gives ln(1e-30), whose slope rounds to 1.

    >>> raw_from_slope([2.0, 7.396]).tolist()
    [0.0, 5.396]
    """
    if xp is None:
        xp, b = as_arrays(b=b)
        check(xp, "b", b, xp.isfinite(b) & (b >= 1), SLOPE_RULE)
    return xp.where(b > 2, b - 2.0, xp.log(xp.where(b > 2, 1.0, at_least(b - 1.0, TINY, xp))))


def log_complement(x: Array, b: Array, xp: Any) -> Array:
    """s = −ln(1 − ŷ) = ln(1 + b e^{bx})/b ≥ 0, accurate at both ends.

    Up to x = FARTHEST. Arrays only, unchecked.
    """
    x = xp.clip(x, -FARTHEST, FARTHEST)
    q = xp.exp(minus_abs(b * x, xp))
    return xp.where(x < 0, 0.0, x) + xp.log1p(xp.where(x < 0, b * q, (b - 1.0) + q)) / b


def log_complement_at_zero(b: Array, xp: Any) -> Array:
    """s₀ = ln(1 + b)/b, `log_complement` at x = 0."""
    return xp.log1p(b) / b


def smallest_odds(x: Array) -> float:
    """Where the odds p = b e^{bx} stop, for arrays of x's dtype.

    Ratios such as ln(1+p)/p are at their limit to rounding there, and the dtype still holds p³, by
    which automatic differentiation divides when it differentiates twice.
    """
    return 1e-15 if is_double(x) else 1e-12


def checked_logits(x: ArrayLike, b: ArrayLike, xp: Any) -> tuple[Any, Array, Array]:
    """(xp, x, b) as arrays, the slope checked, unless `xp` is given."""
    if xp is None:
        xp, x, b = as_arrays(x=x, b=b)
        check(xp, "b", b, xp.isfinite(b) & (b >= 1), SLOPE_RULE)
    return xp, x, b
