"""The losses of `core.LOSSES` as modules on logits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from astralearn.core import LOSSES
from astralearn.core.losses import Loss
from astralearn.torch.batch_means import batch_means, factors_of, gradient_of
from astralearn.torch.inductor import gradient_of_signed, signed_pulls
from astralearn.torch.labels import check_kinds, known_labels
from astralearn.torch.namespaces import eager
from astralearn.torch.ranks import ProcessGroup, gather_means, world_size
from astralearn.torch.running_means import joined


class SummedLossModule(nn.Module):
    """Any loss of `core.LOSSES`: a function of both classes' means over the batch.

    Call it as `loss(logits, target)` or `loss(logits, target, sample_weight)`.

    logits: floating point, any shape, rebalanced by `ASTra` or not. Probabilities cannot be told
        from logits, so pass none.
    target: 0 and 1 of the same shape, any real dtype; NaN and `ignore_index` mark missing labels,
        which count for nothing.
    sample_weight: finite and ≥ 0, broadcast to that shape; it gets no gradient. Weights matter
        relative to each other, within float32: soft counts below 1e-30 or above 1e38 give wrong
        losses.

    A batch without one of the classes counts as one correctly classified example of it: loss and
    gradient of the other class are finite and as useful as ever. A batch without any label has
    loss and gradient 0.

    name: the loss's in `core.LOSSES`. The subclasses have theirs.
    per_output: one loss for each column or channel of logits (N, C) or (N, C, …); the default
        pools all outputs into one.
    reduction: "mean" averages the losses of all outputs, "none" returns them as (C,).
    ignore_index: an integer label that means "missing".
    process_group: joins the means of its ranks, so that the loss is that of the joined batch
        on every rank; `True` stands for the default group. Gradients are scaled for DDP, which
        averages them over ranks: after it they equal the joined batch's.
    running: None, or a decay in [0, 1) by which earlier training batches lose weight.
        Then J is that of all of them and its gradient flows through the current batch alone:
        an approximation, for batches too small to hold both classes. A class keeps its last rate
        however long it is absent.
    check_compiled: whether the loss checks the values of labels and weights under torch.compile
        too, as it always does without: one more pass, and a RuntimeError, on a GPU when it is
        next waited for.

    >>> loss = SummedLossModule("gmn", per_output=True, reduction="none")
    >>> logits = torch.tensor([[-2.0, -1.0], [0.0, 1.0]])
    >>> target = torch.tensor([[0, 0], [1, 1]])
    >>> [round(value, 4) for value in loss(logits, target).tolist()]
    [0.3364, 0.2689]
    """

    name: str = ""
    kept: Tensor | None

    def __init__(
        self,
        name: str | None = None,
        *,
        per_output: bool = False,
        reduction: str = "mean",
        ignore_index: int | None = None,
        process_group: ProcessGroup | bool | None = None,
        running: float | None = None,
        check_compiled: bool = False,
    ) -> None:
        super().__init__()
        self.name = self.name if name is None else name
        if self.name not in LOSSES:
            raise ValueError(f"name must be one of {', '.join(LOSSES)}; found {self.name!r}")
        if reduction not in ("mean", "none"):
            raise ValueError(f"reduction must be 'mean' or 'none'; found {reduction!r}")
        if running is not None and not 0 <= running < 1:
            raise ValueError(f"running must be None or a decay in [0, 1); found {running}")
        self.per_output = per_output
        self.reduction = reduction
        self.ignore_index = ignore_index
        self.process_group = process_group
        self.running = running
        self.check_compiled = check_compiled
        # What `running_means.joined` keeps; its shape is known with the first batch.
        self.register_buffer("kept", None)

    def forward(
        self, logits: Tensor, target: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        g, y, weight = self.prepared(logits, target, sample_weight)
        y = y.detach()
        means, counted = batch_means(self.loss, g.detach(), y, weight, self.axis(g))
        scale: float | Tensor = 1.0
        if self.process_group is not None:
            means = gather_means(self.loss, means, self.process_group)
            scale = float(world_size(self.process_group))
        is_running = bool(self.running) and self.training
        if is_running:
            means, batches, self.kept = joined(self.loss, self.kept, means, self.running or 0.0)
            # Means of n batches have 1/n of one batch's gradient: undo that, so that the step
            # size does not depend on the memory.
            scale = scale * batches
        factors = [
            (scale * each).to(g.dtype)
            for pair in factors_of(self.loss, counted, means)
            for each in pair
        ]
        is_plain = self.process_group is None and not is_running
        losses: Tensor = _Summed.apply(  # type: ignore[no-untyped-call]
            g,
            y,
            weight,
            self.loss.of_means(means, xp=eager).to(g.dtype),
            self.name if is_plain else None,
            self.axis(g),
            len(counted),
            *(block.pulls for block in counted),
            *factors,
        )
        return self.reduced(losses)

    @property
    def loss(self) -> Loss:
        """The entry of `core.LOSSES`."""
        return LOSSES[self.name]

    def reduced(self, losses: Tensor) -> Tensor:
        """From losses with reduced dimensions of size 1 to what the module returns."""
        losses = losses.reshape(-1)
        return losses.mean() if self.reduction == "mean" or not self.per_output else losses

    def axis(self, g: Tensor) -> tuple[int, ...]:
        """The dimensions that sums run over: all, or all but the second."""
        if not self.per_output:
            return tuple(range(g.ndim))
        if g.ndim < 2:
            raise ValueError(
                f"per_output wants logits of shape (N, C) or (N, C, …); found {tuple(g.shape)}"
            )
        return (0, *range(2, g.ndim))

    def prepared(
        self, logits: Tensor, target: Tensor, sample_weight: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Logits, labels and weights of one dtype, checked, missing labels without weight."""
        check_kinds(logits, target, sample_weight)
        if logits.numel() == 0 and self.process_group is None:
            raise ValueError(
                "logits must hold at least one value, unless process_group is given; "
                f"found shape {tuple(logits.shape)}"
            )
        return known_labels(
            logits, target, sample_weight, self.ignore_index, check_compiled=self.check_compiled
        )

    def extra_repr(self) -> str:
        settings = {"name": type(self).name, "per_output": False, "reduction": "mean"}
        settings |= {"check_compiled": False}
        settings |= dict.fromkeys(("ignore_index", "process_group", "running"))
        return ", ".join(
            f"{name}={getattr(self, name)!r}"
            for name, default in settings.items()
            if getattr(self, name) != default
        )

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *arguments: Any
    ) -> None:
        # A buffer without a shape yet takes that of the saved one.
        self.kept = state_dict.get(prefix + "kept")
        if self.kept is not None:
            self.kept = self.kept.clone()
        super()._load_from_state_dict(state_dict, prefix, *arguments)


