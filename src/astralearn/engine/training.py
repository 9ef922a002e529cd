"""Epochs in segments: optimiser, slope rate, selection, history, progress, interruption.

Networks are split into groups by the data alone, never by the number of workers, so that the same call gives the same bits however many
cores there are. Each group is one compiled loop on one core; groups run side by side in threads.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from astralearn.core.confusion import SoftConfusion
from astralearn.core.curve import slope_from_raw, threshold
from astralearn.core.derivatives import slope_from_raw_dbeta
from astralearn.core.slope_rate import slope_rate
from astralearn.engine.network import Architecture, penalised
from astralearn.engine.objective import Sums, class_sums, confusion, gradients, held_out, loss_value
from astralearn.engine.rows import CHUNK_NUMBERS, ClassRows, Fold, pack

Array = Any

MONITORED = ("loss", "fnr", "fpr", "g_mean", "mcc", "e_ratio")
GROUP = 8  # networks in one group at most: more spill out of the cache and gain nothing


@dataclass(frozen=True)
class Settings:
    """How to train; the defaults are the paper's. Everything below the line may change without compiling anew."""

    loss: str = "gmn"
    astra: bool = True
    selection: str = "last"  # or "fnr", "g_mean", "mcc": the epoch with the best soft score on the validation rows
    sam: str = "off"  # or "all", "positives": whose loss the weights are perturbed to raise
    # ---
    epochs: int = 10_000
    learning_rate: float = 0.001
    slope_rate_min: float = 0.01
    slope_rate_max: float = 0.5
    burn_in: int = 1_000  # epochs before selection begins
    alpha: float = 0.0  # L2 on the weights
    sam_radius: float = 0.0
    records: int = 200  # epochs kept in the history, about
    time_limit: float = float("inf")  # seconds; training stops after the segment in which they run out


class State(NamedTuple):
    """Where training stands; `train` resumes from it to the bit. Leading axis: networks."""

    parameters: Array
    raw_slope: Array
    rate: Array
    mean: Array  # Adam's two moments, (K, P + 1): the parameters and the raw slope
    square: Array
    epoch: Array
    best_parameters: Array
    best_raw_slope: Array
    best_score: Array
    best_epoch: Array


class Progress(NamedTuple):
    """One network group's last epoch, averaged over its networks."""

    group: int
    n_groups: int
    epoch: int
    epochs: int
    loss: float
    fnr: float
    e_ratio: float
    threshold: float


@dataclass(frozen=True)
class Trained:
    """What came out, in NumPy: the chosen parameters (K, P) and slopes (K,), each network's epochs, and the history (K, records)."""

    parameters: np.ndarray
    slope: np.ndarray
    n_epochs: np.ndarray
    chosen_epoch: np.ndarray
    history: list[dict[str, np.ndarray]]
    states: list[State]
    interrupted: bool


@dataclass(frozen=True)
class _Task:
    members: list[int]  # networks, by their place in the stack; the last ones may only fill up the group
    rows: tuple[ClassRows, ClassRows]  # negatives, positives
    state: State


@dataclass
class _Control:
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    deadline: float = float("inf")


def train(
    architecture: Architecture,
    folds: Sequence[Fold],
    fold_of: Sequence[int],
    parameters: np.ndarray,
    slope: np.ndarray,
    settings: Settings,
    *,
    validation: Sequence[Fold] | None = None,
    states: Sequence[State] | None = None,
    n_jobs: int = 1,
    progress: Callable[[Progress], None] | None = None,
    chunk_numbers: int = CHUNK_NUMBERS,
    group: int | None = None,
) -> Trained:
    """Trains one network per entry of `fold_of`, on `folds[fold_of[k]]`, from `parameters[k]` (K, P) and raw slope of `slope[k]`.

    validation: rows to monitor and select on, one Fold per training fold. states: where to go on from, instead of the initial values
    (those of an earlier `Trained`, `epochs` counting on top). Ctrl-C ends training after the segment under way and keeps what was learned.
    """
    with jax.enable_x64(parameters.dtype == np.float64):
        splits = split(list(fold_of), [len(f.X) for f in folds], group)
        tasks = [
            _task(members, folds, fold_of, validation, _initial(members, parameters, slope, states, settings), chunk_numbers)
            for members in splits
        ]
        return _collect(tasks, len(fold_of), *_run_all(architecture, tasks, settings, n_jobs, progress))


