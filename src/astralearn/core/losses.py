"""What a loss is, and LOSSES, the table of them: to add one, add an entry.

J depends on the examples only through each class's weight and log_right (`class_means`), so

    ∂J/∂gᵢ = ±(−∂J/∂log_right) wᵢ (rightᵢ/M)^q wrongᵢ / Σw,   − for a positive:

whoever adds the means up over chunks, shards or workers has each one's exact gradient.

GMN and cross-entropy are two ends of one family, J = (1 − √(M₁M₀)^q)/q: q = 1 is GMN, and as q → 0
J becomes half the sum of each class's mean cross-entropy. An example far on the wrong side has no
pull under GMN and the strongest under cross-entropy. `root_gmn_loss` stands between, at q = ¼.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

from astralearn.core import class_means, counting
from astralearn.core.class_means import LOG_NOTHING, ClassMeans, Means, means_of_sums
from astralearn.core.confusion import SoftConfusion, labelled_logits, mcc_scale, ratio, signed
from astralearn.core.counting import Counted, CountedPart, divisor_of_all, mean_log, no_peaks
from astralearn.core.elementary import at_least, is_numpy, or_one, sigmoid
from astralearn.core.inputs import Array, ArrayLike, Axis

# This is the q of `root_gmn_loss`.
ROOT = 0.25

# Means of right^q above e to this have lost nothing without peaks: float32 reaches to e^−87.
_SHALLOW = -60.0

# The exponent of a factor stops here; float32 holds e to it.
_HIGHEST = 80.0


@dataclass(frozen=True)
class Loss:
    """A loss as a function of both classes' means.

    power: q ≥ 0 of the means that it sees; 0 is a mean over examples that do not see each other.
    of_means: (means, *, xp) → J, one per output.
    falls: (means, *, xp) → −∂J/∂log_right of the negatives and of the positives.
    reads_wrong: whether `of_means` or `falls` read the mean wrong.
    is_logarithmic: whether J needs log_right where right underflows.

    >>> import numpy as np
    >>> round(float(LOSSES["gmn"].value(np.array([-2.0, 0.0]), np.array([0, 1]))), 4)
    0.3364
    """

    power: float
    of_means: Callable[..., Array]
    falls: Callable[..., tuple[Array, Array]]
    reads_wrong: bool = False
    is_logarithmic: bool = False

    @property
    def is_mean(self) -> bool:
        """Whether it is a weighted mean over examples, which do not see each other."""
        return self.power == 0

    def confusion(self, means: Means, *, xp: Any) -> SoftConfusion:
        """The soft counts of means that hold the mean wrong; 0 for a class without weight."""
        (n, fpr, log_tnr), (m, fnr, log_tpr) = means
        if self.power == 1:
            tnr, tpr = xp.exp(log_tnr), xp.exp(log_tpr)
        else:
            # Two sums may differ by a rounding: a count below 0 has no root.
            tnr, tpr = at_least(1.0 - fpr, 0.0, xp), at_least(1.0 - fnr, 0.0, xp)
        return SoftConfusion(tn=n * tnr, fp=n * fpr, fn=m * fnr, tp=m * tpr)

    def value(
        self,
        logits: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        *,
        axis: Axis = None,
        xp: Any = None,
    ) -> Array:
        """J of labelled logits; arguments as in `loss_functions`."""
        xp, g, y, weight = labelled_logits(logits, y, sample_weight, xp)
        return xp.sum(self._values(g, y, weight, axis, xp), axis=axis)

    def gradient(
        self,
        logits: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        *,
        axis: Axis = None,
        xp: Any = None,
    ) -> Array:
        """∂J/∂g, shaped as the logits; arguments as in `loss_functions`."""
        xp, g, y, weight = labelled_logits(logits, y, sample_weight, xp)
        return self._gradient(g, y, weight, axis, xp)

    def count(
        self, g: Array, y: Array, weight: Array, *, axis: Axis, xp: Any, is_final: bool = True
    ) -> Counted:
        """What this loss needs of arrays g, y and weight: see `counting.count`."""
        return counting.count(
            g,
            y,
            weight,
            power=self.power,
            peaked=self.is_logarithmic,
            with_wrong=self.reads_wrong,
            axis=axis,
            xp=xp,
            is_final=is_final,
        )

    def count_known(
        self, parts: Sequence[tuple[Array, Array, Array]], *, axis: Axis, xp: Any
    ) -> tuple[Means, list[CountedPart]]:
        """As `count`, for values that can be looked at, in parts.

        Counts without peaks first, which nearly always serves.

        parts: (g, y, weight) of each.
        """
        if self.power:
            look = partial(
                counting.sum_up,
                power=self.power,
                with_wrong=self.reads_wrong,
                axis=axis,
                xp=xp,
                is_final=True,
            )
            summed = [look(*part) for part in parts]
            sums = [reduce(add, each) for each in zip(*(sums for sums, _ in summed), strict=True)]
            means = means_of_sums(sums, power=self.power, xp=xp)
            if not self.is_logarithmic or bool(xp.all(self.is_shallow(means))):
                peaks = no_peaks(means, xp)
                return means, [CountedPart(peaks, pulls) for _, pulls in summed]
        counted = [self.count(*part, axis=axis, xp=xp) for part in parts]
        means = reduce(partial(self.add, xp=xp), (part.means for part in counted))
        return means, [CountedPart(part.peaks, part.pulls) for part in counted]

    def is_shallow(self, means: Means) -> Array:
        """For each output, whether means counted without peaks are exact."""
        negatives, positives = means
        least = _SHALLOW / self.power if self.power else LOG_NOTHING
        return (negatives.log_right > least) & (positives.log_right > least)

    def add(self, mine: Means, theirs: Means, *, xp: Any) -> Means:
        """The means of two shards together."""
        return class_means.add(mine, theirs, power=self.power, xp=xp)

    def factors(self, means: Means, peaks: tuple[Array, Array], *, xp: Any) -> tuple[Array, Array]:
        """What multiplies the pulls of negatives and of positives, both ≥ 0.

        means: of everything that the loss is taken over.
        peaks: of the pulls, which may be those of one shard.
        """
        of_negatives, of_positives = (
            fall / or_one(of_class.total, xp) * self._unit(of_class, peak, xp)
            for fall, of_class, peak in zip(self.falls(means, xp=xp), means, peaks, strict=True)
        )
        return of_negatives, of_positives

    def _unit(self, of_class: ClassMeans, peak: Array, xp: Any) -> Array:
        """e^peak/M^q."""
        return xp.exp(xp.clip(peak - self.power * of_class.log_right, LOG_NOTHING, _HIGHEST))

    def _values(self, g: Array, y: Array, weight: Array, axis: Axis, xp: Any) -> Array:
        """One J per output, reduced dimensions kept."""
        return self.of_means(self._looked(g, y, weight, axis, xp).means, xp=xp)

    def _gradient(self, g: Array, y: Array, weight: Array, axis: Axis, xp: Any) -> Array:
        found = self._looked(g, y, weight, axis, xp)
        factors = self.factors(found.means, found.peaks, xp=xp)
        return class_means.gradient(found.pulls, y, factors)

    def _looked(self, g: Array, y: Array, weight: Array, axis: Axis, xp: Any) -> Counted:
        """As `count`, without peaks where NumPy's values show no need of them."""
        if not (self.is_logarithmic and is_numpy(xp)):
            return self.count(g, y, weight, axis=axis, xp=xp, is_final=False)
        means, (part,) = self.count_known([(g, y, weight)], axis=axis, xp=xp)
        return Counted(means, *part)


