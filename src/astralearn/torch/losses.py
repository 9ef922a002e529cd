"""The losses of `core.LOSSES` as modules on logits: weights, missing labels, one loss per output, sums over ranks and over time."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from astralearn.core import LOSSES
from astralearn.core.confusion import signed
from astralearn.core.curve import TINY, at_least
from astralearn.core.sums import SUMMED, Sums, examine_known, gradient
from astralearn.torch.blocks import blocks
from astralearn.torch.elementary import eager, portable, swift_losses
from astralearn.torch.ranks import ProcessGroup, gather_sums, world_size

# To this total weight running sums of a class decay: below the rounding of any batch that holds the class, and far from the smallest
# float32, near which ratios of sums lose their digits and reciprocals overflow.
LEAST = 1e-20


class SummedLossModule(nn.Module):
    """What the losses share: each is a function of a few sums over the batch (`core.sums`), taken here.

    Call it as `loss(logits, target)` or `loss(logits, target, sample_weight)`. logits: floating point, any shape (…), rebalanced by
    `ASTra` or not; probabilities cannot be told from logits, so pass none. target: 0 and 1 of the same shape, any real dtype; NaN
    and `ignore_index` mark missing labels, which count for nothing. sample_weight: finite and ≥ 0, broadcast to that shape;
    it gets no gradient. Weights matter relative to each other, within float32: soft counts below 1e-30 or above 1e38 give wrong losses.

    A batch without one of the classes counts as one correctly classified example of it: loss and gradient of the other class are
    finite and as useful as ever. A batch without any label has loss and gradient 0.

    per_output: one loss for each column or channel of logits (N, C) or (N, C, …), then averaged (`reduction="mean"`) or returned as
    (C,) (`reduction="none"`); the default pools all outputs into one. ignore_index: an integer label that means "missing".
    process_group: adds the sums up over its ranks, so that the loss is that of the joined batch on every rank; `True` stands for
    the default group. Gradients are scaled for DDP, which averages them over ranks: after it they equal the joined batch's.
    running: None, or a decay in [0, 1) by which the sums of earlier training batches are kept. Then J is that of the decayed sums
    and its gradient flows through the current batch alone: an approximation, for batches too small to hold both classes. A class
    keeps its last rate however long it is absent: its sums decay no further once their weight is down to `LEAST`.
    """

    name: str
    kept: Tensor | None

    def __init__(
        self,
        *,
        per_output: bool = False,
        reduction: str = "mean",
        ignore_index: int | None = None,
        process_group: ProcessGroup | bool | None = None,
        running: float | None = None,
    ) -> None:
        super().__init__()
        if reduction not in ("mean", "none"):
            raise ValueError(f"reduction must be 'mean' or 'none'; found {reduction!r}")
        if running is not None and not 0 <= running < 1:
            raise ValueError(f"running must be None or a decay in [0, 1); found {running}")
        self.per_output = per_output
        self.reduction = reduction
        self.ignore_index = ignore_index
        self.process_group = process_group
        self.running = running
        # (number of sums + 1, …): the decayed sums, and how many batches they amount to. Lazily shaped, hence None.
        self.register_buffer("kept", None)

    def forward(self, logits: Tensor, target: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        g, y, weight = self.prepared(logits, target, sample_weight)
        history = Memory(self) if self.running and self.training else None
        losses: Tensor = _Summed.apply(  # type: ignore[no-untyped-call]
            g, y, weight, self.name, self.axis(g), self.process_group, history
        )
        if history is not None and self.kept is not None:
            # Compiled, what _Summed leaves behind has a grad_fn, and detaching it in there is an error.
            self.kept = self.kept.detach()
        return self.reduced(losses)

    def reduced(self, losses: Tensor) -> Tensor:
        """From losses with reduced dimensions of size 1 to what the module returns."""
        losses = losses.reshape(-1)
        return losses.mean() if self.reduction == "mean" or not self.per_output else losses

    def axis(self, g: Tensor) -> tuple[int, ...]:
        """The dimensions that sums run over: all, or all but the second."""
        if not self.per_output:
            return tuple(range(g.ndim))
        if g.ndim < 2:
            raise ValueError(f"per_output wants logits of shape (N, C) or (N, C, …); found {tuple(g.shape)}")
        return (0, *range(2, g.ndim))

    def prepared(self, logits: Tensor, target: Tensor, sample_weight: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor | None]:
        """Logits, labels and weights of one dtype, checked, missing labels turned into 0 with weight 0."""
        _check_kinds(logits, target, sample_weight)
        if logits.numel() == 0 and self.process_group is None:
            raise ValueError(f"logits must hold at least one value, unless process_group is given; found shape {tuple(logits.shape)}")
        g = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
        missing = None if self.ignore_index is None else target == self.ignore_index
        y = target.to(g.dtype)
        weight = None if sample_weight is None else sample_weight.to(g.dtype)
        if torch.compiler.is_compiling():  # values are unknown: take every label for possibly missing, which costs nothing once fused
            if missing is None and not target.is_floating_point():
                return g, y, weight
            if missing is None and _by_bits(y):
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
            also = "" if self.ignore_index is None else f" or ignore_index={self.ignore_index}"
            raise ValueError(f"target must hold 0, 1 or NaN (missing){also}; found {wrong:g}")
        return g, y, weight

    def extra_repr(self) -> str:
        settings = {"per_output": False, "reduction": "mean", "ignore_index": None, "process_group": None, "running": None}
        return ", ".join(f"{name}={getattr(self, name)!r}" for name, default in settings.items() if getattr(self, name) != default)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *arguments: Any) -> None:
        # A buffer without a shape yet takes that of the saved one.
        self.kept = state_dict.get(prefix + "kept")
        if self.kept is not None:
            self.kept = self.kept.clone()
        super()._load_from_state_dict(state_dict, prefix, *arguments)


class BCELoss(SummedLossModule):
    """Binary cross-entropy on logits, the weighted mean: BCEWithLogitsLoss with everything that `SummedLossModule` adds."""

    name = "bce"


class GMNLoss(SummedLossModule):
    """One minus the soft G-Mean, 1 − √(TPR·TNR) (Eq. 9). Arguments as in `SummedLossModule`.

    >>> logits, target = torch.tensor([-2.0, 0.0]), torch.tensor([0, 1])
    >>> round(float(GMNLoss()(logits, target)), 4)
    0.3364
    """

    name = "gmn"


class RootGMNLoss(SummedLossModule):
    """Between GMN and balanced cross-entropy: 4(1 − √(A₁A₀)), A₁ and A₀ each class's mean fourth root of the probability of being right.

    What `ASTraClassifier` trains on. Arguments as in `SummedLossModule`.
    """

    name = "root_gmn"


class F1Loss(SummedLossModule):
    """One minus the soft F1, (FP+FN)/(2TP+FP+FN). Arguments as in `SummedLossModule`."""

    name = "f1"


class MCCLoss(SummedLossModule):
    """One minus the soft Matthews correlation, in [0, 2]. Arguments as in `SummedLossModule`."""

    name = "mcc"


class BalancedAccuracyLoss(SummedLossModule):
    """One minus the soft balanced accuracy, (FNR+FPR)/2. Arguments as in `SummedLossModule`."""

    name = "balanced_accuracy"


class Memory:
    """The decayed sums of earlier batches, kept in the loss's buffer `kept`."""

    def __init__(self, owner: SummedLossModule) -> None:
        self.owner = owner

    def joined(self, sums: Sums) -> tuple[Sums, Tensor]:
        """(decayed earlier sums + these, how many batches they amount to); remembers them, for each output where they are finite."""
        owner, name = self.owner, self.owner.name
        decay = float(owner.running or 0.0)
        before = _no_memory(name, sums[0]) if owner.kept is None else owner.kept.to(sums[0])
        *earlier, ages = before.unbind(0)
        sums = SUMMED[name].add(_decayed(name, tuple(earlier), decay), sums, xp=eager)
        age = 1.0 + decay * ages
        now = torch.stack([*sums, age])
        owner.kept = torch.where(torch.isfinite(now).all(0), now, before)
        return sums, age


