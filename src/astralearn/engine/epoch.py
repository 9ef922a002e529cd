"""One epoch of a group of networks, and the loop over epochs, compiled by JAX.

An epoch is a gradient, the slope's rate, selection and Adam's step; `training` calls the loop.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from astralearn.core.class_means import Means
from astralearn.core.confusion import SoftConfusion
from astralearn.core.curve import slope_from_raw, threshold
from astralearn.core.derivatives import slope_from_raw_dbeta
from astralearn.core.elementary import TINY
from astralearn.core.inputs import Array
from astralearn.core.losses import LOSSES, Loss
from astralearn.core.slope_rate import slope_rate
from astralearn.core.warp import of_slope
from astralearn.engine.network import Architecture, for_own_inputs, for_shared_inputs, penalised
from astralearn.engine.objective import AcrossPlaces, BothSums, Gradient, Seen, class_sums
from astralearn.engine.packing import Packed
from astralearn.engine.stack import Settings, State

LONG = 5_000  # epochs from which it pays to compile thoroughly

MONITORED_READINGS = ("fnr", "fpr", "g_mean", "mcc", "e_ratio")


class Hyperparameters(NamedTuple):
    """The numbers that the loop needs, as arrays: changing them compiles nothing.

    alpha: L2 on the weights of each network, shared out over the rows (see `penalty`), (K,).
    raw_slope_max: the highest raw slope of each network, (K,).
    """

    learning_rate: Array
    slope_rate_min: Array
    slope_rate_max: Array
    burn_in: Array
    sam_radius: Array
    positive_share: Array
    alpha: Array
    raw_slope_max: Array


def hyperparameters(
    settings: Settings, *, alpha: np.ndarray, raw_slope_max: np.ndarray
) -> Hyperparameters:
    """Those of the settings, and the networks' own."""
    of_all = set(Hyperparameters._fields) - {"alpha", "raw_slope_max"}
    numbers = {name: np.asarray(getattr(settings, name), alpha.dtype) for name in of_all}
    return Hyperparameters(**numbers, alpha=alpha, raw_slope_max=raw_slope_max)


class Static(NamedTuple):
    """What the compiled code depends on, beside the shapes.

    valued: whether the loop takes the value of a loss that is a mean in every epoch; otherwise it
        is taken when the loop is done.
    across: where the rows' blocks lie; None where they are in one place.
    trail: whether the parameters that an epoch saw are handed out.
    """

    architecture: Architecture
    loss: Loss
    astra: bool
    selection: str
    sam: str
    valued: bool
    across: AcrossPlaces | None = None
    trail: bool = False


def what_is_compiled(
    architecture: Architecture, settings: Settings, across: AcrossPlaces | None = None
) -> Static:
    """The words of the settings."""
    return Static(
        architecture=architecture,
        loss=LOSSES[settings.loss],
        astra=settings.astra,
        selection=settings.selection,
        sam=settings.sam,
        # In short runs another look at the rows takes longer to compile.
        valued=settings.epochs < LONG,
        across=across,
        trail=settings.trail,
    )


@functools.cache
def compile_options(thorough: bool) -> dict[str, Any] | None:
    """XLA's options for one core, without those that this XLA does not know.

    thorough: as in `programs.program`.
    """
    wanted: dict[str, Any] = {
        "xla_cpu_multi_thread_eigen": False,
        # The YNN library makes products quicker, but its sum over the rows of a single network
        # takes five times the rest of an epoch.
        "xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT",
        # LLVM compiles these parts side by side; XLA's own 32 take more of the processor's time.
        "xla_cpu_parallel_codegen_split_count": 4,
        # This keeps a sum in one loop with what is summed, which is quicker to compile and to run.
        # With AVX2 it is made of 32 partial sums: in float32 those of 65,536 rows, a chunk, are off
        # by 1e-6, or 1e-5 where rows are much the same and all roundings go one way. So are those
        # of the gradient, products of the library, anyway.
        "xla_disable_hlo_passes": "tree_reduction_rewriter",
    }
    if thorough:
        # As wide as the processor's registers are; XLA's own 256 bits are half of AVX-512's.
        wanted |= {"xla_cpu_prefer_vector_width": 512}
    else:
        wanted |= {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1}
    if jax.default_backend() != "cpu":
        return None
    if _are_known(wanted):
        return wanted
    return {name: value for name, value in wanted.items() if _are_known({name: value})}


