"""The namespaces that the core is called with: which elementary functions survive where.

TorchInductor compiles expm1(v) to exp(v) − 1 on CPUs, and ONNX has neither expm1 nor log1p: exporters write exp(v) − 1 and
log(1 + u). So compiled and exported graphs get both functions from `core.elementary` (`portable`).

In compiled training in float32 (`swift`, `swift_losses`) exp and log themselves are arithmetic on the bits of floats: inlined and
vectorised, a logarithm takes a fifth of the time of the one that TorchInductor calls. There comparisons are avoided where much
depends on their result: as TorchInductor writes a selection, with masks, one at the head of a loss made its loop 2.7 times as slow.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import array_api_compat.torch  # noqa: F401 (for `core.inputs.namespace` to find)
import torch
from torch import nn

from astralearn.core import elementary

__all__ = [
    "HAS_AVX512",
    "by_bits",
    "eager",
    "exp_into",
    "expm1",
    "log1p",
    "namespace",
    "portable",
    "swift",
    "swift_losses",
]

# What is quick in eager PyTorch depends on what it was compiled for. With AVX-512 its tanh takes a third of the time of its expm1; with
# AVX2 half as long again, and exp2 half of exp.
HAS_AVX512 = torch.backends.cpu.get_cpu_capability() == "AVX512"


def log1p(u: torch.Tensor) -> torch.Tensor:
    """ln(1 + u), u > −1."""
    value: torch.Tensor = elementary.log1p(u, torch)
    return value


def expm1(v: torch.Tensor) -> torch.Tensor:
    """e^v − 1."""
    value: torch.Tensor = elementary.expm1(v, torch)
    return value


def exp_into(out: torch.Tensor, x: torch.Tensor, sign: float = 1.0) -> torch.Tensor:
    """e^{sign·x}, written to `out`, which may be x; relative error that of rounding x."""
    if HAS_AVX512 and sign == 1.0:
        return torch.exp(x, out=out)
    torch.mul(x, sign if HAS_AVX512 else sign * math.log2(math.e), out=out)
    return out.exp_() if HAS_AVX512 else out.exp2_()


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
    softplus=lambda x: -nn.functional.logsigmoid(-x),  # PyTorch's own softplus(x) is x from 20 on
    sqrt=torch.sqrt,
    sum=torch.sum,
    where=torch.where,
    zeros_like=torch.zeros_like,
)

# Without sigmoid and softplus, for which ONNX runtimes have approximations: the core makes them of exp and log1p.
portable = SimpleNamespace(**{**vars(eager), "expm1": expm1, "log1p": log1p})
del portable.sigmoid, portable.softplus


# Numbers below are written where they are used: those of a module torch.compile(dynamic=True) takes for inputs, and fails where two
# functions of autograd share one. Polynomials are least-squares fits of relative error at Chebyshev nodes, lowest power first.


def _polynomial(x: torch.Tensor, coefficients: tuple[float, ...]) -> Any:
    """Σ cₖxᵏ as E(x²) + x·O(x²), both by Horner's rule: half as long a chain of operations that wait for each other."""
    squared = x * x
    even, odd = (_horner(squared, coefficients[k::2]) for k in (0, 1))
    return even + x * odd


def _horner(x: torch.Tensor, coefficients: tuple[float, ...]) -> Any:
    total: Any = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def _power_of_e(
    v: torch.Tensor, per_log_2: float, of_half: tuple[float, ...]
) -> tuple[torch.Tensor, torch.Tensor]:
    """2^n and 2^f − 1 of 2^{n+f}, n + f = 2 · v · per_log_2 ≤ 0 and |f| ≤ ½; 2^n is 0 below n = −126.

    of_half: coefficients of (2^f − 1)/h at h = f/2. Halves of n and f, lest v log₂e overflow. Added to a number of up to a million,
    1.5·2²² + 63.5 leaves n + 127 in the last bits, the exponent of 2^n; with the bits of 1.5·2²² it would be 0. 1e-9, of no weight,
    keeps squares of h from being denormal, which take a CPU a hundred times as long.
    """
    half = v * per_log_2
    shifted = half + 6291519.5
    exponent = torch.clamp(shifted.view(torch.int32), min=0x4AC00000) << 23
    half_f = half - (shifted - 6291519.5)
    return exponent.view(torch.float32), half_f * _polynomial(half_f + 1e-9, of_half)


def _one_minus_exp_minus(s: torch.Tensor) -> torch.Tensor:
    """1 − e^{−s} for s ≥ 0 in float32, with full relative accuracy (coefficients: 1e-8)."""
    coefficients = (1.38629438, 0.960905984, 0.444028602, 0.153892212, 0.0428502406, 0.00985296179)
    whole, part = _power_of_e(s, -0.7213475204444817, coefficients)
    return (1.0 - whole) - whole * part


