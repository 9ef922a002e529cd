"""Losses on (rebalanced) logits, each with its closed-form gradient in the logit; LOSSES holds them by name.

Every loss takes `(logits, y, sample_weight=None, *, axis=None)`: logits of any shape, labels 0 and 1 of the same shape, weights ≥ 0
that broadcast to it, and what to reduce over (None: everything; 0: one loss per output column). The gradients take the same and
return an array shaped as the logits. Weights multiply every sum, the class totals included. A class without weight counts as one
correctly classified example (see `SoftConfusion`), so a batch of one class still teaches that class.

Write m for the logit of being wrong (g for a negative, −g for a positive) and c = ln σ(−m) for the log-probability of being right.

GMN and cross-entropy are two ends of one family, J = (1 − √(A₁A₀))/q with A₁ and A₀ each class's mean of e^{qc}: q = 1 is GMN, and as
q → 0 J becomes half the sum of each class's mean cross-entropy. An example far on the wrong side has no pull under GMN and the strongest
under cross-entropy. `root_gmn_loss` stands between them, at q = ¼.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from astralearn.core.confusion import (
    SoftConfusion,
    count,
    labelled,
    mcc_scale,
    ratio,
    right_and_wrong,
    signed,
    soft_confusion,
    without_empty_class,
)
from astralearn.core.curve import TINY, at_least
from astralearn.core.inputs import Array, ArrayLike, Axis
from astralearn.core.sigmoid import sigmoid, softplus

# The q of `root_gmn_loss`.
ROOT = 0.25


class Loss(NamedTuple):
    """A loss and its gradient: functions of (logits, y, sample_weight=None, *, axis=None, xp=None).

    A loss that depends on the soft counts alone also has `of_counts`, its value as a function of a SoftConfusion, and `partials`,
    (∂J/∂TP, ∂J/∂TN) at fixed class totals: all that whoever sums the counts over chunks, shards or workers needs.
    """

    value: Callable[..., Array]
    gradient: Callable[..., Array]
    of_counts: Callable[[SoftConfusion], Array] | None = None
    partials: Callable[[SoftConfusion], tuple[Array, Array]] | None = None


def bce_loss(
    logits: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    *,
    axis: Axis = None,
    xp: Any = None,
) -> Array:
    """Binary cross-entropy, the weighted mean of −c = ln(1 + e^m).

    >>> round(float(bce_loss([-2.0, 0.0], [0, 1])), 4)
    0.41
    """
    xp, g, y, weight = labelled(logits, y, sample_weight, xp)
    share = _shares(g, weight, axis, xp)
    return xp.sum(share * softplus(signed(g, y), xp), axis=axis)


def bce_gradient(
    logits: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    *,
    axis: Axis = None,
    xp: Any = None,
) -> Array:
    """∂BCE/∂gᵢ = wᵢ(zᵢ − yᵢ)/Σw, as ±σ(m), which does not cancel.

    >>> bce_gradient([-2.0, 0.0], [0, 1]).round(4).tolist()
    [0.0596, -0.25]
    """
    xp, g, y, weight = labelled(logits, y, sample_weight, xp)
    return _shares(g, weight, axis, xp) * (1.0 - 2.0 * y) * sigmoid(signed(g, y), xp)


def gmn_loss(
    logits: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    *,
    axis: Axis = None,
    xp: Any = None,
) -> Array:
    """One minus the soft G-Mean: 1 − √(TPR·TNR) (Eq. 9), through the logarithms of both rates.

    >>> round(float(gmn_loss([-2.0, 0.0], [0, 1])), 4)
    0.3364
    """
    return _power_loss(1.0, logits, y, sample_weight, axis, xp)


def gmn_gradient(
    logits: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    *,
    axis: Axis = None,
    xp: Any = None,
) -> Array:
    """∂GMN/∂gᵢ = ∓½ G σ(mᵢ) pᵢ, − for a positive, where pᵢ is example i's share of its own class's TP or TN.

    The shares are softmax weights of c, so nothing is 0/0 even where every positive sits at g = −200.

    >>> gmn_gradient([-200.0, -201.0, 3.0], [1, 1, 0]).tolist()[0] < 0
    True
    """
    return _power_gradient(1.0, logits, y, sample_weight, axis, xp)


def root_gmn_loss(
    logits: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    *,
    axis: Axis = None,
    xp: Any = None,
) -> Array:
    """4(1 − √(A₁A₀)), with A₁ the mean of ⁴√z over the positives and A₀ that of ⁴√(1−z) over the negatives; in [0, 4].

    >>> round(float(root_gmn_loss([-2.0, 0.0], [0, 1])), 4)
    0.3897
    """
    return _power_loss(ROOT, logits, y, sample_weight, axis, xp)


def root_gmn_gradient(
    logits: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    *,
    axis: Axis = None,
    xp: Any = None,
) -> Array:
    """∂J/∂gᵢ = ∓½ √(A₁A₀) σ(mᵢ) pᵢ, − for a positive, where pᵢ is example i's share of its own class's sum of e^{c/4}.

    >>> root_gmn_gradient([-2.0, 0.0], [0, 1]).round(4).tolist()
    [0.0538, -0.2256]
    """
    return _power_gradient(ROOT, logits, y, sample_weight, axis, xp)


def f1_loss(
    logits: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    *,
    axis: Axis = None,
    xp: Any = None,
) -> Array:
    """One minus the soft F1: (FP+FN)/(2TP+FP+FN).

    >>> round(float(f1_loss([-2.0, 0.0], [0, 1])), 4)
    0.3824
    """
    return 1.0 - _counts(logits, y, sample_weight, axis, xp).f1


def f1_gradient(
    logits: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    *,
    axis: Axis = None,
    xp: Any = None,
) -> Array:
    """With D = 2TP+FP+FN: ∂J/∂TP = −2(D−TP)/D², ∂J/∂TN = −2TP/D².

    >>> f1_gradient([-2.0, 0.0], [0, 1]).round(4).tolist()
    [0.04, -0.2134]
    """
    return _gradient_through_counts(_f1_partials, logits, y, sample_weight, axis, xp)


def mcc_loss(
    logits: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    *,
    axis: Axis = None,
    xp: Any = None,
) -> Array:
    """One minus the soft Matthews correlation, in [0, 2].

    >>> round(float(mcc_loss([-2.0, 0.0], [0, 1])), 4)
    0.5882
    """
    return 1.0 - _counts(logits, y, sample_weight, axis, xp).mcc


def mcc_gradient(
    logits: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    *,
    axis: Axis = None,
    xp: Any = None,
) -> Array:
    """With P = TP+FP, N = TN+FN and R = √(m₁m₀/PN): ∂MCC/∂TP = R/m₁ − ½MCC(1/P − 1/N), ∂MCC/∂TN = R/m₀ + ½MCC(1/P − 1/N).

    >>> mcc_gradient([-2.0, 0.0], [0, 1]).round(4).tolist()
    [0.1328, -0.2245]
    """
    return _gradient_through_counts(_mcc_partials, logits, y, sample_weight, axis, xp)


def balanced_accuracy_loss(
    logits: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    *,
    axis: Axis = None,
    xp: Any = None,
) -> Array:
    """One minus the soft balanced accuracy: (FNR+FPR)/2.

    >>> round(float(balanced_accuracy_loss([-2.0, 0.0], [0, 1])), 4)
    0.3096
    """
    counts = _counts(logits, y, sample_weight, axis, xp)
    return 0.5 * (counts.fnr + counts.fpr)


def balanced_accuracy_gradient(
    logits: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike = None,
    *,
    axis: Axis = None,
    xp: Any = None,
) -> Array:
    """∂J/∂TP = −½/m₁, ∂J/∂TN = −½/m₀.

    >>> balanced_accuracy_gradient([-2.0, 0.0], [0, 1]).round(4).tolist()
    [0.0525, -0.125]
    """
    return _gradient_through_counts(_balanced_accuracy_partials, logits, y, sample_weight, axis, xp)


def _gmn_partials(c: SoftConfusion) -> tuple[Array, Array]:
    xp, c = without_empty_class(c)
    half = 0.5 * c.g_mean
    return -half / at_least(c.tp, TINY, xp), -half / at_least(c.tn, TINY, xp)


def _f1_partials(c: SoftConfusion) -> tuple[Array, Array]:
    _, c = without_empty_class(c)
    union = 2.0 * c.tp + c.fp + c.fn
    return -2.0 * (union - c.tp) / union / union, -2.0 * c.tp / union / union


def _mcc_partials(c: SoftConfusion) -> tuple[Array, Array]:
    xp, c = without_empty_class(c)
    scale, half = mcc_scale(c), 0.5 * c.mcc
    shift = ratio(half, c.tp + c.fp, xp) - ratio(half, c.tn + c.fn, xp)
    return shift - scale / (c.tp + c.fn), -shift - scale / (c.tn + c.fp)


def _balanced_accuracy_partials(c: SoftConfusion) -> tuple[Array, Array]:
    _, c = without_empty_class(c)
    return -0.5 / (c.tp + c.fn), -0.5 / (c.tn + c.fp)


LOSSES: dict[str, Loss] = {
    "bce": Loss(bce_loss, bce_gradient),
    "gmn": Loss(gmn_loss, gmn_gradient, lambda c: 1.0 - c.g_mean, _gmn_partials),
    "f1": Loss(f1_loss, f1_gradient, lambda c: 1.0 - c.f1, _f1_partials),
    "mcc": Loss(mcc_loss, mcc_gradient, lambda c: 1.0 - c.mcc, _mcc_partials),
    "balanced_accuracy": Loss(
        balanced_accuracy_loss,
        balanced_accuracy_gradient,
        lambda c: 0.5 * (c.fnr + c.fpr),
        _balanced_accuracy_partials,
    ),
    "root_gmn": Loss(root_gmn_loss, root_gmn_gradient),
}


def _gradient_through_counts(
    partials: Callable[[SoftConfusion], tuple[Array, Array]],
    logits: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike,
    axis: Axis,
    xp: Any,
) -> Array:
    """The gradient of J(TP, TN) at fixed class totals: ∂J/∂gᵢ = ±wᵢ zᵢ(1−zᵢ) times ∂J/∂TP or ∂J/∂TN, + for a positive."""
    xp, g, y, weight = labelled(logits, y, sample_weight, xp)
    right, wrong = right_and_wrong(signed(g, y), xp)
    counts = count(y, right, wrong, weight, axis=axis, keepdims=True, xp=xp)
    scaled, unit = (counts, 1.0) if weight is None else _in_units(counts)
    by_tp, by_tn = partials(scaled)
    change = (y * by_tp - (1.0 - y) * by_tn) * (right * wrong)
    return change if weight is None else unit * weight * change


def _counts(
    logits: ArrayLike, y: ArrayLike, sample_weight: ArrayLike, axis: Axis, xp: Any
) -> SoftConfusion:
    """The soft counts; weighted ones in units that automatic differentiation may square."""
    counts = soft_confusion(logits, y, sample_weight, axis=axis, xp=xp)
    return counts if sample_weight is None else _in_units(counts)[0]


def _in_units(c: SoftConfusion) -> tuple[SoftConfusion, Array]:
    """The counts times a unit, which no ratio of them sees, and that unit: 1, or a power of 2 for a sum beyond 2^±53.

    Quotients are differentiated with the square of their divisor, which float32 loses beyond 1e±19 (XLA turns a/u/u into a/u² as well).
    So weights may sum to 1e-35 … 1e35, in either class alike: one unit cannot serve classes more than 1e19 apart.
    """
    xp, full = without_empty_class(c)
    total = c.tn + c.fp + c.fn + c.tp
    unit = xp.where(
        total > 2.0**53, 2.0**-62, xp.where(total < 2.0**-53, 2.0**62, xp.ones_like(total))
    )
    return SoftConfusion(*(unit * part for part in full)), unit


def _shares(g: Array, weight: Array, axis: Axis, xp: Any) -> Array:
    """Each example's part of the total weight. Dividing before summing keeps the mean of huge losses finite."""
    ones = xp.ones_like(g)
    full = ones if weight is None else weight * ones
    total = xp.sum(full, axis=axis, keepdims=True)
    return full / xp.where(total > 0, total, 1.0)