def _are_known(options: dict[str, Any]) -> bool:
    try:
        jax.jit(lambda x: x, compiler_options=options).lower(0.0).compile()
    except Exception:  # XLA's error for an unknown option is of no public type
        return False
    return True


def epochs(
    state: State, data: Packed, hyper: Hyperparameters, n: Array, *, static: Static
) -> tuple[State, Epoch]:
    """n epochs, and what the last of them saw.

    Only what the next epoch needs is computed in the loop. The value of a loss that is a mean is
    not; in long runs it is taken afterwards, in one more look at the rows.
    """
    start = _nothing_seen(state, validates=data.negatives.held_out is not None)
    state, seen = jax.lax.fori_loop(
        0, n, lambda _, carry: epoch(carry[0], data, hyper, static), (state, start)
    )
    if static.loss.is_mean and not static.valued:
        slope = seen.slope if static.astra else None
        both = sums_of(seen.parameters, slope, data, static, valued=True)
        seen = seen._replace(
            training=Seen.of(static.loss, both.means), validation=both.validation(static.loss)
        )
    return state, seen if static.trail else seen._replace(parameters=None)


class Epoch(NamedTuple):
    """What one epoch saw, before its step.

    parameters: None once the loop is done, unless they leave a trail.
    """

    epoch: Array
    parameters: Array
    training: Seen
    validation: Seen | None
    slope: Array
    rate: Array


def record_of(seen: Epoch) -> dict[str, np.ndarray]:
    """What the history keeps of epochs, each (K,) or (K, epochs), parameters (…, P).

    In NumPy: to compile these few numbers takes a tenth of compiling.
    """
    seen = jax.tree.map(np.asarray, seen)
    record = {
        "epoch": seen.epoch,
        **_monitored("", seen.training),
        "slope": seen.slope,
        "threshold": threshold(seen.slope, xp=np),
        "slope_rate": seen.rate,
    }
    if seen.parameters is not None:
        record["parameters"] = seen.parameters
    if seen.validation is not None:
        record |= _monitored("val_", seen.validation)
    return record


def _nothing_seen(state: State, *, validates: bool) -> Epoch:
    """What the loop starts from, before its first epoch.

    Written out: to trace an epoch for its shapes takes a tenth of compiling.
    """
    zero = jnp.zeros_like(state.rate)
    nothing = Seen(zero, SoftConfusion(zero, zero, zero, zero))
    return Epoch(
        epoch=jnp.zeros_like(state.epoch),
        parameters=state.parameters,
        training=nothing,
        validation=nothing if validates else None,
        slope=zero,
        rate=zero,
    )


