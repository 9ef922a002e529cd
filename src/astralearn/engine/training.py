"""Run the compiled loop: groups of networks in threads, epochs in segments.

Between segments there is room for progress, a time limit and an interruption. Networks are split
into groups by the data alone, never by the number of workers, so that the same call gives the same
bits however many cores there are. Each group is one compiled loop on one core; groups run side by
side in threads. Rows that several processes hold are one stack's too: then a group's loop runs in
all of them, a group after the other.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np

from astralearn.engine.epoch import (
    LONG,
    Epoch,
    Hyperparameters,
    epochs,
    hyperparameters,
    record_of,
    what_is_compiled,
)
from astralearn.engine.fork import check_fork
from astralearn.engine.lbfgs import minimise
from astralearn.engine.objective import AcrossPlaces
from astralearn.engine.packing import LONG_RUN, SHORT_RUN, Chunks, Packed, pack
from astralearn.engine.places import Laid, Places, any_says
from astralearn.engine.programs import program
from astralearn.engine.stack import History, Settings, Stack, State, Trained

LARGE_BYTES = 10**8  # bytes

# Epochs in a history, about, and from one to the next at least, where they are quick: where
# networks × rows × epochs, some milliseconds, stay below QUICK.
RECORDS, TENTH, QUICK = 200, 10, 10**6


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
class _Group:
    """Networks that train as one.

    members: their numbers in the stack.
    places, laid: that hold the rows, and where these lie; None for this one.
    """

    index: int
    members: list[int]
    rows: Packed
    start: State
    hyper: Hyperparameters
    places: Places | None
    laid: Laid | None

    @classmethod
    def of(
        cls,
        stack: Stack,
        settings: Settings,
        index: int,
        members: list[int],
        chunks: Chunks,
        places: Places | None,
        laid: Laid | None,
    ) -> _Group:
        alpha, highest = stack.own_alpha(members), stack.own_raw_slope_max(members)
        folds = stack.folds_of(members)
        return cls(
            index=index,
            members=members,
            rows=pack(
                folds,
                n_networks=len(members),
                dtype=stack.dtype,
                chunks=chunks,
                here=None if laid is None else laid.here,
            ),
            start=stack.start(members, settings.slope_rate_min),
            hyper=hyperparameters(settings, alpha=alpha, raw_slope_max=highest),
            places=places,
            laid=laid,
        )

    @property
    def across(self) -> AcrossPlaces | None:
        return None if self.laid is None else self.laid.across

    def on_devices(self) -> Packed:
        """The rows as they lie: no second copy."""
        if self.places is not None:
            return self.places.laid_out(self.rows)
        return jax.tree.map(lambda array: jax.device_put(array, may_alias=True), self.rows)


class _Ended(NamedTuple):
    """Where a group stands, and the history of its networks, (networks, records)."""

    state: State
    history: History


@dataclass
class _Control:
    """What the threads share.

    is_shared: whether several processes have to end together.
    """

    n_groups: int
    deadline: float
    progress: Callable[[Progress], None] | None
    is_shared: bool
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def is_over(self, done: int) -> bool:
        over = self.stop.is_set() or (done > 0 and time.monotonic() >= self.deadline)
        return any_says(over) if self.is_shared else over

    def tell(self, group: _Group, record: History, done: int, epochs: int) -> None:
        if self.progress is None:
            return
        told = ("loss", "fnr", "e_ratio", "threshold")
        means = {name: float(np.mean(record[name])) for name in told}
        with self.lock:
            self.progress(Progress(group.index, self.n_groups, done, epochs, **means))


def train(
    stack: Stack,
    settings: Settings,
    *,
    n_jobs: int = 1,
    progress: Callable[[Progress], None] | None = None,
    group: int | None = None,
    chunks: Chunks | None = None,
) -> Trained:
    """Train the stack for `settings.epochs` epochs.

    Those of `stack.states` come before them. Ctrl-C ends training after the segments under way and
    keeps what was learned.

    group, chunks: networks per group, and how rows are cut, which change results by
        rounding only.
    """
    lbfgs = settings.solver == "lbfgs"
    places = Places.of_processes() if stack.is_spread else None
    if places is not None:
        n_jobs = 1  # each place has a core of its own
    groups = stack.groups(1 if lbfgs else group)
    if chunks is None:
        chunks = LONG_RUN if settings.epochs >= LONG and not lbfgs else SHORT_RUN
    laid = None
    if places is not None:
        cut = functools.partial(chunks.cut, n_networks=len(groups[0]))
        laid = places.lay(stack.folds[0], cut)
    deadline = time.monotonic() + settings.time_limit
    control = _Control(len(groups), deadline, progress, is_shared=places is not None)

    def run(index: int) -> _Ended:
        with _own_settings(stack.dtype):
            one = _Group.of(stack, settings, index, groups[index], chunks, places, laid)
            return (_run_lbfgs if lbfgs else _run_adam)(stack, settings, control, one)

    ended, interrupted = _in_threads(run, len(groups), n_jobs, control)
    if stack.data_bytes > LARGE_BYTES:
        # JAX leaves the packed rows in reference cycles, and a copy of large data should not
        # outlive its use.
        gc.collect()
    states: dict[int, State] = {}
    history: dict[int, History] = {}
    for members, of_group in zip(groups, ended, strict=True):
        for place, k in enumerate(members):
            if k not in states:  # a repeat only fills up its group
                states[k] = State(*(leaf[place] for leaf in of_group.state))
                history[k] = {name: each[place] for name, each in of_group.history.items()}
    numbers = range(len(stack.fold_of))
    return Trained.of_states(
        [states[k] for k in numbers], [history[k] for k in numbers], interrupted=interrupted
    )


@contextlib.contextmanager
def _own_settings(dtype: np.dtype[Any]) -> Iterator[None]:
    """JAX as the engine wants it, in this thread alone, whatever the caller set."""
    check_fork()
    with (
        jax.enable_x64(dtype == np.float64),
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
        jax.transfer_guard("allow"),
    ):
        yield


def _in_threads(
    run: Callable[[int], _Ended], n_groups: int, n_jobs: int, control: _Control
) -> tuple[list[_Ended], bool]:
    """Where the groups ended, and whether Ctrl-C cut them short.

    Waiting in short turns lets the main thread hear Ctrl-C.
    """
    interrupted = False
    with ThreadPoolExecutor(max(1, min(n_jobs, n_groups))) as pool:
        futures = [pool.submit(run, index) for index in range(n_groups)]
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
) -> tuple[State, Callable[[State, int], tuple[State, Epoch]]]:
    """Where a group starts, and what takes it so many epochs further, compiled."""
    rows = group.on_devices()
    loop = program(
        epochs,
        (group.start, rows, group.hyper),
        static=what_is_compiled(stack.architecture, settings, group.across),
        thorough=settings.epochs >= LONG,
        places=group.places,
    )

    def advance(state: State, n: int) -> tuple[State, Epoch]:
        return loop(state, rows, group.hyper, np.int32(n))

    start = group.start if group.places is not None else jax.device_put(group.start)
    return advance(start, 0)[0], advance


def _segment(settings: Settings, group: _Group) -> int:
    """Epochs from one record to the next.

    A record takes about 1 ms, more than an epoch of a small group.
    """
    if settings.records is not None:
        return max(1, -(-settings.epochs // settings.records))
    weights = group.rows.negatives.weight, group.rows.positives.weight
    n_rows = sum(weight.size // weight.shape[-2] for weight in weights)
    quick = min(TENTH, QUICK // (len(group.members) * n_rows))
    if group.places is not None:
        # All places need one answer, whatever they hold, and a record is a talk of its own.
        quick = TENTH
    return max(1, -(-settings.epochs // RECORDS), quick)


def _run_adam(stack: Stack, settings: Settings, control: _Control, group: _Group) -> _Ended:
    """One group's epochs, in segments with a record after each."""
    length = _segment(settings, group)
    looks: list[Epoch] = []
    with control.lock:  # one thread compiles, the others find it compiled
        state, advance = _begin(stack, settings, group)
    done = 0
    while done < settings.epochs and not control.is_over(done):
        n = 1 if done == 0 and settings.records is None else min(length, settings.epochs - done)
        state, seen = advance(state, n)
        looks.append(jax.tree.map(np.asarray, seen))  # a quarter of the time of jax.device_get
        done += n
        if control.progress is not None:
            control.tell(group, record_of(looks[-1]), done, settings.epochs)
    history = record_of(jax.tree.map(lambda *each: np.stack(each, axis=1), *looks)) if looks else {}
    return _Ended(State(*(np.asarray(leaf) for leaf in state)), history)


def _run_lbfgs(stack: Stack, settings: Settings, control: _Control, group: _Group) -> _Ended:
    """One network's iterations of L-BFGS."""
    start, records = group.start, list[History]()

    def tell(record: History) -> bool:
        records.append(record | {"epoch": start.epoch + np.int32(len(records) + 1)})
        control.tell(group, record, len(records), settings.epochs)
        return control.is_over(len(records))

    end = minimise(
        group.on_devices(),
        np.concatenate([start.parameters[0], start.raw_slope]),
        what_is_compiled(stack.architecture, settings, group.across),
        alpha=float(group.hyper.alpha[0]),
        raw_slope_max=float(group.hyper.raw_slope_max[0]),
        iterations=settings.epochs,
        tell=tell,
        places=group.places,
    )
    names = records[0] if records else ()
    history = {name: np.stack([record[name] for record in records], axis=1) for name in names}
    state = start._replace(
        parameters=end.parameters[None],
        raw_slope=np.asarray([end.raw_slope], end.parameters.dtype),
        epoch=start.epoch + np.int32(end.n_iterations),
    )
    return _Ended(state, history)


__all__ = ["Progress", "Settings", "Stack", "State", "Trained", "train"]