def _power_loss(
    q: float, logits: ArrayLike, y: ArrayLike, sample_weight: ArrayLike, axis: Axis, xp: Any
) -> Array:
    """(1 − √(A₁A₀))/q."""
    xp, g, y, weight = labelled(logits, y, sample_weight, xp)
    log_g_mean, _ = _log_g_mean(q, g, y, weight, axis, xp)
    return xp.sum(-xp.expm1(log_g_mean), axis=axis) / q


def _power_gradient(
    q: float, logits: ArrayLike, y: ArrayLike, sample_weight: ArrayLike, axis: Axis, xp: Any
) -> Array:
    """∓½ √(A₁A₀) σ(mᵢ) times example i's share of its class's sum."""
    xp, g, y, weight = labelled(logits, y, sample_weight, xp)
    log_g_mean, share = _log_g_mean(q, g, y, weight, axis, xp)
    return (y - 0.5) * -xp.exp(log_g_mean) * sigmoid(signed(g, y), xp) * share


def _log_g_mean(
    q: float, g: Array, y: Array, weight: Array, axis: Axis, xp: Any
) -> tuple[Array, Array]:
    """ln √(A₁A₀), each class's mean of e^{qc} (TPR and TNR for q = 1), and each example's share of its class's sum."""
    log_right = -q * softplus(signed(g, y), xp)
    log_tpr, share_of_tp = _log_rate(log_right, y if weight is None else weight * y, axis, xp)
    log_tnr, share_of_tn = _log_rate(
        log_right, 1.0 - y if weight is None else weight * (1.0 - y), axis, xp
    )
    return 0.5 * (log_tpr + log_tnr), share_of_tp + share_of_tn


def _log_rate(log_right: Array, weight: Array, axis: Axis, xp: Any) -> tuple[Array, Array]:
    """ln(Σ w e^c / Σ w) by logsumexp, and the softmax shares w e^c / Σ w e^c; 0 and 0 where no weight is."""
    present = weight > 0
    peak = xp.max(
        xp.where(present, log_right, xp.min(log_right, axis=axis, keepdims=True)),
        axis=axis,
        keepdims=True,
    )
    total = xp.sum(weight, axis=axis, keepdims=True)
    terms = (
        weight / xp.where(total > 0, total, 1.0) * xp.exp(xp.where(present, log_right - peak, 0.0))
    )
    mean = at_least(xp.sum(terms, axis=axis, keepdims=True), TINY, xp)
    return xp.where(total > 0, peak + xp.log(mean), 0.0), terms / mean