class _Summed(torch.autograd.Function):
    """J of the sums, with its closed-form gradient. Returns one loss per output, reduced dimensions kept."""

    @staticmethod
    def forward(
        ctx: Any,
        g: Tensor,
        y: Tensor,
        weight: Tensor | None,
        name: str,
        axis: tuple[int, ...],
        process_group: ProcessGroup | bool | None,
        memory: Memory | None,
    ) -> Tensor:
        total, looks = examined(name, g, y, weight, axis)
        scale: float | Tensor = 1.0
        if process_group is not None:
            total, scale = gather_sums(name, total, process_group), float(world_size(process_group))
        if memory is not None:
            # Sums of n batches have 1/n of one batch's gradient: undo that, so that the step size does not depend on the memory.
            total, age = memory.joined(total)
            scale = scale * age
        ctx.is_plain = process_group is None and memory is None
        ctx.name, ctx.axis = name, axis
        if torch.compiler.is_compiling() and looks:
            # A finished gradient would need all sums before its loop begins: one more loop. Signed slopes tell the classes without labels.
            factors = SUMMED[name].factors(looks[0].sums, total, xp=eager)
            ctx.save_for_backward(g, y, weight, signed(looks[0].slopes, y), *(scale * factor for factor in factors))
        else:
            slope = gradient_at(name, looks, y, total)
            ctx.save_for_backward(g, y, weight, slope if ctx.is_plain else scale * slope)
        value: Tensor = SUMMED[name].value(total, xp=eager)
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (of_loss,) = gradients
        g, y, weight, slope, *factors = ctx.saved_tensors
        if factors:
            of_negatives, of_positives = (of_loss * factor for factor in factors)
            return torch.relu(slope) * of_negatives + torch.relu(-slope) * of_positives, None, None, None, None, None, None
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():  # create_graph=True: to be differentiated once more
            if not ctx.is_plain:
                raise NotImplementedError("a loss with process_group or running sums can be differentiated only once")
            slope = LOSSES[ctx.name].gradient(g, y, weight, axis=ctx.axis, xp=eager)
        return of_loss * slope, None, None, None, None, None, None


