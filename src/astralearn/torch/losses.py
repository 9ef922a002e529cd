"""The losses of `core.LOSSES` as modules on logits: weights, missing labels, one loss per output, sums over ranks and over time."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from astralearn.core import LOSSES
from astralearn.core.confusion import signed
from astralearn.core.curve import TINY, at_least
from astralearn.core.sums import SUMMED, Sums, add_sums, examine_known, gradient
from astralearn.torch.blocks import blocks
from astralearn.torch.elementary import by_bits, eager, exp_into, portable, swift_losses
from astralearn.torch.labels import check_kinds, known_labels
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

    def forward(
        self, logits: Tensor, target: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
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
            raise ValueError(
                f"per_output wants logits of shape (N, C) or (N, C, …); found {tuple(g.shape)}"
            )
        return (0, *range(2, g.ndim))

    def prepared(
        self, logits: Tensor, target: Tensor, sample_weight: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Logits, labels and weights of one dtype, checked, missing labels turned into 0 with weight 0."""
        check_kinds(logits, target, sample_weight)
        if logits.numel() == 0 and self.process_group is None:
            raise ValueError(
                f"logits must hold at least one value, unless process_group is given; found shape {tuple(logits.shape)}"
            )
        return known_labels(logits, target, sample_weight, self.ignore_index)

    def extra_repr(self) -> str:
        settings = {
            "per_output": False,
            "reduction": "mean",
            "ignore_index": None,
            "process_group": None,
            "running": None,
        }
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
        # The gradient is finished in the backward pass: compiled, here it would need all sums before its loop begins, one more loop; eager,
        # it would be one more pass to multiply it by the gradient of the loss.
        slopes = [look.slopes for look in looks]
        ctx.is_signed = torch.compiler.is_compiling() and bool(looks)
        if ctx.is_signed:
            slopes = [signed(slopes[0], y)]  # which tell the classes without labels
        ctx.rows = [look.row for look in looks]
        ctx.save_for_backward(
            g,
            y,
            weight,
            *slopes,
            *(scale * factor for pair in factors_of(name, looks, total) for factor in pair),
        )
        value: Tensor = SUMMED[name].value(total, xp=eager)
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (of_loss,) = gradients
        g, y, weight, *kept = ctx.saved_tensors
        slopes, factors = (
            kept[: len(ctx.rows)],
            [of_loss * factor for factor in kept[len(ctx.rows) :]],
        )
        if ctx.is_signed:
            of_negatives, of_positives = factors
            in_g = torch.relu(slopes[0]) * of_negatives + torch.relu(-slopes[0]) * of_positives
        elif (
            torch.is_grad_enabled() and not torch.compiler.is_compiling()
        ):  # create_graph=True: to be differentiated once more
            if not ctx.is_plain:
                raise NotImplementedError(
                    "a loss with process_group or running sums can be differentiated only once"
                )
            in_g = of_loss * LOSSES[ctx.name].gradient(g, y, weight, axis=ctx.axis, xp=eager)
        else:
            in_g = gradient_of(
                ctx.rows, slopes, list(zip(factors[::2], factors[1::2], strict=True)), y
            )
        return in_g, None, None, None, None, None, None


class Look(NamedTuple):
    """What `core.sums` made of one block: which rows, their own sums, their slopes."""

    row: slice
    sums: Sums
    slopes: Tensor


def examined(
    name: str, g: Tensor, y: Tensor, weight: Tensor | None, axis: tuple[int, ...]
) -> tuple[Sums, list[Look]]:
    """The batch's sums, and its blocks as they were examined."""
    if g.numel() == 0:
        return _sums_of_nothing(name, g, axis), []
    if torch.compiler.is_compiling() or g.is_meta:
        xp = swift_losses if by_bits(g) else portable if torch.compiler.is_exporting() else eager
        sums, slopes = SUMMED[name].examine(g, y, weight, axis=axis, xp=xp)
        return sums, [Look(slice(None), sums, slopes)]
    rows = blocks(g)
    if len(rows) == 1:
        parts = [(g, y, weight)]
    else:
        weight = None if weight is None else weight.expand_as(g)
        parts = [(g[row], y[row], None if weight is None else weight[row]) for row in rows]
    if name == "bce":
        sums_of_parts, slopes_of_parts = zip(
            *(_bce_examined(*part, axis) for part in parts), strict=True
        )
        total = reduce(partial(add_sums, xp=eager), sums_of_parts)
        return total, [
            Look(row, total, slopes) for row, slopes in zip(rows, slopes_of_parts, strict=True)
        ]  # their own do not count
    total, looks = examine_known(name, parts, axis=axis, xp=eager)
    return total, [Look(row, *look) for row, look in zip(rows, looks, strict=True)]