class MeanLoss(Loss):
    """Cross-entropy, a mean over all examples, which need not tell the classes apart."""

    def _values(self, g: Array, y: Array, weight: Array, axis: Axis, xp: Any) -> Array:
        whole = divisor_of_all(g, weight, axis, xp)
        return -mean_log(signed(g, y), weight, whole, axis, xp)

    def _gradient(self, g: Array, y: Array, weight: Array, axis: Axis, xp: Any) -> Array:
        each = (1.0 if weight is None else weight) / divisor_of_all(g, weight, axis, xp)
        return signed(each * sigmoid(signed(g, y), xp), y)


def _mean_value(means: Means, *, xp: Any) -> Array:
    shares = _mean_falls(means, xp=xp)
    return -(shares[0] * means.negatives.log_right + shares[1] * means.positives.log_right)


def _mean_falls(means: Means, *, xp: Any) -> tuple[Array, Array]:
    """Each class's part of the whole weight.

    As 1/(1 + m/n): XLA turns n/(n + m)/n into n/((n + m) n), and float32 loses that square.
    """
    n, m = means.negatives.total, means.positives.total
    of_negatives = xp.where(n > 0, 1.0 / (1.0 + m / or_one(n, xp)), 0.0)
    of_positives = xp.where(m > 0, 1.0 / (1.0 + n / or_one(m, xp)), 0.0)
    return of_negatives, of_positives


