"""Logits, labels and weights as the losses take them, checked."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from astralearn.torch.cpu import blocks, is_recorded
from astralearn.torch.inductor import bits_to_keep, by_bits
from astralearn.torch.layer import at_least_float32

LABELS = "target must hold 0, 1 or NaN (missing)"
WEIGHTS = "sample_weight must be finite and at least 0"


def check_kinds(logits: Tensor, target: Tensor, sample_weight: Tensor | None) -> None:
    """Refuse what a loss cannot take, by type, dtype and shape alone."""
    if not isinstance(logits, Tensor):
        raise TypeError(f"logits must be a tensor; found {type(logits).__name__}")
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating point; found {logits.dtype}")
    if not isinstance(target, Tensor) or target.is_complex():
        found = getattr(target, "dtype", type(target).__name__)
        raise TypeError(f"target must be a real tensor; found {found}")
    shape = tuple(logits.shape)
    if target.shape != logits.shape:
        is_column = target.numel() == logits.numel()
        hint = " (use logits.squeeze(-1) or target.unsqueeze(-1))" if is_column else ""
        raise ValueError(
            f"target must have the shape of logits, {shape}; found {tuple(target.shape)}{hint}"
        )
    if sample_weight is None:
        return
    if not isinstance(sample_weight, Tensor):
        raise TypeError(f"sample_weight must be a tensor; found {type(sample_weight).__name__}")
    if not _broadcasts(sample_weight.shape, logits.shape):
        raise ValueError(
            f"sample_weight must broadcast to the shape of logits, {shape}; "
            f"found {tuple(sample_weight.shape)}"
        )
    if sample_weight.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            "sample_weight gets no gradient; found one that requires it: "
            "pass sample_weight.detach()"
        )


def known_labels(
    logits: Tensor,
    target: Tensor,
    sample_weight: Tensor | None,
    ignore_index: int | None,
    *,
    check_compiled: bool = False,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Logits, labels and weights of one dtype, float32 at least.

    Missing labels (NaN, ignore_index) become 0 with weight 0 and logit 0.

    check_compiled: whether compiled code asserts what is always checked without a compiler.
    """
    g = at_least_float32(logits)
    ignored = None if ignore_index is None else target == ignore_index
    y = target.to(g.dtype)
    weight = None if sample_weight is None else sample_weight.to(g.dtype)
    if is_recorded():
        # Values are unknown, so every label may be missing: that costs nothing once fused.
        given = weight
        if ignored is not None or target.is_floating_point():
            is_by_bits = ignored is None and by_bits(y)
            absent = bits_to_keep(y) if is_by_bits else _absent(y, ignored)
            g, y, weight = _without(absent, g, y, weight)
        if check_compiled:
            _assert_values(y, given)
        return g, y, weight
    if weight is not None and not _all_weights(weight):
        wrong = weight[~_are_good(weight)][0].item()
        raise ValueError(f"{WEIGHTS}; found {wrong:g}")
    if ignored is None and _all_labels(y):
        return g, y, weight
    g, y, weight = _without(_absent(y, ignored), g, y, weight)
    if not _all_labels(y):
        wrong = y[(y != 0) & (y != 1)][0].item()
        also = "" if ignore_index is None else f" or ignore_index={ignore_index}"
        raise ValueError(f"{LABELS}{also}; found {wrong:g}")
    return g, y, weight


def _assert_values(y: Tensor, weight: Tensor | None) -> None:
    """Assert on the device what compiled code cannot raise itself."""
    torch._assert_async(((y == 0) | (y == 1)).all(), LABELS)
    if weight is not None:
        torch._assert_async(_are_good(weight).all(), WEIGHTS)


def _broadcasts(shape: torch.Size, to: torch.Size) -> bool:
    return len(shape) <= len(to) and all(
        mine in (1, theirs) for mine, theirs in zip(shape[::-1], to[::-1], strict=False)
    )


def _absent(y: Tensor, ignored: Tensor | None) -> Tensor:
    """Which labels are missing."""
    # TorchInductor takes far longer for isnan than for y != y, which is the same.
    return y != y if ignored is None else (y != y) | ignored  # noqa: PLR0124


def _all_labels(y: Tensor) -> bool:
    """Whether all are 0 or 1, by y − y² = 0, which costs less than two comparisons."""
    if y.numel() == 0 or y.is_meta:
        return True
    extremes = (torch.aminmax(torch.addcmul(part, part, part, value=-1)) for part in blocks(y))
    return all(low.item() == high.item() == 0 for low, high in extremes)


def _all_weights(weight: Tensor) -> bool:
    return weight.is_meta or bool(_are_good(weight).all())


def _are_good(weight: Tensor) -> Tensor:
    return torch.isfinite(weight) & (weight >= 0)


def _without(
    absent: Tensor, g: Tensor, y: Tensor, weight: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The same with label 0, weight 0 and logit 0 where the label is missing.

    The logit too, lest a NaN there spread. absent: as in `_blanked`.
    """
    present = torch.ones_like(y) if weight is None else weight.expand_as(y)
    known: Tensor = _Known.apply(absent, g)  # type: ignore[no-untyped-call]
    return known, _blanked(absent, y), _blanked(absent, present)


def _blanked(absent: Tensor, values: Tensor) -> Tensor:
    """The values, 0 where absent: a mask, or of float32 the bits that are to be kept."""
    if absent.dtype == torch.bool:
        zero = torch.zeros((), dtype=values.dtype, device=values.device)
        return torch.where(absent, zero, values)
    return (values.view(torch.int32) & absent).view(torch.float32)


class _Known(torch.autograd.Function):
    """g, or 0 where the label is missing.

    Weights of 0 have made the gradient 0 there, so it passes as it is; `torch.where` would keep
    the mask for it.
    """

    @staticmethod
    def forward(ctx: Any, absent: Tensor, g: Tensor) -> Tensor:  # noqa: ARG004
        return _blanked(absent, g)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, Tensor]:  # noqa: ARG004
        return None, gradients[0]