def epoch(
    state: State, data: Packed, hyper: Hyperparameters, static: Static
) -> tuple[State, Epoch]:
    """One step of Adam down the gradient, with the slope at its own rate."""
    slope = slope_from_raw(state.raw_slope, xp=jnp) if static.astra else None
    share = hyper.positive_share
    both = sums_of(state.parameters, slope, data, static, valued=static.valued)
    by_negatives, by_positives = gradients_of(both, data, static, share)
    if static.sam != "off":
        raised = by_positives.parameters
        if static.sam == "all":
            raised = by_negatives.parameters + raised
        length = jnp.sqrt(jnp.sum(raised * raised, axis=1, keepdims=True))
        moved = state.parameters + hyper.sam_radius * raised / jnp.maximum(length, 1e-12)
        there = sums_of(moved, slope, data, static, valued=False)
        by_negatives, by_positives = gradients_of(there, data, static, share)
    gradient = by_negatives.plus(by_positives)
    weights = penalised(static.architecture) * state.parameters
    of_parameters = gradient.parameters + penalty(both.means, hyper.alpha)[:, None] * weights
    of_raw_slope = gradient.slope * slope_from_raw_dbeta(state.raw_slope, xp=jnp)

    training = Seen.of(static.loss, both.means)
    bounds = {"minimum": hyper.slope_rate_min, "maximum": hyper.slope_rate_max}
    rate = slope_rate(state.rate, training.counts.e_ratio, **bounds, xp=jnp)
    seen = Epoch(
        epoch=state.epoch,
        parameters=state.parameters,
        training=training,
        validation=both.validation(static.loss),
        slope=slope if slope is not None else jnp.ones_like(state.rate),
        rate=rate,
    )
    moments = optax.ScaleByAdamState(count=state.epoch[0], mu=state.mean, nu=state.square)
    updates, moments = optax.scale_by_adam(eps=1e-7).update(
        jnp.concatenate([of_parameters, of_raw_slope[:, None]], axis=1), moments
    )
    raw_slope = state.raw_slope
    if static.astra:
        raw_slope = jnp.minimum(raw_slope - rate * updates[:, -1], hyper.raw_slope_max)
    next_state = State(
        parameters=state.parameters - hyper.learning_rate * updates[:, :-1],
        raw_slope=raw_slope,
        rate=rate,
        mean=moments.mu,
        square=moments.nu,
        epoch=state.epoch + 1,
        **_best(state, seen.validation, hyper.burn_in, static.selection),
    )
    return next_state, seen


def gradients_of(
    both: BothSums, data: Packed, static: Static, positive_share: Array
) -> tuple[Gradient, Gradient]:
    """What each class pulls at, in the networks' own parameters and slopes."""
    by_class = both.gradients(static.loss, positive_share)
    if data.rescaling is None:
        return by_class
    by_negatives, by_positives = (
        Gradient(
            for_own_inputs(of_class.parameters, data.rescaling, static.architecture, jnp),
            of_class.slope,
        )
        for of_class in by_class
    )
    return by_negatives, by_positives


def sums_of(
    parameters: Array, slope: Array | None, data: Packed, static: Static, *, valued: bool
) -> BothSums:
    """Both classes' sums over all places; valued as in `class_sums`."""
    if data.rescaling is not None:
        parameters = for_shared_inputs(parameters, data.rescaling, static.architecture, jnp)
    shared = None if slope is None else of_slope(slope[:, None], xp=jnp)
    look = functools.partial(class_sums, parameters, shared, loss=static.loss, valued=valued)
    both = BothSums(
        negatives=look(data.negatives, static.architecture, positive=False),
        positives=look(data.positives, static.architecture, positive=True),
    )
    if static.across is not None:
        both = both.everywhere(static.across)
    return both.added(static.loss)


def penalty(means: Means, alpha: Array) -> Array:
    """The factor of ½Σw² in the loss of each network, (K,).

    alpha is shared out over the rows, as scikit-learn's MLPs have it.
    """
    return alpha / jnp.maximum(means.negatives.total + means.positives.total, TINY)


def _monitored(prefix: str, seen: Seen) -> dict[str, Array]:
    return {
        f"{prefix}loss": seen.loss,
        **{f"{prefix}{name}": getattr(seen.counts, name) for name in MONITORED_READINGS},
    }


def _best(
    state: State, validation: Seen | None, burn_in: Array, selection: str
) -> dict[str, Array]:
    """The parameters with the best validation score so far, the earliest of equals."""
    if selection == "last" or validation is None:
        names = ("best_parameters", "best_raw_slope", "best_score", "best_epoch")
        return {name: getattr(state, name) for name in names}
    score = getattr(validation.counts, selection) * (1.0 if selection == "fnr" else -1.0)
    better = (score < state.best_score) & (state.epoch >= burn_in)
    return {
        "best_parameters": jnp.where(better[:, None], state.parameters, state.best_parameters),
        "best_raw_slope": jnp.where(better, state.raw_slope, state.best_raw_slope),
        "best_score": jnp.where(better, score, state.best_score),
        "best_epoch": jnp.where(better, state.epoch, state.best_epoch),
    }
