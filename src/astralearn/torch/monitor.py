"""The soft confusion matrix of an epoch, counted batch by batch on every rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from astralearn.core import SoftConfusion, soft_confusion
from astralearn.torch.losses import BCELoss
from astralearn.torch.namespaces import eager
from astralearn.torch.ranks import is_distributed

if TYPE_CHECKING:
    _Metric: Any = nn.Module
else:
    try:
        from torchmetrics import Metric as _Metric
    except ImportError:
        _Metric = nn.Module

READINGS = ("fnr", "fpr", "e_ratio", "g_mean", "mcc")


class SoftConfusionMonitor(_Metric):
    """Add up the soft confusion matrix (Eq. 8) over batches and ranks.

    It reads FNR, FPR, e-ratio (Eq. 11), G-Mean and MCC.

        monitor.update(logits, target)       # or monitor(logits, target), in every batch
        monitor.compute()["e_ratio"]         # once per epoch, on every rank; then reset()
        slope_rate.step(monitor.compute()["e_ratio"])
        self.log_dict(monitor.compute())     # in Lightning
        monitor.write(writer, epoch)         # for TensorBoard

    Where torchmetrics is installed it is a torchmetrics.Metric, elsewhere a plain module with the
    same methods. Logits, labels and weights are as in the losses; counts are kept in float64.

    ignore_index: an integer label that means "missing".
    metric_settings: those of torchmetrics.Metric.

    >>> monitor = SoftConfusionMonitor()
    >>> monitor.update(torch.tensor([-2.0, 2.0, 2.0]), torch.tensor([0, 0, 1]))
    >>> round(float(monitor.compute()["fpr"]), 4)
    0.5
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = None
    counts: Tensor

    def __init__(self, *, ignore_index: int | None = None, **metric_settings: Any) -> None:
        super().__init__(**metric_settings)
        self._labels = BCELoss(ignore_index=ignore_index)
        # In the order tn, fp, fn, tp.
        zeros = torch.zeros(4, dtype=torch.float64)
        if self.is_torchmetric:
            self.add_state("counts", default=zeros, dist_reduce_fx="sum")
        else:
            # This is no buffer, because DDP would send rank 0's to everyone.
            self.counts = zeros

    @property
    def is_torchmetric(self) -> bool:
        return hasattr(self, "add_state")

    @torch.no_grad()
    def update(self, logits: Tensor, target: Tensor, sample_weight: Tensor | None = None) -> None:
        """Count a batch of (rebalanced) logits."""
        self.counts += self._counted(logits, target, sample_weight)

    def compute(self) -> dict[str, Tensor]:
        """Read fnr, fpr, e_ratio, g_mean and mcc of everything since the last reset."""
        # torchmetrics has added up the ranks' counts for this call, unless told not to.
        counts = self.counts if self.is_torchmetric else self._counts_of_all_ranks()
        return _readings(SoftConfusion(*counts.unbind(0)))

    def confusion(self) -> SoftConfusion:
        """The counts themselves, over all ranks; every rank must call it."""
        return SoftConfusion(*self._counts_of_all_ranks().unbind(0))

    def _counted(self, logits: Tensor, target: Tensor, sample_weight: Tensor | None) -> Tensor:
        """The counts of one batch."""
        # A rank that has run out of examples brings an empty batch.
        if logits.numel() == 0 and logits.shape == target.shape:
            return torch.zeros_like(self.counts)
        g, y, weight = self._labels.prepared(logits.detach(), target, sample_weight)
        return torch.stack(list(soft_confusion(g, y, weight, xp=eager))).to(self.counts)

    def _counts_of_all_ranks(self) -> Tensor:
        """As `compute` sees them: this rank's with torchmetrics' sync_on_compute=False."""
        if self.is_torchmetric:
            is_to_sync = self.sync_on_compute and not self._is_synced
            with self.sync_context(
                dist_sync_fn=self.dist_sync_fn, should_sync=is_to_sync, should_unsync=is_to_sync
            ):
                return self.counts
        counts = self.counts.clone()
        if is_distributed():
            dist.all_reduce(counts)
        return counts

    def write(self, writer: Any, step: int, prefix: str = "") -> None:
        """Write the readings to a SummaryWriter, or to anything with its add_scalar."""
        for name, value in self.compute().items():
            writer.add_scalar(prefix + name, float(value), step)

    # These torchmetrics.Metric would bring.
    if _Metric is nn.Module:

        def _apply(self, fn: Any, recurse: bool = True) -> Any:
            super()._apply(fn, recurse)
            self.counts = self.counts.to(fn(self.counts).device)
            return self

        def reset(self) -> None:
            """Forget everything counted."""
            self.counts.zero_()

        @torch.no_grad()
        def forward(
            self, logits: Tensor, target: Tensor, sample_weight: Tensor | None = None
        ) -> dict[str, Tensor]:
            """Count a batch and return its own readings; of an empty one those of nothing."""
            batch = self._counted(logits, target, sample_weight)
            self.counts += batch
            return _readings(SoftConfusion(*batch.unbind(0)))


def _readings(confusion: SoftConfusion) -> dict[str, Tensor]:
    return {name: getattr(confusion, name) for name in READINGS}