class Look(NamedTuple):
    """What `core.sums` made of one block: which rows, their own sums, their slopes."""

    row: slice
    sums: Sums
    slopes: Tensor


def examined(name: str, g: Tensor, y: Tensor, weight: Tensor | None, axis: tuple[int, ...]) -> tuple[Sums, list[Look]]:
    """The batch's sums, and its blocks as they were examined."""
    if g.numel() == 0:
        return _sums_of_nothing(name, g, axis), []
    rows = blocks(g, 2)  # a block's own sums are some hundred operations on single numbers
    if len(rows) == 1:
        sums, slopes = _examine(name, g, y, weight, axis)
        return sums, [Look(rows[0], sums, slopes)]
    if weight is not None:
        weight = weight.expand_as(g)
    looks = [Look(row, *_examine(name, g[row], y[row], None if weight is None else weight[row], axis)) for row in rows]
    return functools.reduce(functools.partial(SUMMED[name].add, xp=eager), (look.sums for look in looks)), looks


def _examine(name: str, g: Tensor, y: Tensor, weight: Tensor | None, axis: tuple[int, ...]) -> tuple[Sums, Tensor]:
    if torch.compiler.is_compiling() or g.is_meta:
        xp = swift_losses if _by_bits(g) else portable if torch.compiler.is_exporting() else eager
        return SUMMED[name].examine(g, y, weight, axis=axis, xp=xp)
    return examine_known(name, g, y, weight, axis=axis, xp=eager)


def gradient_at(name: str, looks: list[Look], y: Tensor, total: Sums) -> Tensor:
    """The gradient at the logits that were looked at, for the sums of everything joined."""
    if not looks:
        return torch.zeros_like(y)
    factors = [SUMMED[name].factors(look.sums, total, xp=eager) for look in looks]
    if len(looks) == 1:
        return gradient(looks[0].slopes, y, factors[0])
    whole = torch.empty_like(y)
    for look, of in zip(looks, factors, strict=True):
        torch.lerp(*of, y[look.row], out=whole[look.row]).mul_(look.slopes)  # `gradient` in place, and in two passes instead of five
    return whole


def _sums_of_nothing(name: str, g: Tensor, axis: tuple[int, ...]) -> Sums:
    """The sums of a rank without examples: those of an example without weight."""
    shape = [1 if dimension in axis else size for dimension, size in enumerate(g.shape)]
    zeros = torch.zeros(shape, dtype=g.dtype, device=g.device)
    sums: Sums = SUMMED[name].examine(zeros, zeros, zeros, axis=axis, xp=eager)[0]
    return sums


def _no_memory(name: str, of: Tensor) -> Tensor:
    """What `kept` starts from, for sums of that shape: those of nothing, which amount to no batch."""
    return torch.stack([*_sums_of_nothing(name, of, axis=(0,)), torch.zeros_like(of)])  # dimension 0 is always summed over


def _decayed(name: str, sums: Sums, decay: float) -> Sums:
    """Every sum times the decay, for each class as long as it weighs more than `LEAST`."""
    if name == "bce":
        left = _left(sums[1], decay)
        return sums[0] * left, sums[1] * left
    if name in ("gmn", "root_gmn"):
        of_1, of_0, m1, m0, *depths = sums
        left_of_1, left_of_0 = _left(m1, decay), _left(m0, decay)
        return _part(name, of_1, m1, left_of_1), _part(name, of_0, m0, left_of_0), m1 * left_of_1, m0 * left_of_0, *depths
    tn, fp, fn, tp = sums
    left_of_0, left_of_1 = _left(tn + fp, decay), _left(fn + tp, decay)
    return tn * left_of_0, fp * left_of_0, fn * left_of_1, tp * left_of_1


