"""Losses through the sums that couple a batch: what shards, micro-batches and ranks add up, and each one's exact gradient after that.

Every loss is J(S) of a few sums S over the examples, so examples meet only there. Per loss, SUMMED holds four functions:

    sums, slopes = examine(g, y, weight, axis=…, xp=…)      one look at the shard's own examples
    total        = add(sums, sums of another shard)         what has to travel
    value(total)                                            the loss of everything joined
    factors(sums, total)                                    from slopes to its gradient, for the negatives and for the positives

and `gradient(slopes, y, factors)` is the exact gradient at this shard's logits.

Sums are a tuple of arrays, one number for each output, reduced dimensions kept with size 1 so that they broadcast against the
logits. `slopes` has the shape of the logits. Arrays only, unchecked. Each J is that of `losses` to rounding, m and the
treatment of an empty class included. Being ratios, all J stay the same when every sum is doubled, and their gradients are halved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

from astralearn.core.confusion import SoftConfusion, count, right_and_wrong, signed
from astralearn.core.elementary import TINY, at_least, sigmoid, softplus
from astralearn.core.inputs import Array, Axis
from astralearn.core.losses import LOSSES, ROOT

# Stands for ln 0: finite, so that sums and differences stay finite, and far below the logarithm of anything counted.
_LOG_NOTHING = -1e30

# Counts above e to this are sums of what float32 holds exactly to rounding: it reaches down to e^-87.
_LOG_SHALLOW = -40.0

# Times this, and cut off at 0 and 1, a number tells whether it is above 0.
_TO_THE_TOP = 1e16

Sums = tuple[Array, ...]


class SummedLoss(NamedTuple):
    """The four functions of one loss, as in the module's docstring; each ends in `*, xp`."""

    examine: Callable[..., tuple[Sums, Array]]
    add: Callable[..., Sums]
    value: Callable[..., Array]
    factors: Callable[..., tuple[Array, Array]]


def gradient(slopes: Array, y: Array, factors: Sequence[Array]) -> Array:
    """From a shard's slopes and the factors of negatives and positives to the loss's gradient at its logits."""
    of_negatives, of_positives = factors
    return slopes * ((1.0 - y) * of_negatives + y * of_positives)


def add_sums(mine: Sums, theirs: Sums, *, xp: Any) -> Sums:  # noqa: ARG001 (one signature for all)
    """Plain addition."""
    return tuple(a + b for a, b in zip(mine, theirs, strict=True))


def bce_examine(g: Array, y: Array, weight: Array, *, axis: Axis, xp: Any) -> tuple[Sums, Array]:
    """Sums Σ w ln(1 + e^m) and Σ w, finite as long as Σ w|g| is (`bce_loss` divides first); slopes wσ(m)."""
    m = signed(g, y)
    sums = tuple(
        xp.sum(_times(weight, part), axis=axis, keepdims=True)
        for part in (softplus(m, xp), xp.ones_like(g))
    )
    return sums, _times(weight, sigmoid(m, xp))


def bce_value(sums: Sums, *, xp: Any) -> Array:
    """Σ w ln(1 + e^m) / Σ w; 0 without any weight."""
    return sums[0] / _or_one(sums[1], xp)


def bce_factors(own: Sums, sums: Sums, *, xp: Any) -> tuple[Array, Array]:  # noqa: ARG001 (one signature for all)
    """±1/Σw."""
    each = 1.0 / _or_one(sums[1], xp)
    return each, -each


def gmn_examine(g: Array, y: Array, weight: Array, *, axis: Axis, xp: Any) -> tuple[Sums, Array]:
    """Sums ln TP, ln TN, m₁, m₀ and the depths d₁, d₀; slopes wσ(m)σ(−m) in units of e^{−d}.

    The depth d ≥ 0 of a class is how far below 0 the logit −m of its best example is. Where d > 0, no example of the class is
    classified right, |m| ≥ d, and σ(−m) is e^{d − |m|}/(1 + e^{−|m|}) in units of e^{−d}. Where d = 0 the same exponential serves. So
    nothing is 0/0 even where every positive sits at g = −200. Masks are products, since a selection costs array libraries more
    than an exponential.
    """
    negative = 1.0 - y
    right_logit = (y - negative) * g
    weight_of_1, weight_of_0 = _times(weight, y), _times(weight, negative)
    absent_1, absent_0 = (
        (negative, y) if weight is None else (_is_zero(weight_of_1, xp), _is_zero(weight_of_0, xp))
    )
    depth_1 = xp.clip(
        xp.min(absent_1 * -_LOG_NOTHING - g, axis=axis, keepdims=True), 0.0, -_LOG_NOTHING
    )
    depth_0 = xp.clip(
        xp.min(absent_0 * -_LOG_NOTHING + g, axis=axis, keepdims=True), 0.0, -_LOG_NOTHING
    )
    exponent = (y * depth_1 + negative * depth_0) - xp.abs(g)
    if weight is not None:  # above 0 only for examples without weight
        exponent = xp.clip(exponent, _LOG_NOTHING, 0.0)
    e = xp.exp(exponent)
    share = 1.0 / (1.0 + e * (y * xp.exp(-depth_1) + negative * xp.exp(-depth_0)))
    # e below 0, 1 above it; a right_logit between 0 and 1e-16 has e = 1 to rounding as well.
    right = xp.maximum(e, xp.clip(right_logit * _TO_THE_TOP, 0.0, 1.0)) * share

    def total(values: Array) -> Array:
        return xp.sum(values, axis=axis, keepdims=True)

    m1, m0 = total(weight_of_1), total(weight_of_0)
    log_tp = _log_sum(-depth_1, total(weight_of_1 * right), m1, xp)
    log_tn = _log_sum(-depth_0, total(weight_of_0 * right), m0, xp)
    return (log_tp, log_tn, m1, m0, depth_1, depth_0), _times(weight, e * share * share)


