"""Runs the compiled loop: groups of networks in threads, epochs in segments, with progress, time limit and interruption in between.

Networks are split into groups by the data alone, never by the number of workers, so that the same call gives the same bits however many
cores there are. Each group is one compiled loop on one core; groups run side by side in threads.
"""

from __future__ import annotations

import contextlib
import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import jax
import numpy as np

from astralearn.core.curve import raw_from_slope, slope_from_raw
from astralearn.engine.epoch import (
    LONG,
    Own,
    Seen,
    Settings,
    State,
    compiled_epochs,
    hyperparameters,
    record_of,
    what_is_compiled,
)
from astralearn.engine.fork import check_fork
from astralearn.engine.lbfgs import minimise
from astralearn.engine.network import Architecture
from astralearn.engine.rows import CHUNK_NUMBERS, Fold, Packed, pack, share_rows

LARGE = 10**8  # bytes
RECORDS, TENTH = (
    200,
    10,
)  # epochs in a history, about, and from one to the next at least, where they are quick:
QUICK = 10**6  # networks × rows × epochs, some milliseconds
GROUP = 13  # networks in one group at most: more gain nothing
GROUP_NUMBERS = (
    1 << 16
)  # networks × rows in one group where each network has its own rows: more spill out of the cache

History = dict[str, np.ndarray]


class Progress(NamedTuple):
    """One group's last epoch, averaged over its networks."""

    group: int
    n_groups: int
    epoch: int
    epochs: int
    loss: float
    fnr: float
    e_ratio: float
    threshold: float


@dataclass(frozen=True)
class Stack:
    """Networks to train: the k-th on `folds[fold_of[k]]`, from `parameters[k]` (K, P) and `slope[k]`, or from where `states[k]` stands.

    alpha: L2 on the weights of each network, shared out over its rows (K,); none unless given.
    slope_max: what the slope of each network never exceeds, ≥ 1 (K,).
    validation: rows to monitor and select on, one Fold per training fold.
    """

    architecture: Architecture
    folds: Sequence[Fold]
    fold_of: Sequence[int]
    parameters: np.ndarray
    slope: np.ndarray
    alpha: np.ndarray | None = None
    slope_max: np.ndarray | None = None
    validation: Sequence[Fold] | None = None
    states: Sequence[State] | None = None


@dataclass(frozen=True)
class Trained:
    """What came out, in NumPy: the chosen parameters (K, P) and slopes (K,), each network's epochs, history and state."""

    parameters: np.ndarray
    slope: np.ndarray
    n_epochs: np.ndarray
    chosen_epoch: np.ndarray
    history: list[History]
    states: list[State]
    interrupted: bool

    def take(self, networks: slice) -> Trained:
        return replace(
            self,
            **{
                of.name: getattr(self, of.name)[networks]
                for of in fields(self)
                if of.name != "interrupted"
            },
        )


@dataclass(frozen=True)
class _Group:
    """Networks that train as one: their rows, where they start, and what is each one's own."""

    index: int
    n_groups: int
    rows: Packed
    start: State
    own: Own


@dataclass
class _Control:
    """What the threads share."""

    deadline: float
    progress: Callable[[Progress], None] | None
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextlib.contextmanager
def compiling(stack: Stack, settings: Settings) -> Iterator[None]:
    """Compiles what `train` will run for this stack while something else goes on; done when the block is.

    Large data, beside whose training compiling is nothing, are not packed for it.
    """
    if settings.solver == "lbfgs" or sum(fold.X.nbytes for fold in stack.folds) > LARGE:
        yield
        return

    def compile_loop() -> None:
        with _own_settings(stack.parameters.dtype):
            members = split(list(stack.fold_of), _rows_of_each(stack))[0]
            _begin(stack, settings, _group(stack, settings, members, 0, 1, CHUNK_NUMBERS))

    with ThreadPoolExecutor(1) as pool:
        compiled = pool.submit(compile_loop)
        yield
        compiled.result()


