"""Eager PyTorch on a CPU, where each operation is one pass over memory.

A formula of the core is some thirty operations, each with a fresh array for its result, and fresh
memory costs more than arithmetic. Here large tensors go through in blocks that stay in the cache,
results are written in place into as few arrays as there are, and bounds far from 0 are taken only
in blocks that reach them. Which exponential is quick depends on what PyTorch was compiled for.
This holds eager ASTra + BCELoss below 3 times BCEWithLogitsLoss (benchmarks/torch.py). Values are
those of the core to rounding; sums of blocks are added as those of shards are.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from astralearn.core.sums import Sums
from astralearn.core.warp import HIGHEST, LOWEST, OfSlope, of_slope, warp
from astralearn.torch.namespaces import eager

# Elements per block, a MB in float32: smaller blocks spend their time between the operations,
# larger ones leave the cache.
BLOCK = 262_144

# Logits below which fewer passes do not make up for one more operation.
FEWEST_IN_PLACE = 32_768

# With AVX-512 PyTorch's tanh is quicker than its expm1, and its exp than exp2; with AVX2 it is
# the other way round.
HAS_AVX512 = torch.backends.cpu.get_cpu_capability() == "AVX512"


def blocks(x: Tensor) -> tuple[Tensor, ...]:
    """Views of x, a block each: x alone where blocks do not pay or shapes are being traced.

    Tensors of one shape have blocks of one shape.
    """
    is_traced = torch.compiler.is_compiling() or torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    if is_traced or x.device.type != "cpu" or x.ndim == 0 or x.numel() < 2 * BLOCK:
        return (x,)
    return torch.split(x, max(1, BLOCK * x.shape[0] // x.numel()))


def eager_warp(x: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    """g, ∂g/∂x and the lag of `core.warp`."""
    # Tensors of another class, fake ones say, may have no values to look at.
    if x.device.type != "cpu" or x.numel() < FEWEST_IN_PLACE or type(x) is not Tensor:
        return warp(x, b, xp=eager)
    shared = of_slope(b, xp=eager)
    results = torch.empty_like(x), torch.empty_like(x), torch.empty_like(x)
    spare = [torch.empty_like(blocks(x)[0]) for _ in range(2)]
    for part, g, dx, lag in zip(*map(blocks, (x, *results)), strict=True):
        highest, share = (values[: len(part)] for values in spare)
        _warp_into(g, dx, lag, part, shared, highest=highest, share=share)
    return results


def _warp_into(
    g: Tensor,
    dx: Tensor,
    lag: Tensor,
    x: Tensor,
    shared: OfSlope,
    *,
    highest: Tensor,
    share: Tensor,
) -> None:
    """Write `core.warp` to its three results, in as few passes as there are.

    ŷ is needed to its last digits where it is next to 0. With v = −s/parts, −ŷ/parts is expm1(v)
    for one part, and tanh(v)/(1 − tanh(v)) for two. The results also hold what comes in between.

    g, dx, lag: where the results go, of the shape of x.
    highest, share: spare arrays of that shape, for g's upper bound and that share of ŷ.
    """
    parts = 2.0 if HAS_AVX512 else 1.0
    t = torch.mul(x, shared.b, out=g).add_(shared.log_b)
    low, high = (end.item() for end in torch.aminmax(t))
    # Where one is NaN, those beside it may be far.
    is_far = not (low >= LOWEST and high <= HIGHEST)
    if is_far:
        torch.sub(t, shared.log_b + shared.origin, out=highest)
        odds = exp_into(dx, torch.clamp(t, LOWEST, HIGHEST, out=dx))
        softplus_t = torch.maximum(torch.log1p(odds, out=lag), t, out=lag)
    else:
        odds = exp_into(dx, t)
        softplus_t = torch.log1p(odds, out=lag)
    v = softplus_t.mul_(shared.inverse / -parts)
    share_of_sigmoid = odds.div_(torch.sub(x.new_tensor(-parts), odds, alpha=parts, out=g))
    if HAS_AVX512:
        torch.tanh(v, out=share).div_(torch.sub(x.new_tensor(1.0), share, out=g))
    else:
        torch.expm1(v, out=share)
    torch.mul(share, -parts * torch.exp(-shared.origin), out=g).log_().sub_(v, alpha=parts)
    if is_far:
        torch.minimum(g, highest, out=g)
    share_of_sigmoid.div_(share)
    v.div_(share)


def exp_into(out: Tensor, x: Tensor, sign: float = 1.0) -> Tensor:
    """e^{sign·x}, written to `out`, which may be x; relative error that of rounding x."""
    if HAS_AVX512 and sign == 1.0:
        return torch.exp(x, out=out)
    torch.mul(x, sign if HAS_AVX512 else sign * math.log2(math.e), out=out)
    return out.exp_() if HAS_AVX512 else out.exp2_()


def bce_sums(
    g: Tensor, y: Tensor, weight: Tensor | None, axis: tuple[int, ...]
) -> tuple[Sums, Tensor]:
    """`core.sums.bce_examine` in as few passes as there are.

    ln(1 + e^m) is ln(1 + e^{−|m|}) + max(m, 0), and |m| is |g|.
    """

    def total(values: Tensor) -> Tensor:
        return (values if weight is None else values.mul_(weight)).sum(axis, keepdim=True)

    m = torch.rsub(y, 1.0, alpha=2.0).mul_(g)
    rest = torch.abs(g)
    entropy = total(exp_into(rest, rest, -1.0).log1p_()) + total(torch.clamp(m, min=0.0, out=rest))
    all_weight = (
        torch.full_like(entropy, g.numel() / entropy.numel())
        if weight is None
        else total(rest.fill_(1.0))
    )
    slopes = m.sigmoid_()
    return (entropy, all_weight), slopes if weight is None else slopes.mul_(weight)


def write_gradient(
    out: Tensor, slopes: Tensor, y: Tensor, of_negatives: Tensor, of_positives: Tensor
) -> None:
    """Write slopes times the factor of each row's class to `out`, in three passes."""
    # Where the first is the smaller one, their difference loses nothing of either. Otherwise
    # lerp serves, which PyTorch does not vectorise for numbers.
    if bool((of_negatives.abs() <= of_positives.abs()).all()):
        torch.mul(y, of_positives - of_negatives, out=out).add_(of_negatives)
    else:
        torch.lerp(of_negatives, of_positives, y, out=out)
    out.mul_(slopes)
