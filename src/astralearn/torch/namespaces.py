"""The functions that the core is called with: eager, or exact in a graph.

ONNX has neither expm1 nor log1p, and TorchInductor has no expm1 on CPUs: there they become
exp(v) − 1 and log(1 + u), which lose all digits near 0. Graphs get both from `core.elementary`.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import array_api_compat.torch  # noqa: F401 (for `core.inputs.namespace` to find)
import torch
from torch import nn

from astralearn.core import elementary

# These are torch's own functions: array-api-compat checks and converts at each call, which costs
# as much as the arithmetic.
_NAMES = "abs all exp expm1 log log1p logaddexp maximum minimum ones_like sigmoid sqrt sum where"
eager = SimpleNamespace(
    **{name: getattr(torch, name) for name in f"{_NAMES} zeros_like".split()},
    clip=torch.clamp,
    max=torch.amax,
    min=torch.amin,
    softplus=lambda x: -nn.functional.logsigmoid(-x),  # PyTorch's softplus(x) is x from 20 on.
)

# ONNX runtimes approximate sigmoid and softplus, so the core makes them of exp and log1p here.
portable = SimpleNamespace(
    **{name: value for name, value in vars(eager).items() if name not in ("sigmoid", "softplus")}
)
portable.expm1 = lambda v: elementary.expm1(v, torch)
portable.log1p = lambda u: elementary.log1p(u, torch)

# Of Python's floats, for what a batch has one of.
floats = SimpleNamespace(
    exp=math.exp,
    expm1=math.expm1,
    log=math.log,
    log1p=math.log1p,
    where=lambda condition, yes, no: yes if condition else no,
)


def current() -> Any:
    """`portable` where PyTorch compiles or exports, `eager` elsewhere."""
    return portable if torch.compiler.is_compiling() or torch.onnx.is_in_onnx_export() else eager
