"""A batch of both classes in one look: its class means and each logit's pull.

m is the logit of being wrong, right = σ(−m), wrong = σ(m); see `class_means`. Compilers make a loop
of every sum that they cannot join with another, and take what it sums anew: so nothing is summed
that follows from other sums. Arrays only, unchecked.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from astralearn.core.class_means import (
    LOG_NOTHING,
    ClassMeans,
    Means,
    highest_of,
    is_zero,
    means_of_sums,
)
from astralearn.core.confusion import right_and_wrong, right_and_wrong_by, signed
from astralearn.core.elementary import minus_abs, or_one, sigmoid, softplus
from astralearn.core.inputs import Array, Axis

# Up to here float32 holds every number of examples.
_EXACT = 1 << 24


class CountedPart(NamedTuple):
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
    is_final: bool = False,
) -> Counted:
    """Count logits of both classes, mixed, in one pass.

    g: logits, any shape.
    y: labels 0 and 1 of that shape, floating.
    weight: ≥ 0, broadcast to it, or None.
    power: q of the loss.
    peaked: whether to look for the peaks; otherwise they are 0.
    with_wrong: whether the mean wrong is wanted.
    is_final: whether nobody differentiates the means: Σw may then be a sum of two that depend on g.
    """
    if power == 0:
        return _count_logs(g, y, weight, with_wrong, axis, xp)
    if not peaked:
        sums, pulls = sum_up(
            g, y, weight, power=power, with_wrong=with_wrong, axis=axis, xp=xp, is_final=is_final
        )
        means = means_of_sums(sums, power=power, xp=xp)
        return Counted(means, no_peaks(means, xp), pulls)
    powers, wrong, peaks = _in_units_of_peaks(g, y, weight, power, axis, xp)
    sums = _class_sums(
        y, weight, (powers, powers), (wrong, wrong) if with_wrong else None, axis, xp
    )
    means = means_of_sums(sums, power=power, peaks=peaks, xp=xp)
    return Counted(means, peaks, _times(weight, powers * wrong))


def sum_up(
    g: Array,
    y: Array,
    weight: Array,
    *,
    power: float,
    with_wrong: bool,
    axis: Axis,
    xp: Any,
    is_final: bool,
) -> tuple[tuple[Array, ...], Array]:
    """Σw, Σw wrong and Σw right^q of both classes, without peaks, and the pulls.

    Sums of parts may be added. Arguments as in `count`, but for a power above 0.
    """
    if power == 1:
        rights = right_and_wrong(g, xp)
        wrongs, pulled = rights[::-1], rights[0] * rights[1]
    else:
        powers, wrong = right_and_wrong(signed(g, y), xp, power)
        rights, wrongs, pulled = (powers, powers), (wrong, wrong), powers * wrong
    adds_up = is_final and power == 1
    sums = _class_sums(y, weight, rights, wrongs if with_wrong else None, axis, xp, adds_up=adds_up)
    return sums, _times(weight, pulled)


def no_peaks(means: Means, xp: Any) -> tuple[Array, Array]:
    """The peaks of pulls that are as they are."""
    zero = xp.zeros_like(means.negatives.total)
    return zero, zero


def divisor_of_all(g: Array, weight: Array, axis: Axis, xp: Any) -> Array:
    """Σw of both classes, or 1 where that is 0."""
    n = _number_summed(g, axis)
    if weight is None and n is not None:
        return n
    return or_one(_sum(_times(weight, xp.ones_like(g)), axis, xp), xp)


def mean_log(m: Array, weight: Array, divisor: Array, axis: Axis, xp: Any) -> Array:
    """Σw ln right/Σw, given Σw > 0; a weight of None is 1."""
    # Dividing before summing keeps the mean of huge losses finite.
    n = _number_summed(m, axis) or 1
    log_right = softplus(m, xp) * (-1.0 / n)
    return _sum(_times(weight, log_right), axis, xp) * (n / divisor)


def _count_logs(
    g: Array, y: Array, weight: Array, with_wrong: bool, axis: Axis, xp: Any
) -> Counted:
    """`count` for power 0."""
    m = signed(g, y)
    wrong = sigmoid(m, xp)

    def of_class(weight: Array, total: Array) -> ClassMeans:
        divisor = or_one(total, xp)
        return ClassMeans(
            total,
            _sum(weight * wrong, axis, xp) / divisor if with_wrong else xp.zeros_like(total),
            mean_log(m, weight, divisor, axis, xp),
        )

    negatives, positives = map(of_class, _of_classes(weight, y), _totals(y, weight, axis, xp))
    means = Means(negatives, positives)
    return Counted(means, no_peaks(means, xp), _times(weight, wrong))


def _class_sums(
    y: Array,
    weight: Array,
    rights: tuple[Array, Array],
    wrongs: tuple[Array, Array] | None,
    axis: Axis,
    xp: Any,
    *,
    adds_up: bool = False,
) -> tuple[Array, ...]:
    """Σw, Σw wrong and Σw right of both classes; wrong is 0 where it is not wanted.

    adds_up: whether right and wrong add up to 1, so that Σw follows.
    """
    weights = _of_classes(weight, y)
    right = [_sum(w * each, axis, xp) for w, each in zip(weights, rights, strict=True)]
    if wrongs is None:
        wrong = [xp.zeros_like(each) for each in right]
    else:
        wrong = [_sum(w * each, axis, xp) for w, each in zip(weights, wrongs, strict=True)]
    if adds_up and wrongs is not None:
        totals = right[0] + wrong[0], right[1] + wrong[1]
    else:
        totals = _totals(y, weight, axis, xp)
    return totals[0], wrong[0], right[0], totals[1], wrong[1], right[1]


def _totals(y: Array, weight: Array, axis: Axis, xp: Any) -> tuple[Array, Array]:
    """Σw of the negatives and of the positives."""
    negatives, positives = _of_classes(weight, y)
    of_positives = _sum(positives, axis, xp)
    n = _number_summed(y, axis)
    if weight is None and n is not None and n <= _EXACT:
        return n - of_positives, of_positives
    return _sum(negatives, axis, xp), of_positives


def _of_classes(weight: Array, y: Array) -> tuple[Array, Array]:
    """What negatives weigh and what positives weigh, 0 for the other class."""
    return _times(weight, 1.0 - y), _times(weight, y)


def _sum(values: Array, axis: Axis, xp: Any) -> Array:
    return xp.sum(values, axis=axis, keepdims=True)


def _in_units_of_peaks(
    g: Array, y: Array, weight: Array, power: float, axis: Axis, xp: Any
) -> tuple[Array, Array, tuple[Array, Array]]:
    """right^q/e^peak, wrong, and both peaks.

    ln right is at most h = min(−m, 0), and at least h − ln 2. So the largest h of a class serves
    for its peak: it is 0 unless every example is wrong. With r that h, e^{−|m|−r} is all that is
    needed: σ(−m) is e^{−|m|}/(1 + e^{−|m|}) where m ≥ 0, and r = 0 where any m < 0.
    """
    m = signed(g, y)
    bound = xp.clip(-m, LOG_NOTHING, 0.0)
    absent = (y, 1.0 - y)
    if weight is not None:
        absent = tuple(is_zero(each, xp) for each in _of_classes(weight, y))
    highest = [highest_of(bound, none, axis=axis, xp=xp) for none in absent]
    below = minus_abs(m, xp) - ((1.0 - y) * highest[0] + y * highest[1])
    if weight is not None:
        # Only examples without weight would be above 0.
        below = xp.clip(below, LOG_NOTHING, 0.0)
    unit = (1.0 - y) * xp.exp(highest[0]) + y * xp.exp(highest[1])
    powers, wrong = right_and_wrong_by(below, m, unit, power, xp)
    return powers, wrong, (power * highest[0], power * highest[1])


def _number_summed(g: Array, axis: Axis) -> int | None:
    """How many logits enter each mean; None where a compiler does not know yet."""
    dimensions = (
        range(len(g.shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    )
    sizes = [g.shape[dimension] for dimension in dimensions]
    return None if None in sizes else math.prod(sizes)


def _times(weight: Array, values: Array) -> Array:
    return values if weight is None else weight * values
