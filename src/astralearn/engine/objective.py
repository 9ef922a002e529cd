"""The loss of a stack of networks and its closed-form gradient, traced by JAX.

Rows are summed over in chunks, so that memory stays bounded. The means of both classes are all that
couples the rows (`core.class_means`). So one pass keeps, for each class, its means and the gradient
of its log_right, and both are combined at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from astralearn.core.class_means import LOG_NOTHING, ClassMeans, Means, add_class, count_class
from astralearn.core.confusion import SoftConfusion
from astralearn.core.inputs import Array
from astralearn.core.losses import Loss
from astralearn.core.warp import OfSlope, Pulls, negatives, positives
from astralearn.engine.network import Architecture, backward, forward, unflatten
from astralearn.engine.packing import ClassRows


class Gradient(NamedTuple):
    """In the parameters (K, P), and in the slope (K,)."""

    parameters: Array
    slope: Array

    def times(self, factor: Array) -> Gradient:
        """factor: (K,)."""
        return Gradient(factor[:, None] * self.parameters, factor * self.slope)

    def plus(self, other: Gradient) -> Gradient:
        return Gradient(self.parameters + other.parameters, self.slope + other.slope)


class ClassSums(NamedTuple):
    """What one class adds up to; of several blocks of it, with a leading axis.

    means: of the training rows, each (K,).
    peak: the unit of the gradient is e^peak, (K,).
    gradient: Σ over rows of w right^q wrong ∂m.
    held_out: means of the validation rows, or None.
    """

    means: ClassMeans
    peak: Array
    gradient: Gradient
    held_out: ClassMeans | None


class BothSums(NamedTuple):
    """What both classes add up to."""

    negatives: ClassSums
    positives: ClassSums

    @property
    def means(self) -> Means:
        return Means(self.negatives.means, self.positives.means)

    def validation(self, loss: Loss) -> Seen | None:
        """The loss and the soft counts on the validation rows."""
        if self.negatives.held_out is None or self.positives.held_out is None:
            return None
        return Seen.of(loss, Means(self.negatives.held_out, self.positives.held_out))

    def gradients(self, loss: Loss, positive_share: Array) -> tuple[Gradient, Gradient]:
        """The gradient of the loss, from the negatives and from the positives.

        positive_share: what a mistake on a positive costs of a mistake on each class, a in [0, 1].
            ½ is the loss itself. Otherwise GMN becomes one minus the weighted geometric mean,
            1 − TPRᵃ TNR¹⁻ᵃ, and balanced accuracy a weighted mean, up to a positive factor.
        """
        peaks = self.negatives.peak, self.positives.peak
        by_negatives, by_positives = loss.factors(self.means, peaks, xp=jnp)
        return (
            self.negatives.gradient.times(2.0 * (1.0 - positive_share) * by_negatives),
            self.positives.gradient.times(2.0 * positive_share * by_positives),
        )

    def everywhere(self, across: AcrossPlaces) -> BothSums:
        """The sums of all blocks in their order, from those of the blocks here.

        This is all that travels in an epoch. One talk is quicker than two of fewer bytes.
        """
        own, restored = ravel_pytree(self)
        told = jax.vmap(restored)(jax.lax.all_gather(own, across.axis))
        return BothSums(
            *(
                jax.tree.map(lambda a, order=order: a.reshape(-1, *a.shape[2:])[order], of_class)
                for of_class, order in zip(
                    told, (np.asarray(across.negatives), np.asarray(across.positives)), strict=True
                )
            )
        )

    def added(self, loss: Loss) -> BothSums:
        """The sums over all blocks, added in their order."""
        return BothSums(*(_added(of_class, loss) for of_class in self))


class AcrossPlaces(NamedTuple):
    """Where the blocks of rows lie in several places.

    axis: of a mesh of places, each with room for as many blocks.
    negatives, positives: of each block in order, its place among the rooms of all places.
    """

    axis: str
    negatives: tuple[int, ...]
    positives: tuple[int, ...]


class Seen(NamedTuple):
    """The loss and the soft counts of each network, each (K,)."""

    loss: Array
    counts: SoftConfusion

    @classmethod
    def of(cls, loss: Loss, means: Means) -> Seen:
        return cls(loss.of_means(means, xp=jnp), loss.confusion(means, xp=jnp))


def class_sums(
    parameters: Array,
    shared: OfSlope | None,
    rows: ClassRows,
    architecture: Architecture,
    *,
    positive: bool,
    loss: Loss,
    valued: bool,
) -> ClassSums:
    """One class's sums over each block of chunks.

    parameters: (K, P).
    shared: `of_slope` of slopes (K, 1); None for the plain sigmoid.
    valued: whether the value of a loss that is a mean is wanted, a logarithm for every row;
        otherwise its log_right is 0.
    """
    layers = unflatten(parameters, architecture)
    kernel = positives if positive else negatives
    with_logs = valued or not loss.is_mean

    def of_chunk(chunk: ClassRows) -> ClassSums:
        x, feeds, leaks = forward(layers, chunk.features, architecture.leak, jnp)
        pulls: Pulls = kernel(x, shared, xp=jnp)

        def counted(weight: Array, *, peaked: bool) -> tuple[ClassMeans, Array, Array]:
            # Whether XLA divides by what it knows to be one number for all networks, or multiplies
            # by its inverse, depends on the program. All programs are to round alike.
            total = jnp.broadcast_to(jnp.sum(weight, axis=1), x.shape[:1])
            return count_class(
                pulls.wrong,
                pulls.right,
                pulls.log_right if with_logs else None,
                jnp.broadcast_to(weight, x.shape),
                power=loss.power,
                peaked=peaked,
                axis=1,
                xp=jnp,
                total=jax.lax.optimization_barrier(total),
            )

        # Negatives are many, and as a class far from lost.
        means, peak, shares = counted(chunk.weight, peaked=positive and loss.is_logarithmic)
        return ClassSums(
            means=means,
            peak=peak,
            gradient=Gradient(
                backward(layers, feeds, leaks, shares * pulls.dx, jnp),
                jnp.zeros_like(peak) if shared is None else jnp.sum(shares * pulls.db, axis=1),
            ),
            held_out=None if chunk.held_out is None else counted(chunk.held_out, peaked=False)[0],
        )

    nothing = _nothing(parameters, validates=rows.held_out is not None)

    def of_block(block: ClassRows) -> ClassSums:
        if block.weight.shape[0] == 1:
            return of_chunk(jax.tree.map(lambda a: a[0], block))
        return jax.lax.scan(
            lambda sums, chunk: (_add(sums, of_chunk(chunk), loss), None), nothing, block
        )[0]

    if rows.weight.shape[0] == 1:
        sums = of_block(jax.tree.map(lambda a: a[0], rows))
        return jax.tree.map(lambda a: a[None], sums)
    return jax.lax.scan(lambda _, block: (None, of_block(block)), None, rows)[1]


def _added(blocks: ClassSums, loss: Loss) -> ClassSums:
    if blocks.peak.shape[0] == 1:
        return jax.tree.map(lambda a: a[0], blocks)
    nothing = _nothing(blocks.gradient.parameters[0], validates=blocks.held_out is not None)
    return jax.lax.scan(lambda sums, block: (_add(sums, block, loss), None), nothing, blocks)[0]


def _nothing(parameters: Array, *, validates: bool) -> ClassSums:
    """The sums of no rows."""
    zero = jnp.zeros_like(parameters[:, 0])
    empty = ClassMeans(zero, zero, zero)
    return ClassSums(
        means=empty,
        peak=zero + LOG_NOTHING,
        gradient=Gradient(jnp.zeros_like(parameters), zero),
        held_out=empty if validates else None,
    )


def _add(a: ClassSums, b: ClassSums, loss: Loss) -> ClassSums:
    """The sums of two sets of rows, in the unit of the higher peak."""
    peak = jnp.maximum(a.peak, b.peak)
    held_out = None
    if a.held_out is not None and b.held_out is not None:
        held_out = add_class(a.held_out, b.held_out, power=loss.power, xp=jnp)
    return ClassSums(
        means=add_class(a.means, b.means, power=loss.power, xp=jnp),
        peak=peak,
        gradient=a.gradient.times(jnp.exp(a.peak - peak)).plus(
            b.gradient.times(jnp.exp(b.peak - peak))
        ),
        held_out=held_out,
    )
