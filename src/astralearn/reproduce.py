"""Redo the paper's tables and figures beside the published numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from astralearn.compare import STUDY_FILE
from astralearn.datasets import Problem, UnavailableError, load
from astralearn.methods import choose, paper_ladder
from astralearn.report import Table
from astralearn.report.reproduction import (
    RULES,
    bounds_table,
    data_table,
    recommendations,
    results_table,
    rival_sentences,
    spread_table,
    verdict,
)
from astralearn.report.reproduction_page import write_reproduction
from astralearn.study import RunProgress, run
from astralearn.study.paper import PROTOCOL, QUICK, TABLE_2, Protocol
from astralearn.study.paper_plan import PaperPlan
from astralearn.study.record import StartRecord


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction found.

    problems: those that the tables show, also of earlier runs in the folder.
    records: one for each problem, method, fold and start, in the order of the tables.
    data: Table 1.
    tables: Table 2 by the paper's rule and by the last epoch, the cells that differ with their
        bounds, and the spread over starts and draws, by the names of their files.
    verdict: how many cells agree with the paper, by either rule.
    sentences: what the paper says of rivals, and a rung for each problem.
    study: the study's file.
    figure_4: the problem whose e-ratio is drawn.

    >>> found = reproduce(["skin-588"], quick=True)  # doctest: +SKIP
    >>> found.table.title  # doctest: +SKIP
    """

    problems: list[Problem]
    records: list[StartRecord]
    data: Table
    tables: dict[str, Table]
    verdict: list[str]
    sentences: list[str]
    study: Path
    figure_4: str

    @property
    def table(self) -> Table:
        """Table 2 by the paper's rule."""
        return self.tables["table-2"]

    def write(self) -> str:
        """Write report, tables and figures beside the study's file; say what was written."""
        return write_reproduction(
            self.study,
            tables={"table-1": self.data, **self.tables},
            verdict=self.verdict,
            sentences=self.sentences,
            records=self.records,
            problem=self.figure_4,
        )


@dataclass(frozen=True)
class PlannedReproduction:
    """A reproduction whose data are read.

    plan: what is to be run.
    path: of the study's file.
    protocol: the paper's, or the quick one.
    notes: which rivals cannot be run.
    """

    plan: PaperPlan
    path: Path
    protocol: Protocol
    notes: tuple[str, ...] = ()

    def run(
        self, *, n_jobs: int = -1, progress: Callable[[RunProgress], None] | None = None
    ) -> Reproduction:
        """Run what the study's file lacks, and sum up all that it holds."""
        run(self.plan, self.path, n_jobs=n_jobs, progress=progress)
        methods = [method.name for method in (*self.plan.networks, *self.plan.rivals)]
        places = {name: place for place, name in enumerate([*TABLE_2, *methods])}
        stored = sorted(
            self.plan.every_problem(self.path),
            key=lambda record: (places[record.problem], places[record.method]),
        )
        names = list(dict.fromkeys(record.problem for record in stored))
        problems = _at_hand(names, self.plan.problems)
        records = [record for record in stored if record.problem in problems]
        lost = [
            f"{name}: run earlier, and left out here, because its file is not on this machine."
            for name in names
            if name not in problems
        ]
        drawn = self.protocol.figure_4
        of_rules = (results_table(records, rule) for rule in RULES)
        return Reproduction(
            problems=list(problems.values()),
            records=records,
            data=data_table(list(problems.values())),
            tables={
                **dict(zip(("table-2", "table-2-last-epoch"), of_rules, strict=True)),
                "bounds": bounds_table(records),
                "spread": spread_table(records),
            },
            verdict=verdict(records),
            sentences=[*rival_sentences(records), *recommendations(records), *self.notes, *lost],
            study=self.path,
            figure_4=drawn if drawn in problems else list(problems)[-1],
        )


def reproduce(
    problems: Sequence[str] | None = None,
    *,
    quick: bool = False,
    starts: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    n_jobs: int = -1,
    progress: Callable[[RunProgress], None] | None = None,
) -> Reproduction:
    """Run the paper's study, and write its tables and figures into a folder.

    Interrupt it or kill it at any moment: the same call continues.

    problems: names of Table 1; None for all five.
    quick: the same artefacts in about a minute, with few epochs and repetitions.
    starts: initial weights on each fold; None for the protocol's two.
    seed: decides folds and fits.
    out: the folder, by default one in the current folder named after the protocol.
    n_jobs: processes at once, -1 for one per core.
    progress: called at the start and whenever a unit of work ends.

    >>> found = reproduce(quick=True)  # doctest: +SKIP
    >>> print(*found.verdict, sep="; ")  # doctest: +SKIP
    """
    planned = plan_reproduction(problems, quick=quick, starts=starts, seed=seed, out=out)
    found = planned.run(n_jobs=n_jobs, progress=progress)
    found.write()
    return found


def plan_reproduction(
    problems: Sequence[str] | None = None,
    *,
    quick: bool = False,
    starts: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
) -> PlannedReproduction:
    """Load the problems; arguments are those of `reproduce`."""
    protocol = QUICK if quick else PROTOCOL
    if starts is not None:
        protocol = replace(protocol, starts=starts)
    folder = Path(out or ("astralearn-reproduction-quick" if quick else "astralearn-reproduction"))
    names = protocol.problems if problems is None else problems
    unknown = [name for name in names if name not in TABLE_2]
    if unknown:
        raise ValueError(
            f"not in the paper: {', '.join(unknown)}; its problems are {', '.join(TABLE_2)}"
        )
    rivals = choose(protocol.rivals)
    plan = PaperPlan(
        [load(name) for name in names],
        paper_ladder(protocol),
        rivals.methods,
        folds=protocol.folds,
        repetitions=protocol.repetitions,
        starts=protocol.starts,
        burn_in=protocol.burn_in,
        seed=seed,
    )
    return PlannedReproduction(plan, folder / STUDY_FILE, protocol, tuple(rivals.absent))


def _at_hand(names: Sequence[str], loaded: Sequence[Problem]) -> dict[str, Problem]:
    """The problems by name, without those whose file cannot be had."""
    problems = {problem.name: problem for problem in loaded}
    for name in names:
        if name not in problems:
            with suppress(UnavailableError):
                problems[name] = load(name)
    return {name: problems[name] for name in names if name in problems}
