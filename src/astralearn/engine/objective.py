"""The loss of a whole stack and its closed-form gradient, summed over chunks of rows so that memory stays bounded.

The soft counts are all that couples the rows (maths.md), so one pass keeps, for each class, the sums and the gradient of its own
count, and combines them at the end: ∇J = (∂J/∂TP) ∇TP + (∂J/∂TN) ∇TN. The positives' sums are kept relative to their largest
right-probability e^peak, so that they are exact even where every positive is lost. For "root_gmn" the fourth root of the probability
of being right takes its place in these counts, and in nothing else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from astralearn.core.confusion import SoftConfusion
from astralearn.core.contributions import Contribution, of_negatives, of_plain_logits, of_positives
from astralearn.core.elementary import TINY
from astralearn.core.losses import LOSSES, ROOT
from astralearn.core.sums import SUMMED
from astralearn.engine.network import Architecture, backward, forward, unflatten
from astralearn.engine.rows import ClassRows

Array = Any

NO_PEAK = -1e30  # of a network without rows in a chunk: any other peak is higher


class Sums(NamedTuple):
    """What one class adds up to, each (K,) but the gradient (K, P): right and the gradients are relative to e^peak."""

    total: Array  # Σw
    wrong: Array  # Σw·wrong
    of_loss: Array  # what the loss needs beside: −Σw·ln right for BCE, Σw·⁴√right for root_gmn
    peak: Array
    right: Array  # Σw·right/e^peak, of ⁴√right for root_gmn
    gradient: Array
    slope_gradient: Array
    held_out: Any  # (total, wrong, of_loss) over the validation rows, or None


def class_sums(
    parameters: Array,
    slope: Array | None,
    rows: ClassRows,
    architecture: Architecture,
    *,
    positive: bool,
    loss: str,
    valued: bool,
) -> Sums:
    """One class's sums over all chunks. slope: (K,), or None for the plain sigmoid. valued: whether BCE's value is wanted, which costs
    a logarithm for every row; otherwise cross-entropies are 0."""
    layers = unflatten(parameters, architecture)
    rooted = loss == "root_gmn"

    def of_chunk(chunk: ClassRows) -> Sums:
        x, feeds, leaks = forward(layers, chunk.features, architecture.leak, jnp)
        c = _contribution(x, slope, positive)
        w = chunk.weight
        if positive:
            log_right = ROOT * c.log_right if rooted else c.log_right
            peak = jnp.max(jnp.where(w > 0, log_right, NO_PEAK), axis=1)
            right = w * jnp.exp(jnp.minimum(log_right - peak[:, None], 0.0))
            root = jnp.exp(log_right) if rooted else None
        else:  # far from underflow
            peak = jnp.zeros_like(x[:, 0])
            root = jnp.sqrt(jnp.sqrt(jnp.maximum(1.0 - c.wrong, 0.0))) if rooted else None
            right = w * (1.0 - c.wrong if root is None else root)
        share = w if loss == "bce" else right
        total, wrong, of_loss = _weighed(c, w, root, valued)
        return Sums(
            total=total,
            wrong=wrong,
            of_loss=of_loss,
            peak=peak,
            right=jnp.sum(right, axis=1),
            gradient=backward(layers, feeds, leaks, share * c.pull_x, jnp),
            slope_gradient=jnp.zeros_like(peak)
            if slope is None
            else jnp.sum(share * c.pull_b, axis=1),
            held_out=None if chunk.held_out is None else _weighed(c, chunk.held_out, root, valued),
        )

    if rows.weight.shape[0] == 1:
        return of_chunk(jax.tree.map(lambda a: a[0], rows))
    zero = jnp.zeros_like(parameters[:, 0])
    nothing = Sums(
        *(
            zero,
            zero,
            zero,
            zero + NO_PEAK if positive else zero,
            zero,
            jnp.zeros_like(parameters),
            zero,
        ),
        held_out=None if rows.held_out is None else (zero, zero, zero),
    )
    return jax.lax.scan(
        lambda sums, chunk: (_add(sums, of_chunk(chunk), loss), None), nothing, rows
    )[0]


def _weighed(
    c: Contribution, weight: Array, root: Array | None, valued: bool
) -> tuple[Array, Array, Array]:
    total, wrong = (
        jnp.sum(weight * jnp.ones_like(c.wrong), axis=1),
        jnp.sum(weight * c.wrong, axis=1),
    )
    if root is not None:
        return total, wrong, jnp.sum(weight * root, axis=1)
    return total, wrong, -jnp.sum(weight * c.log_right, axis=1) if valued else jnp.zeros_like(total)


def held_out(negatives: Sums, positives: Sums, loss: str) -> tuple[Array, SoftConfusion] | None:
    """The loss and the soft counts on the validation rows."""
    if negatives.held_out is None:
        return None
    (n, fp, of_negatives_), (m, fn, of_positives_) = negatives.held_out, positives.held_out
    counts = SoftConfusion(tn=_rest(n, fp), fp=fp, fn=fn, tp=_rest(m, fn))
    return _loss(counts, of_negatives_, of_positives_, loss), counts


def confusion(negatives: Sums, positives: Sums, loss: str) -> SoftConfusion:
    """The four soft counts, each (K,)."""
    tp = (
        _rest(positives.total, positives.wrong)
        if loss == "root_gmn"
        else positives.right * jnp.exp(positives.peak)
    )
    return SoftConfusion(
        tn=_rest(negatives.total, negatives.wrong), fp=negatives.wrong, fn=positives.wrong, tp=tp
    )


def _rest(total: Array, wrong: Array) -> Array:
    """What is right of a total. Where all is wrong, two sums in float32 may differ by a rounding: a count below 0 has no root."""
    return jnp.maximum(total - wrong, 0.0)


def loss_value(negatives: Sums, positives: Sums, loss: str) -> Array:
    """The loss of each network on its training rows, (K,)."""
    return _loss(confusion(negatives, positives, loss), negatives.of_loss, positives.of_loss, loss)


def _loss(counts: SoftConfusion, of_negatives_: Array, of_positives_: Array, loss: str) -> Array:
    n, m = counts.tn + counts.fp, counts.tp + counts.fn
    if loss == "bce":
        return (of_negatives_ + of_positives_) / jnp.maximum(n + m, TINY)
    if loss == "root_gmn":
        return SUMMED["root_gmn"].value((of_positives_, of_negatives_, m, n), xp=jnp)
    of_counts = LOSSES[loss].of_counts
    assert of_counts is not None
    return of_counts(counts)


def gradients(
    negatives: Sums, positives: Sums, loss: str, positive_share: Array
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """The gradient of each network's loss in its parameters (K, P) and in its slope (K,), from the negatives and from the positives.

    positive_share: what a mistake on a positive costs of a mistake on each class, a in [0, 1]. ½ is the loss itself; otherwise GMN
    becomes one minus the weighted geometric mean, 1 − TPRᵃ TNR¹⁻ᵃ, and balanced accuracy a weighted mean, up to a positive factor.
    """
    by_negatives, by_positives = _coefficients(negatives, positives, loss)
    return _scaled(negatives, 2.0 * (1.0 - positive_share) * by_negatives), _scaled(
        positives, 2.0 * positive_share * by_positives
    )


def _scaled(sums: Sums, coefficient: Array) -> tuple[Array, Array]:
    return coefficient[:, None] * sums.gradient, coefficient * sums.slope_gradient


def _coefficients(negatives: Sums, positives: Sums, loss: str) -> tuple[Array, Array]:
    """∂J/∂(wrong count) of each class, the positives' times e^peak."""
    if loss == "bce":
        share = 1.0 / jnp.maximum(negatives.total + positives.total, TINY)
        return share, share
    if loss == "root_gmn":
        half = 0.5 * jnp.exp(0.5 * (_log_rate(negatives) + _log_rate(positives)))
        return half / jnp.maximum(negatives.right, TINY), half / jnp.maximum(positives.right, TINY)
    counts, partials = confusion(negatives, positives, loss), LOSSES[loss].partials
    assert partials is not None
    by_tp, by_tn = partials(counts)
    scaled = by_tp * jnp.exp(positives.peak)
    if loss == "gmn":  # G/TP stays finite where TP underflows: both roots are taken in logarithms
        scaled = (
            -0.5
            * jnp.exp(0.5 * _log_rate(positives))
            * jnp.sqrt(counts.tnr)
            / jnp.maximum(positives.right, TINY)
        )
    return -by_tn, -scaled


