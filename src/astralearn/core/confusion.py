"""The soft confusion matrix: counts of probabilities, not of decisions (Eq. 8)."""

from __future__ import annotations

from typing import Any, NamedTuple

from astralearn.core.elementary import (
    TINY,
    at_least,
    exp_and_power,
    is_double,
    minus_abs,
    raised,
    softplus,
)
from astralearn.core.inputs import Array, ArrayLike, Axis, as_arrays, check, namespace


class SoftConfusion(NamedTuple):
    """Four counts, soft or hard: numbers, or arrays with one count per output.

    `+` adds shards, and so does `sum`. Every read is finite. A class without any count is read as
    one example of that class, correctly classified: nothing of it was missed, and what the other
    class does still shows. Where both classes are present but nothing is predicted positive (or
    nothing negative), precision and MCC are 0, as in scikit-learn.

    >>> counts = SoftConfusion(tn=90, fp=10, fn=1, tp=4)
    >>> round(float(counts.g_mean), 4), round(float((counts + counts).mcc), 4)
    (0.8485, 0.4385)
    """

    tn: Array
    fp: Array
    fn: Array
    tp: Array

    def __add__(self, other: object) -> SoftConfusion:  # a tuple's + would join eight counts
        if not isinstance(other, SoftConfusion):
            return NotImplemented
        return SoftConfusion(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def __radd__(self, other: object) -> SoftConfusion:
        """0 + counts, with which `sum` begins."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    @property
    def tpr(self) -> Array:
        """True positive rate TP/(TP+FN): sensitivity, recall."""
        _, c = without_empty_class(self)
        return c.tp / (c.tp + c.fn)

    @property
    def tnr(self) -> Array:
        """True negative rate TN/(TN+FP): specificity."""
        _, c = without_empty_class(self)
        return c.tn / (c.tn + c.fp)

    @property
    def fnr(self) -> Array:
        """False negative rate FN/(TP+FN)."""
        _, c = without_empty_class(self)
        return c.fn / (c.tp + c.fn)

    @property
    def fpr(self) -> Array:
        """False positive rate FP/(TN+FP)."""
        _, c = without_empty_class(self)
        return c.fp / (c.tn + c.fp)

    @property
    def precision(self) -> Array:
        """TP/(TP+FP); 0 where nothing is predicted positive."""
        xp, c = without_empty_class(self)
        return ratio(c.tp, c.tp + c.fp, xp)

    @property
    def g_mean(self) -> Array:
        """√(TPR·TNR), Eq. 3."""
        xp, _ = without_empty_class(self)
        return xp.sqrt(self.tpr) * xp.sqrt(self.tnr)

    @property
    def f1(self) -> Array:
        """2TP/(2TP+FP+FN)."""
        _, c = without_empty_class(self)
        return 2.0 * c.tp / (2.0 * c.tp + c.fp + c.fn)

    @property
    def mcc(self) -> Array:
        """Matthews correlation, Eq. 2; 0 where everything is predicted to be of one class."""
        xp, _ = without_empty_class(self)
        # TPR + TNR − 1 as the difference of the two small rates, which does not cancel.
        informedness = xp.where(self.tpr > 0.5, self.tnr - self.fnr, self.tpr - self.fpr)
        return informedness * mcc_scale(self)

    @property
    def balanced_accuracy(self) -> Array:
        """(TPR+TNR)/2."""
        return 0.5 * (self.tpr + self.tnr)

    @property
    def e_ratio(self) -> Array:
        """FNR/FPR (Eq. 11), above 1 where positives are the harder class.

        FPR counts as at least 1e-30; 0/0 is 1.
        """
        xp, _ = without_empty_class(self)
        fnr, fpr = self.fnr, self.fpr
        return xp.where(fnr == fpr, 1.0, fnr / at_least(fpr, TINY, xp))


def soft_confusion(
    logits: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    *,
    axis: Axis = None,
    xp: Any = None,
) -> SoftConfusion:
    """Count probabilities, each times its weight.

        TP = Σ y σ(g),  FN = Σ y σ(−g),  FP = Σ (1−y) σ(g),  TN = Σ (1−y) σ(−g)         (Eq. 8)

    logits: g, any shape.
    y: labels 0 and 1, of the same shape.
    sample_weight: ≥ 0, broadcast to that shape.
    axis: what to sum over; None sums everything, 0 gives one count per output column.

    >>> float(soft_confusion([-2.0, 2.0, 2.0], [0, 0, 1]).fpr)
    0.5
    """
    xp, g, y, weight = labelled_logits(logits, y, sample_weight, xp)
    right, wrong = right_and_wrong(signed(g, y), xp)

    def total(values: Array) -> Array:
        return xp.sum(values if weight is None else weight * values, axis=axis)

    return SoftConfusion(
        tn=total((1.0 - y) * right),
        fp=total((1.0 - y) * wrong),
        fn=total(y * wrong),
        tp=total(y * right),
    )


def labelled_logits(
    logits: ArrayLike, y: ArrayLike, sample_weight: ArrayLike, xp: Any
) -> tuple[Any, Array, Array, Array]:
    """Logits, labels and weights as arrays, checked unless `xp` is given."""
    if xp is not None:
        return xp, logits, y, sample_weight
    xp, g, y, weight = as_arrays(logits=logits, y=y, sample_weight=sample_weight)
    if tuple(g.shape) != tuple(y.shape):
        raise ValueError(
            f"y must have the shape of logits, {tuple(g.shape)}; found {tuple(y.shape)}"
        )
    check(xp, "y", y, (y == 0) | (y == 1), "0 or 1")
    if weight is not None:
        if len(weight.shape) > len(g.shape) or any(
            w not in (1, n) for w, n in zip(weight.shape[::-1], g.shape[::-1], strict=False)
        ):
            raise ValueError(
                f"sample_weight must broadcast to the shape of logits, {tuple(g.shape)}; "
                f"found {tuple(weight.shape)}"
            )
        is_good = xp.isfinite(weight) & (weight >= 0)
        check(xp, "sample_weight", weight, is_good, "finite and at least 0")
        total = xp.sum(weight)
        check(xp, "sample_weight", total, total > 0, "above 0 somewhere (its sum is 0)")
    return xp, g, y, weight


def signed(g: Array, y: Array) -> Array:
    """The logit of being wrong: g for a negative, −g for a positive."""
    return (1.0 - 2.0 * y) * g


def right_and_wrong(m: Array, xp: Any, power: float = 1.0) -> tuple[Array, Array]:
    """σ(−m)^q and σ(m), both with full relative accuracy.

    From one exponential, or by xp's own functions.

    m: the logit of being wrong.
    power: q > 0.
    """
    if hasattr(xp, "sigmoid"):
        right = xp.sigmoid(-m) if power == 1 else xp.exp(-power * softplus(m, xp))
        return right, xp.sigmoid(m)
    return right_and_wrong_by(minus_abs(m, xp), m, None, power, xp)


def right_and_wrong_by(
    below: Array, m: Array, unit: Array, power: float, xp: Any
) -> tuple[Array, Array]:
    """σ(−m)^q in units of `unit`^q, and σ(m).

    below: −|m| − ln unit, at most 0.
    unit: in (0, 1], below 1 only where m ≥ 0; None for 1.
    """
    e, root = exp_and_power(below, power, xp)
    small = e if unit is None else e * unit
    share = 1.0 / (1.0 + small)
    is_right = m < 0
    return (
        raised(share, power, xp) * xp.where(is_right, 1.0, root),
        share * xp.where(is_right, small, 1.0),
    )


def without_empty_class(c: SoftConfusion) -> tuple[Any, SoftConfusion]:
    """The namespace, and a quarter of the counts, so that sums of four stay finite.

    A class that has none gets one correctly classified example. No reading sees the quarter: all
    are ratios.
    """
    xp = namespace(*c)
    tn, fp, fn, tp = (0.25 * part for part in c)
    return xp, SoftConfusion(
        tn=xp.where(tn + fp == 0, 0.25, tn), fp=fp, fn=fn, tp=xp.where(tp + fn == 0, 0.25, tp)
    )


def ratio(part: Array, whole: Array, xp: Any) -> Array:
    """part/whole, 0 where the whole is 0.

    The whole is taken for at least so much of the part that the dtype holds the square of the
    reciprocal, which automatic differentiation takes. An MCC in which that matters is below 1e-9.
    """
    least = (1e-150 if is_double(whole) else 1e-18) * part
    return xp.where(
        whole > 0, part / xp.where(whole > least, whole, xp.where(least > 0, least, 1.0)), 0.0
    )


def mcc_scale(c: SoftConfusion) -> Array:
    """√(m₁m₀/((TP+FP)(TN+FN))), by which TPR+TNR−1 becomes the MCC.

    A product of four counts would leave float32.
    """
    xp, c = without_empty_class(c)
    return xp.sqrt(ratio(c.tp + c.fn, c.tp + c.fp, xp)) * xp.sqrt(
        ratio(c.tn + c.fp, c.tn + c.fn, xp)
    )
