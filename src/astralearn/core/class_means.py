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

from typing import Any, NamedTuple

from astralearn.core.confusion import SoftConfusion
from astralearn.core.elementary import TINY, at_least, or_one, raised
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


def means_of_sums(sums: Any, *, power: float, xp: Any, peaks: Any = (0.0, 0.0)) -> Means:
    """The means of both classes' Σw, Σw wrong and Σw right^q.

    For power 0 the last is Σw ln right.

    peaks: Σw right^q are in units of e to these.
    """

    def of_class(peak: Array, total: Array, wrong: Array, right: Array) -> ClassMeans:
        divisor = or_one(total, xp)
        log_right = _log_mean(right, total, peak, power, xp) if power else right / divisor
        return ClassMeans(total, wrong / divisor, log_right)

    return Means(of_class(peaks[0], *sums[:3]), of_class(peaks[1], *sums[3:]))


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
    total: Array | None = None,
) -> tuple[ClassMeans, Array, Array]:
    """Count examples of one class from what `core.warp` knows of them.

    wrong, right, log_right: σ(m), σ(−m) and its logarithm; None where that is not wanted.
    weight: ≥ 0, of their shape.
    power, peaked: as in `count`.
    total: Σw, where it is known.
    Returns the means, the peak, and each example's w right^q/e^peak.
    """
    total = xp.sum(weight, axis=axis) if total is None else total
    divisor = or_one(total, xp)
    peak = xp.zeros_like(total)
    if power == 0:
        shares = weight
        log_mean = peak if log_right is None else xp.sum(weight * log_right, axis=axis) / divisor
    else:
        if peaked:
            logs = power * log_right
            peak = highest_of(logs, is_zero(weight, xp), axis=axis, xp=xp)
            # Only examples without weight would be above 0.
            shares = weight * xp.exp(xp.clip(logs - peak, LOG_NOTHING, 0.0))
            peak = xp.squeeze(peak, axis=axis)
        else:
            shares = weight * raised(right, power, xp)
        log_mean = _log_mean(xp.sum(shares, axis=axis), total, peak, power, xp)
    return ClassMeans(total, xp.sum(weight * wrong, axis=axis) / divisor, log_mean), peak, shares


def add(mine: Means, theirs: Means, *, power: float, xp: Any) -> Means:
    """The means of both sets of examples together."""
    pairs = zip(mine, theirs, strict=True)
    return Means(*(add_class(*of_class, power=power, xp=xp) for of_class in pairs))


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


def reweighed(means: Means, of_negatives: Array, of_positives: Array) -> Means:
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


def highest_of(logs: Array, absent: Array, *, axis: Axis, xp: Any) -> Array:
    """The largest logarithm, at most 0, of the examples that are not absent (0 or 1).

    Reduced dimensions are kept, with size 1.
    """
    return xp.max(logs + LOG_NOTHING * absent, axis=axis, keepdims=True)


def _log_mean(sum_: Array, total: Array, peak: Array, power: float, xp: Any) -> Array:
    """ln of the power mean, from the sum of right^q in units of e^peak."""
    mean = at_least(sum_ / or_one(total, xp), TINY, xp)
    return xp.where(total > 0, (peak + xp.log(mean)) / power, 0.0)


def is_zero(values: Array, xp: Any) -> Array:
    """1 where a value is 0, and 0 elsewhere."""
    return xp.where(values > 0, 0.0, xp.ones_like(values))
