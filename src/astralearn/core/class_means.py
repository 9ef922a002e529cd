"""What a class adds up to: all that a loss needs of a batch, a shard or a chunk.

Write m for the logit of being wrong (g for a negative, −g for a positive) and right = σ(−m). A loss
of power q sees a class through three numbers: its weight Σw, its mean wrong = σ(m), and

    log_right = ln M,   M = (Σ w right^q / Σw)^{1/q},

the logarithm of the power mean of being right; for q = 0 that is the mean of ln right. An example
pulls at log_right by its share of the class's Σ w right^q, times wrong:

    −∂log_right/∂mᵢ = wᵢ (rightᵢ/M)^q wrongᵢ / Σw.

Sums of right^q are taken in units of e^peak, with peak next to the logarithm of the largest right^q
of the class. So they are exact even where every example of a class is lost. Arrays only, unchecked.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from astralearn.core.confusion import SoftConfusion, right_and_wrong, signed
from astralearn.core.elementary import TINY, at_least, minus_abs, or_one, sigmoid, softplus
from astralearn.core.inputs import Array, Axis

# Stands for ln 0: finite, so that differences stay finite, and below the logarithm of anything.
LOG_NOTHING = -1e30


class ClassMeans(NamedTuple):
    """What one class adds up to, one number per output.

    total: Σw ≥ 0. A class without weight counts as found: its other numbers are 0.
    wrong: mean of σ(m), FPR or FNR; 0 where the loss does not read it.
    log_right: ln of the power mean of σ(−m), ≤ 0.
    """

    total: Array
    wrong: Array
    log_right: Array


class Means(NamedTuple):
    """Both classes' means."""

    negatives: ClassMeans
    positives: ClassMeans

    @property
    def flat(self) -> tuple[Array, ...]:
        """The six arrays, all of one shape, for who stacks or sends them."""
        return (*self.negatives, *self.positives)

    @classmethod
    def of_flat(cls, parts: Any) -> Means:
        """What `flat` was made of."""
        *negatives, total, wrong, log_right = parts
        return cls(ClassMeans(*negatives), ClassMeans(total, wrong, log_right))

    @classmethod
    def of_counts(cls, counts: SoftConfusion, *, xp: Any) -> Means:
        """The means for power 1 of soft counts that were added up elsewhere."""
        tn, fp, fn, tp = counts
        return means_of_sums((tn + fp, fp, tn, fn + tp, fn, tp), power=1.0, xp=xp)


class Part(NamedTuple):
    """What a part of a batch keeps for its gradient, as in `Counted`."""

    peaks: tuple[Array, Array]
    pulls: Array


class Counted(NamedTuple):
    """What one look at labelled logits gives.

    Reduced dimensions are kept, with size 1.

    means: of both classes.
    peaks: of negatives and of positives: e^peak is the unit of their pulls.
    pulls: w right^q wrong / e^peak, of the shape of the logits.
    """

    means: Means
    peaks: tuple[Array, Array]
    pulls: Array


def count(
    g: Array,
    y: Array,
    weight: Array,
    *,
    power: float,
    peaked: bool,
    with_wrong: bool,
    axis: Axis,
    xp: Any,
    with_logs: bool = True,
    with_pulls: bool = True,
) -> Counted:
    """Count logits of both classes, mixed, in one pass.

    g: logits, any shape.
    y: labels 0 and 1 of that shape, floating.
    weight: ≥ 0, broadcast to it, or None.
    power: q of the loss.
    peaked: whether to look for the peaks; otherwise they are 0.
    with_wrong: whether the mean wrong is wanted.
    with_logs, with_pulls: for power 0, whether log_right and pulls are wanted; 0 and None if not.
    """
    if power == 0:
        return _count_logs(g, y, weight, with_wrong, with_logs, with_pulls, axis, xp)
    if not peaked:
        sums, pulls = sum_up(g, y, weight, power=power, with_wrong=with_wrong, axis=axis, xp=xp)
        means = means_of_sums(sums, power=power, xp=xp)
        return Counted(means, no_peaks(means, xp), pulls)
    weights = _of_classes(weight, y)
    powers, wrong, peaks = _in_units_of_peaks(g, y, weight, weights, power, axis, xp)
    negatives, positives = (
        _means_of(of_class, powers, wrong if with_wrong else None, peak, power, axis, xp)
        for of_class, peak in zip(weights, peaks, strict=True)
    )
    return Counted(Means(negatives, positives), peaks, _times(weight, powers * wrong))


