"""The loss of a whole stack and its closed-form gradient, summed over chunks of rows so that memory stays bounded.

The soft counts are all that couples the rows (maths.md), so one pass keeps, for each class, the sums and the gradient of its own
count, and combines them at the end: ∇J = (∂J/∂TP) ∇TP + (∂J/∂TN) ∇TN. The positives' sums are kept relative to their largest
right-probability e^peak, so that they are exact even where every positive is lost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from astralearn.core.confusion import SoftConfusion
from astralearn.core.contributions import Contribution, of_negatives, of_plain_logits, of_positives
from astralearn.core.curve import TINY
from astralearn.core.losses import LOSSES
from astralearn.engine.network import Architecture, backward, forward, unflatten
from astralearn.engine.rows import ClassRows

Array = Any

NO_PEAK = -1e30  # of a network without rows in a chunk: any other peak is higher


class Sums(NamedTuple):
    """What one class adds up to, each (K,) but the gradient (K, P): right and the gradients are relative to e^peak."""

    total: Array  # Σw
    wrong: Array  # Σw·wrong
    cross_entropy: Array  # −Σw·ln right
    peak: Array
    right: Array  # Σw·right/e^peak
    gradient: Array
    slope_gradient: Array
    held_out: Any  # (Σw, Σw·wrong, −Σw·ln right) over the validation rows, or None


def class_sums(
    parameters: Array, slope: Array | None, rows: ClassRows, architecture: Architecture, *, positive: bool, loss: str, valued: bool
) -> Sums:
    """One class's sums over all chunks. slope: (K,), or None for the plain sigmoid. valued: whether BCE's value is wanted, which costs
    a logarithm for every row; otherwise cross-entropies are 0."""
    layers = unflatten(parameters, architecture)

    def of_chunk(chunk: ClassRows) -> Sums:
        x, feeds, leaks = forward(layers, chunk.features, architecture.leak, jnp)
        c = _contribution(x, slope, positive)
        w = chunk.weight
        if positive:
            peak = jnp.max(jnp.where(w > 0, c.log_right, NO_PEAK), axis=1)
            right = w * jnp.exp(jnp.minimum(c.log_right - peak[:, None], 0.0))
        else:  # far from underflow
            peak = jnp.zeros_like(x[:, 0])
            right = w * (1.0 - c.wrong)
        share = w if loss == "bce" else right
        total, wrong, cross_entropy = _weighed(c, w, valued)
        return Sums(
            total=total,
            wrong=wrong,
            cross_entropy=cross_entropy,
            peak=peak,
            right=jnp.sum(right, axis=1),
            gradient=backward(layers, feeds, leaks, share * c.pull_x, jnp),
            slope_gradient=jnp.zeros_like(peak) if slope is None else jnp.sum(share * c.pull_b, axis=1),
            held_out=None if chunk.held_out is None else _weighed(c, chunk.held_out, valued),
        )

    if rows.weight.shape[0] == 1:
        return of_chunk(jax.tree.map(lambda a: a[0], rows))
    zero = jnp.zeros_like(parameters[:, 0])
    nothing = Sums(
        *(zero, zero, zero, zero + NO_PEAK if positive else zero, zero, jnp.zeros_like(parameters), zero),
        held_out=None if rows.held_out is None else (zero, zero, zero),
    )
    return jax.lax.scan(lambda sums, chunk: (_add(sums, of_chunk(chunk), loss), None), nothing, rows)[0]


def _weighed(c: Contribution, weight: Array, valued: bool) -> tuple[Array, Array, Array]:
    total = jnp.sum(weight * jnp.ones_like(c.wrong), axis=1)
    return total, jnp.sum(weight * c.wrong, axis=1), -jnp.sum(weight * c.log_right, axis=1) if valued else jnp.zeros_like(total)


def held_out(negatives: Sums, positives: Sums, loss: str) -> tuple[Array, SoftConfusion] | None:
    """The loss and the soft counts on the validation rows."""
    if negatives.held_out is None:
        return None
    (n, fp, of_negatives_), (m, fn, of_positives_) = negatives.held_out, positives.held_out
    counts = SoftConfusion(tn=n - fp, fp=fp, fn=fn, tp=m - fn)
    return _loss(counts, (of_negatives_ + of_positives_) / jnp.maximum(n + m, TINY), loss), counts


def confusion(negatives: Sums, positives: Sums) -> SoftConfusion:
    """The four soft counts, each (K,)."""
    return SoftConfusion(
        tn=negatives.total - negatives.wrong, fp=negatives.wrong, fn=positives.wrong, tp=positives.right * jnp.exp(positives.peak)
    )


def loss_value(negatives: Sums, positives: Sums, loss: str) -> Array:
    """The loss of each network on its training rows, (K,)."""
    mean = (negatives.cross_entropy + positives.cross_entropy) / jnp.maximum(negatives.total + positives.total, TINY)
    return _loss(confusion(negatives, positives), mean, loss)


def _loss(counts: SoftConfusion, cross_entropy: Array, loss: str) -> Array:
    of_counts = LOSSES[loss].of_counts
    return cross_entropy if of_counts is None else of_counts(counts)


def gradients(negatives: Sums, positives: Sums, loss: str, positive_share: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """The gradient of each network's loss in its parameters (K, P) and in its slope (K,), from the negatives and from the positives.

    positive_share: what a mistake on a positive costs of a mistake on each class, a in [0, 1]. ½ is the loss itself; otherwise GMN
    becomes the weighted geometric mean 1 − TPR^{2a} TNR^{2(1−a)} and balanced accuracy a weighted mean, up to a positive factor.
    """
    by_negatives, by_positives = _coefficients(negatives, positives, loss)
    return _scaled(negatives, 2.0 * (1.0 - positive_share) * by_negatives), _scaled(positives, 2.0 * positive_share * by_positives)


def _scaled(sums: Sums, coefficient: Array) -> tuple[Array, Array]:
    return coefficient[:, None] * sums.gradient, coefficient * sums.slope_gradient


def _coefficients(negatives: Sums, positives: Sums, loss: str) -> tuple[Array, Array]:
    """∂J/∂(wrong count) of each class, the positives' times e^peak."""
    partials = LOSSES[loss].partials
    if partials is None:
        share = 1.0 / jnp.maximum(negatives.total + positives.total, TINY)
        return share, share
    counts = confusion(negatives, positives)
    by_tp, by_tn = partials(counts)
    scaled = by_tp * jnp.exp(positives.peak)
    if loss == "gmn":  # G/TP stays finite where TP underflows: both roots are taken in logarithms
        log_tpr = positives.peak + jnp.log(jnp.maximum(positives.right, TINY) / jnp.maximum(positives.total, TINY))
        scaled = -0.5 * jnp.exp(0.5 * log_tpr) * jnp.sqrt(counts.tnr) / jnp.maximum(positives.right, TINY)
    return -by_tn, -scaled


def _contribution(x: Array, slope: Array | None, positive: bool) -> Contribution:
    if slope is None:
        return of_plain_logits(x, jnp, positive=positive)
    return of_positives(x, slope[:, None], jnp) if positive else of_negatives(x, slope[:, None], jnp)


def _add(a: Sums, b: Sums, loss: str) -> Sums:
    """The sums of two sets of rows, relative to the higher of their peaks."""
    peak = jnp.maximum(a.peak, b.peak)
    left, right = jnp.exp(a.peak - peak), jnp.exp(b.peak - peak)
    of_gradient = (jnp.ones_like(left), jnp.ones_like(right)) if loss == "bce" else (left, right)
    return Sums(
        total=a.total + b.total,
        wrong=a.wrong + b.wrong,
        cross_entropy=a.cross_entropy + b.cross_entropy,
        peak=peak,
        right=left * a.right + right * b.right,
        gradient=of_gradient[0][:, None] * a.gradient + of_gradient[1][:, None] * b.gradient,
        slope_gradient=of_gradient[0] * a.slope_gradient + of_gradient[1] * b.slope_gradient,
        held_out=jax.tree.map(jnp.add, a.held_out, b.held_out),
    )