class _Summed(torch.autograd.Function):
    """Losses as they are, with the gradient at g that follows from pulls and factors.

    The gradient is finished in the backward pass. Compiled, here it would need all sums before
    its loop begins, one more loop; eager, it would be one more pass to multiply it by the
    gradient of the loss.
    """

    @staticmethod
    def forward(
        ctx: Any,
        g: Tensor,
        y: Tensor,
        weight: Tensor | None,
        losses: Tensor,
        name: str | None,
        axis: tuple[int, ...],
        blocks: int,
        *pulls_and_factors: Tensor,
    ) -> Tensor:
        pulls, factors = pulls_and_factors[:blocks], pulls_and_factors[blocks:]
        ctx.is_signed = torch.compiler.is_compiling() and blocks == 1
        if ctx.is_signed:
            pulls = (signed_pulls(pulls[0], y),)
        ctx.name, ctx.axis, ctx.blocks = name, axis, blocks
        ctx.save_for_backward(g, y, weight, *pulls, *factors)
        return losses.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (of_loss,) = gradients
        g, y, weight, *saved = ctx.saved_tensors
        pulls, factors = saved[: ctx.blocks], [of_loss * each for each in saved[ctx.blocks :]]
        if ctx.is_signed:
            in_g = gradient_of_signed(pulls[0], *factors)
        elif torch.is_grad_enabled() and not torch.compiler.is_compiling():
            # create_graph=True asks for what can be differentiated once more.
            if ctx.name is None:
                raise NotImplementedError(
                    "a loss with process_group or running sums can be differentiated only once"
                )
            in_g = of_loss * LOSSES[ctx.name].gradient(g, y, weight, axis=ctx.axis, xp=eager)
        else:
            pairs = list(zip(factors[::2], factors[1::2], strict=True))
            in_g = gradient_of(pulls, pairs, y)
        return in_g, *[None] * (6 + len(saved))


class BCELoss(SummedLossModule):
    """Binary cross-entropy on logits, the weighted mean.

    BCEWithLogitsLoss with everything that `SummedLossModule` adds.

    >>> logits, target = torch.tensor([-2.0, 0.0]), torch.tensor([0, 1])
    >>> round(float(BCELoss()(logits, target)), 4)
    0.41
    >>> round(float(nn.BCEWithLogitsLoss()(logits, target.float())), 4)
    0.41
    """

    name = "bce"


class GMNLoss(SummedLossModule):
    """One minus the soft G-Mean, 1 − √(TPR·TNR) (Eq. 9).

    Arguments as in `SummedLossModule`.

    >>> logits, target = torch.tensor([-2.0, 0.0]), torch.tensor([0, 1])
    >>> round(float(GMNLoss()(logits, target)), 4)
    0.3364
    """

    name = "gmn"


class RootGMNLoss(SummedLossModule):
    """Between GMN and balanced cross-entropy: 4(1 − √(A₁A₀)).

    A₁ and A₀ are each class's mean fourth root of the probability of being right. It is what
    `ASTraClassifier` trains on. Arguments as in `SummedLossModule`.

    >>> logits, target = torch.tensor([-2.0, 0.0]), torch.tensor([0, 1])
    >>> round(float(RootGMNLoss()(logits, target)), 4)
    0.3897
    """

    name = "root_gmn"


class F1Loss(SummedLossModule):
    """One minus the soft F1, (FP+FN)/(2TP+FP+FN). Arguments as in `SummedLossModule`.

    >>> logits, target = torch.tensor([-2.0, 0.0]), torch.tensor([0, 1])
    >>> round(float(F1Loss()(logits, target)), 4)
    0.3824
    """

    name = "f1"


class MCCLoss(SummedLossModule):
    """One minus the soft Matthews correlation, in [0, 2].

    Arguments as in `SummedLossModule`.

    >>> logits, target = torch.tensor([-2.0, 0.0]), torch.tensor([0, 1])
    >>> round(float(MCCLoss()(logits, target)), 4)
    0.5882
    """

    name = "mcc"


class BalancedAccuracyLoss(SummedLossModule):
    """One minus the soft balanced accuracy, (FNR+FPR)/2.

    Arguments as in `SummedLossModule`.

    >>> logits, target = torch.tensor([-2.0, 0.0]), torch.tensor([0, 1])
    >>> round(float(BalancedAccuracyLoss()(logits, target)), 4)
    0.3096
    """

    name = "balanced_accuracy"
