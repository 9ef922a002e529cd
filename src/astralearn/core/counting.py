"""A batch of both classes in one look: its class means and each logit's pull.

m is the logit of being wrong, right = σ(−m), wrong = σ(m); see `class_means`. Arrays only,
unchecked.
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
from astralearn.core.confusion import right_and_wrong, signed
from astralearn.core.elementary import minus_abs, or_one, sigmoid, softplus
from astralearn.core.inputs import Array, Axis


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
    sums = _class_sums(weights, (powers, powers), (wrong, wrong) if with_wrong else None, axis, xp)
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
    is_final: bool = False,
) -> tuple[tuple[Array, ...], Array]:
    """Σw, Σw wrong and Σw right^q of both classes, without peaks, and the pulls.

    Sums of parts may be added. Arguments as in `count`, but for a power above 0.

    is_final: whether nobody differentiates them: Σw may then be the sum of two that depend on g.
    """
    if power == 1:
        rights = right_and_wrong(g, xp)
        wrongs, pulled = rights[::-1], rights[0] * rights[1]
    else:
        m = signed(g, y)
        wrong, powers = sigmoid(m, xp), xp.exp(-power * softplus(m, xp))
        rights, wrongs, pulled = (powers, powers), (wrong, wrong), powers * wrong
    weights = _of_classes(weight, y)
    sums = _class_sums(
        weights, rights, wrongs if with_wrong else None, axis, xp, adds_up=is_final and power == 1
    )
    return sums, _times(weight, pulled)


def no_peaks(means: Means, xp: Any) -> tuple[Array, Array]:
    """The peaks of pulls that are as they are."""
    zero = xp.zeros_like(means.negatives.total)
    return zero, zero


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


def _class_sums(
    weights: tuple[Array, Array],
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
    sums = []
    for k, of_class in enumerate(weights):
        right = _sum(of_class * rights[k], axis, xp)
        wrong = xp.zeros_like(right) if wrongs is None else _sum(of_class * wrongs[k], axis, xp)
        is_known = adds_up and wrongs is not None
        sums += [right + wrong if is_known else _sum(of_class, axis, xp), wrong, right]
    return tuple(sums)


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
    absent = (y, 1.0 - y) if weight is None else (is_zero(weights[0], xp), is_zero(weights[1], xp))
    highest = [highest_of(bound, none, axis=axis, keepdims=True, xp=xp) for none in absent]
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


def _number_summed(g: Array, axis: Axis) -> int:
    """How many logits enter each mean; 1 where a compiler does not know yet."""
    dimensions = (
        range(len(g.shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    )
    sizes = [g.shape[dimension] for dimension in dimensions]
    return math.prod(sizes) if None not in sizes else 1


def _times(weight: Array, values: Array) -> Array:
    return values if weight is None else weight * values