def _exp_below_zero(v: torch.Tensor) -> torch.Tensor:
    """e^v for v ≤ 0 in float32, relative error that of rounding v and 2e-7; 0 where it would be denormal."""
    return _exp_of(v, 0.7213475204444817)


def _exp_minus_abs(x: torch.Tensor) -> torch.Tensor:
    """e^{−|x|}, as exact. Of a NaN it is one without a sign, which `_at_least` lets pass."""
    return _exp_of(x.abs(), -0.7213475204444817)


def _exp_of(v: torch.Tensor, per_log_2: float) -> torch.Tensor:
    whole, part = _power_of_e(
        v, per_log_2, (1.38629429, 0.960894054, 0.444040018, 0.154659926, 0.0426673071)
    )
    return whole + whole * part


def _log_of_normal(u: torch.Tensor) -> torch.Tensor:
    """ln u for positive normal u in float32, split by its bits into 2^e · m, √½ ≤ m < √2."""
    bits = u.view(torch.int32)
    of_m = ((bits - 0x3F3504F3) & 0x7FFFFF) + 0x3F3504F3  # the bits of √½
    e_ln_2 = (bits - of_m).to(torch.float32) * 8.262958294867817e-08  # 2⁻²³ ln 2
    r = of_m.view(torch.float32) - 1.0
    # (ln(1 + r) − r)/r², to 4e-7 of what is at most a fifth of the logarithm
    rest = _polynomial(
        r,
        (
            -0.49999998,
            0.33333674,
            -0.2500093,
            0.19971637,
            -0.16594857,
            0.14847162,
            -0.14112906,
            0.08687481,
        ),
    )
    return e_ln_2 + (r + r * r * rest)


def _at_least(x: torch.Tensor, bits: int) -> torch.Tensor:
    """max(x, a bound given by its bits) for x ≥ 0. Positive numbers are ordered as their bits are, and of integers TorchInductor takes the
    maximum in one instruction; of floats it has NaN to care for."""
    return torch.clamp(x.view(torch.int32), min=bits).view(torch.float32)


def _at_most(x: torch.Tensor, bound: torch.Tensor) -> torch.Tensor:
    """min(x, bound) to rounding of x − bound, without a comparison."""
    return x - torch.relu(x - bound)


def _softplus_of(x: torch.Tensor, q: torch.Tensor, squarable: torch.Tensor) -> torch.Tensor:
    """ln(1 + e^x), from q = e^{−|x|}, and from a q whose square is a normal number."""
    # ln(1 + q)/q for q ≤ 1, to 2e-7
    rest = _polynomial(
        squarable,
        (
            0.99999978,
            -0.49997126,
            0.33271187,
            -0.2447047,
            0.17675493,
            -0.1066779,
            0.04337085,
            -0.0083365,
        ),
    )
    return torch.relu(x) + q * rest


def _sigmoid_of(x: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """σ(x), from q = e^{−|x|}."""
    return torch.where(x < 0, q, 1.0) / (1.0 + q)


def _softplus_and_sigmoid(t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """As in `core.warp`, in float32, with its bound e^LOWEST."""
    q = _at_least(_exp_minus_abs(t), 0x2585B61D)  # the bits of e^LOWEST
    return _softplus_of(t, q, q), _sigmoid_of(t, q)


def _softplus(x: torch.Tensor) -> torch.Tensor:
    q = _exp_minus_abs(x)
    return _softplus_of(x, q, _at_least(q, 0x24E69595))  # the bits of 1e-16


def _sigmoid(x: torch.Tensor) -> torch.Tensor:
    return _sigmoid_of(x, _exp_minus_abs(x))


# For `core.warp`, which has bounded what it asks for, and for the losses, which ask for exponentials of v ≤ 0 alone.
swift = SimpleNamespace(
    one_minus_exp_minus=_one_minus_exp_minus,
    log=_log_of_normal,
    minimum=_at_most,
    softplus_and_sigmoid=_softplus_and_sigmoid,
)
swift_losses = SimpleNamespace(
    **{**vars(eager), "exp": _exp_below_zero, "sigmoid": _sigmoid, "softplus": _softplus}
)


def by_bits(x: torch.Tensor) -> bool:
    """Whether arithmetic on the bits of x serves in a compiled graph: not on its way into a file, for ONNX has none."""
    return x.dtype == torch.float32 and not torch.compiler.is_exporting()


def namespace() -> Any:
    """`portable` inside torch.compile, torch.export and the ONNX exporter; eager PyTorch otherwise."""
    return portable if torch.compiler.is_compiling() or torch.onnx.is_in_onnx_export() else eager