def train(
    stack: Stack,
    settings: Settings,
    *,
    n_jobs: int = 1,
    progress: Callable[[Progress], None] | None = None,
    group: int | None = None,
    chunk_numbers: int = CHUNK_NUMBERS,
) -> Trained:
    """Trains the stack for `settings.epochs` epochs (on top of those of `stack.states`).

    Ctrl-C ends training after the segments under way and keeps what was learned. group, chunk_numbers: networks per group and numbers per
    chunk, which change results by rounding only.
    """
    lbfgs = settings.solver == "lbfgs"
    groups = split(list(stack.fold_of), _rows_of_each(stack), 1 if lbfgs else group)
    control = _Control(time.monotonic() + settings.time_limit, progress)

    def run(index: int) -> tuple[State, History]:
        with _own_settings(stack.parameters.dtype):
            one = _group(stack, settings, groups[index], index, len(groups), chunk_numbers)
            return (_run_lbfgs if lbfgs else _run)(stack, settings, control, one)

    results, interrupted = _in_threads(run, len(groups), n_jobs, control)
    if sum(fold.X.nbytes for fold in stack.folds) > LARGE:
        gc.collect()  # JAX leaves the packed rows in reference cycles; a copy of large data should not outlive its use
    return _collect(stack, groups, results, interrupted)


@contextlib.contextmanager
def _own_settings(dtype: np.dtype[Any]) -> Iterator[None]:
    """JAX as the engine wants it, in this thread alone, whatever the caller has set elsewhere."""
    check_fork()
    with (
        jax.enable_x64(dtype == np.float64),
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
        jax.transfer_guard("allow"),
    ):
        yield


def _rows_of_each(stack: Stack) -> int:
    """How many rows each network of a group adds to it: none where they share them."""
    alone = len(set(stack.fold_of)) == len(stack.fold_of)
    return max(len(fold.X) for fold in stack.folds) if alone and not share_rows(stack.folds) else 0