def gmn_count(g: Array, y: Array, weight: Array, *, axis: Axis, xp: Any) -> tuple[Sums, Array]:
    """TP, TN, m₁ and m₀ as they are, and slopes wσ(m)σ(−m): half of the operations of `gmn_examine`, for an xp with its own sigmoid."""
    z, not_z = xp.sigmoid(g), xp.sigmoid(-g)
    negative = 1.0 - y
    weight_of_1, weight_of_0 = _times(weight, y), _times(weight, negative)
    counts = tuple(
        xp.sum(part, axis=axis, keepdims=True)
        for part in (weight_of_1 * z, weight_of_0 * not_z, weight_of_1, weight_of_0)
    )
    return counts, _times(weight, z * not_z)


def gmn_sums_of(counts: Sums, *, xp: Any) -> Sums:
    """The sums of `gmn_examine`, with depths 0 of classes that have examples, from `gmn_count`: right as long as `is_shallow`."""
    tp, tn, m1, m0 = counts
    zero = xp.zeros_like(m1)
    depths = (xp.where(total > 0, zero, -_LOG_NOTHING) for total in (m1, m0))
    return _log_sum(zero, tp, m1, xp), _log_sum(zero, tn, m0, xp), m1, m0, *depths


def is_shallow(sums: Sums) -> Array:
    """For each output, whether no count is so small that its summands may have underflown."""
    log_tp, log_tn, m1, m0 = sums[:4]
    return ((log_tp > _LOG_SHALLOW) | (m1 <= 0)) & ((log_tn > _LOG_SHALLOW) | (m0 <= 0))


def gmn_add(mine: Sums, theirs: Sums, *, xp: Any) -> Sums:
    """Counts in logarithms, totals as they are, of depths the lesser."""
    logs = tuple(xp.logaddexp(a, b) for a, b in zip(mine[:2], theirs[:2], strict=True))
    depths = tuple(xp.minimum(a, b) for a, b in zip(mine[4:], theirs[4:], strict=True))
    return (*logs, mine[2] + theirs[2], mine[3] + theirs[3], *depths)


def gmn_value(sums: Sums, *, xp: Any) -> Array:
    """1 − √(TPR·TNR) (Eq. 9)."""
    return -xp.expm1(_log_g_mean(sums, xp))


def gmn_factors(own: Sums, sums: Sums, *, xp: Any) -> tuple[Array, Array]:
    """½ G/TN and −½ G/TP, in the units of the slopes."""
    log_g = _log_g_mean(sums, xp)
    # Bounded for a class without examples, which has no use for it.
    of_1, of_0 = (
        0.5 * xp.exp(xp.clip(log_g - (own[4 + k] + sums[k]), _LOG_NOTHING, 80.0)) for k in (0, 1)
    )
    return of_0, -of_1


def root_gmn_examine(
    g: Array, y: Array, weight: Array, *, axis: Axis, xp: Any
) -> tuple[Sums, Array]:
    """Sums Σ w ⁴√σ(−m) over the positives and over the negatives, m₁ and m₀; slopes w ⁴√σ(−m) σ(m)."""
    m, negative = signed(g, y), 1.0 - y
    root = _times(weight, xp.exp(-ROOT * softplus(m, xp)))
    full = _times(weight, xp.ones_like(g))
    sums = tuple(
        xp.sum(part, axis=axis, keepdims=True)
        for part in (y * root, negative * root, y * full, negative * full)
    )
    return sums, root * sigmoid(m, xp)


def root_gmn_value(sums: Sums, *, xp: Any) -> Array:
    """4(1 − √(A₁A₀))."""
    a1, a0 = _root_rates(sums, xp)
    return (1.0 - xp.sqrt(a1) * xp.sqrt(a0)) / ROOT


