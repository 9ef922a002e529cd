"""Compare methods on a table, on the same folds, and recommend one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

import pandas as pd

from astralearn.asked import Asked, check_folder, said_of_absent, study_decision
from astralearn.datasets import (
    CATALOGUE,
    DEFAULT_PROBLEM,
    MissingColumnError,
    MissingFileError,
    Problem,
    cache_folder,
    load,
    problem_from_frame,
    read_table,
)
from astralearn.datasets.problem import listed_columns
from astralearn.methods import METHOD_NAMES, choose
from astralearn.report import Table, comparison_table, one_line
from astralearn.report.artefacts import write_everything
from astralearn.study import (
    Method,
    Plan,
    Recommendation,
    Record,
    RunProgress,
    by_method,
    every_method,
    methods_in,
    recommend,
    run,
)
from astralearn.study.answer import Answer, answer
from astralearn.study.method import differing
from astralearn.study.store import delete
from astralearn.study.unit import said_seconds
from astralearn.tabular.described import described_columns

STUDY_FILE = "study.sqlite"
DEFAULT_FOLDS = DEFAULT_REPETITIONS = 5
# Of one core, by what methods are said to take: two cores then answer within three minutes.
MOST_SECONDS = 300.0


@dataclass(frozen=True)
class Comparison:
    """What a comparison found.

    planned: what was asked for.
    records: one for each method and fold, in the order of the table.
    table: a row per method, best first; `astralearn.report` prints it.
    answer: which method for the decision, how sure, and what the next one costs.
    advice: the rung of the paper's ladder to take, and why; None where none was run.
    notes: what was done to the data, and which methods could not be run.

    >>> found = compare("digits", methods=["logistic"], folds=2, repetitions=1, n_jobs=1)
    >>> found.problem.positives, found.table.columns[0]
    (5, 'method')
    """

    planned: PlannedComparison
    records: list[Record]
    table: Table
    answer: Answer
    advice: Recommendation | None
    notes: tuple[str, ...]

    @property
    def problem(self) -> Problem:
        """The table that it was made on."""
        (problem,) = self.planned.plan.problems
        return problem

    @property
    def study(self) -> Path:
        """The study's file."""
        return self.planned.path

    def texts(self) -> list[str]:
        """The verdict, how to go on, and the least intervention, for a terminal."""
        lines = ["\n  ".join([what, *code.splitlines()]) for what, code in self.lines()]
        return [" ".join(self.answer.sentences()), *lines, *self.ladder()]

    def ladder(self) -> list[str]:
        """What the paper would advise, in a sentence."""
        return [f"The paper's ladder: {self.advice}"] if self.advice else []

    def lines(self) -> list[tuple[str, str]]:
        """The lines of Python and the command that train the recommended method."""
        return self.planned.asked.training_lines(self.answer)

    def write(self) -> str:
        """Write report.html and the rest beside the study's file; say what was written."""
        from astralearn.pages import comparison_page

        about = [f"{name}: {value}" for name, value in self.planned.asked.facts()]
        return write_everything(
            self.study,
            title=f"Comparison on {self.problem.name}",
            tables={"comparison": self.table},
            sentences=[*self.answer.sentences(), *self.ladder()],
            lines=self.lines(),
            records=self.records,
            problem=self.problem.name,
            page=comparison_page(self).html(),
            about=[*about, *self.notes, self.planned.asked.command],
        )

    def forget(self) -> None:
        """Delete the study's file."""
        delete(self.study)


