"""The namespaces that the core is called with: which elementary functions survive where.

TorchInductor compiles expm1(v) to exp(v) − 1 on CPUs, and ONNX has neither expm1 nor log1p: exporters write exp(v) − 1 and
log(1 + u). So compiled and exported graphs get both functions from `core.elementary`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import array_api_compat.torch as eager
import torch

from astralearn.core import elementary

__all__ = ["eager", "expm1", "log1p", "namespace", "portable"]


def log1p(u: torch.Tensor) -> torch.Tensor:
    """ln(1 + u), u > −1."""
    value: torch.Tensor = elementary.log1p(u, torch)
    return value


def expm1(v: torch.Tensor) -> torch.Tensor:
    """e^v − 1."""
    value: torch.Tensor = elementary.expm1(v, torch)
    return value


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
