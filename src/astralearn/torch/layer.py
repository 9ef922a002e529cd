"""ASTra as a layer: from a model's logits to rebalanced logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from astralearn.core import (
    astra,
    raw_from_slope,
    rebalanced_logit,
    rebalanced_logit_db,
    rebalanced_logit_dx,
    slope,
    slope_from_raw,
    threshold,
)
from astralearn.core.warp import slope_derivative, warp
from astralearn.torch.blocks import blocks
from astralearn.torch.elementary import eager, namespace


class ASTra(nn.Module):
    """The asymmetric sigmoid and the z-transform as one warp of the logit, g(x, b) (Eqs. 4–7).

    Put it after the layer that makes logits x. What comes out, g, is a logit too: the logit of z. So every loss on logits takes
    it, BCEWithLogitsLoss and GMNLoss alike, and `g >= 0`, `z >= ½`, `ŷ >= threshold` and `x >= 0` are one decision.

    num_outputs: how many slopes b are learned. 1 serves logits of any shape; C > 1 wants logits (N, C) or (N, C, …), one b for each
    column or channel. tau_init: where the threshold τ starts, in (0, 0.5]; 0.5 is the plain sigmoid. learnable: whether b is a
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
        raw = torch.full((num_outputs,), float(raw_from_slope(slope(tau_init))), device=device, dtype=dtype or torch.get_default_dtype())
        if learnable:
            self.raw_slope = nn.Parameter(raw)
        else:
            self.register_buffer("raw_slope", raw)

    def forward(self, x: Tensor) -> Tensor:
        """Rebalanced logits g, of the shape of the logits x."""
        x, b = self._aligned(x)
        if torch.is_grad_enabled() and (x.requires_grad or b.requires_grad) and not torch.compiler.is_exporting():
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
        g, dx, lag = _in_blocks(warp, x, b)
        ctx.save_for_backward(x, b, dx, lag)
        return g

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (weight,) = gradients
        x, b, dx, lag = ctx.saved_tensors
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():  # create_graph=True: to be differentiated once more
            in_x = weight * rebalanced_logit_dx(x, b, xp=eager)
            return in_x, (weight * rebalanced_logit_db(x, b, xp=eager)).sum_to_size(b.shape)
        rows, is_learned = blocks(x), ctx.needs_input_grad[1]
        if len(rows) == 1:
            in_x = weight * dx
            return in_x, _in_b(b, in_x, x, weight, lag) if is_learned else None
        in_x, in_b = torch.empty_like(x), torch.zeros_like(b)
        for row in rows:
            in_x[row] = weight[row] * dx[row]
            if is_learned:
                in_b += _in_b(b, in_x[row], x[row], weight[row], lag[row])
        return in_x, in_b if is_learned else None


def _in_b(b: Tensor, in_x: Tensor, x: Tensor, weight: Tensor, lag: Tensor) -> Tensor:
    """Σ weight · ∂g/∂b, of the shape of b."""
    if b.ndim == 0 and not torch.compiler.is_compiling():  # inner products, without an array of products
        in_x, x, weight, lag = (part.reshape(-1) for part in (in_x, x, weight, lag))
        sums = [torch.dot(in_x, x), in_x.sum(), torch.dot(weight, lag), weight.sum()]
    else:
        sums = [part.sum_to_size(b.shape) for part in (in_x * x, in_x, weight * lag, weight)]
    derivative: Tensor = slope_derivative(b, *sums, xp=namespace())
    return derivative


def _rebalanced_logit(x: Tensor, b: Tensor) -> Tensor:
    (g,) = _in_blocks(lambda *arguments, xp: (rebalanced_logit(*arguments, xp=xp),), x, b)
    return g


def _in_blocks(formula: Callable[..., tuple[Tensor, ...]], x: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    rows = blocks(x)
    if len(rows) == 1:
        return formula(x, b, xp=namespace())
    whole: tuple[Tensor, ...] = ()
    for row in rows:
        parts = formula(x[row], b, xp=namespace())
        whole = whole or tuple(torch.empty_like(x) for _ in parts)
        for values, part in zip(whole, parts, strict=True):
            values[row] = part
    return whole


def _at_least_float32(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
