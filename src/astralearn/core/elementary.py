"""Elementary functions that array libraries lack, lose or round too far.

A namespace with a `sigmoid` or `softplus` of its own is asked for it: PyTorch's is one operation
instead of seven. Eager libraries keep log1p(u) ≈ u and expm1(v) ≈ v near 0, and the core relies on
it far below 0, where ŷ = −expm1(−s) is tiny. TorchInductor compiles expm1(v) to exp(v) − 1 on CPUs,
and ONNX has neither function: the adapters give such compilers `log1p` and `expm1` from here.
"""

from __future__ import annotations

import math
from typing import Any

from astralearn.core.inputs import Array

# Stands in for 0 in a denominator or a logarithm that must stay finite; float32 holds 1/TINY too.
TINY = 1e-30

# 1/2!, 1/3!, …: enough terms that |v| < ½ is exact to rounding of float64.
_FACTORIAL_RECIPROCALS = tuple(1.0 / math.factorial(k) for k in range(2, 17))

# −q/ln(1−q) is 1 minus these times q, q², …
_GREGORY = (1 / 2, 1 / 12, 1 / 24, 19 / 720, 3 / 160)


def minus_abs(x: Array, xp: Any) -> Array:
    """−|x|, differentiable from the right at 0.

    `abs` has derivative 0 there, which would stop learning at x = 0.
    """
    return xp.where(x < 0, x, -x)


def sigmoid(x: Array, xp: Any) -> Array:
    """σ(x) = 1/(1 + e^{−x}), in [0, 1]; σ(−x) is 1 − σ(x) without cancellation."""
    if hasattr(xp, "sigmoid"):
        return xp.sigmoid(x)
    e = xp.exp(minus_abs(x, xp))
    return xp.where(x < 0, e, 1.0) / (1.0 + e)


def softplus(x: Array, xp: Any) -> Array:
    """ln(1 + e^x) ≥ 0; −softplus(−x) is ln σ(x)."""
    if hasattr(xp, "softplus"):
        return xp.softplus(x)
    return xp.where(x < 0, 0.0, x) + xp.log1p(xp.exp(minus_abs(x, xp)))


def log1p(u: Array, xp: Any) -> Array:
    """ln(1 + u), u > −1: that of the rounded w = 1 + u, plus what rounding lost.

    What it lost is (u − (w − 1))/w.
    """
    w = 1.0 + u
    return xp.log(w) + (u - (w - 1.0)) / w


def expm1(v: Array, xp: Any) -> Array:
    """e^v − 1: its series for |v| < ½, where the difference would cancel."""
    terms = _FACTORIAL_RECIPROCALS if is_double(v) else _FACTORIAL_RECIPROCALS[:7]
    small = xp.clip(v, -0.5, 0.5)
    series = terms[-1] + 0.0 * small
    for term in terms[-2::-1]:
        series = series * small + term
    return xp.where(small == v, small + small * small * series, xp.exp(v) - 1.0)


def exp_and_power(v: Array, power: float, xp: Any) -> tuple[Array, Array]:
    """e^v and e^{qv} for v ≤ 0, from one exponential where q is 1 or ¼."""
    if power == 0.25:
        root = xp.exp(power * v)
        squared = root * root
        return squared * squared, root
    e = xp.exp(v)
    return e, e if power == 1 else xp.exp(power * v)


def raised(share: Array, power: float, xp: Any) -> Array:
    """share^q in [0, 1], by square roots where they serve: they take less time."""
    if power == 1:
        return share
    if power == 0.25:
        return xp.sqrt(xp.sqrt(share))
    return xp.exp(power * xp.log(at_least(share, TINY, xp)))


def log1p_of_odds(p: Array, w: Array, xp: Any) -> Array:
    """ln(1 + p) for p ≥ 0, given w = 1 + p.

    That of w, plus what rounding lost up to p = 1; farther up the loss is a rounding of w. XLA
    takes (1 + p) − 1 for p, but not with a bound between; NumPy's bounds take longer than its
    quotient.
    """
    if is_numpy(xp):
        return xp.log(w) + (p - (w - 1.0)) / w
    return xp.log(w) + (at_most(p, 1.0, xp) - (at_most(w, 2.0, xp) - 1.0))


def one_minus_exp(s: Array, rest: Array, xp: Any) -> Array:
    """q = 1 − e^{−s} for s ≥ 0, given rest = e^{−s}, where the difference may cancel.

    There q = s·(−q/ln(1−q)), and the bracket is 1 − q/2 − q²/12 − … with the rounded q, which its
    small part forgives. Off by less than 4e-6 of the value in float32, 4e-14 in float64.
    """
    terms, small = (_GREGORY, 0.005) if is_double(s) else (_GREGORY[:2], 0.03)
    q = 1.0 - rest
    series = terms[-1]
    for term in terms[-2::-1]:
        series = term + q * series
    return xp.where(q < small, s * (1.0 - q * series), q)


def at_least(value: Array, floor: Any, xp: Any) -> Array:
    """max(value, floor), as one comparison but for NumPy.

    Torch's own maximum refuses numbers, and XLA's has NaN to care for.
    """
    return xp.maximum(value, floor) if is_numpy(xp) else xp.where(value < floor, floor, value)


def at_most(value: Array, ceiling: float, xp: Any) -> Array:
    """min(value, ceiling)."""
    if is_numpy(xp):
        return xp.minimum(value, ceiling)
    return xp.where(value > ceiling, ceiling, value)


def is_numpy(xp: Any) -> bool:
    """Whether the namespace is NumPy's, by itself or through array-api-compat."""
    return getattr(xp, "__name__", "") in ("numpy", "array_api_compat.numpy")


def or_one(value: Array, xp: Any) -> Array:
    """The value, or 1 where it is not above 0: a divisor."""
    return xp.where(value > 0, value, 1.0)


def largest(x: Array) -> float:
    """The largest float of x's dtype, single at least; keras.ops has no finfo."""
    return 1.7976931348623157e308 if is_double(x) else 3.4028234663852886e38


def is_double(x: Array) -> bool:
    """Whether x is of double precision, as Python's numbers are."""
    return "64" in str(getattr(x, "dtype", "float64"))
