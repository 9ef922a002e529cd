"""The soft confusion matrix of an epoch: counted batch by batch, on every rank, read at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from astralearn.core import SoftConfusion, soft_confusion
from astralearn.torch.elementary import eager
from astralearn.torch.losses import BCELoss
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
    """Adds up TN, FP, FN, TP in probabilities (Eq. 8) over batches and ranks; reads FNR, FPR, e-ratio (Eq. 11), G-Mean and MCC.

        monitor.update(logits, target)          # or monitor(logits, target), in every batch
        monitor.compute()["e_ratio"]            # once per epoch, on every rank; then monitor.reset()
        slope_rate.step(monitor.compute()["e_ratio"])
        self.log_dict(monitor.compute())        # Lightning
        monitor.write(writer, epoch)            # TensorBoard

    Where torchmetrics is installed it is a torchmetrics.Metric (synchronised, collected and logged as such), elsewhere a plain
    module with the same methods. Arguments and missing labels as in the losses; counts are kept in float64.

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
        # tn, fp, fn, tp. One device knows no float64.
        zeros = torch.zeros(4, dtype=torch.float64)
        if self.is_torchmetric:
            self.add_state("counts", default=zeros, dist_reduce_fx="sum")
        else:
            self.counts = zeros  # no buffer: DDP would send rank 0's to everyone

    @property
    def is_torchmetric(self) -> bool:
        return hasattr(self, "add_state")

    @torch.no_grad()
    def update(self, logits: Tensor, target: Tensor, sample_weight: Tensor | None = None) -> None:
        """Counts a batch of (rebalanced) logits."""
        if (
            logits.numel() == 0 and logits.shape == target.shape
        ):  # a rank that has run out of examples
            return
        g, y, weight = self._labels.prepared(logits.detach(), target, sample_weight)
        self.counts += torch.stack(list(soft_confusion(g, y, weight, xp=eager))).to(self.counts)

    def compute(self) -> dict[str, Tensor]:
        """fnr, fpr, e_ratio, g_mean, mcc of everything counted since the last reset, over all ranks."""
        # torchmetrics has added up the ranks' counts for this call, unless told not to.
        confusion = (
            SoftConfusion(*self.counts.unbind(0)) if self.is_torchmetric else self.confusion()
        )
        return {name: getattr(confusion, name) for name in READINGS}

    def confusion(self) -> SoftConfusion:
        """The counts themselves, over all ranks, with every reading that `SoftConfusion` has. Every rank must call it."""
        return SoftConfusion(*self._counts_of_all_ranks().unbind(0))

    def _counts_of_all_ranks(self) -> Tensor:
        """As `compute` sees them: of this rank alone with torchmetrics' sync_on_compute=False."""
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
        """The readings as scalars of a TensorBoard SummaryWriter, or of anything with its add_scalar."""
        for name, value in self.compute().items():
            writer.add_scalar(prefix + name, float(value), step)

    if _Metric is nn.Module:  # what torchmetrics.Metric would bring

        def _apply(self, fn: Any, recurse: bool = True) -> Any:
            super()._apply(fn, recurse)
            self.counts = self.counts.to(fn(self.counts).device)
            return self

        def reset(self) -> None:
            """Forgets everything counted."""
            self.counts.zero_()

        @torch.no_grad()
        def forward(
            self, logits: Tensor, target: Tensor, sample_weight: Tensor | None = None
        ) -> dict[str, Tensor]:
            """Counts a batch and returns its own readings; an empty batch's are those of nothing."""
            if logits.numel() == 0 and logits.shape == target.shape:
                return {
                    name: getattr(SoftConfusion(*torch.zeros_like(self.counts)), name)
                    for name in READINGS
                }
            g, y, weight = self._labels.prepared(logits.detach(), target, sample_weight)
            batch = soft_confusion(g, y, weight, xp=eager)
            self.counts += torch.stack(list(batch)).to(self.counts)
            return {name: getattr(batch, name) for name in READINGS}
