"""Eager PyTorch on a CPU, where each operation is one pass over memory.

A formula of the core is some thirty operations, each with a fresh array for its result, and fresh
memory costs more than arithmetic. Here large tensors go through in blocks that stay in the cache,
results are written in place into as few arrays as there are, and bounds far from 0 are taken only
in blocks that reach them. This keeps eager ASTra + BCELoss near 3 times BCEWithLogitsLoss
(benchmarks/torch.py). Values are those of the core to rounding; means of blocks are joined as those
of shards are. Without this file eager tensors would take the core's own functions.
"""

from __future__ import annotations

import math
import sys

import torch
from torch import Tensor
from torch.nn import Parameter

from astralearn.core.warp import HIGHEST, LOWEST, OfSlope, warp_by
from astralearn.torch.namespaces import eager

# Elements per block, a MB in float32: smaller blocks spend their time between the operations,
# larger ones leave the cache.
BLOCK_ELEMENTS = 262_144

# Logits below which fewer passes do not make up for one more operation.
FEWEST_IN_PLACE = 32_768


def is_traced() -> bool:
    """Whether PyTorch is making a graph of what is called."""
    is_tracing: bool = torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    return is_tracing or is_recorded()


def is_recorded() -> bool:
    """Whether torch.compile or make_fx records operations: its tensors have no values."""
    if torch.compiler.is_compiling():
        return True
    proxies = sys.modules.get("torch.fx.experimental.proxy_tensor")
    return proxies is not None and proxies.get_proxy_mode() is not None


def has_values(x: Tensor) -> bool:
    """Whether there are values to look at: not in graphs, nor in fake tensors."""
    return x.device.type == "cpu" and type(x) in (Tensor, Parameter) and not is_traced()


def blocks(x: Tensor) -> tuple[Tensor, ...]:
    """Views of x, a block each; x alone where blocks do not pay.

    Nor do they where shapes are being traced. Tensors of one shape have blocks of one shape.
    """
    if is_traced() or x.device.type != "cpu" or x.ndim == 0 or x.numel() < 2 * BLOCK_ELEMENTS:
        return (x,)
    return torch.split(x, max(1, BLOCK_ELEMENTS * x.shape[0] // x.numel()))


def eager_warp(x: Tensor, shared: OfSlope) -> tuple[Tensor, ...]:
    """g, ∂g/∂x and the lag of `core.warp`, for `of_slope` of a slope."""
    if x.numel() < FEWEST_IN_PLACE or not has_values(x):
        return warp_by(x, shared, xp=eager)
    results = torch.empty_like(x), torch.empty_like(x), torch.empty_like(x)
    spare = [torch.empty_like(blocks(x)[0]) for _ in range(2)]
    for part, g, dx, lag in zip(*map(blocks, (x, *results)), strict=True):
        highest, minus_y_hat = (values[: len(part)] for values in spare)
        _warp_into(g, dx, lag, part, shared, highest=highest, minus_y_hat=minus_y_hat)
    return results


def _warp_into(
    g: Tensor,
    dx: Tensor,
    lag: Tensor,
    x: Tensor,
    shared: OfSlope,
    *,
    highest: Tensor,
    minus_y_hat: Tensor,
) -> None:
    """Write `core.warp` to its three results, in as few passes as there are.

    The results also hold what comes in between.

    g, dx, lag: where the results go, of the shape of x.
    highest, minus_y_hat: spare arrays of that shape, for g's upper bound and −ŷ.
    """
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
    minus_s = softplus_t.mul_(-shared.inverse)
    minus_sigmoid = odds.div_(torch.sub(x.new_tensor(-1.0), odds, out=g))
    torch.expm1(minus_s, out=minus_y_hat)
    torch.mul(minus_y_hat, -1.0 / shared.odds, out=g).log_().sub_(minus_s)
    if is_far:
        torch.minimum(g, highest, out=g)
    minus_sigmoid.div_(minus_y_hat)
    minus_s.div_(minus_y_hat)


def exp_into(out: Tensor, x: Tensor, sign: float = 1.0) -> Tensor:
    """e^{sign·x}, written to `out`, which may be x; relative error that of rounding x.

    By exp2, which PyTorch vectorises better than exp.
    """
    return torch.mul(x, sign * math.log2(math.e), out=out).exp2_()


def sum_logs_in_place(
    g: Tensor, y: Tensor, weight: Tensor | None, axis: tuple[int, ...]
) -> tuple[tuple[Tensor, ...], Tensor]:
    """What `class_means.means_of_sums` takes for power 0, and the pulls.

    ln(1 + e^m) is ln(1 + e^{−|m|}) + max(m, 0), and |m| is |g|.
    """

    def total(values: Tensor) -> Tensor:
        return values.sum(axis, keepdim=True)

    negative = torch.rsub(y, 1.0)
    m = torch.sub(negative, y).mul_(g)
    rest = torch.abs(g)
    entropy = exp_into(rest, rest, -1.0).log1p_().add_(torch.clamp(m, min=0.0))
    positive = y if weight is None else y * weight
    negative = negative if weight is None else negative.mul_(weight)
    of_positives = total(positive)
    n = g.numel() // of_positives.numel()
    totals = n - of_positives if weight is None else total(negative), of_positives
    sums = total(negative.mul_(entropy)), total(entropy.mul_(positive))
    zero = torch.zeros_like(totals[0])
    pulls = m.sigmoid_() if weight is None else m.sigmoid_().mul_(weight)
    return (totals[0], zero, -sums[0], totals[1], zero, -sums[1]), pulls


def write_gradient(out: Tensor, pulls: Tensor, y: Tensor, factors: tuple[Tensor, Tensor]) -> None:
    """Write `class_means.gradient` to `out`, in three passes."""
    of_negatives, of_positives = factors
    # Where the first is the smaller one, their sum loses nothing of either. Otherwise lerp
    # serves, which PyTorch does not vectorise for numbers.
    if bool((of_negatives <= of_positives).all()):
        torch.mul(y, -of_positives - of_negatives, out=out).add_(of_negatives)
    else:
        torch.lerp(of_negatives, -of_positives, y, out=out)
    out.mul_(pulls)