def sum_up(
    g: Array,
    y: Array,
    weight: Array,
    *,
    power: float,
    with_wrong: bool,
    axis: Axis,
    xp: Any,
) -> tuple[tuple[Array, ...], Array]:
    """Σw, Σw wrong and Σw right^q of both classes, without peaks, and the pulls.

    Sums of parts may be added. Arguments as in `count`, but for a power above 0.
    """
    if power == 1:
        rights = right_and_wrong(g, xp)
        wrongs, pulled = rights[::-1], rights[0] * rights[1]
    else:
        m = signed(g, y)
        wrong, powers = sigmoid(m, xp), xp.exp(-power * softplus(m, xp))
        rights, wrongs, pulled = (powers, powers), (wrong, wrong), powers * wrong
    sums = []
    for of_class, right, wrong in zip(_of_classes(weight, y), rights, wrongs, strict=True):
        of_right = _sum(of_class * right, axis, xp)
        of_wrong = _sum(of_class * wrong, axis, xp) if with_wrong else xp.zeros_like(of_right)
        # Right and wrong add up to 1: a third pass over the rows would find nothing new.
        is_known = power == 1 and with_wrong
        sums += [of_right + of_wrong if is_known else _sum(of_class, axis, xp), of_wrong, of_right]
    return tuple(sums), _times(weight, pulled)


def means_of_sums(sums: Any, *, power: float, xp: Any) -> Means:
    """The means of Σw, Σw wrong and Σw right^q of both classes; for power 0 Σw ln right."""

    def of_class(total: Array, wrong: Array, right: Array) -> ClassMeans:
        divisor = or_one(total, xp)
        log_right = _log_mean(right, total, 0.0, power, xp) if power else right / divisor
        return ClassMeans(total, wrong / divisor, log_right)

    return Means(of_class(*sums[:3]), of_class(*sums[3:]))


def no_peaks(means: Means, xp: Any) -> tuple[Array, Array]:
    """The peaks of pulls that are as they are."""
    zero = xp.zeros_like(means.negatives.total)
    return zero, zero


def count_class(
    wrong: Array,
    right: Array,
    log_right: Array,
    weight: Array,
    *,
    power: float,
    peaked: bool,
    axis: Axis,
    xp: Any,
) -> tuple[ClassMeans, Array, Array]:
    """Count examples of one class from what `core.warp` knows of them.

    wrong, right, log_right: σ(m), σ(−m) and its logarithm; None where that is not wanted.
    weight: ≥ 0, of their shape.
    power, peaked: as in `count`.
    Returns the means, the peak, and each example's w right^q/e^peak.
    """
    total = xp.sum(weight, axis=axis)
    divisor = or_one(total, xp)
    peak = xp.zeros_like(total)
    if power == 0:
        shares = weight
        log_mean = peak if log_right is None else xp.sum(weight * log_right, axis=axis) / divisor
    else:
        if peaked:
            logs = power * log_right
            peak = _highest(logs, _is_zero(weight, xp), axis=axis, keepdims=True, xp=xp)
            # Above 0 only for examples without weight.
            shares = weight * xp.exp(xp.clip(logs - peak, LOG_NOTHING, 0.0))
            peak = xp.squeeze(peak, axis=axis)
        else:
            shares = weight * _raised(right, power, xp)
        log_mean = _log_mean(xp.sum(shares, axis=axis), total, peak, power, xp)
    return ClassMeans(total, xp.sum(weight * wrong, axis=axis) / divisor, log_mean), peak, shares


def add(mine: Means, theirs: Means, *, power: float, xp: Any) -> Means:
    """The means of both sets of examples together."""
    negatives, positives = (
        add_class(of_class, others, power=power, xp=xp)
        for of_class, others in zip(mine, theirs, strict=True)
    )
    return Means(negatives, positives)


def add_class(mine: ClassMeans, theirs: ClassMeans, *, power: float, xp: Any) -> ClassMeans:
    """The means of two sets of one class's examples together."""
    total = mine.total + theirs.total
    shares = [part.total / or_one(total, xp) for part in (mine, theirs)]
    if power == 0:
        log_right = shares[0] * mine.log_right + shares[1] * theirs.log_right
    else:
        logs = [
            xp.where(share > 0, power * part.log_right + xp.log(or_one(share, xp)), LOG_NOTHING)
            for share, part in zip(shares, (mine, theirs), strict=True)
        ]
        log_right = xp.where(total > 0, xp.logaddexp(*logs) / power, 0.0)
    return ClassMeans(total, shares[0] * mine.wrong + shares[1] * theirs.wrong, log_right)


def scaled(means: Means, of_negatives: Array, of_positives: Array) -> Means:
    """The means of examples whose weights are multiplied by a factor for each class."""
    negatives, positives = means
    return Means(
        negatives._replace(total=negatives.total * of_negatives),
        positives._replace(total=positives.total * of_positives),
    )


def gradient(pulls: Array, y: Array, factors: tuple[Array, Array]) -> Array:
    """The loss's gradient at the logits, from their pulls and `Loss.factors`."""
    of_negatives, of_positives = factors
    return pulls * ((1.0 - y) * of_negatives - y * of_positives)


