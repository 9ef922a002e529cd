"""Sums of earlier batches, decayed: for batches too small to hold both classes."""

from __future__ import annotations

import torch
from torch import Tensor

from astralearn.core.elementary import TINY, at_least
from astralearn.core.sums import SUMMED, Sums
from astralearn.torch.batch_sums import sums_of_nothing
from astralearn.torch.namespaces import eager

# Running sums of a class decay down to this total weight. It is below the rounding of any batch
# that holds the class, and far from the smallest float32, near which ratios of sums lose their
# digits and reciprocals overflow.
LEAST = 1e-20


def joined(name: str, kept: Tensor | None, sums: Sums, decay: float) -> tuple[Sums, Tensor, Tensor]:
    """Earlier sums, decayed, plus these; how many batches that is; what to keep of it.

    kept: (number of sums + 1, …), the decayed sums and how many batches they amount to; None
        before the first batch.
    """
    if kept is None:
        nothing = sums_of_nothing(name, sums[0], axis=(0,))  # dimension 0 is always summed over
        kept = torch.stack([*nothing, torch.zeros_like(sums[0])])
    kept = kept.to(sums[0])
    *earlier, ages = kept.unbind(0)
    total = SUMMED[name].add(_decayed(name, tuple(earlier), decay), sums, xp=eager)
    age = 1.0 + decay * ages
    now = torch.stack([*total, age])
    # An output whose sums are not finite keeps those that it had.
    return total, age, torch.where(torch.isfinite(now).all(0), now, kept)


def _decayed(name: str, sums: Sums, decay: float) -> Sums:
    """Every sum times the decay, for each class as long as it weighs more than `LEAST`."""
    if name == "bce":
        left = _left(sums[1], decay)
        return sums[0] * left, sums[1] * left
    if name in ("gmn", "root_gmn"):
        of_1, of_0, m1, m0, *depths = sums
        left_of_1, left_of_0 = _left(m1, decay), _left(m0, decay)
        return (
            _part(name, of_1, m1, left_of_1),
            _part(name, of_0, m0, left_of_0),
            m1 * left_of_1,
            m0 * left_of_0,
            *depths,
        )
    tn, fp, fn, tp = sums
    left_of_0, left_of_1 = _left(tn + fp, decay), _left(fn + tp, decay)
    return tn * left_of_0, fp * left_of_0, fn * left_of_1, tp * left_of_1


def _left(total: Tensor, decay: float) -> Tensor:
    """What a step leaves of sums of that total weight: the decay, but 1 from `LEAST` on."""
    return torch.clamp(LEAST / total, decay, 1.0)


def _part(name: str, of_class: Tensor, total: Tensor, left: Tensor) -> Tensor:
    """A class's sum times `left`; GMN's is a logarithm.

    That goes by way of the rate: ln `left`, added at every step, would be rounded the same way
    each time, and the rate would drift.
    """
    if name == "root_gmn":
        return of_class * left
    rate = of_class - torch.log(at_least(total, TINY, eager))
    return rate + torch.log(at_least(total * left, TINY, eager))