def _geometric(power: float) -> Loss:
    """(1 − √(M₁M₀)^q)/q."""

    def log_root(means: Means) -> Array:
        return 0.5 * power * (means.negatives.log_right + means.positives.log_right)

    def of_means(means: Means, *, xp: Any) -> Array:
        return -xp.expm1(log_root(means)) / power

    def falls(means: Means, *, xp: Any) -> tuple[Array, Array]:
        half = 0.5 * xp.exp(log_root(means))
        return half, half

    return Loss(power, of_means, falls, is_logarithmic=True)


def _f1_value(means: Means, *, xp: Any) -> Array:
    return 1.0 - _counts(means, xp).f1


def _f1_falls(means: Means, *, xp: Any) -> tuple[Array, Array]:
    c = _counts(means, xp)
    union = 2.0 * c.tp + c.fp + c.fn
    return 2.0 * c.tp / union * (c.tn / union), 2.0 * c.tp / union * ((union - c.tp) / union)


def _mcc_value(means: Means, *, xp: Any) -> Array:
    return 1.0 - _counts(means, xp).mcc


def _mcc_falls(means: Means, *, xp: Any) -> tuple[Array, Array]:
    c = _counts(means, xp)
    scale, half = mcc_scale(c), 0.5 * c.mcc
    shift = ratio(half, c.tp + c.fp, xp) - ratio(half, c.tn + c.fn, xp)
    return c.tnr * scale + c.tn * shift, c.tpr * scale - c.tp * shift


def _balanced_accuracy_value(means: Means, *, xp: Any) -> Array:  # noqa: ARG001 (one signature)
    return 0.5 * (means.negatives.wrong + means.positives.wrong)


def _balanced_accuracy_falls(means: Means, *, xp: Any) -> tuple[Array, Array]:
    return 0.5 * xp.exp(means.negatives.log_right), 0.5 * xp.exp(means.positives.log_right)


#: Every loss by its name: a function of the means of two classes. A loss of your own joins it.
LOSSES: dict[str, Loss] = {
    "bce": MeanLoss(0.0, _mean_value, _mean_falls),
    "gmn": _geometric(1.0),
    "f1": Loss(1.0, _f1_value, _f1_falls, reads_wrong=True),
    "mcc": Loss(1.0, _mcc_value, _mcc_falls, reads_wrong=True),
    "balanced_accuracy": Loss(
        1.0, _balanced_accuracy_value, _balanced_accuracy_falls, reads_wrong=True
    ),
    "root_gmn": _geometric(ROOT),
}


def _counts(means: Means, xp: Any) -> SoftConfusion:
    return LOSSES["f1"].confusion(_in_units(means, xp), xp=xp)


def _in_units(means: Means, xp: Any) -> Means:
    """The same means with totals near 1; an empty class is one found example.

    Ratios of counts do not see the unit, the geometric mean of both totals. Quotients are
    differentiated with the square of their divisor, which float32 loses beyond 1e±19.
    """
    negatives, positives = means
    n, m = or_one(negatives.total, xp), or_one(positives.total, xp)
    # Beyond a ratio of 1e36, which float32 holds, the lesser total counts as that little.
    n, m = xp.maximum(n, 1e-36 * m), xp.maximum(m, 1e-36 * n)
    ratio_of_totals = xp.sqrt(n / m)
    return Means(
        negatives._replace(total=ratio_of_totals), positives._replace(total=1.0 / ratio_of_totals)
    )