def split(fold_of: list[int], n_rows: int, group: int | None = None) -> list[list[int]]:
    """Networks in groups of one size, filled up with repeats: within a fold where it has several networks, across folds otherwise.

    A group holds as many as the cache does at n_rows for each, but no more than half of a single block, so that a second core has work
    too.
    """
    n = len(fold_of)
    alone = len(set(fold_of)) == n
    blocks = (
        [list(range(n))]
        if alone
        else [[k for k in range(n) if fold_of[k] == f] for f in dict.fromkeys(fold_of)]
    )
    longest = max(len(block) for block in blocks)
    if group is None:
        most = min(
            GROUP,
            max(2, GROUP_NUMBERS // max(1, n_rows)),
            -(-longest // 2) if len(blocks) == 1 else longest,
        )
        # Of sizes from half of that, the one that leaves the fewest places to fill up, and the largest such.
        group = min(
            range(-(-most // 2), most + 1), key=lambda size: (-(-longest // size) * size, -size)
        )
    cut = [
        block[start : start + group] for block in blocks for start in range(0, len(block), group)
    ]
    return [members + members[:1] * (group - len(members)) for members in cut]


def _group(
    stack: Stack,
    settings: Settings,
    members: list[int],
    index: int,
    n_groups: int,
    chunk_numbers: int,
) -> _Group:
    own = _own(stack, members)
    return _Group(
        index,
        n_groups,
        _pack(stack, members, chunk_numbers),
        _start(stack, settings, members, own.raw_slope_max),
        own,
    )


def _pack(stack: Stack, members: list[int], chunk_numbers: int) -> Packed:
    own = [stack.fold_of[k] for k in members]
    if len(set(own)) == 1:
        own = own[:1]
    return pack(
        [stack.folds[f] for f in own],
        None if stack.validation is None else [stack.validation[f] for f in own],
        n_networks=len(members),
        dtype=stack.parameters.dtype,
        chunk_numbers=chunk_numbers,
    )


def _own(stack: Stack, members: list[int]) -> Own:
    dtype = stack.parameters.dtype
    alpha = np.zeros(len(members)) if stack.alpha is None else stack.alpha[members]
    highest = np.full(len(members), np.inf) if stack.slope_max is None else stack.slope_max[members]
    return Own(np.asarray(alpha, dtype), np.asarray(raw_from_slope(highest, xp=np)).astype(dtype))


def _start(
    stack: Stack, settings: Settings, members: list[int], raw_slope_max: np.ndarray
) -> State:
    if stack.states is not None:
        state = State(
            *(np.stack(leaves) for leaves in zip(*(stack.states[k] for k in members), strict=True))
        )
        slopes = {
            name: np.minimum(getattr(state, name), raw_slope_max)
            for name in ("raw_slope", "best_raw_slope")
        }
        return state._replace(**slopes)
    parameters = stack.parameters[members]
    dtype, k = parameters.dtype, len(members)
    raw = np.minimum(
        np.asarray(raw_from_slope(stack.slope[members], xp=np)).astype(dtype), raw_slope_max
    )
    moments = np.zeros((k, parameters.shape[1] + 1), dtype)
    return State(
        parameters=parameters,
        raw_slope=raw,
        rate=np.full(k, settings.slope_rate_min, dtype),
        mean=moments,
        square=moments,
        epoch=np.zeros(k, np.int32),
        best_parameters=parameters,
        best_raw_slope=raw,
        best_score=np.full(k, np.inf, dtype),
        best_epoch=np.full(k, -1, np.int32),
    )


def _in_threads(
    run: Callable[[int], tuple[State, History]], n_groups: int, n_jobs: int, control: _Control
) -> tuple[list[tuple[State, History]], bool]:
    """The groups' results, and whether Ctrl-C cut them short. Waiting in short turns lets the main thread hear Ctrl-C."""
    interrupted = False
    with ThreadPoolExecutor(max(1, min(n_jobs, n_groups))) as pool:
        futures: list[Future[tuple[State, History]]] = [
            pool.submit(run, index) for index in range(n_groups)
        ]
        while not all(future.done() for future in futures):
            try:
                done = wait(futures, timeout=0.2, return_when="FIRST_EXCEPTION").done
                if any(future.exception() is not None for future in done):
                    control.stop.set()
            except KeyboardInterrupt:
                interrupted = True
                control.stop.set()
    return [future.result() for future in futures], interrupted


def _begin(
    stack: Stack, settings: Settings, group: _Group
) -> tuple[State, Callable[[State, int], tuple[State, Seen]]]:
    """Where a group starts, and what takes it so many epochs further, compiled."""
    static = what_is_compiled(stack.architecture, settings)
    hyper = hyperparameters(settings, group.own)
    loop = compiled_epochs(thorough=settings.epochs >= LONG)
    data = jax.tree.map(
        lambda array: jax.device_put(array, may_alias=True), group.rows
    )  # as it lies: no second copy

    def advance(state: State, epochs: int) -> tuple[State, Seen]:
        return loop(state, data, hyper, np.int32(epochs), static=static)

    return advance(jax.device_put(group.start), 0)[0], advance


def _segment(settings: Settings, group: _Group) -> int:
    """Epochs from one record to the next. A record takes about 1 ms, more than an epoch of a small group."""
    if settings.records is not None:
        return max(1, -(-settings.epochs // settings.records))
    n_rows = sum(
        rows.weight.shape[0] * rows.weight.shape[-1]
        for rows in (group.rows.negatives, group.rows.positives)
    )
    quick = min(TENTH, QUICK // (len(group.own.alpha) * n_rows))
    return max(1, -(-settings.epochs // RECORDS), quick)


def _run(
    stack: Stack, settings: Settings, control: _Control, group: _Group
) -> tuple[State, History]:
    """One group's epochs, in segments with a record after each."""
    length = _segment(settings, group)
    looks: list[Seen] = []
    with control.lock:  # one thread compiles, the others find it compiled
        state, advance = _begin(stack, settings, group)
    done = 0
    while (
        done < settings.epochs
        and not control.stop.is_set()
        and (done == 0 or time.monotonic() < control.deadline)
    ):
        n = 1 if done == 0 and settings.records is None else min(length, settings.epochs - done)
        state, seen = advance(state, n)
        looks.append(jax.tree.map(np.asarray, seen))  # a quarter of the time of jax.device_get
        done += n
        if control.progress is not None:
            with control.lock:
                _report(control, record_of(looks[-1]), group, done, settings.epochs)
    history = record_of(jax.tree.map(lambda *each: np.stack(each, axis=1), *looks)) if looks else {}
    return State(*(np.asarray(leaf) for leaf in state)), history


def _run_lbfgs(
    stack: Stack, settings: Settings, control: _Control, group: _Group
) -> tuple[State, History]:
    """One network's iterations of L-BFGS."""
    records: list[History] = []

    def tell(record: History) -> bool:
        records.append(record | {"epoch": group.start.epoch + np.int32(len(records) + 1)})
        with control.lock:
            _report(control, record, group, len(records), settings.epochs)
        return control.stop.is_set() or time.monotonic() >= control.deadline

    data = jax.tree.map(lambda array: jax.device_put(array, may_alias=True), group.rows)
    end = minimise(
        data,
        np.concatenate([group.start.parameters[0], group.start.raw_slope]),
        what_is_compiled(stack.architecture, settings),
        alpha=float(group.own.alpha[0]),
        raw_slope_max=float(group.own.raw_slope_max[0]),
        iterations=settings.epochs,
        tell=tell,
    )
    history = (
        {name: np.stack([record[name] for record in records], axis=1) for name in records[0]}
        if records
        else {}
    )
    after = group.start._replace(
        parameters=end.parameters[None],
        raw_slope=np.asarray([end.raw_slope], end.parameters.dtype),
        epoch=group.start.epoch + np.int32(end.n_iterations),
    )
    return after, history


def _report(control: _Control, record: History, group: _Group, done: int, epochs: int) -> None:
    if control.progress is not None:
        means = [float(np.mean(record[name])) for name in ("loss", "fnr", "e_ratio", "threshold")]
        control.progress(Progress(group.index, group.n_groups, done, epochs, *means))


def _collect(
    stack: Stack, groups: list[list[int]], results: list[tuple[State, History]], interrupted: bool
) -> Trained:
    states: dict[int, State] = {}
    history: dict[int, History] = {}
    for members, (state, records) in zip(groups, results, strict=True):
        for place, k in reversed(
            list(enumerate(members))
        ):  # of a network that also fills up its group, the first place counts
            states[k] = State(*(leaf[place] for leaf in state))
            history[k] = {name: values[place] for name, values in records.items()}
    order = [states[k] for k in range(len(stack.fold_of))]
    chosen = [s.best_epoch >= 0 for s in order]

    def pick(best: str, last: str) -> np.ndarray:
        return np.stack(
            [getattr(s, best if c else last) for s, c in zip(order, chosen, strict=True)]
        )

    return Trained(
        parameters=pick("best_parameters", "parameters"),
        slope=np.asarray(slope_from_raw(pick("best_raw_slope", "raw_slope"), xp=np)),
        n_epochs=np.asarray([int(s.epoch) for s in order]),
        chosen_epoch=pick("best_epoch", "epoch"),
        history=[history[k] for k in range(len(order))],
        states=order,
        interrupted=interrupted,
    )


__all__ = [
    "History",
    "Progress",
    "Settings",
    "Stack",
    "State",
    "Trained",
    "compiling",
    "split",
    "train",
]
