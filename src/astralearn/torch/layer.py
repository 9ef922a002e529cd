"""ASTra as a layer: from a model's logits to rebalanced logits."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from astralearn.core import (
    astra,
    raw_from_slope,
    rebalanced_logit,
    rebalanced_logit_db,
    rebalanced_logit_dx,
    slope_from_raw,
    threshold,
)
from astralearn.core.curve import starting_slope
from astralearn.core.warp import (
    HIGHEST,
    LOWEST,
    OfSlope,
    of_slope,
    slope_derivative,
    softplus_and_sigmoid,
    warp,
    warp_at,
)
from astralearn.torch.blocks import blocks
from astralearn.torch.elementary import HAS_AVX512, eager, exp_into, namespace, portable, swift

FEW = 32_768  # logits below which fewer passes do not make up for one more operation


class ASTra(nn.Module):
    """The asymmetric sigmoid and the z-transform as one warp of the logit, g(x, b) (Eqs. 4–7).

    Put it after the layer that makes logits x. What comes out, g, is a logit too: the logit of z. So every loss on logits takes
    it, BCEWithLogitsLoss and GMNLoss alike, and `g >= 0`, `z >= ½`, `ŷ >= threshold` and `x >= 0` are one decision.

    num_outputs: how many slopes b are learned. 1 serves logits of any shape; C > 1 wants logits (N, C) or (N, C, …), one b for each
    column or channel. tau_init: where the threshold τ starts, in [1e-5, 0.5]; 0.5 is the plain sigmoid. learnable: whether b is a
    parameter (`raw_slope`, the β of Eq. 7); if not it is a buffer. Half precision, autocast included, is computed in and returned
    as float32, because g reaches b times the logit.

    >>> layer = ASTra()
    >>> [round(g, 2) for g in layer(torch.tensor([-2.0, 0.0, 2.0])).tolist()], round(layer.threshold.item(), 3)
    ([-13.69, 0.0, 3.26], 0.25)
    """

    raw_slope: Tensor

    def __init__(
        self,
        num_outputs: int = 1,
        tau_init: float = 0.25,
        learnable: bool = True,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if not num_outputs >= 1:
            raise ValueError(f"num_outputs must be at least 1; found {num_outputs}")
        self.num_outputs = num_outputs
        self.tau_init = tau_init
        raw = torch.empty(num_outputs, device=device, dtype=dtype or torch.get_default_dtype())
        if learnable:
            self.raw_slope = nn.Parameter(raw)
        else:
            self.register_buffer("raw_slope", raw)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Back to `tau_init`; also for a layer that was made on the meta device."""
        nn.init.constant_(self.raw_slope, float(raw_from_slope(starting_slope(self.tau_init))))

    def forward(self, x: Tensor) -> Tensor:
        """Rebalanced logits g, of the shape of the logits x."""
        x, b = self._aligned(x)
        if torch.is_grad_enabled() and (x.requires_grad or b.requires_grad) and not _is_exported():
            g: Tensor = _Warp.apply(x, b)  # type: ignore[no-untyped-call]
            return g
        return _rebalanced_logit(x, b)

    def probabilities(self, x: Tensor) -> Tensor:
        """z = σ(g), the probability whose threshold is ½ (Eq. 6), of the shape of the logits x."""
        return torch.sigmoid(self(x))

    def activation(self, x: Tensor) -> Tensor:
        """ŷ, the paper's ASTra (Eq. 4), whose threshold is `threshold`, of the shape of the logits x."""
        x, b = self._aligned(x)
        y_hat: Tensor = astra(x, b, xp=namespace())
        return y_hat

    @property
    def slope(self) -> Tensor:
        """b ≥ 1, of shape (num_outputs,) (Eq. 7)."""
        b: Tensor = slope_from_raw(_at_least_float32(self.raw_slope), xp=eager)
        return b

    @property
    def threshold(self) -> Tensor:
        """τ in (0, 0.5], of shape (num_outputs,) (Eq. 5)."""
        tau: Tensor = threshold(self.slope, xp=namespace())
        return tau

    def extra_repr(self) -> str:
        return f"num_outputs={self.num_outputs}, tau_init={self.tau_init}, learnable={isinstance(self.raw_slope, nn.Parameter)}"

    def _aligned(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits in float32 or wider, and slopes that broadcast against them."""
        if not x.is_floating_point():
            raise TypeError(f"ASTra takes logits in floating point; found {x.dtype}")
        x, b = _at_least_float32(x), self.slope
        if self.num_outputs == 1:
            return x, b.reshape(()).to(x.dtype)
        if x.ndim < 2 or x.shape[1] != self.num_outputs:
            raise ValueError(
                f"ASTra(num_outputs={self.num_outputs}) takes logits of shape (N, {self.num_outputs}) or (N, {self.num_outputs}, …); "
                f"found {tuple(x.shape)}"
            )
        return x, b.reshape(-1, *[1] * (x.ndim - 2)).to(x.dtype)


class _Warp(torch.autograd.Function):
    """g(x, b) by `core.warp`, with its closed-form derivatives. b is a scalar or broadcasts against x[0]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, b: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
            g, dx, rest = _compiled_warp(x, b)
        else:
            g, dx, rest = _eager_warp(x, b)
        ctx.is_compiled = torch.compiler.is_compiling()
        ctx.save_for_backward(x, b, dx, rest)
        return g

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (weight,) = gradients
        x, b, dx, rest = ctx.saved_tensors
        if (
            torch.is_grad_enabled() and not torch.compiler.is_compiling()
        ):  # create_graph=True: to be differentiated once more
            in_x = weight * rebalanced_logit_dx(x, b, xp=eager)
            return in_x, (weight * rebalanced_logit_db(x, b, xp=eager)).sum_to_size(b.shape)
        in_x = weight * dx
        if not ctx.needs_input_grad[1]:
            return in_x, None
        if ctx.is_compiled:  # not whether this pass is: the other one may have been alone
            return in_x, (weight * rest).sum_to_size(b.shape)
        return in_x, _in_b(b, in_x, x, weight, rest)


def _eager_warp(x: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    """g, ∂g/∂x and the lag of `core.warp`. Tensors of another class, fake ones say, may have no values to look at."""
    if x.device.type != "cpu" or x.numel() < FEW or type(x) is not Tensor:
        return warp(x, b, xp=eager)
    rows, shared = blocks(x), of_slope(b, xp=eager)
    whole = torch.empty_like(x), torch.empty_like(x), torch.empty_like(x)
    spare = torch.empty_like(x[rows[0]]), torch.empty_like(x[rows[0]])
    for row in rows:
        g, dx, lag = (values[row] for values in whole)
        _warp_into(g, dx, lag, x[row], shared, *(values[: g.shape[0]] for values in spare))
    return whole


def _warp_into(
    g: Tensor, dx: Tensor, lag: Tensor, x: Tensor, shared: OfSlope, highest: Tensor, share: Tensor
) -> None:
    """`core.warp` written to its three results, in as few passes as there are: every operation is one.

    The bounds far from 0 take four, which a block without such logits is spared. ŷ is needed to its last digits where it is next to 0. With
    v = −s/parts, −ŷ/parts is expm1(v) for one part, and tanh(v)/(1 − tanh(v)) for two: whichever PyTorch takes less time for on this
    processor. The results serve for everything in between as well, beside the last two: g's upper bound, and that share of ŷ.
    """
    parts = 2.0 if HAS_AVX512 else 1.0
    t = torch.mul(x, shared.b, out=g).add_(shared.log_b)
    low, high = (end.item() for end in torch.aminmax(t))
    is_far = not (
        low >= LOWEST and high <= HIGHEST
    )  # or one is NaN, and those beside it may be far
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


def _in_b(b: Tensor, in_x: Tensor, x: Tensor, weight: Tensor, lag: Tensor) -> Tensor:
    """Σ weight · ∂g/∂b, of the shape of b."""
    if b.ndim == 0:  # inner products, without an array of products
        in_x, x, weight, lag = (part.reshape(-1) for part in (in_x, x, weight, lag))
        sums = [torch.dot(in_x, x), in_x.sum(), torch.dot(weight, lag), weight.sum()]
    else:
        sums = [part.sum_to_size(b.shape) for part in (in_x * x, in_x, weight * lag, weight)]
    derivative: Tensor = slope_derivative(of_slope(b, xp=eager), *sums)
    return derivative


def _compiled_warp(x: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    """g, ∂g/∂x and ∂g/∂b for TorchInductor, in two loops instead of one.

    What is stacked is written to memory. Without that the partitioner would rather compute everything a second time in the
    backward pass and logarithms of b would be taken again at every eighth logit (read in its output), and one loop would hold a chain
    of four transcendental functions, presumably too long for a CPU to overlap: the whole step took 4.7 ms where two loops took 4.2.
    """
    is_single = x.dtype == torch.float32
    xp, pair = (
        (swift, swift.softplus_and_sigmoid)
        if is_single
        else (portable, partial(softplus_and_sigmoid, xp=portable))
    )
    shared = OfSlope(*torch.stack(of_slope(b, xp=portable)).unbind(0))
    bx = shared.b * x
    softplus_t, sigmoid_t = torch.stack(pair(bx + shared.log_b)).unbind(0)
    g, dx, lag = warp_at(bx, shared, softplus_t, sigmoid_t, xp=xp)
    return torch.stack([g, dx, slope_derivative(shared, dx * x, dx, lag, 1.0)]).unbind(0)


def _rebalanced_logit(x: Tensor, b: Tensor) -> Tensor:
    rows = blocks(x)
    if len(rows) == 1:
        whole: Tensor = rebalanced_logit(x, b, xp=namespace())
        return whole
    return torch.cat([rebalanced_logit(x[row], b, xp=namespace()) for row in rows])


def _is_exported() -> bool:
    """Whether the graph of values alone is wanted."""
    return torch.compiler.is_exporting() or torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]


def _at_least_float32(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
