"""ASTra as a layer: from a model's logits to rebalanced logits."""

from __future__ import annotations

import math
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
    slope_from_raw_dbeta,
    threshold,
)
from astralearn.core.curve import raw_limit, starting_slope
from astralearn.core.warp import of_slope, slope_derivative
from astralearn.torch.cpu import blocks, eager_warp, has_values
from astralearn.torch.inductor import compiled_warp
from astralearn.torch.namespaces import current, eager, floats


class ASTra(nn.Module):
    """The asymmetric sigmoid and the z-transform as one warp g(x, b) (Eqs. 4–7).

    Put it after the layer that makes logits x. What comes out, g, is the logit of z. So every
    loss on logits takes it, BCEWithLogitsLoss and GMNLoss alike, and `g >= 0`, `z >= ½`,
    `ŷ >= threshold` and `x >= 0` are one decision. Half precision, autocast included, is computed
    in and returned as float32, because g reaches b times the logit.

    num_outputs: how many slopes b are learned. 1 serves logits of any shape; C > 1 wants logits
        (N, C) or (N, C, …), one b for each column or channel.
    tau_init: where the threshold τ starts, in [1e-5, 0.5]; 0.5 is the plain sigmoid.
    learnable: whether b is a parameter (`raw_slope`, the β of Eq. 7); if not it is a buffer.
    slope_max: what b starts at most at, and never exceeds; at least 1. None: no limit.

    >>> layer = ASTra()
    >>> [round(g, 2) for g in layer(torch.tensor([-2.0, 0.0, 2.0])).tolist()]
    [-13.69, 0.0, 3.26]
    >>> round(layer.threshold.item(), 3)
    0.25
    """

    raw_slope: Tensor

    def __init__(
        self,
        num_outputs: int = 1,
        tau_init: float = 0.25,
        learnable: bool = True,
        *,
        slope_max: float | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if not num_outputs >= 1:
            raise ValueError(f"num_outputs must be at least 1; found {num_outputs}")
        self.num_outputs = num_outputs
        self.tau_init = tau_init
        self.slope_max = slope_max
        self.raw_max = raw_limit(slope_max)
        raw = torch.empty(num_outputs, device=device, dtype=dtype or torch.get_default_dtype())
        if learnable:
            self.raw_slope = nn.Parameter(raw)
        else:
            self.register_buffer("raw_slope", raw)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Go back to `tau_init`; also for a layer that was made on the meta device."""
        raw = float(raw_from_slope(starting_slope(self.tau_init)))
        nn.init.constant_(self.raw_slope, min(raw, self.raw_max))

    def forward(self, x: Tensor) -> Tensor:
        """Rebalanced logits g, of the shape of the logits x."""
        x = _logits(x)
        is_trained = torch.is_grad_enabled() and not _is_exported()
        g: Tensor
        if is_trained and self.num_outputs == 1 and has_values(x) and has_values(self.raw_slope):
            raw = at_least_float32(self.raw_slope)
            if x.requires_grad or raw.requires_grad:
                g = _WarpByOne.apply(x, raw, self.raw_max)  # type: ignore[no-untyped-call]
                return g
        x, b = self._aligned(x)
        if is_trained and (x.requires_grad or b.requires_grad):
            g = _Warp.apply(x, b)  # type: ignore[no-untyped-call]
            return g
        parts = [rebalanced_logit(part, b, xp=current()) for part in blocks(x)]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def probabilities(self, x: Tensor) -> Tensor:
        """z = σ(g) (Eq. 6), whose threshold is ½, of the shape of the logits x."""
        return torch.sigmoid(self(x))

    def activation(self, x: Tensor) -> Tensor:
        """ŷ (Eq. 4), whose threshold is `threshold`, of the shape of the logits x."""
        x, b = self._aligned(_logits(x))
        y_hat: Tensor = astra(x, b, xp=current())
        return y_hat

    @property
    def slope(self) -> Tensor:
        """b ≥ 1, of shape (num_outputs,) (Eq. 7)."""
        return self._slope().reshape(-1)

    @property
    def threshold(self) -> Tensor:
        """τ in (0, 0.5], of shape (num_outputs,) (Eq. 5)."""
        tau: Tensor = threshold(self.slope, xp=current())
        return tau

    def extra_repr(self) -> str:
        learnable = isinstance(self.raw_slope, nn.Parameter)
        said = f"num_outputs={self.num_outputs}, tau_init={self.tau_init}, learnable={learnable}"
        return said if self.slope_max is None else f"{said}, slope_max={self.slope_max:g}"

    def _slope(self) -> Tensor:
        """b, of shape () where there is one."""
        raw = at_least_float32(self.raw_slope)
        raw = raw.reshape(()) if self.num_outputs == 1 else raw
        b: Tensor = slope_from_raw(_limited(raw, self.raw_max), xp=eager)
        return b

    def _aligned(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The logits, and slopes that broadcast against them."""
        b, outputs = self._slope(), self.num_outputs
        if outputs == 1:
            return x, b.to(x.dtype)
        if x.ndim < 2 or x.shape[1] != outputs:
            raise ValueError(
                f"ASTra(num_outputs={outputs}) takes logits of shape (N, {outputs}) or "
                f"(N, {outputs}, …); found {tuple(x.shape)}"
            )
        return x, b.reshape(-1, *[1] * (x.ndim - 2)).to(x.dtype)


def _logits(x: Tensor) -> Tensor:
    """Logits in float32 or wider."""
    if not isinstance(x, Tensor):
        raise TypeError(f"ASTra takes logits in a tensor; found {type(x).__name__}")
    if not x.is_floating_point():
        raise TypeError(f"ASTra takes logits in floating point; found {x.dtype}")
    return at_least_float32(x)


def _limited(raw: Tensor, raw_max: float) -> Tensor:
    """min(β, limit), with gradient 1 beyond the limit too: the slope can come back."""
    return raw if math.isinf(raw_max) else raw - torch.relu(raw.detach() - raw_max)


class _WarpByOne(torch.autograd.Function):
    """`_Warp` by the slope of one `_limited` β, which is a Python float here.

    An operation on a tensor of one number costs as much as one on a small batch, and a slope with
    its derivative takes two dozen of them.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, raw: Tensor, raw_max: float) -> Tensor:
        ctx.raw_max, ctx.beta = raw_max, min(raw.item(), raw_max)
        ctx.shared = of_slope(slope_from_raw(ctx.beta, xp=floats), xp=floats)
        g, dx, lag = eager_warp(x, ctx.shared)
        ctx.save_for_backward(x, raw, dx, lag)
        return g

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (weight,) = gradients
        x, raw, dx, lag = ctx.saved_tensors
        if torch.is_grad_enabled():
            # create_graph=True asks for what can be differentiated once more.
            beta = _limited(raw, ctx.raw_max)
            b = slope_from_raw(beta, xp=eager).reshape(()).to(x.dtype)
            in_x = weight * rebalanced_logit_dx(x, b, xp=eager)
            in_b = (weight * rebalanced_logit_db(x, b, xp=eager)).sum()
            return in_x, in_b * slope_from_raw_dbeta(beta, xp=eager), None
        in_x = weight * dx
        if not ctx.needs_input_grad[1]:
            return in_x, None, None
        # Inner products need no array of products.
        flat_in_x, x, weight, lag = (part.reshape(-1) for part in (in_x, x, weight, lag))
        sums = (flat_in_x.dot(x), flat_in_x.sum(), weight.dot(lag), weight.sum())
        in_b = slope_derivative(ctx.shared, *(each.item() for each in sums))
        in_raw = in_b * slope_from_raw_dbeta(ctx.beta, xp=floats)
        # A float beyond the slope's dtype becomes infinite, where new_full of it would raise.
        return in_x, torch.tensor([in_raw], dtype=torch.float64).to(raw), None


class _Warp(torch.autograd.Function):
    """g(x, b) by `core.warp`, with its closed-form derivatives.

    b is a scalar or broadcasts against x[0].
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, b: Tensor) -> Tensor:
        ctx.is_compiled = torch.compiler.is_compiling()
        ctx.shared = None if ctx.is_compiled else of_slope(b, xp=eager)
        g, dx, rest = compiled_warp(x, b) if ctx.is_compiled else eager_warp(x, ctx.shared)
        ctx.save_for_backward(x, b, dx, rest)
        return g

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (weight,) = gradients
        x, b, dx, rest = ctx.saved_tensors
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():
            # create_graph=True asks for what can be differentiated once more.
            in_x = weight * rebalanced_logit_dx(x, b, xp=eager)
            return in_x, (weight * rebalanced_logit_db(x, b, xp=eager)).sum_to_size(b.shape)
        in_x = weight * dx
        if not ctx.needs_input_grad[1]:
            return in_x, None
        # Not whether this pass is compiled: the forward pass may have been alone in that.
        if ctx.is_compiled:
            return in_x, (weight * rest).sum_to_size(b.shape)
        sums = [part.sum_to_size(b.shape) for part in (in_x * x, in_x, weight * rest, weight)]
        return in_x, slope_derivative(ctx.shared, *sums)


def _is_exported() -> bool:
    """Whether the graph of values alone is wanted."""
    is_tracing: bool = torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    return is_tracing or torch.compiler.is_exporting()


def at_least_float32(x: Tensor) -> Tensor:
    """The tensor, in float32 if it is in half precision."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
