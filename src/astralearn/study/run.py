"""Run a plan: units in parallel through joblib, records written as they finish.

This process alone writes; the workers hand their records back.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from astralearn.datasets.problem import Problem
from astralearn.study.child import stop_children
from astralearn.study.ending import ended_after, quiet_workers, watch
from astralearn.study.identity import identities, versions
from astralearn.study.method import Method
from astralearn.study.record import Kept, Key, Outcome, Record
from astralearn.study.splits import make_splits
from astralearn.study.store import Store, read_kind, read_records
from astralearn.study.unit import Unit, said_seconds, units

SAID_SHARE = 0.1

R = TypeVar("R", bound=Kept)
R_co = TypeVar("R_co", bound=Kept, covariant=True)


class RunnableUnit(Protocol):
    """What is started, finished and recorded as one."""

    @property
    def problem(self) -> Problem: ...

    @property
    def method_name(self) -> str: ...

    def record_keys(self) -> list[Key]:
        """Of the records it makes."""
        ...

    def run(self) -> list[Outcome]: ...


class RunnablePlan(Protocol[R_co]):
    """What can be run, stopped and continued.

    in_threads: whether units start processes of their own, so that threads are enough for them.
    """

    @property
    def kind(self) -> type[R_co]: ...

    @property
    def in_threads(self) -> bool: ...

    def units(self) -> Sequence[RunnableUnit]: ...

    def settings(self) -> dict[str, str]: ...


@dataclass(frozen=True)
class Plan:
    """What a study is: a record for every problem × method × repetition × fold.

    seed: decides draws, folds and every fit.
    stack: how many folds a method with `fit_many` trains in one call.
    by_repetition: run a repetition of all methods before the next one, so that a run that ends
        early has every method.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> from astralearn.datasets import load
    >>> plan = Plan([load("digits")], [Method("bayes", GaussianNB())], repetitions=1)
    >>> len(plan.units()[0].record_keys())
    1
    """

    problems: Sequence[Problem]
    methods: Sequence[Method]
    folds: int = 5
    repetitions: int = 10
    seed: int = 0
    stack: int = 25
    by_repetition: bool = False

    kind = Record
    in_threads = False

    def __post_init__(self) -> None:
        check_names(self.problems, self.methods)
        for name, least in (("folds", 2), ("repetitions", 1), ("stack", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"`{name}` must be at least {least}; found {getattr(self, name)}")
        if self.folds < 3 and any(method.validates for method in self.methods):
            raise ValueError(
                "a method that validates needs at least 3 folds, to train, validate and test; "
                f"found {self.folds}"
            )

    def units(self) -> list[Unit]:
        """Every unit, in the order of problems and methods.

        TooFewPositivesError where a problem has not enough of them for the folds.
        """
        listed = []
        for problem in self.problems:
            splits = make_splits(
                problem, folds=self.folds, repetitions=self.repetitions, seed=self.seed
            )
            for method in self.methods:
                listed += units(problem, method, splits, seed=self.seed, stack=self.stack)
        if self.by_repetition:
            listed.sort(key=lambda unit: unit.splits[0].repetition)
        return listed

    def settings(self) -> dict[str, str]:
        """What a file's records depend on.

        Methods and problems may be added to a file, but none may change.
        """
        numbers = {
            name: str(getattr(self, name)) for name in ("folds", "repetitions", "seed", "stack")
        }
        return {**numbers, **identities(self.problems, self.methods)}


def check_names(problems: Sequence[Problem], methods: Sequence[Method]) -> None:
    """Refuse a plan without problems or methods, or with a name twice."""
    for kind, named in (("problem", problems), ("method", methods)):
        names = [one.name for one in named]
        if len(set(names)) < len(names) or not names:
            raise ValueError(f"a plan needs at least one {kind}, and no name twice; found {names}")


class RunProgress(NamedTuple):
    """How far a run is.

    done: records, of `total`.
    problem, method: what is being worked on; "" when nothing is left.
    seconds_left: about how long the rest takes.
    records: those that came with this call.

    >>> progress = RunProgress(done=5, total=25, problem="cards", method="GMN", seconds_left=40.0)
    >>> f"{progress.done} of {progress.total}, {progress.seconds_left:.0f} s left"
    '5 of 25, 40 s left'
    """

    done: int
    total: int
    problem: str
    method: str
    seconds_left: float = 0.0
    records: Sequence[Any] = ()


def run(
    plan: RunnablePlan[R],
    path: str | Path,
    *,
    n_jobs: int | None = None,
    progress: Callable[[RunProgress], None] | None = None,
    wait_seconds: float = 0.0,
    budget: float | None = None,
) -> list[R]:
    """The plan's records in its order, from the file or by running what it lacks.

    Interrupt it or kill it at any moment: the next call continues, and tries folds again on which
    a method was interrupted or lacked memory or a package.

    plan: what to run.
    path: of the study's file, which is made where it is absent.
    n_jobs: as in joblib; inside `joblib.parallel_config(backend="dask")` units go to a Dask
        cluster instead.
    progress: called at the start and whenever a unit ends.
    wait_seconds: how long to wait for another run on the same file before InUseError.
    budget: seconds after which the run ends with what is done, and returns that; None for none.

    >>> import tempfile
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from astralearn.datasets import load
    >>> plan = Plan([load("digits")], [Method("bayes", GaussianNB())], repetitions=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     records = run(plan, Path(folder, "s.sqlite"))
    >>> [(record.fold, record.tp + record.fn) for record in records][:2]
    [(0, 1), (1, 1)]
    """
    from joblib import Parallel, delayed, effective_n_jobs

    if n_jobs == 0:
        raise ValueError("`n_jobs` must be at least 1, or -1 for one per core; found 0")
    all_units = plan.units()
    with Store(Path(path), kind=plan.kind, wait_seconds=wait_seconds) as store:
        store.agree(plan.settings())
        finished = store.finished()
        pending = {
            i: unit
            for i, unit in enumerate(all_units)
            if not finished.issuperset(unit.record_keys())
        }
        if pending:
            store.begin_session(datetime.now(UTC).isoformat(timespec="seconds"), versions())
        total = sum(len(unit.record_keys()) for unit in all_units)
        report = _reporter(progress, total, pending, effective_n_jobs(n_jobs))
        report([])
        # One unit a batch: a batch is handed back only as a whole, and would be lost as a whole.
        parallel = Parallel(
            n_jobs=n_jobs,
            batch_size=1,
            return_as="generator_unordered",
            prefer="threads" if plan.in_threads else None,
            initializer=watch,
            initargs=(os.getpid(),),
        )
        tasks = [delayed(_labelled)(*item) for item in pending.items()]
        try:
            with quiet_workers(), ended_after(budget), closing(parallel(tasks)) as results:
                for label, outcomes in results:
                    store.add(outcomes)
                    del pending[label]
                    report(outcomes)
        except BaseException:
            stop_children()
            raise
    found = {record.key: record for record in read_kind(Path(path), plan.kind)}
    keys = [key for unit in all_units for key in unit.record_keys()]
    return [found[key] for key in keys if budget is None or key in found]


def kept(plan: RunnablePlan[Any], path: Path) -> tuple[int, int]:
    """How many of the plan's records need not be made again, and how many there are.

    >>> import tempfile
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from astralearn.datasets import load
    >>> plan = Plan([load("digits")], [Method("bayes", GaussianNB())], repetitions=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept(plan, Path(folder, "s.sqlite"))
    (0, 5)
    """
    keys = {key for unit in plan.units() for key in unit.record_keys()}
    stored = read_kind(path, plan.kind) if os.path.isfile(path) else []
    return len(keys & {record.key for record in stored if record.is_final}), len(keys)


def every_method(plan: Plan, path: Path) -> list[Record]:
    """What the file holds on the plan's problems, also of methods of earlier plans.

    A repetition of a method counts where it has all folds.

    >>> import tempfile
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from astralearn.datasets import load
    >>> plan = Plan([load("digits")], [Method("bayes", GaussianNB())], repetitions=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run(plan, Path(folder, "s.sqlite"))
    ...     len(every_method(plan, Path(folder, "s.sqlite")))
    5
    """
    problems = {problem.name for problem in plan.problems}
    stored = [record for record in read_records(path) if record.problem in problems]
    folds = Counter((record.problem, record.method, record.repetition) for record in stored)
    return [
        record
        for record in stored
        if folds[record.problem, record.method, record.repetition] == plan.folds
        and record.repetition < plan.repetitions
    ]


def every_problem(plan: Plan, path: Path) -> list[Record]:
    """What the file holds of the plan's methods, also on problems of earlier plans.

    A problem counts where all of the methods have all folds.

    >>> import tempfile
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from astralearn.datasets import load
    >>> plan = Plan([load("digits")], [Method("bayes", GaussianNB())], repetitions=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run(plan, Path(folder, "s.sqlite"))
    ...     len(every_problem(plan, Path(folder, "s.sqlite")))
    5
    """
    methods = {method.name for method in plan.methods}
    stored = [record for record in read_records(path) if record.method in methods]
    found = Counter((record.problem, record.method) for record in stored)
    folds = plan.folds * plan.repetitions
    return [
        record for record in stored if all(found[record.problem, name] == folds for name in methods)
    ]


def _labelled(label: int, unit: RunnableUnit) -> tuple[int, list[Outcome]]:
    return label, unit.run()


def _reporter(
    progress: Callable[[RunProgress], None] | None,
    total: int,
    pending: dict[int, RunnableUnit],
    workers: int,
) -> Callable[[Sequence[Outcome]], None]:
    """Tell `progress` what is done, the oldest unit not done, and the time left.

    It is what methods are said to take, times how much longer than said the first units took.
    """
    begun = time.perf_counter()
    at_first = sum(map(said_seconds, pending.values()))

    def report(outcomes: Sequence[Outcome]) -> None:
        if progress is None:
            return
        done = total - sum(len(unit.record_keys()) for unit in pending.values())
        current = next(iter(pending.values()), None)
        problem, method = (current.problem.name, current.method_name) if current else ("", "")
        left = sum(map(said_seconds, pending.values()))
        ended = at_first - left
        # Workers take their time to start, which is no rule for the rest.
        trust = SAID_SHARE * at_first or 1.0
        ratio = (time.perf_counter() - begun + trust / workers) / (ended + trust)
        records = [outcome.record for outcome in outcomes]
        progress(RunProgress(done, total, problem, method, left * ratio, records))

    return report
