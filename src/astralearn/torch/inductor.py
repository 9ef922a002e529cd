"""Arithmetic on the bits of float32, for what TorchInductor compiles.

TorchInductor calls a library for every logarithm, computes in the backward pass again whatever
is cheap to read, and writes a selection as masks that the rest of the loop waits for. Here exp
and log are polynomials on the bits of floats, which it inlines and vectorises; what a backward
pass needs is stacked and so written once; bounds and missing labels are integer operations. With
AVX2 compiled ASTra + BCELoss takes a third of what it takes by `namespaces.portable`; with
AVX-512 as long, for there TorchInductor's casts of bits go through memory (benchmarks/torch.py).

Numbers stand where they are used: those of a module torch.compile(dynamic=True) takes for inputs,
and fails where two functions of autograd share one. Polynomials are least-squares fits of the
relative error at Chebyshev nodes, lowest power first.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from astralearn.core.warp import OfSlope, of_slope, slope_derivative, softplus_and_sigmoid, warp_at
from astralearn.torch.namespaces import portable


def by_bits(x: Tensor) -> bool:
    """Whether arithmetic on the bits of x serves in a graph: ONNX has none."""
    return x.dtype == torch.float32 and not torch.compiler.is_exporting()


def compiled_warp(x: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    """g, ∂g/∂x and ∂g/∂b of `core.warp`, in two loops.

    What is stacked is written to memory. So the backward pass reads it instead of computing it
    again, logarithms of b are not taken at every logit, and no loop holds a chain of four
    transcendental functions.
    """
    is_single = x.dtype == torch.float32
    xp = swift if is_single else portable
    pair = swift.softplus_and_sigmoid if is_single else partial(softplus_and_sigmoid, xp=portable)
    shared = OfSlope(*torch.stack(of_slope(b, xp=portable)).unbind(0))
    bx = shared.b * x
    softplus_t, sigmoid_t = torch.stack(pair(bx + shared.log_b)).unbind(0)
    g, dx, lag = warp_at(bx, shared, softplus_t, sigmoid_t, xp=xp)
    return torch.stack([g, dx, slope_derivative(shared, dx * x, dx, lag, 1.0)]).unbind(0)


def bits_to_keep(y: Tensor) -> Tensor:
    """All bits, or none where y is NaN, which is larger than infinity as bits."""
    return (y.abs().view(torch.int32) - 0x7F800001) >> 31


def signed_pulls(pulls: Tensor, y: Tensor) -> Tensor:
    """Pulls that tell the classes without labels: below 0 for positives."""
    return (1.0 - 2.0 * y) * pulls


def gradient_of_signed(pulls: Tensor, of_negatives: Tensor, of_positives: Tensor) -> Tensor:
    """`class_means.gradient` of `signed_pulls`."""
    return torch.relu(pulls) * of_negatives - torch.relu(-pulls) * of_positives


def _polynomial(x: Tensor, coefficients: tuple[float, ...]) -> Any:
    """Σ cₖxᵏ as E(x²) + x·O(x²), which wait for each other half as long."""
    squared = x * x
    even, odd = (_horner(squared, coefficients[k::2]) for k in (0, 1))
    return even + x * odd


def _horner(x: Tensor, coefficients: tuple[float, ...]) -> Any:
    total: Any = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def _power_of_e(v: Tensor, per_log_2: float, of_half: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """2^n and 2^f − 1 of 2^{n+f}, n + f = 2 · v · per_log_2 ≤ 0.

    2^n is 0 below n = −126. f lies in [−½, ½], and of_half are the coefficients of (2^f − 1)/h at h
    = f/2. Halves of n and f are taken, lest v log₂e overflow. Added to a number of up to a million,
    1.5·2²² + 63.5 leaves n + 127 in the last bits, the exponent of 2^n; with the bits of 1.5·2²² it
    would be 0. 1e-9, of no weight, keeps squares of h from being denormal, which are slow on CPUs.
    """
    half = v * per_log_2
    shifted = half + 6291519.5
    exponent = torch.clamp(shifted.view(torch.int32), min=0x4AC00000) << 23
    half_f = half - (shifted - 6291519.5)
    return exponent.view(torch.float32), half_f * _polynomial(half_f + 1e-9, of_half)


def _one_minus_exp_minus(s: Tensor) -> Tensor:
    """1 − e^{−s} for s ≥ 0, with full relative accuracy (coefficients: 1e-8)."""
    coefficients = (1.38629438, 0.960905984, 0.444028602, 0.153892212, 0.0428502406, 0.00985296179)
    whole, part = _power_of_e(s, -0.7213475204444817, coefficients)
    return (1.0 - whole) - whole * part


def _exp_below_zero(v: Tensor) -> Tensor:
    """e^v for v ≤ 0, to the rounding of v and 2e-7; 0 where it would be denormal."""
    return _exp_of(v, 0.7213475204444817)


def _exp_minus_abs(x: Tensor) -> Tensor:
    """e^{−|x|}; of a NaN one without a sign, which `_at_least` lets pass."""
    return _exp_of(x.abs(), -0.7213475204444817)


def _exp_of(v: Tensor, per_log_2: float) -> Tensor:
    coefficients = (1.38629429, 0.960894054, 0.444040018, 0.154659926, 0.0426673071)
    whole, part = _power_of_e(v, per_log_2, coefficients)
    return whole + whole * part


def _log_of_normal(u: Tensor) -> Tensor:
    """ln u for positive normal u, split by its bits into 2^e · m, √½ ≤ m < √2."""
    bits = u.view(torch.int32)
    of_m = ((bits - 0x3F3504F3) & 0x7FFFFF) + 0x3F3504F3  # the bits of √½
    e_ln_2 = (bits - of_m).to(torch.float32) * 8.262958294867817e-08  # 2⁻²³ ln 2
    r = of_m.view(torch.float32) - 1.0
    # These give (ln(1 + r) − r)/r² to 4e-7, of what is at most a fifth of the logarithm.
    lower = (-0.49999998, 0.33333674, -0.2500093, 0.19971637)
    upper = (-0.16594857, 0.14847162, -0.14112906, 0.08687481)
    return e_ln_2 + (r + r * r * _polynomial(r, lower + upper))


def _at_least(x: Tensor, bits: int) -> Tensor:
    """max(x, a bound given by its bits) for x ≥ 0, as a maximum of integers.

    Positive numbers are ordered as their bits are, and a maximum of floats has NaN to care for.
    """
    return torch.clamp(x.view(torch.int32), min=bits).view(torch.float32)


def _at_most(x: Tensor, bound: Tensor) -> Tensor:
    """min(x, bound) to rounding of x − bound, without a comparison."""
    return x - torch.relu(x - bound)


def _log1p_of_share(q: Tensor, squarable: Tensor) -> Tensor:
    """ln(1 + q) for q in [0, 1].

    squarable: q, or one near it whose square is a normal number.
    """
    # These give ln(1 + q)/q to 2e-7.
    lower = (0.99999978, -0.49997126, 0.33271187, -0.2447047)
    upper = (0.17675493, -0.1066779, 0.04337085, -0.0083365)
    return q * _polynomial(squarable, lower + upper)


def _log1p(q: Tensor) -> Tensor:
    return _log1p_of_share(q, _at_least(q, 0x24E69595))  # the bits of 1e-16


def _softplus_and_sigmoid(t: Tensor) -> tuple[Tensor, Tensor]:
    """ln(1 + e^t) and σ(t) as in `core.warp`, with its bound e^LOWEST."""
    q = _at_least(_exp_minus_abs(t), 0x2585B61D)  # the bits of e^LOWEST
    return torch.relu(t) + _log1p_of_share(q, q), torch.where(t < 0, q, 1.0) / (1.0 + q)


# For `core.warp`, which has bounded what it asks for.
swift = SimpleNamespace(
    one_minus_exp_minus=_one_minus_exp_minus,
    log=_log_of_normal,
    minimum=_at_most,
    softplus_and_sigmoid=_softplus_and_sigmoid,
)

# For the losses, which ask for e^v of v ≤ 0 and ln(1 + q) of q in [0, 1] alone: the core makes
# sigmoids of one such exponential.
swift_losses = SimpleNamespace(**vars(portable) | {"exp": _exp_below_zero, "log1p": _log1p})
