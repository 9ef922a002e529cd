"""A batch's class means, and its gradient given everyone's: whole or in blocks."""

from __future__ import annotations

import torch
from torch import Tensor

from astralearn.core.class_means import Means, gradient, means_of_sums
from astralearn.core.counting import CountedPart, no_peaks
from astralearn.core.losses import Loss
from astralearn.torch.cpu import blocks, is_recorded, sum_logs_in_place, write_gradient
from astralearn.torch.inductor import by_bits, swift_losses
from astralearn.torch.namespaces import eager, portable

FactorPair = tuple[Tensor, Tensor]


def batch_means(
    loss: Loss, g: Tensor, y: Tensor, weight: Tensor | None, axis: tuple[int, ...]
) -> tuple[Means, list[CountedPart]]:
    """The batch's means, and its blocks as they were counted."""
    if g.numel() == 0:
        shape = [1 if dimension in axis else size for dimension, size in enumerate(g.shape)]
        return means_of_nothing(g.new_zeros(shape)), []
    if is_recorded() or g.is_meta:
        xp = swift_losses if by_bits(g) else portable if torch.compiler.is_exporting() else eager
        whole = loss.count(g, y, weight, axis=axis, xp=xp)
        return whole.means, [CountedPart(whole.peaks, whole.pulls)]
    logits = blocks(g)
    weights = [None] * len(logits) if weight is None else blocks(weight.expand_as(g))
    parts = list(zip(logits, blocks(y), weights, strict=True))
    if loss.is_mean and not loss.reads_wrong and g.device.type == "cpu":
        summed = [sum_logs_in_place(*part, axis) for part in parts]
        sums = torch.stack([torch.stack(each) for each, _ in summed]).sum(0)
        # A sum of huge losses overflows; the core divides before it adds.
        if bool(torch.isfinite(sums).all()):
            means = means_of_sums(sums.unbind(0), power=0, xp=eager)
            return means, [CountedPart(no_peaks(means, eager), pulls) for _, pulls in summed]
    return loss.count_known(parts, axis=axis, xp=eager)


def widened(means: Means) -> Means:
    """The means in float64, to be joined with many others, where the device has it."""
    if means.negatives.total.device.type != "cpu":
        return means
    return Means.of_flat([part.double() for part in means.flat])


def means_of_nothing(like: Tensor) -> Means:
    """The means of classes without weight, of the shape of `like`."""
    zero = torch.zeros_like(like)
    return Means.of_flat([zero] * 6)


def factors_of(loss: Loss, counted: list[CountedPart], means: Means) -> list[FactorPair]:
    """From pulls to the gradient of everything joined, for each class.

    One pair for each block, or one for all where their pulls have one unit.
    """
    if len(counted) > 1 and not torch.stack([torch.stack(each.peaks) for each in counted]).any():
        counted = counted[:1]
    return [loss.factors(means, block.peaks, xp=eager) for block in counted]


def gradient_of(pulls: list[Tensor], factors: list[FactorPair], y: Tensor) -> Tensor:
    """The gradient at the logits that were counted, block by block."""
    if not pulls:
        return torch.zeros_like(y)
    if len(pulls) == 1:
        whole: Tensor = gradient(pulls[0], y, factors[0])
        return whole
    whole = torch.empty_like(y)
    sizes = [len(pull) for pull in pulls]
    each = factors * len(pulls) if len(factors) == 1 else factors
    for out, pull, labels, of_class in zip(
        torch.split(whole, sizes), pulls, torch.split(y, sizes), each, strict=True
    ):
        write_gradient(out, pull, labels, of_class)
    return whole