@dataclass(frozen=True)
class PlannedComparison:
    """A comparison whose data are read and whose methods are at hand.

    plan: what is to be run.
    path: of the study's file.
    options: the arguments of `plan_comparison`, by name.
    notes: what was done to the data, and which methods cannot be run.
    begun: when planning began, by the monotonic clock.
    """

    plan: Plan
    path: Path
    options: Mapping[str, Any]
    notes: tuple[str, ...]
    begun: float

    @property
    def asked(self) -> Asked:
        """What was asked for, in words."""
        return Asked(self.plan, self.options)

    def run(
        self, *, n_jobs: int = -1, progress: Callable[[RunProgress], None] | None = None
    ) -> Comparison:
        """Run what the study's file lacks, and sum up all that it holds."""
        (problem,) = self.plan.problems
        budget = self.options["budget"]
        # Half of it at least: said again, the same command has to get further.
        left = budget and max(budget - (monotonic() - self.begun), budget / 2)
        made = run(self.plan, self.path, n_jobs=n_jobs, progress=progress, budget=left)
        records = every_method(self.plan, self.path)
        if not records:
            raise ValueError(
                f"`budget={budget:g}`: no method got through its {self.plan.folds} folds in time; "
                "the same command continues, or name a larger one"
            )
        methods = by_method(records, problem.name)
        found = answer(methods, study_decision(self.options["decision"], problem))
        places = {judged.method: place for place, judged in enumerate(found.judged)}
        records.sort(key=lambda record: places[record.method])
        table = comparison_table(problem, records, found)
        notes = [*table.notes, *self._other_settings(records), *self._not_done(made, methods)]
        return Comparison(
            planned=self,
            records=records,
            table=replace(table, notes=notes),
            answer=found,
            advice=recommend(methods),
            notes=self.notes,
        )

    def _not_done(self, made: Sequence[Record], methods: Mapping[str, Any]) -> list[str]:
        """What a budget left undone, in words."""
        total = sum(len(unit.record_keys()) for unit in self.plan.units())
        if len(made) == total:
            return []
        absent = [m.name for m in self.plan.methods if m.name not in methods]
        rest = f"; not one repetition of {', '.join(absent)}" if absent else ""
        return [f"The budget ended it with {len(made)} of {total} folds{rest}."]

    def _other_settings(self, records: Sequence[Record]) -> list[str]:
        """Methods of an earlier run that this one would run with other settings, in words."""
        ran_now = {method.name for method in self.plan.methods}
        earlier = {record.method: None for record in records if record.method not in ran_now}
        known = [name for name in earlier if name in METHOD_NAMES]
        stored, said = methods_in(self.path), []
        for method in choose(known, epochs=self.options["epochs"]).methods:
            before, now = stored[method.name], method.described()
            if before != now:
                said.append(
                    f"{method.name} is of an earlier run, with {differing(before, now)}; "
                    f"this one has {differing(now, before)}."
                )
        return said


def compare(
    data: str | Path | pd.DataFrame | Problem = DEFAULT_PROBLEM,
    *,
    n_jobs: int = -1,
    progress: Callable[[RunProgress], None] | None = None,
    **asked: Any,
) -> Comparison:
    """Compare methods on the same folds of a table, and recommend one for a decision.

    Interrupt it or kill it at any moment: the same call continues.

    data: a name of the catalogue, a CSV, Parquet, Excel or ARFF file, a data frame, or a Problem.
    n_jobs: processes at once, -1 for one per core.
    progress: called at the start and whenever a fold ends.
    asked: further arguments of `plan_comparison`.

    >>> found = compare("digits", methods=["logistic"], folds=2, repetitions=1, n_jobs=1)
    >>> found.answer.judged[0].method, len(found.records)
    ('logistic', 2)
    """
    planned = plan_comparison(data, **asked)
    found = planned.run(n_jobs=n_jobs, progress=progress)
    if asked.get("out") is None:
        found.forget()
    else:
        found.write()
    return found


