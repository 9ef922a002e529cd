"""expm1 and log1p from exp, log and arithmetic, for compilers and file formats that lose or lack them (see the adapters).

Eager libraries keep log1p(u) ≈ u and expm1(v) ≈ v near 0, and the core relies on it far below 0, where ŷ = −expm1(−s) is tiny.
TorchInductor compiles expm1(v) to exp(v) − 1 on CPUs, and ONNX has neither function. There ŷ would be 0 and g = −∞.
"""

from __future__ import annotations

import math
from typing import Any

from astralearn.core.inputs import Array

# 1/2!, 1/3!, …: enough terms that |v| < ½ is exact to rounding of float64.
_FACTORIAL_RECIPROCALS = tuple(1.0 / math.factorial(k) for k in range(2, 17))


def log1p(u: Array, xp: Any) -> Array:
    """ln(1 + u), u > −1: the logarithm of the rounded w = 1 + u, plus what the rounding lost, (u − (w − 1))/w."""
    w = 1.0 + u
    return xp.log(w) + (u - (w - 1.0)) / w


def expm1(v: Array, xp: Any) -> Array:
    """e^v − 1: its series for |v| < ½, where the difference would cancel."""
    terms = _FACTORIAL_RECIPROCALS if "64" in str(v.dtype) else _FACTORIAL_RECIPROCALS[:7]
    small = xp.clip(v, -0.5, 0.5)
    series = terms[-1] + 0.0 * small
    for term in terms[-2::-1]:
        series = series * small + term
    return xp.where(small == v, small + small * small * series, xp.exp(v) - 1.0)