def _count_logs(
    g: Array,
    y: Array,
    weight: Array,
    with_wrong: bool,
    with_logs: bool,
    with_pulls: bool,
    axis: Axis,
    xp: Any,
) -> Counted:
    """`count` for power 0."""
    m = signed(g, y)
    wrong = sigmoid(m, xp) if with_wrong or with_pulls else None
    # Dividing before summing keeps the mean of huge losses finite.
    n = _number_summed(g, axis)
    log_right = softplus(m, xp) / -n if with_logs else None

    def of_class(weight: Array) -> ClassMeans:
        total = _sum(weight, axis, xp)
        divisor, zero = or_one(total, xp), xp.zeros_like(total)
        return ClassMeans(
            total,
            _sum(weight * wrong, axis, xp) / divisor if with_wrong else zero,
            _sum(weight * log_right, axis, xp) * (n / divisor) if with_logs else zero,
        )

    negatives, positives = map(of_class, _of_classes(weight, y))
    means = Means(negatives, positives)
    return Counted(means, no_peaks(means, xp), _times(weight, wrong) if with_pulls else None)


def _means_of(
    weight: Array, powers: Array, wrong: Array, peak: Array, power: float, axis: Axis, xp: Any
) -> ClassMeans:
    """One class's means, from right^q/e^peak; wrong: None where its mean is not wanted."""
    total = _sum(weight, axis, xp)
    mean_wrong = xp.zeros_like(total)
    if wrong is not None:
        mean_wrong = _sum(weight * wrong, axis, xp) / or_one(total, xp)
    log_right = _log_mean(_sum(weight * powers, axis, xp), total, peak, power, xp)
    return ClassMeans(total, mean_wrong, log_right)


def _of_classes(weight: Array, y: Array) -> tuple[Array, Array]:
    """What negatives weigh and what positives weigh, 0 for the other class."""
    return _times(weight, 1.0 - y), _times(weight, y)


def _sum(values: Array, axis: Axis, xp: Any) -> Array:
    return xp.sum(values, axis=axis, keepdims=True)


def _in_units_of_peaks(
    g: Array,
    y: Array,
    weight: Array,
    weights: tuple[Array, Array],
    power: float,
    axis: Axis,
    xp: Any,
) -> tuple[Array, Array, tuple[Array, Array]]:
    """right^q/e^peak, wrong, and both peaks.

    ln right is at most h = min(−m, 0), and at least h − ln 2. So the largest h of a class serves
    for its peak: it is 0 unless every example is wrong. With r that h, e^{−|m|−r} is all that is
    needed: σ(−m) is e^{−|m|}/(1 + e^{−|m|}) where m ≥ 0, and r = 0 where any m < 0.
    """
    m = signed(g, y)
    bound = xp.clip(-m, LOG_NOTHING, 0.0)
    absent = (
        (y, 1.0 - y) if weight is None else (_is_zero(weights[0], xp), _is_zero(weights[1], xp))
    )
    highest = [_highest(bound, none, axis=axis, keepdims=True, xp=xp) for none in absent]
    of_row = (1.0 - y) * highest[0] + y * highest[1]
    unit_of_row = (1.0 - y) * xp.exp(highest[0]) + y * xp.exp(highest[1])
    # Above 0 only for examples without weight.
    e = xp.exp(xp.clip(minus_abs(m, xp) - of_row, LOG_NOTHING, 0.0))
    small = e * unit_of_row
    share = 1.0 / (1.0 + small)
    wrong = share * xp.where(m < 0, small, 1.0)
    if power == 1:
        powers = share * xp.where(m < 0, 1.0, e)
    else:
        powers = xp.exp(power * (xp.clip(bound - of_row, LOG_NOTHING, 0.0) - xp.log1p(small)))
    return powers, wrong, (power * highest[0], power * highest[1])


def _highest(logs: Array, absent: Array, *, axis: Axis, keepdims: bool, xp: Any) -> Array:
    """The largest logarithm, at most 0, of the examples that are not absent (0 or 1)."""
    return xp.max(logs + LOG_NOTHING * absent, axis=axis, keepdims=keepdims)


def _log_mean(sum_: Array, total: Array, peak: Array, power: float, xp: Any) -> Array:
    """ln of the power mean, from the sum of right^q in units of e^peak."""
    mean = at_least(sum_ / or_one(total, xp), TINY, xp)
    return xp.where(total > 0, (peak + xp.log(mean)) / power, 0.0)


def _raised(right: Array, power: float, xp: Any) -> Array:
    """right^q, by square roots where they serve: libraries take longer for any power."""
    if power == 1:
        return right
    if power == 0.25:
        return xp.sqrt(xp.sqrt(right))
    return xp.exp(power * xp.log(at_least(right, TINY, xp)))


def _number_summed(g: Array, axis: Axis) -> int:
    """How many logits enter each mean; 1 where a compiler does not know yet."""
    dimensions = (
        range(len(g.shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    )
    sizes = [g.shape[dimension] for dimension in dimensions]
    return math.prod(sizes) if None not in sizes else 1


def _times(weight: Array, values: Array) -> Array:
    return values if weight is None else weight * values


def _is_zero(values: Array, xp: Any) -> Array:
    return xp.where(values > 0, 0.0, xp.ones_like(values))
