"""One epoch of a group of networks, and the compiled loop over epochs: gradient, slope rate, selection, Adam's step.

Everything here is traced by JAX; `training` calls it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from astralearn.core.confusion import SoftConfusion
from astralearn.core.curve import slope_from_raw, threshold
from astralearn.core.derivatives import slope_from_raw_dbeta
from astralearn.core.elementary import TINY
from astralearn.core.slope_rate import slope_rate
from astralearn.engine.network import Architecture, for_own_inputs, for_shared_inputs, penalised
from astralearn.engine.objective import Sums, class_sums, confusion, gradients, held_out, loss_value
from astralearn.engine.rows import Packed
from astralearn.engine.stack import Settings, State

Array = Any
Pull = tuple[Array, Array]

LONG = 5_000  # epochs from which it pays to compile thoroughly

MONITORED = ("fnr", "fpr", "g_mean", "mcc", "e_ratio")


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
    """What the compiled code depends on, beside the shapes."""

    architecture: Architecture
    loss: str
    astra: bool
    selection: str
    sam: str
    valued: bool  # whether the loop takes BCE's value in every epoch, or it is taken when the loop is done


def what_is_compiled(architecture: Architecture, settings: Settings) -> Static:
    valued = (
        settings.loss == "bce" and settings.epochs < LONG
    )  # in short runs another look at the rows takes longer to compile
    return Static(
        architecture, settings.loss, settings.astra, settings.selection, settings.sam, valued
    )


@functools.cache
def compiled_epochs(thorough: bool) -> Callable[..., tuple[State, Seen]]:
    """`epochs`, compiled for one core: at these sizes XLA's own threads cost more than they give.

    thorough: take twice as long to compile (about 2 s) what then runs a fifth faster. Options that this XLA does not know are left out.
    """
    return jax.jit(epochs, static_argnames=("static",), compiler_options=compile_options(thorough))


def compile_options(thorough: bool) -> dict[str, Any] | None:
    """XLA's options for one core; see `compiled_epochs`."""
    wanted: dict[str, Any] = {
        "xla_cpu_multi_thread_eigen": False,
        # Products by the YNN library, but not sums: its sum over the rows of a single network takes five times the rest of an epoch.
        "xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT",
        # Parts that LLVM compiles side by side: XLA's own 32 take a sixth more of the processor's time.
        "xla_cpu_parallel_codegen_split_count": 4,
        # A sum in one loop, with what is summed, and not in three: a third less to compile, and epochs a sixth to a third shorter. With
        # AVX2 it is made of 32 partial sums: in float32 those of 65,536 rows, a chunk, are off by 1e-6, or 1e-5 where rows are much the
        # same and all roundings go one way, as those of the gradient, products of the library, are anyway.
        "xla_disable_hlo_passes": "tree_reduction_rewriter",
    }
    if not thorough:
        wanted |= {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 1}
    if jax.default_backend() != "cpu":
        return None
    return (
        wanted
        if _are_known(wanted)
        else {name: value for name, value in wanted.items() if _are_known({name: value})}
    )


def _are_known(options: dict[str, Any]) -> bool:
    try:
        jax.jit(lambda x: x, compiler_options=options).lower(0.0).compile()
    except Exception:  # XLA's error for an unknown option is of no public type
        return False
    return True


def epochs(
    state: State, data: Packed, hyper: Hyperparameters, n: Array, *, static: Static
) -> tuple[State, Seen]:
    """n epochs, and what the last of them saw. Only what the next epoch needs is computed in the loop.

    The value of BCE is not; in long runs it is taken afterwards, in one more look at the rows.
    """
    seen = _nothing_seen(state, validates=data.negatives.held_out is not None)
    state, seen = jax.lax.fori_loop(
        0, n, lambda _, carry: epoch(carry[0], data, hyper, static), (state, seen)
    )
    if static.loss == "bce" and not static.valued:
        both = sums_of(
            seen.parameters, seen.slope if static.astra else None, data, static, valued=True
        )
        seen = seen._replace(
            loss=loss_value(*both, static.loss), validation=held_out(*both, static.loss)
        )
    return state, seen._replace(parameters=None)


def record_of(seen: Seen) -> dict[str, np.ndarray]:
    """What the history keeps of epochs, each (K,) or (K, epochs). In NumPy: to compile these few numbers takes a tenth of compiling."""
    seen = jax.tree.map(np.asarray, seen)
    record = {
        "epoch": seen.epoch,
        **_monitored("", seen.loss, seen.counts),
        "slope": seen.slope,
        "threshold": threshold(seen.slope, xp=np),
        "slope_rate": seen.rate,
    }
    if seen.validation is not None:
        record |= _monitored("val_", *seen.validation)
    return record


class Seen(NamedTuple):
    """What one epoch saw, before its step."""

    epoch: Array
    parameters: Array  # None once the loop is done
    loss: Array
    counts: SoftConfusion
    validation: tuple[Array, SoftConfusion] | None
    slope: Array
    rate: Array


def _nothing_seen(state: State, *, validates: bool) -> Seen:
    """What the loop starts from, before its first epoch. Written out: to trace an epoch for its shapes takes a tenth of compiling."""
    zero = jnp.zeros_like(state.rate)
    counts = SoftConfusion(zero, zero, zero, zero)
    return Seen(
        jnp.zeros_like(state.epoch),
        state.parameters,
        zero,
        counts,
        (zero, counts) if validates else None,
        zero,
        zero,
    )