def plan_comparison(
    data: str | Path | pd.DataFrame | Problem = DEFAULT_PROBLEM,
    *,
    target: str | None = None,
    positive: object = None,
    decision: Any = "g_mean",
    methods: Sequence[str | Method] = ("default",),
    group: str | None = None,
    time: str | None = None,
    folds: int | None = None,
    leave_one_positive_out: bool = False,
    repetitions: int | None = None,
    epochs: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    budget: float | None = None,
) -> PlannedComparison:
    """Read the data and find the methods.

    Whatever is wrong with data or arguments is said here.

    data: as in `compare`.
    target: the column to predict, of a file or frame.
    positive: the target's positive value; by default the rarer of two.
    decision: what methods are judged for, as ASTraClassifier's `decision`.
    methods: names, the groups "default", "ladder", "trees", "rivals" and "all", or Methods of your
        own.
    group: a column whose equal values are tested together.
    time: a column of numbers or dates; rows are tested by what learned from earlier ones.
    folds: parts that are tested in turn, 5 by default.
    leave_one_positive_out: as many folds as positives instead.
    repetitions: of all folds, drawn anew; one where there is a time. By default five, or as many as
        MOST_SECONDS are said to be enough for.
    epochs: of the networks; None for their defaults.
    seed: decides folds and fits.
    out: a folder for report, tables, figures and the study's file. Without it the study is kept
        in the cache until the comparison is done.
    budget: seconds after which it ends with what is done, from here on; None for none.
    """
    options = {**locals()}
    begun = monotonic()
    if budget is not None and not budget > 0:
        raise ValueError(f"`budget` must be above 0 seconds; found {budget:g}")
    problem = problem_of(data, target=target, positive=positive, group=group, time=time)
    for_study = study_decision(decision, problem)
    names = [method for method in methods if isinstance(method, str)]
    chosen, absent = choose(names, epochs=epochs, decision=for_study)
    chosen += [method for method in methods if isinstance(method, Method)]
    if leave_one_positive_out and folds is not None:
        raise ValueError("`folds` and `leave_one_positive_out` exclude each other")
    if not chosen:
        raise ValueError("none of the methods can be run: " + "; ".join(absent))
    # With one positive alone, two folds are what is said to be too many.
    parts = max(problem.positives, 2) if leave_one_positive_out else folds
    once = Plan(
        [problem],
        sorted(chosen, key=lambda method: method.seconds),
        folds=DEFAULT_FOLDS if parts is None else parts,
        repetitions=1,
        seed=seed,
        stack=1,  # a killed run loses one fold for each process
        by_repetition=True,
    )
    quick = int(MOST_SECONDS / sum(map(said_seconds, once.units())))
    most = max(1, min(DEFAULT_REPETITIONS, quick)) if repetitions is None else repetitions
    plan = replace(once, repetitions=most if time is None else min(most, 1))
    plan.units()
    path = _cached(plan) if out is None else Path(out) / STUDY_FILE
    check_folder(path, problem.name)
    notes = (*problem.notes, *described_columns(problem.X), *said_of_absent(absent))
    if repetitions is None and time is None and most < DEFAULT_REPETITIONS:
        notes += (f"for the table's size, folds are drawn {most} times, not 5 (`repetitions`)",)
    # What reading and encoding say alike is said once.
    return PlannedComparison(plan, path, options, tuple(dict.fromkeys(notes)), begun)


def problem_of(
    data: str | Path | pd.DataFrame | Problem,
    *,
    target: str | None = None,
    positive: object = None,
    group: str | None = None,
    time: str | None = None,
) -> Problem:
    """Find a problem in the catalogue, a file or a frame, as `plan_comparison`."""
    if isinstance(data, Problem) or str(data) in CATALOGUE:
        of_files = {"target": target, "positive": positive, "group": group, "time": time}
        for name, value in of_files.items():
            if value is not None:
                raise ValueError(
                    f"`{name}={value}` is for files and frames; give one of those, or leave it out"
                )
        return data if isinstance(data, Problem) else load(str(data))
    if isinstance(data, pd.DataFrame):
        name, frame = "table", data
    else:
        path = Path(data)
        # Unlike Path.exists, os.path's takes a name that is too long for an absent one.
        if not path.suffix and not os.path.exists(path):
            raise MissingFileError(
                f"no such file or problem: {path}; the catalogue has {', '.join(CATALOGUE)}"
            )
        name, frame = _name(path), read_table(path)
    if target is None:
        raise MissingColumnError(
            f"which column is to be predicted? Name it (`target`); there are "
            f"{listed_columns(frame)}"
        )
    return problem_from_frame(frame, target, name=name, positive=positive, group=group, time=time)


def _name(path: Path) -> str:
    """The file's name up to its ending, as text that SQLite and terminals take."""
    stem = path.name.lstrip(".").split(".")[0]
    return one_line(os.fsencode(stem).decode("utf-8", "replace")) or path.name


def _cached(plan: Plan) -> Path:
    """A file of the plan's own in the cache, so that it can be resumed."""
    name = hashlib.sha256(repr(sorted(plan.settings().items())).encode()).hexdigest()[:16]
    return cache_folder() / "studies" / f"{name}.sqlite"
