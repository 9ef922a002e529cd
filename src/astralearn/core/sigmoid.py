"""The logistic function and its relatives, without overflow and with full relative accuracy in both tails.

A namespace with a `sigmoid` or `softplus` of its own (PyTorch's is one operation instead of seven) is asked for it.
"""

from __future__ import annotations

from typing import Any

from astralearn.core.inputs import Array


def minus_abs(x: Array, xp: Any) -> Array:
    """−|x|, differentiable from the right at 0: `abs` has derivative 0 there, which would stop learning at x = 0."""
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