def _log_rate(of_class: Sums) -> Array:
    """ln of the class's mean of what is counted as right; 0 where it has no weight: such a class counts as found."""
    log_mean = of_class.peak + jnp.log(
        jnp.maximum(of_class.right, TINY) / jnp.maximum(of_class.total, TINY)
    )
    return jnp.where(of_class.total > 0, log_mean, 0.0)


def _contribution(x: Array, slope: Array | None, positive: bool) -> Contribution:
    if slope is None:
        return of_plain_logits(x, jnp, positive=positive)
    return (
        of_positives(x, slope[:, None], jnp) if positive else of_negatives(x, slope[:, None], jnp)
    )


def _add(a: Sums, b: Sums, loss: str) -> Sums:
    """The sums of two sets of rows, relative to the higher of their peaks."""
    peak = jnp.maximum(a.peak, b.peak)
    left, right = jnp.exp(a.peak - peak), jnp.exp(b.peak - peak)
    of_gradient = (jnp.ones_like(left), jnp.ones_like(right)) if loss == "bce" else (left, right)
    return Sums(
        total=a.total + b.total,
        wrong=a.wrong + b.wrong,
        of_loss=a.of_loss + b.of_loss,
        peak=peak,
        right=left * a.right + right * b.right,
        gradient=of_gradient[0][:, None] * a.gradient + of_gradient[1][:, None] * b.gradient,
        slope_gradient=of_gradient[0] * a.slope_gradient + of_gradient[1] * b.slope_gradient,
        held_out=jax.tree.map(jnp.add, a.held_out, b.held_out),
    )
