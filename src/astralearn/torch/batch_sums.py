"""A batch's sums, and the gradient that follows from everyone's: at once or block by block."""

from __future__ import annotations

from functools import partial, reduce
from typing import NamedTuple

import torch
from torch import Tensor

from astralearn.core.sums import SUMMED, Sums, add_sums, examine_known, gradient
from astralearn.torch.cpu import bce_sums, blocks, write_gradient
from astralearn.torch.inductor import by_bits, swift_losses
from astralearn.torch.namespaces import eager, portable


class Counted(NamedTuple):
    """What `core.sums` makes of a block of rows: its own sums, and its rows' slopes."""

    sums: Sums
    slopes: Tensor


def batch_sums(
    name: str, g: Tensor, y: Tensor, weight: Tensor | None, axis: tuple[int, ...]
) -> tuple[Sums, list[Counted]]:
    """The batch's sums, and its blocks as they were counted."""
    if g.numel() == 0:
        return sums_of_nothing(name, g, axis), []
    if torch.compiler.is_compiling() or g.is_meta:
        xp = swift_losses if by_bits(g) else portable if torch.compiler.is_exporting() else eager
        sums, slopes = SUMMED[name].examine(g, y, weight, axis=axis, xp=xp)
        return sums, [Counted(sums, slopes)]
    logits = blocks(g)
    weights = [None] * len(logits) if weight is None else blocks(weight.expand_as(g))
    parts = list(zip(logits, blocks(y), weights, strict=True))
    if name == "bce":
        counted = [bce_sums(*part, axis) for part in parts]
        total = reduce(partial(add_sums, xp=eager), (sums for sums, _ in counted))
        return total, [Counted(total, slopes) for _, slopes in counted]
    total, looks = examine_known(name, parts, axis=axis, xp=eager)
    return total, [Counted(*look) for look in looks]


def sums_of_nothing(name: str, g: Tensor, axis: tuple[int, ...]) -> Sums:
    """The sums of a rank without examples: those of an example without weight."""
    shape = [1 if dimension in axis else size for dimension, size in enumerate(g.shape)]
    zeros = torch.zeros(shape, dtype=g.dtype, device=g.device)
    sums: Sums = SUMMED[name].examine(zeros, zeros, zeros, axis=axis, xp=eager)[0]
    return sums


def factors_of(name: str, counted: list[Counted], total: Sums) -> list[tuple[Tensor, Tensor]]:
    """From slopes to the gradient of everything joined: for negatives and for positives.

    One pair for each block, or one for all where they share their sums.
    """
    own = [block.sums for block in counted]
    is_shared = all(sums is own[0] for sums in own)
    return [SUMMED[name].factors(sums, total, xp=eager) for sums in (own[:1] if is_shared else own)]


def gradient_of(slopes: list[Tensor], factors: list[tuple[Tensor, Tensor]], y: Tensor) -> Tensor:
    """The gradient at the logits that were counted, block by block."""
    if not slopes:
        return torch.zeros_like(y)
    if len(slopes) == 1:
        whole: Tensor = gradient(slopes[0], y, factors[0])
        return whole
    whole = torch.empty_like(y)
    sizes = [len(slope) for slope in slopes]
    each = factors * len(slopes) if len(factors) == 1 else factors
    for out, slope, labels, (of_negatives, of_positives) in zip(
        torch.split(whole, sizes), slopes, torch.split(y, sizes), each, strict=True
    ):
        write_gradient(out, slope, labels, of_negatives, of_positives)
    return whole
