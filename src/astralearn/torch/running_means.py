"""Class means of earlier batches, decayed, for batches that may lack a class."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from astralearn.core.class_means import Means, reweighed
from astralearn.core.losses import Loss
from astralearn.torch.batch_means import means_of_nothing
from astralearn.torch.namespaces import eager

# A class's weight decays down to this. It is below the rounding of any batch that holds the class,
# and far from the smallest float32, near which ratios lose their digits and reciprocals overflow.
LEAST = 1e-20


class Joined(NamedTuple):
    """Earlier means and a batch's, joined.

    means: of both.
    batches: how many batches they amount to.
    kept: what to keep, (7, …): the six arrays of the means, and `batches`.
    """

    means: Means
    batches: Tensor
    kept: Tensor


def joined(loss: Loss, kept: Tensor | None, means: Means, decay: float) -> Joined:
    """Earlier means, their weights decayed, joined with those of a batch.

    kept: of the batch before, or None.
    decay: what a step leaves of each class's weight, as long as that is more than `LEAST`.
    """
    like = means.negatives.total
    if kept is None:
        kept = torch.stack([*means_of_nothing(like).flat, torch.zeros_like(like)])
    if kept[0].numel() != like.numel():
        raise ValueError(
            f"logits must have the {kept[0].numel()} outputs of the batches before, whose means "
            f"running keeps; found {like.numel()}: make a loss for each"
        )
    # The means of one output have as many dimensions as the batch, which may be squeezed.
    kept = kept.to(like).reshape(-1, *like.shape)
    *flat, batches = kept.unbind(0)
    earlier = Means.of_flat(flat)
    left = (torch.clamp(LEAST / of_class.total, decay, 1.0) for of_class in earlier)
    total = loss.add(reweighed(earlier, *left), means, xp=eager)
    batches = 1.0 + decay * batches
    now = torch.stack([*total.flat, batches])
    # An output whose means are not finite keeps those that it had.
    return Joined(total, batches, torch.where(torch.isfinite(now).all(0), now, kept))
