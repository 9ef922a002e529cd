"""Compare methods on a table, on the same folds, and recommend one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

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
    MismatchError,
    Plan,
    Recommendation,
    Record,
    RunProgress,
    by_method,
    every_method,
    methods_in,
    problems_in,
    recommend,
    run,
)
from astralearn.study.store import delete, differing
from astralearn.tabular.described import described_columns

STUDY_FILE = "study.sqlite"
DEFAULT_FOLDS = 5


@dataclass(frozen=True)
class Comparison:
    """What a comparison found.

    problem: the table it was made on.
    records: one for each method and fold, in the order of the table.
    table: a row per method; `astralearn.report` prints it.
    advice: the rung of the paper's ladder to take, and why; None where none was run.
    notes: what was done to the data, and which methods could not be run.
    study: the study's file.
    """

    problem: Problem
    records: list[Record]
    table: Table
    advice: Recommendation | None
    notes: tuple[str, ...]
    study: Path

    def write(self) -> str:
        """Write report, tables and figures beside the study's file; say what was written."""
        return write_everything(
            self.study,
            title=f"Comparison on {self.problem.name}",
            tables={"comparison": self.table},
            sentences=self.advice.sentences if self.advice else (),
            records=self.records,
            problem=self.problem.name,
        )

    def forget(self) -> None:
        """Delete the study's file."""
        delete(self.study)


@dataclass(frozen=True)
class PlannedComparison:
    """A comparison whose data are read and whose methods are at hand.

    plan: what is to be run.
    path: of the study's file.
    epochs: of the networks; None for their defaults.
    notes: what was done to the data, and which methods cannot be run.
    """

    plan: Plan
    path: Path
    epochs: int | None
    notes: tuple[str, ...]

    def run(
        self, *, n_jobs: int = -1, progress: Callable[[RunProgress], None] | None = None
    ) -> Comparison:
        """Run what the study's file lacks, and sum up all that it holds."""
        (problem,) = self.plan.problems
        run(self.plan, self.path, n_jobs=n_jobs, progress=progress)
        places = {name: place for place, name in enumerate(METHOD_NAMES)}
        records = sorted(
            every_method(self.plan, self.path),
            key=lambda record: places.get(record.method, len(places)),
        )
        table = comparison_table(problem, records)
        return Comparison(
            problem=problem,
            records=records,
            table=replace(table, notes=[*table.notes, *self._other_settings(records)]),
            advice=recommend(by_method(records, problem.name)),
            notes=self.notes,
            study=self.path,
        )

    def _other_settings(self, records: Sequence[Record]) -> list[str]:
        """Methods of an earlier run that this one would run with other settings, in words."""
        ran_now = {method.name for method in self.plan.methods}
        earlier = {record.method: None for record in records if record.method not in ran_now}
        known = [name for name in earlier if name in METHOD_NAMES]
        stored, said = methods_in(self.path), []
        for method in choose(known, epochs=self.epochs).methods:
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
    target: str | None = None,
    positive: object = None,
    methods: Sequence[str | Method] = ("all",),
    folds: int | None = None,
    leave_one_positive_out: bool = False,
    repetitions: int = 5,
    epochs: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    n_jobs: int = -1,
    progress: Callable[[RunProgress], None] | None = None,
) -> Comparison:
    """Compare methods on the same folds of a table, and recommend one.

    Interrupt it or kill it at any moment: the same call continues.

    data: a name of the catalogue, a CSV, Parquet or ARFF file, a data frame, or a Problem.
    target: the column to predict, of a file or frame.
    positive: the target's positive value; by default the rarer of two.
    methods: names, the groups "ladder", "trees", "rivals" and "all", or Methods of your own.
    folds: parts that are tested in turn, 5 by default.
    leave_one_positive_out: as many folds as positives instead.
    repetitions: of all folds, drawn anew.
    epochs: of the networks; None for their defaults.
    seed: decides folds and fits.
    out: a folder for report, tables, figures and the study's file. Without it the study is kept
        in the cache until the comparison is done.
    n_jobs: processes at once, -1 for one per core.
    progress: called at the start and whenever a unit of work ends.
    """
    planned = plan_comparison(
        data,
        target=target,
        positive=positive,
        methods=methods,
        folds=folds,
        leave_one_positive_out=leave_one_positive_out,
        repetitions=repetitions,
        epochs=epochs,
        seed=seed,
        out=out,
    )
    found = planned.run(n_jobs=n_jobs, progress=progress)
    if out is None:
        found.forget()
    else:
        found.write()
    return found


def plan_comparison(
    data: str | Path | pd.DataFrame | Problem = DEFAULT_PROBLEM,
    *,
    target: str | None = None,
    positive: object = None,
    methods: Sequence[str | Method] = ("all",),
    folds: int | None = None,
    leave_one_positive_out: bool = False,
    repetitions: int = 5,
    epochs: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
) -> PlannedComparison:
    """Read the data and find the methods; arguments are those of `compare`.

    Whatever is wrong with data or arguments is said here.
    """
    chosen, absent = choose([m for m in methods if isinstance(m, str)], epochs=epochs)
    chosen += [method for method in methods if isinstance(method, Method)]
    problem = problem_of(data, target=target, positive=positive)
    if leave_one_positive_out and folds is not None:
        raise ValueError("`folds` and `leave_one_positive_out` exclude each other")
    if not chosen:
        raise ValueError("none of the methods can be run: " + "; ".join(absent))
    if leave_one_positive_out:
        # With one positive alone, two folds are what is said to be too many.
        folds = max(problem.positives, 2)
    plan = Plan(
        [problem],
        chosen,
        folds=DEFAULT_FOLDS if folds is None else folds,
        repetitions=repetitions,
        seed=seed,
    )
    plan.units()
    path = _cached(plan) if out is None else Path(out) / STUDY_FILE
    _check_folder(path, problem.name)
    notes = (*problem.notes, *described_columns(problem.X), *absent)
    return PlannedComparison(plan, path, epochs, notes)


def problem_of(
    data: str | Path | pd.DataFrame | Problem,
    *,
    target: str | None = None,
    positive: object = None,
) -> Problem:
    """Find a problem by the catalogue's name or in a file or frame; see `compare`."""
    if isinstance(data, Problem) or str(data) in CATALOGUE:
        for name, value in (("target", target), ("positive", positive)):
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
    return problem_from_frame(frame, target, name=name, positive=positive)


def _name(path: Path) -> str:
    """The file's name up to its ending, as text on one line.

    SQLite and terminals take no bytes of another encoding.
    """
    stem = path.name.lstrip(".").split(".")[0]
    return one_line(os.fsencode(stem).decode("utf-8", "replace")) or path.name


def _cached(plan: Plan) -> Path:
    """A file of the plan's own in the cache, so that it can be resumed."""
    name = hashlib.sha256(repr(sorted(plan.settings().items())).encode()).hexdigest()[:16]
    return cache_folder() / "studies" / f"{name}.sqlite"


def _check_folder(path: Path, problem: str) -> None:
    """A folder's report and figures are of one problem."""
    others = [name for name in problems_in(path) if name != problem] if os.path.isfile(path) else []
    if others:
        raise MismatchError(
            f"{path} holds a comparison on {', '.join(others)}; this one is on {problem}. "
            "Use another `out`."
        )
