"""Logits, labels and weights as the losses take them: checked where values are known, missing labels turned into rows without weight."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from astralearn.torch.blocks import blocks
from astralearn.torch.elementary import by_bits


def check_kinds(logits: Tensor, target: Tensor, sample_weight: Tensor | None) -> None:
    if not isinstance(logits, Tensor):
        raise TypeError(f"logits must be a tensor; found {type(logits).__name__}")
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating point; found {logits.dtype}")
    if not isinstance(target, Tensor) or target.is_complex():
        raise TypeError(
            f"target must be a real tensor; found {getattr(target, 'dtype', type(target).__name__)}"
        )
    if target.shape != logits.shape:
        hint = (
            " (use logits.squeeze(-1) or target.unsqueeze(-1))"
            if target.numel() == logits.numel()
            else ""
        )
        raise ValueError(
            f"target must have the shape of logits, {tuple(logits.shape)}; found {tuple(target.shape)}{hint}"
        )
    if sample_weight is not None and not isinstance(sample_weight, Tensor):
        raise TypeError(f"sample_weight must be a tensor; found {type(sample_weight).__name__}")
    if sample_weight is not None and not _broadcasts(sample_weight.shape, logits.shape):
        raise ValueError(
            f"sample_weight must broadcast to the shape of logits, {tuple(logits.shape)}; found {tuple(sample_weight.shape)}"
        )
    if sample_weight is not None and sample_weight.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            "sample_weight gets no gradient; found one that requires it: pass sample_weight.detach()"
        )


def known_labels(
    logits: Tensor, target: Tensor, sample_weight: Tensor | None, ignore_index: int | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Logits, labels and weights of one dtype, float32 at least; missing labels (NaN, ignore_index) are 0 with weight 0."""
    g = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    missing = None if ignore_index is None else target == ignore_index
    y = target.to(g.dtype)
    weight = None if sample_weight is None else sample_weight.to(g.dtype)
    if (
        torch.compiler.is_compiling()
    ):  # values are unknown: take every label for possibly missing, which costs nothing once fused
        if missing is None and not target.is_floating_point():
            return g, y, weight
        if missing is None and by_bits(y):
            return _without(_bits_to_keep(y), g, y, weight)
        # y != y is isnan, on which TorchInductor spent more than on the rest of GMN's forward pass.
        return _without(y != y if missing is None else (y != y) | missing, g, y, weight)  # noqa: PLR0124
    _check_weight(weight)
    if missing is None and _all_labels(y):
        return g, y, weight
    absent = torch.isnan(y) if missing is None else torch.isnan(y) | missing
    g, y, weight = _without(absent, g, y, weight)
    if not _all_labels(y):
        wrong = y[(y != 0) & (y != 1)][0].item()
        also = "" if ignore_index is None else f" or ignore_index={ignore_index}"
        raise ValueError(f"target must hold 0, 1 or NaN (missing){also}; found {wrong:g}")
    return g, y, weight


def _broadcasts(shape: torch.Size, to: torch.Size) -> bool:
    return len(shape) <= len(to) and all(
        mine in (1, theirs) for mine, theirs in zip(shape[::-1], to[::-1], strict=False)
    )


def _check_weight(weight: Tensor | None) -> None:
    if (
        weight is not None
        and not weight.is_meta
        and not bool((torch.isfinite(weight) & (weight >= 0)).all())
    ):
        raise ValueError("sample_weight must be finite and at least 0")


def _all_labels(y: Tensor) -> bool:
    """Whether all are 0 or 1, by y − y² = 0, which costs less than two comparisons."""
    if y.numel() == 0 or y.is_meta:
        return True
    y = y.reshape(-1) if y.ndim == 0 else y
    extremes = (
        torch.aminmax(torch.addcmul(part, part, part, value=-1))
        for part in (y[row] for row in blocks(y))
    )
    return all((low.abs() + high.abs()).item() == 0 for low, high in extremes)


def _without(
    absent: Tensor, g: Tensor, y: Tensor, weight: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The same with label 0 and weight 0 where the label is missing, and logit 0, lest a NaN there spread.

    absent: as in `_blanked`.
    """
    present = torch.ones_like(y) if weight is None else weight.expand_as(y)
    known: Tensor = _Known.apply(absent, g)  # type: ignore[no-untyped-call]
    return known, _blanked(absent, y), _blanked(absent, present)


def _blanked(absent: Tensor, values: Tensor) -> Tensor:
    """The values, 0 where absent: a mask, or of float32 the bits that are to be kept."""
    if absent.dtype == torch.bool:
        return torch.where(
            absent, torch.zeros((), dtype=values.dtype, device=values.device), values
        )
    return (values.view(torch.int32) & absent).view(torch.float32)


def _bits_to_keep(y: Tensor) -> Tensor:
    """All bits, or none where y is NaN: larger than infinity as bits. Selecting by a comparison took compiled losses twice as long."""
    return (y.abs().view(torch.int32) - 0x7F800001) >> 31


class _Known(torch.autograd.Function):
    """g, or 0 where the label is missing. Weights of 0 have made the gradient 0 there, so it passes as it is.

    `torch.where` would keep the mask for it, and to write that took compiled GMN longer than everything else.
    """

    @staticmethod
    def forward(ctx: Any, absent: Tensor, g: Tensor) -> Tensor:  # noqa: ARG004
        return _blanked(absent, g)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor]:  # noqa: ARG004
        return None, gradients[0]