def _bce_examined(
    g: Tensor, y: Tensor, weight: Tensor | None, axis: tuple[int, ...]
) -> tuple[Sums, Tensor]:
    """`core.sums.bce_examine` in as few passes as there are: ln(1 + e^m) is ln(1 + e^{−|m|}) + max(m, 0), and |m| is |g|."""

    def total(values: Tensor) -> Tensor:
        return (values if weight is None else values.mul_(weight)).sum(axis, keepdim=True)

    m = torch.rsub(y, 1.0, alpha=2.0).mul_(g)
    rest = torch.abs(g)
    entropy = total(exp_into(rest, rest, -1.0).log1p_()) + total(torch.clamp(m, min=0.0, out=rest))
    all_weight = (
        torch.full_like(entropy, g.numel() / entropy.numel())
        if weight is None
        else total(rest.fill_(1.0))
    )
    slopes = m.sigmoid_()
    return (entropy, all_weight), slopes if weight is None else slopes.mul_(weight)


def factors_of(name: str, looks: list[Look], total: Sums) -> list[tuple[Tensor, Tensor]]:
    """From the slopes of each block, or of all where they share their sums, to the gradient of everything joined: for its negatives and for
    its positives."""
    own = [look.sums for look in looks]
    return [
        SUMMED[name].factors(sums, total, xp=eager)
        for sums in (own[:1] if all(sums is own[0] for sums in own) else own)
    ]


def gradient_of(
    rows: list[slice], slopes: list[Tensor], factors: list[tuple[Tensor, Tensor]], y: Tensor
) -> Tensor:
    """The gradient at the logits that were looked at, block by block."""
    if not rows:
        return torch.zeros_like(y)
    if len(rows) == 1:
        whole: Tensor = gradient(slopes[0], y, factors[0])
        return whole
    whole = torch.empty_like(y)
    if len(factors) == 1:
        factors = factors * len(rows)
    for row, slope, of in zip(rows, slopes, factors, strict=True):
        _by_label(*of, y[row], out=whole[row]).mul_(
            slope
        )  # `gradient` in place, and in three passes instead of five
    return whole


def _by_label(of_negatives: Tensor, of_positives: Tensor, y: Tensor, out: Tensor) -> Tensor:
    """Of two numbers (or as many for each output) the first where y is 0, the second where it is 1."""
    if bool(
        (of_negatives.abs() <= of_positives.abs()).all()
    ):  # then their difference loses nothing of either
        return torch.mul(y, of_positives - of_negatives, out=out).add_(of_negatives)
    return torch.lerp(
        of_negatives, of_positives, y, out=out
    )  # which PyTorch does not vectorise for numbers


def _sums_of_nothing(name: str, g: Tensor, axis: tuple[int, ...]) -> Sums:
    """The sums of a rank without examples: those of an example without weight."""
    shape = [1 if dimension in axis else size for dimension, size in enumerate(g.shape)]
    zeros = torch.zeros(shape, dtype=g.dtype, device=g.device)
    sums: Sums = SUMMED[name].examine(zeros, zeros, zeros, axis=axis, xp=eager)[0]
    return sums


def _no_memory(name: str, of: Tensor) -> Tensor:
    """What `kept` starts from, for sums of that shape: those of nothing, which amount to no batch."""
    return torch.stack(
        [*_sums_of_nothing(name, of, axis=(0,)), torch.zeros_like(of)]
    )  # dimension 0 is always summed over


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

    That goes by way of the rate: ln `left`, added at every step, would be rounded the same way each time, and the rate would drift.
    """
    if name == "root_gmn":
        return of_class * left
    return (of_class - torch.log(at_least(total, TINY, eager))) + torch.log(
        at_least(total * left, TINY, eager)
    )
