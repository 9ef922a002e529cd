"""The namespaces that the core is called with: which elementary functions survive where.

TorchInductor compiles expm1(v) to exp(v) − 1 on CPUs, and ONNX has neither expm1 nor log1p: exporters write exp(v) − 1 and
log(1 + u). So compiled and exported graphs get both functions from `core.elementary` (`portable`).

In compiled training (`swift`, float32) exp and log themselves are arithmetic on the bits of floats: inlined and vectorised, a
logarithm takes a fifth of the time of the one that TorchInductor calls.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import torch

from astralearn.core import elementary
from astralearn.core.warp import LOWEST

__all__ = ["eager", "expm1", "log1p", "namespace", "portable", "swift"]


def log1p(u: torch.Tensor) -> torch.Tensor:
    """ln(1 + u), u > −1."""
    value: torch.Tensor = elementary.log1p(u, torch)
    return value


def expm1(v: torch.Tensor) -> torch.Tensor:
    """e^v − 1."""
    value: torch.Tensor = elementary.expm1(v, torch)
    return value


# What the core calls, straight from torch: array-api-compat checks and converts at each call, which costs as much as the arithmetic.
eager = SimpleNamespace(
    abs=torch.abs,
    clip=torch.clamp,
    exp=torch.exp,
    expm1=torch.expm1,
    log=torch.log,
    log1p=torch.log1p,
    logaddexp=torch.logaddexp,
    max=torch.amax,
    maximum=torch.maximum,
    min=torch.amin,
    minimum=torch.minimum,
    ones_like=torch.ones_like,
    sigmoid=torch.sigmoid,
    sqrt=torch.sqrt,
    sum=torch.sum,
    where=torch.where,
    zeros_like=torch.zeros_like,
)

portable = SimpleNamespace(**{**vars(eager), "expm1": expm1, "log1p": log1p})


# Least-squares fits at Chebyshev nodes, lowest power first, relative error about 1e-8: (2^f − 1)/f for |f| ≤ ½, and 2 atanh(w)/w in
# powers of w², for w ≤ 1/3 (ln(1 + q), q ≤ 1) and for |w| ≤ 0.172 (ln m, √½ ≤ m ≤ √2).
_POWER = (0.693147188, 0.240226496, 0.0555035752, 0.00961826322, 0.00133907002, 0.000153952528)
_ATANH_TO_THIRD = (2.00000001, 0.666663204, 0.400246513, 0.279643447, 0.281614538)
_ATANH_NARROW = (2.0, 0.666668156, 0.399748195, 0.299251948)

# The bits of √½ as a float32, and of its fraction: with them a number splits into 2^e · m, √½ ≤ m < √2.
_BITS_OF_ROOT_HALF, _FRACTION, _ONE_EXPONENT = 0x3F3504F3, 0x7FFFFF, 2.0**23


def _polynomial(x: torch.Tensor, coefficients: tuple[float, ...]) -> Any:
    """Σ cₖxᵏ by Horner's rule, which takes no x⁴ or x⁸: far below 0 they are denormal, and that doubled a whole step's time on a Xeon."""
    total: Any = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def _power_of_two(v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """2^n and 2^f − 1 of v = n + f ≤ 0; 2^n is 0 below n = −126."""
    n = torch.round(v)
    f = v - n
    return (torch.relu(n + 127.0) * _ONE_EXPONENT).to(torch.int32).view(torch.float32), f * _polynomial(f, _POWER)


def _expm1_below_zero(v: torch.Tensor) -> torch.Tensor:
    """e^v − 1 for v ≤ 0 in float32, with full relative accuracy."""
    whole, part = _power_of_two(v * math.log2(math.e))
    return (whole - 1.0) + whole * part


def _log_of_normal(u: torch.Tensor) -> torch.Tensor:
    """ln u for positive normal u in float32."""
    bits = u.view(torch.int32)
    of_m = ((bits - _BITS_OF_ROOT_HALF) & _FRACTION) + _BITS_OF_ROOT_HALF
    m = of_m.view(torch.float32)
    w = (m - 1.0) / (m + 1.0)
    return (bits - of_m).to(torch.float32) * (math.log(2.0) / _ONE_EXPONENT) + w * _polynomial(w * w, _ATANH_NARROW)


def _softplus_and_sigmoid(t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """As in `core.warp`, in float32."""
    whole, part = _power_of_two(torch.clamp(t.abs(), max=-LOWEST) * -math.log2(math.e))
    q = whole + whole * part
    w = q / (2.0 + q)
    return torch.relu(t) + w * _polynomial(w * w, _ATANH_TO_THIRD), torch.where(t < 0, q, 1.0) / (1.0 + q)


swift = SimpleNamespace(
    expm1=_expm1_below_zero,
    log=_log_of_normal,
    minimum=torch.minimum,
    softplus_and_sigmoid=_softplus_and_sigmoid,
)


def namespace() -> Any:
    """`portable` inside torch.compile, torch.export and the ONNX exporter; eager PyTorch otherwise."""
    return portable if torch.compiler.is_compiling() or torch.onnx.is_in_onnx_export() else eager
