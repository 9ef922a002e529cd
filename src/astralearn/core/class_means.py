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

        def of_class(right: Array, wrong: Array) -> ClassMeans:
            total = right + wrong
            log_right = _log_mean(right, total, peak=0.0, power=1.0, xp=xp)
            return ClassMeans(total, wrong / or_one(total, xp), log_right)

        return cls(of_class(tn, fp), of_class(tp, fn))


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
) -> Counted:
    """Count logits of both classes, mixed, in one pass.

    g: logits, any shape.
    y: labels 0 and 1 of that shape, floating.
    weight: ≥ 0, broadcast to it, or None.
    power: q of the loss.
    peaked: whether to look for the peaks; otherwise they are 0.
    with_wrong: whether the mean wrong is wanted.
    """
    weights = _times(weight, 1.0 - y), _times(weight, y)

    def total(values: Array) -> Array:
        return xp.sum(values, axis=axis, keepdims=True)

    totals = total(weights[0]), total(weights[1])
    zeros = tuple(xp.zeros_like(of_class) for of_class in totals)
    if power == 0:
        m = signed(g, y)
        wrong, log_right = sigmoid(m, xp), -softplus(m, xp)
        # Dividing before summing keeps the mean of huge losses finite.
        n = _number_summed(g, axis)
        logs = [
            total(of_class * (log_right / n)) * (n / or_one(weight_of_class, xp))
            for of_class, weight_of_class in zip(weights, totals, strict=True)
        ]
        pulled, wrongs, peaks = wrong, (wrong, wrong), zeros
    else:
        if peaked:
            powers, wrong, peaks = _in_units_of_peaks(g, y, weight, weights, power, axis, xp)
            rights, wrongs, pulled = (powers, powers), (wrong, wrong), powers * wrong
        elif power == 1:
            not_z, z = right_and_wrong(g, xp)
            rights, wrongs, pulled, peaks = (not_z, z), (z, not_z), z * not_z, zeros
        else:
            m = signed(g, y)
            wrong, powers = sigmoid(m, xp), xp.exp(-power * softplus(m, xp))
            rights, wrongs, pulled, peaks = (powers, powers), (wrong, wrong), powers * wrong, zeros
        logs = [
            _log_mean(total(of_class * right), weight_of_class, peak, power, xp)
            for of_class, right, weight_of_class, peak in zip(
                weights, rights, totals, peaks, strict=True
            )
        ]
    mean_wrongs = zeros
    if with_wrong:
        mean_wrongs = tuple(
            total(of_class * wrong) / or_one(weight_of_class, xp)
            for of_class, wrong, weight_of_class in zip(weights, wrongs, totals, strict=True)
        )
    negatives, positives = (
        ClassMeans(*parts) for parts in zip(totals, mean_wrongs, logs, strict=True)
    )
    return Counted(Means(negatives, positives), peaks, _times(weight, pulled))


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
