"""The recipe for a rare class as one module: layer, loss and readings."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from astralearn.core import SoftConfusion
from astralearn.core.curve import slope_for_ratio
from astralearn.core.weight_decay import weight_decay_for
from astralearn.torch.labels import check_kinds, known_labels
from astralearn.torch.layer import ASTra
from astralearn.torch.monitor import READINGS
from astralearn.torch.ranks import ProcessGroup, group_of, world_size
from astralearn.torch.sampler import one_per_example


class RareHead(nn.Module):
    """ASTra with a slope that the class ratio limits, its loss, and its readings.

        head = RareHead(labels)                      # 0 and 1, of all training rows
        model = nn.Sequential(model, head)           # after the layer that makes logits
        groups = parameter_groups(model, lr=1e-3)
        optimizer = torch.optim.AdamW(groups, weight_decay=head.weight_decay)
        for x, y in loader:                          # batches of a StratifiedBatchSampler
            head.loss(model(x), y).backward()
            ...
        head.readings()                              # once per epoch: soft FNR, FPR, e-ratio, τ
        cut = decide(model, left_out)                # and flag with cut.flags(model(x))

    The slope b starts at and stays below (n₀/n₁)^¼, so that it does not run away where batches
    show few positives. The loss is cross-entropy of g less the logarithm of the batch's class
    ratio (logit adjustment): g = 0 is the balanced decision, an example far on the wrong side has
    the strongest pull, and of the negatives mostly those pull that score like positives.
    `weight_decay` is for AdamW: 6/n₁, at most 1.

    labels: 0 and 1, one per training example.
    process_group: joins the classes' counts over its ranks, so that the gradient after DDP is that
        of the joined batch; `True` stands for the default group.

    >>> head = RareHead([0] * 810 + [1] * 10)
    >>> round(head.astra.slope.item(), 2)
    3.0
    >>> g = torch.full((4,), 3.0).log()  # less the logarithm of 3 negatives per positive it is 0
    >>> round(head.loss(g, torch.tensor([0, 0, 0, 1])).item(), 4)
    0.6931
    """

    def __init__(self, labels: object, *, process_group: ProcessGroup | bool | None = None) -> None:
        super().__init__()
        y = one_per_example(labels)
        negatives, positives = int((y == 0).sum()), int((y == 1).sum())
        if not negatives or not positives or negatives + positives < len(y):
            raise ValueError(
                "labels must be 0 and 1 and hold both; found "
                f"{positives} positives and {negatives} negatives among {len(y)}"
            )
        self.astra = ASTra(slope_max=slope_for_ratio(negatives / positives))
        self.weight_decay = weight_decay_for(positives)
        self.process_group = process_group
        # In the order Σz, Σz over positives, and the numbers of negatives and of positives. This is
        # no buffer, because DDP would send rank 0's to everyone.
        self.counts = torch.zeros(4, dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        """Rebalanced logits g, of the shape of the logits x."""
        g: Tensor = self.astra(x)
        return g

    def loss(self, g: Tensor, target: Tensor) -> Tensor:
        """Mean cross-entropy of g less the logarithm of the batch's class ratio.

        A class that the batch lacks counts as one example of it in the ratio. With a process group
        each rank gets its part of the joined batch's loss, as many times as there are ranks,
        because DDP averages gradients.

        g: what the model gave.
        target: 0 and 1 of the same shape; NaN marks missing labels.
        """
        check_kinds(g, target, None)
        g, y, weight = known_labels(g, target, None, None)
        # Missing labels are 0, so y needs no weight.
        positives = y.sum()
        known = g.numel() if weight is None else weight.sum()
        counts, ranks = torch.stack((known - positives, positives)), 1
        if self.training:
            self._count(g.detach(), y, weight, counts)
        if self.process_group is not None and self.process_group is not False:
            dist.all_reduce(counts, group=group_of(self.process_group))
            ranks = world_size(self.process_group)
        of_negatives, of_positives = counts.clamp(min=1.0).log().unbind(0)
        adjusted = g - (of_negatives - of_positives)
        share = ranks / counts.sum().clamp(min=1.0)
        # Shares of the mean add up where the largest losses would not.
        weight = share if weight is None else weight * share
        return binary_cross_entropy_with_logits(adjusted, y, weight=weight, reduction="sum")

    def readings(self) -> dict[str, float]:
        """What training batches showed since the last call, over all ranks.

        Soft FNR, FPR, e-ratio, G-Mean and MCC (Eqs. 8 and 11), and the threshold τ.
        """
        counts = self.counts.clone()
        if self.process_group is not None and self.process_group is not False:
            dist.all_reduce(counts, group=group_of(self.process_group))
        flagged, tp, negatives, positives = counts.unbind(0)
        fp, fn = flagged - tp, positives - tp
        found = SoftConfusion(tn=negatives - fp, fp=fp, fn=fn, tp=tp)
        self.counts.zero_()
        read = {name: float(getattr(found, name)) for name in READINGS}
        return {**read, "threshold": self.astra.threshold.item()}

    def write(self, writer: Any, step: int, prefix: str = "") -> dict[str, float]:
        """Write the readings to a SummaryWriter, or to anything with its add_scalar."""
        readings = self.readings()
        for name, value in readings.items():
            writer.add_scalar(prefix + name, value, step)
        return readings

    def _count(self, g: Tensor, y: Tensor, weight: Tensor | None, counts: Tensor) -> None:
        z = torch.sigmoid(g) if weight is None else torch.sigmoid(g) * weight
        if self.counts.device != g.device:
            self.counts = self.counts.to(g.device)
        self.counts.add_(torch.cat((torch.stack((z.sum(), (z * y).sum())), counts)))