def split(fold_of: list[int], lengths: list[int], group: int | None = None) -> list[list[int]]:
    """Networks in groups of one size, filled up with repeats: within a fold where it has several networks, across folds otherwise."""
    n = len(fold_of)
    alone = len(set(fold_of)) == n
    blocks = [list(range(n))] if alone else [[k for k in range(n) if fold_of[k] == f] for f in dict.fromkeys(fold_of)]
    longest = max(len(block) for block in blocks)
    if group is None:
        by_cache = max(2, min(GROUP, CHUNK_NUMBERS // max(lengths)))
        most = min(by_cache, -(-longest // 2)) if len(blocks) == 1 else min(by_cache, longest)
        group = max(1, min(range(max(1, -(-most // 2)), most + 1), key=lambda g: (-(-longest // g) * g, -g)))
    groups = []
    for block in blocks:
        for start in range(0, len(block), group):
            members = block[start : start + group]
            groups.append(members + members[:1] * (group - len(members)))
    return groups


def _initial(members: list[int], parameters: np.ndarray, slope: np.ndarray, states: Sequence[State] | None, settings: Settings) -> State:
    if states is not None:
        return jax.tree.map(lambda *leaves: np.stack(leaves), *(states[k] for k in members))
    theta = parameters[members]
    raw = np.where(slope > 2, slope - 2, np.log(np.maximum(slope - 1, 1e-30)))[members].astype(theta.dtype)
    k = len(members)
    moments = np.zeros((k, theta.shape[1] + 1), theta.dtype)
    return State(
        parameters=theta,
        raw_slope=raw,
        rate=np.full(k, settings.slope_rate_min, theta.dtype),
        mean=moments,
        square=moments,
        epoch=np.zeros(k, np.int32),
        best_parameters=theta,
        best_raw_slope=raw,
        best_score=np.full(k, np.inf, theta.dtype),
        best_epoch=np.full(k, -1, np.int32),
    )


def _task(
    members: list[int],
    folds: Sequence[Fold],
    fold_of: Sequence[int],
    validation: Sequence[Fold] | None,
    state: State,
    chunk_numbers: int,
) -> _Task:
    wanted = list(dict.fromkeys(fold_of[k] for k in members))
    own = [fold_of[k] for k in members] if len(wanted) > 1 else wanted

    negatives, positives = (
        pack(
            [folds[f] for f in own],
            None if validation is None else [validation[f] for f in own],
            positive=positive,
            n_networks=len(members),
            chunk_numbers=chunk_numbers,
        )
        for positive in (False, True)
    )
    return _Task(members, (negatives, positives), state)


def _run_all(
    architecture: Architecture, tasks: list[_Task], settings: Settings, n_jobs: int, progress: Callable[[Progress], None] | None
) -> tuple[list[tuple[State, dict[str, np.ndarray]]], bool]:
    control = _Control(deadline=time.monotonic() + settings.time_limit)
    x64 = jax.config.jax_enable_x64

    def run(index: int) -> tuple[State, dict[str, np.ndarray]]:
        with jax.enable_x64(x64):  # the flag is a thread's own
            return _run_one(architecture, tasks[index], settings, control, progress, index, len(tasks))

    interrupted = False
    with ThreadPoolExecutor(max(1, min(n_jobs, len(tasks)))) as pool:
        futures: list[Future[tuple[State, dict[str, np.ndarray]]]] = [pool.submit(run, i) for i in range(len(tasks))]
        while True:
            try:
                if not wait(futures, timeout=0.2, return_when="FIRST_EXCEPTION").not_done or any(
                    f.done() and f.exception() is not None for f in futures
                ):
                    break
            except KeyboardInterrupt:
                interrupted = True
                control.stop.set()
        control.stop.set()
    return [f.result() for f in futures], interrupted


def _run_one(
    architecture: Architecture,
    task: _Task,
    settings: Settings,
    control: _Control,
    progress: Callable[[Progress], None] | None,
    index: int,
    n_groups: int,
) -> tuple[State, dict[str, np.ndarray]]:
    static = (architecture, settings.loss, settings.astra, settings.selection, settings.sam)
    hyper = _Hyper(*(np.asarray(v, task.state.parameters.dtype) for v in _hyper_values(settings)))
    step = max(1, -(-settings.epochs // settings.records))
    records: list[dict[str, np.ndarray]] = []
    with control.lock:  # one thread compiles, the others find it compiled
        data = jax.tree.map(jnp.asarray, task.rows)
        state, _ = jax.block_until_ready(_segment()(jax.tree.map(jnp.asarray, task.state), data, hyper, np.int32(0), static=static))
    done = 0
    while done < settings.epochs and not control.stop.is_set() and time.monotonic() < control.deadline:
        n = min(step, settings.epochs - done)
        state, record = _segment()(state, data, hyper, np.int32(n), static=static)
        done += n
        record = {name: np.asarray(values) for name, values in record.items()}
        records.append(record)
        if progress is not None:
            with control.lock:
                means = [float(np.mean(record[name])) for name in ("loss", "fnr", "e_ratio", "threshold")]
                progress(Progress(index, n_groups, done, settings.epochs, *means))
    history = {name: np.stack([r[name] for r in records], axis=1) for name in records[0]} if records else {}
    return jax.tree.map(np.asarray, state), history


def _collect(tasks: list[_Task], n_networks: int, results: list[tuple[State, dict[str, np.ndarray]]], interrupted: bool) -> Trained:
    states: list[Any] = [None] * n_networks
    history: list[dict[str, np.ndarray]] = [{}] * n_networks
    for task, (state, records) in zip(tasks, results, strict=True):
        for place, k in enumerate(task.members):
            if states[k] is None:
                states[k] = jax.tree.map(lambda a, p=place: a[p], state)
                history[k] = {name: values[place] for name, values in records.items()}
    chosen = [s.best_epoch >= 0 for s in states]
    raw = np.asarray([s.best_raw_slope if c else s.raw_slope for s, c in zip(states, chosen, strict=True)])
    return Trained(
        parameters=np.stack([s.best_parameters if c else s.parameters for s, c in zip(states, chosen, strict=True)]),
        slope=np.asarray(slope_from_raw(raw)),
        n_epochs=np.asarray([int(s.epoch) for s in states]),
        chosen_epoch=np.asarray([int(s.best_epoch) if c else int(s.epoch) for s, c in zip(states, chosen, strict=True)]),
        history=history,
        states=states,
        interrupted=interrupted,
    )


class _Hyper(NamedTuple):
    learning_rate: Array
    slope_rate_min: Array
    slope_rate_max: Array
    burn_in: Array
    alpha: Array
    sam_radius: Array


def _hyper_values(settings: Settings) -> list[float]:
    return [getattr(settings, name) for name in _Hyper._fields]


@functools.cache
def _segment() -> Callable[..., Any]:
    """The compiled loop. One core each: at these sizes XLA's own threads cost more than they give."""
    options = {"xla_cpu_multi_thread_eigen": False} if jax.default_backend() == "cpu" else None
    return jax.jit(_epochs, static_argnames=("static",), compiler_options=options)


def _epochs(state: State, data: Any, hyper: _Hyper, n: Array, *, static: tuple[Any, ...]) -> tuple[State, dict[str, Array]]:
    """n epochs, and what is monitored, at the last of them. Only what the next epoch needs is computed in the loop."""
    seen = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(lambda s: _epoch(s, data, hyper, static)[1], state))
    state, seen = jax.lax.fori_loop(0, n, lambda _, carry: _epoch(carry[0], data, hyper, static), (state, seen))
    record = {
        "epoch": seen.epoch,
        **_monitored("", seen.loss, seen.counts),
        "slope": seen.slope,
        "threshold": threshold(seen.slope, xp=jnp),
        "slope_rate": seen.rate,
    }
    if seen.validation is not None:
        record |= _monitored("val_", *seen.validation)
    return state, record


class _Seen(NamedTuple):
    """What one epoch saw, before its step."""

    epoch: Array
    loss: Array
    counts: SoftConfusion
    validation: tuple[Array, SoftConfusion] | None
    slope: Array
    rate: Array


def _epoch(state: State, data: Any, hyper: _Hyper, static: tuple[Any, ...]) -> tuple[State, _Seen]:
    architecture, loss, astra, selection, sam = static
    slope = slope_from_raw(state.raw_slope, xp=jnp) if astra else None

    def sums(parameters: Array) -> tuple[Sums, Sums]:
        negatives, positives = (
            class_sums(parameters, slope, rows, architecture, positive=positive, loss=loss)
            for rows, positive in zip(data, (False, True), strict=True)
        )
        return negatives, positives

    both = sums(state.parameters)
    by_negatives, by_positives = gradients(*both, loss)
    if sam != "off":
        raised = by_positives[0] if sam == "positives" else by_negatives[0] + by_positives[0]
        length = jnp.sqrt(jnp.sum(raised * raised, axis=1, keepdims=True))
        by_negatives, by_positives = gradients(*sums(state.parameters + hyper.sam_radius * raised / jnp.maximum(length, 1e-12)), loss)
    gradient = by_negatives[0] + by_positives[0] + hyper.alpha * jnp.asarray(penalised(architecture)) * state.parameters
    slope_gradient = (by_negatives[1] + by_positives[1]) * slope_from_raw_dbeta(state.raw_slope, xp=jnp)

    counts = confusion(*both)
    seen = _Seen(
        epoch=state.epoch,
        loss=loss_value(*both, loss),
        counts=counts,
        validation=held_out(*both, loss),
        slope=slope if slope is not None else jnp.ones_like(state.rate),
        rate=slope_rate(state.rate, counts.e_ratio, minimum=hyper.slope_rate_min, maximum=hyper.slope_rate_max, xp=jnp),
    )
    both_gradients = jnp.concatenate([gradient, slope_gradient[:, None]], axis=1)
    moments = optax.ScaleByAdamState(count=state.epoch[0], mu=state.mean, nu=state.square)
    updates, moments = optax.scale_by_adam(eps=1e-7).update(both_gradients, moments)
    next_state = State(
        parameters=state.parameters - hyper.learning_rate * updates[:, :-1],
        raw_slope=state.raw_slope - seen.rate * updates[:, -1] if astra else state.raw_slope,
        rate=seen.rate,
        mean=moments.mu,
        square=moments.nu,
        epoch=state.epoch + 1,
        **_best(state, seen, hyper.burn_in, selection),
    )
    return next_state, seen


def _monitored(prefix: str, loss: Array, counts: SoftConfusion) -> dict[str, Array]:
    return {f"{prefix}loss": loss, **{f"{prefix}{name}": getattr(counts, name) for name in MONITORED[1:]}}


def _best(state: State, seen: _Seen, burn_in: Array, selection: str) -> dict[str, Array]:
    """The parameters with the best validation score so far, the earliest of equals."""
    kept = {name: getattr(state, name) for name in ("best_parameters", "best_raw_slope", "best_score", "best_epoch")}
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