def epoch(state: State, data: Packed, hyper: Hyperparameters, static: Static) -> tuple[State, Seen]:
    """One step of Adam down the gradient, with the slope at its own rate."""
    architecture, loss, astra, selection, sam, _ = static
    slope = slope_from_raw(state.raw_slope, xp=jnp) if astra else None

    both, (by_negatives, by_positives) = sums_and_pulls(
        state.parameters, slope, data, static, hyper.positive_share, valued=static.valued
    )
    if sam != "off":
        raised = by_positives[0] if sam == "positives" else by_negatives[0] + by_positives[0]
        length = jnp.sqrt(jnp.sum(raised * raised, axis=1, keepdims=True))
        moved = state.parameters + hyper.sam_radius * raised / jnp.maximum(length, 1e-12)
        by_negatives, by_positives = sums_and_pulls(
            moved, slope, data, static, hyper.positive_share
        )[1]
    gradient = (
        by_negatives[0]
        + by_positives[0]
        + penalty(*both, hyper.alpha)[:, None] * penalised(architecture) * state.parameters
    )
    slope_gradient = (by_negatives[1] + by_positives[1]) * slope_from_raw_dbeta(
        state.raw_slope, xp=jnp
    )

    counts = confusion(*both, loss)
    seen = Seen(
        epoch=state.epoch,
        parameters=state.parameters,
        loss=loss_value(*both, loss),
        counts=counts,
        validation=held_out(*both, loss),
        slope=slope if slope is not None else jnp.ones_like(state.rate),
        rate=slope_rate(
            state.rate,
            counts.e_ratio,
            minimum=hyper.slope_rate_min,
            maximum=hyper.slope_rate_max,
            xp=jnp,
        ),
    )
    both_gradients = jnp.concatenate([gradient, slope_gradient[:, None]], axis=1)
    moments = optax.ScaleByAdamState(count=state.epoch[0], mu=state.mean, nu=state.square)
    updates, moments = optax.scale_by_adam(eps=1e-7).update(both_gradients, moments)
    next_state = State(
        parameters=state.parameters - hyper.learning_rate * updates[:, :-1],
        raw_slope=jnp.minimum(state.raw_slope - seen.rate * updates[:, -1], hyper.raw_slope_max)
        if astra
        else state.raw_slope,
        rate=seen.rate,
        mean=moments.mu,
        square=moments.nu,
        epoch=state.epoch + 1,
        **_best(state, seen, hyper.burn_in, selection),
    )
    return next_state, seen


def sums_and_pulls(
    parameters: Array,
    slope: Array | None,
    data: Packed,
    static: Static,
    positive_share: Array,
    *,
    valued: bool = False,
) -> tuple[tuple[Sums, Sums], tuple[Pull, Pull]]:
    """Both classes' sums, and what each class pulls at: the gradient in the parameters (K, P) and in the slope (K,)."""
    both = sums_of(parameters, slope, data, static, valued=valued)
    pulls = gradients(*both, static.loss, positive_share)
    if data.rescaling is None:
        return both, pulls
    by_negatives, by_positives = (
        (for_own_inputs(pull, data.rescaling, static.architecture, jnp), of_slope)
        for pull, of_slope in pulls
    )
    return both, (by_negatives, by_positives)


def sums_of(
    parameters: Array, slope: Array | None, data: Packed, static: Static, *, valued: bool
) -> tuple[Sums, Sums]:
    """Both classes' sums; valued as in `class_sums`."""
    architecture, loss = static.architecture, static.loss
    if data.rescaling is not None:
        parameters = for_shared_inputs(parameters, data.rescaling, architecture, jnp)
    negatives = class_sums(
        parameters, slope, data.negatives, architecture, positive=False, loss=loss, valued=valued
    )
    return negatives, class_sums(
        parameters, slope, data.positives, architecture, positive=True, loss=loss, valued=valued
    )


def penalty(negatives: Sums, positives: Sums, alpha: Array) -> Array:
    """The factor of ½Σw² in the loss of each network, (K,): alpha shared out over the rows, as scikit-learn's MLPs have it."""
    return alpha / jnp.maximum(negatives.total + positives.total, TINY)


def _monitored(prefix: str, loss: Array, counts: SoftConfusion) -> dict[str, Array]:
    return {
        f"{prefix}loss": loss,
        **{f"{prefix}{name}": getattr(counts, name) for name in MONITORED},
    }


def _best(state: State, seen: Seen, burn_in: Array, selection: str) -> dict[str, Array]:
    """The parameters with the best validation score so far, the earliest of equals."""
    kept = {
        name: getattr(state, name)
        for name in ("best_parameters", "best_raw_slope", "best_score", "best_epoch")
    }
    if selection == "last" or seen.validation is None:
        return kept
    score = getattr(seen.validation[1], selection) * (1.0 if selection == "fnr" else -1.0)
    better = (score < state.best_score) & (state.epoch >= burn_in)
    return {
        "best_parameters": jnp.where(better[:, None], state.parameters, state.best_parameters),
        "best_raw_slope": jnp.where(better, state.raw_slope, state.best_raw_slope),
        "best_score": jnp.where(better, score, state.best_score),
        "best_epoch": jnp.where(better, state.epoch, state.best_epoch),
    }