def _left(total: Tensor, decay: float) -> Tensor:
    """What a step leaves of sums of that total weight: the decay, but 1 from `LEAST` on."""
    return torch.clamp(LEAST / total, decay, 1.0)


def _part(name: str, of_class: Tensor, total: Tensor, left: Tensor) -> Tensor:
    """A class's sum times `left`; GMN's is a logarithm.

    That goes by way of the rate: ln `left`, added at every step, would be rounded the same way each time, and the rate would drift.
    """
    if name == "root_gmn":
        return of_class * left
    return (of_class - torch.log(at_least(total, TINY, eager))) + torch.log(at_least(total * left, TINY, eager))


def _check_kinds(logits: Tensor, target: Tensor, sample_weight: Tensor | None) -> None:
    if not isinstance(logits, Tensor):
        raise TypeError(f"logits must be a tensor; found {type(logits).__name__}")
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating point; found {logits.dtype}")
    if not isinstance(target, Tensor) or target.is_complex():
        raise TypeError(f"target must be a real tensor; found {getattr(target, 'dtype', type(target).__name__)}")
    if target.shape != logits.shape:
        hint = " (use logits.squeeze(-1) or target.unsqueeze(-1))" if target.numel() == logits.numel() else ""
        raise ValueError(f"target must have the shape of logits, {tuple(logits.shape)}; found {tuple(target.shape)}{hint}")
    if sample_weight is not None and not isinstance(sample_weight, Tensor):
        raise TypeError(f"sample_weight must be a tensor; found {type(sample_weight).__name__}")
    if sample_weight is not None and not _broadcasts(sample_weight.shape, logits.shape):
        raise ValueError(f"sample_weight must broadcast to the shape of logits, {tuple(logits.shape)}; found {tuple(sample_weight.shape)}")
    if sample_weight is not None and sample_weight.requires_grad and torch.is_grad_enabled():
        raise ValueError("sample_weight gets no gradient; found one that requires it: pass sample_weight.detach()")


def _broadcasts(shape: torch.Size, to: torch.Size) -> bool:
    return len(shape) <= len(to) and all(mine in (1, theirs) for mine, theirs in zip(shape[::-1], to[::-1], strict=False))


def _check_weight(weight: Tensor | None) -> None:
    if weight is not None and not weight.is_meta and not bool((torch.isfinite(weight) & (weight >= 0)).all()):
        raise ValueError("sample_weight must be finite and at least 0")


def _all_labels(y: Tensor) -> bool:
    """Whether all are 0 or 1, by y² − y = 0, which costs less than two comparisons."""
    if y.numel() == 0 or y.is_meta:
        return True
    y = y.reshape(-1) if y.ndim == 0 else y
    extremes = [torch.aminmax(y[row] * y[row] - y[row]) for row in blocks(y)]
    return all(bool((low == 0) & (high == 0)) for low, high in extremes)


def _without(absent: Tensor, g: Tensor, y: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """The same with label 0 and weight 0 where the label is missing, and logit 0, lest a NaN there spread.

    absent: as in `_blanked`.
    """
    present = torch.ones_like(y) if weight is None else weight.expand_as(y)
    known: Tensor = _Known.apply(absent, g)  # type: ignore[no-untyped-call]
    return known, _blanked(absent, y), _blanked(absent, present)


def _blanked(absent: Tensor, values: Tensor) -> Tensor:
    """The values, 0 where absent: a mask, or of float32 the bits that are to be kept."""
    if absent.dtype == torch.bool:
        return torch.where(absent, torch.zeros((), dtype=values.dtype, device=values.device), values)
    return (values.view(torch.int32) & absent).view(torch.float32)


def _bits_to_keep(y: Tensor) -> Tensor:
    """All bits, or none where y is NaN: larger than infinity as bits. Selecting by a comparison took compiled losses twice as long."""
    return (y.abs().view(torch.int32) - 0x7F800001) >> 31


def _by_bits(x: Tensor) -> bool:
    """Whether arithmetic on the bits of x serves: not on their way into a file, for ONNX has none."""
    return x.dtype == torch.float32 and not torch.compiler.is_exporting()


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
