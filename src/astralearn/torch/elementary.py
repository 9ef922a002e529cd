"""The namespaces that the core is called with: which elementary functions survive where.

Eager PyTorch keeps log1p(u) ≈ u and expm1(v) ≈ v near 0, and the core relies on it far below 0, where ŷ = −expm1(−s) is tiny.
TorchInductor compiles expm1(v) to exp(v) − 1 on CPUs, and ONNX has neither function: exporters write log(1 + u) and exp(v) − 1.
There ŷ would be 0 and g = −∞. So compiled and exported graphs get both functions from exp, log and arithmetic.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import array_api_compat.torch as eager
import torch

__all__ = ["eager", "expm1", "log1p", "namespace", "portable"]

# 1/2!, 1/3!, …: enough terms that |v| < ½ is exact to rounding of float64.
_FACTORIAL_RECIPROCALS = tuple(1.0 / math.factorial(k) for k in range(2, 17))


def log1p(u: torch.Tensor) -> torch.Tensor:
    """ln(1 + u), u > −1: the logarithm of the rounded w = 1 + u, plus what the rounding lost, (u − (w − 1))/w."""
    w = 1.0 + u
    return torch.log(w) + (u - (w - 1.0)) / w


def expm1(v: torch.Tensor) -> torch.Tensor:
    """e^v − 1: its series for |v| < ½, where the difference would cancel."""
    terms = _FACTORIAL_RECIPROCALS if v.dtype == torch.float64 else _FACTORIAL_RECIPROCALS[:7]
    small = torch.clamp(v, -0.5, 0.5)
    series = torch.full_like(v, terms[-1])
    for term in terms[-2::-1]:
        series = series * small + term
    return torch.where(small == v, small + small * small * series, torch.exp(v) - 1.0)


portable = SimpleNamespace(
    abs=torch.abs,
    clip=torch.clamp,
    exp=torch.exp,
    expm1=expm1,
    log=torch.log,
    log1p=log1p,
    maximum=torch.maximum,
    minimum=torch.minimum,
    where=torch.where,
)


def namespace() -> Any:
    """`portable` inside torch.compile, torch.export and the ONNX exporter; eager PyTorch otherwise."""
    return portable if torch.compiler.is_compiling() or torch.onnx.is_in_onnx_export() else eager