def root_gmn_factors(own: Sums, sums: Sums, *, xp: Any) -> tuple[Array, Array]:  # noqa: ARG001 (one signature for all)
    """½√(A₁A₀) over the negatives' sum, and minus that over the positives'."""
    a1, a0 = _root_rates(sums, xp)
    half = 0.5 * xp.sqrt(a1) * xp.sqrt(a0)
    # An absent class has no use for its factor, which would overflow with the gradient of whatever comes after the loss.
    of_1, of_0 = (
        xp.where(total > 0, at_least(part, TINY, xp), 1.0)
        for part, total in zip(sums[:2], sums[2:], strict=True)
    )
    return half / of_0, -half / of_1


def _root_rates(sums: Sums, xp: Any) -> tuple[Array, Array]:
    """A₁ and A₀, a class without weight counting as found."""
    of_1, of_0, m1, m0 = sums
    return xp.where(m1 > 0, of_1 / _or_one(m1, xp), 1.0), xp.where(
        m0 > 0, of_0 / _or_one(m0, xp), 1.0
    )


def _by_counts(
    of_counts: Callable[[SoftConfusion], Array],
    partials: Callable[[SoftConfusion], tuple[Array, Array]],
) -> SummedLoss:
    """The four functions of a loss of the four counts; slopes wσ(m)σ(−m)."""

    def examine(g: Array, y: Array, weight: Array, *, axis: Axis, xp: Any) -> tuple[Sums, Array]:
        right, wrong = right_and_wrong(signed(g, y), xp)
        return tuple(count(y, right, wrong, weight, axis=axis, keepdims=True, xp=xp)), _times(
            weight, right * wrong
        )

    def value(sums: Sums, *, xp: Any) -> Array:  # noqa: ARG001 (one signature for all)
        return of_counts(SoftConfusion(*sums))

    def factors(own: Sums, sums: Sums, *, xp: Any) -> tuple[Array, Array]:  # noqa: ARG001 (one signature for all)
        by_tp, by_tn = partials(SoftConfusion(*sums))
        return -by_tn, by_tp

    return SummedLoss(examine, add_sums, value, factors)


SUMMED: dict[str, SummedLoss] = {
    "bce": SummedLoss(bce_examine, add_sums, bce_value, bce_factors),
    "gmn": SummedLoss(gmn_examine, gmn_add, gmn_value, gmn_factors),
    "root_gmn": SummedLoss(root_gmn_examine, add_sums, root_gmn_value, root_gmn_factors),
    **{
        name: _by_counts(loss.of_counts, loss.partials)
        for name, loss in LOSSES.items()
        if name != "gmn" and loss.of_counts is not None and loss.partials is not None
    },
}


def examine_known(
    name: str,
    parts: Sequence[tuple[Array, Array, Array]],
    *,
    axis: Axis,
    xp: Any,
    few: Callable[..., tuple[Sums, Any]] | None = None,
) -> tuple[Sums, list[tuple[Sums, Array]]]:
    """`SUMMED[name].examine` for values that can be looked at: GMN's in its short form where they allow it, which is nearly always.

    parts: (g, y, weight) of each part of a shard. few: (sums) → the same few numbers in the arrays in which they are to be returned, and
    their namespace. Returns the sums of all parts, and for each part what `factors` takes for its own sums, with its slopes.
    """
    add, here = SUMMED[name].add, few or (lambda sums: (sums, xp))
    if name == "gmn":
        counted = [gmn_count(*part, axis=axis, xp=xp) for part in parts]
        counts, numbers = here(
            reduce(partial(add_sums, xp=xp), (of_part for of_part, _ in counted))
        )
        sums = gmn_sums_of(counts, xp=numbers)
        if bool(is_shallow(sums).all()):
            return sums, [
                (sums, slopes) for _, slopes in counted
            ]  # of their own sums only depths count, which all share
    examined = [SUMMED[name].examine(*part, axis=axis, xp=xp) for part in parts]
    few_sums, (numbers, *_) = zip(*(here(of_part) for of_part, _ in examined), strict=True)
    return reduce(partial(add, xp=numbers), few_sums), [
        (own, slopes) for own, (_, slopes) in zip(few_sums, examined, strict=True)
    ]


def _log_g_mean(sums: Sums, xp: Any) -> Array:
    """ln √(TPR·TNR), a class without weight counting as found."""
    log_tp, log_tn, m1, m0 = sums[:4]
    log_tpr = xp.where(m1 > 0, log_tp - xp.log(_or_one(m1, xp)), 0.0)
    log_tnr = xp.where(m0 > 0, log_tn - xp.log(_or_one(m0, xp)), 0.0)
    return 0.5 * (log_tpr + log_tnr)


def _log_sum(peak: Array, scaled: Array, weight: Array, xp: Any) -> Array:
    return xp.where(weight > 0, peak + xp.log(at_least(scaled, TINY, xp)), _LOG_NOTHING)


def _times(weight: Array, values: Array) -> Array:
    return values if weight is None else weight * values


def _or_one(total: Array, xp: Any) -> Array:
    return xp.where(total > 0, total, 1.0)


def _is_zero(values: Array, xp: Any) -> Array:
    return xp.where(values > 0, 0.0, xp.ones_like(values))
