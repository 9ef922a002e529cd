"""Benchmark methods on RareBench: draw k positives, test on all the others."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from astralearn.datasets import Problem, UnavailableError
from astralearn.datasets.rarebench import OPEN, PROBLEMS, SEALED, load_problem
from astralearn.methods import choose
from astralearn.report import Table
from astralearn.report.leaderboard import leaderboard_page, rank_table
from astralearn.report.whole_file import write_whole
from astralearn.study import Method, RunProgress, read_sessions, run
from astralearn.study.draw_plan import DrawPlan
from astralearn.study.draw_record import DrawRecord
from astralearn.study.draws import Drawing
from astralearn.study.store import delete, methods_in, read_kind

BENCH_FILE, PAGE_FILE = "bench.sqlite", "leaderboard.html"
HALVES = {"open": OPEN, "sealed": SEALED, "all": list(PROBLEMS)}
KS = (5, 10, 20, 50, 100)
# A quick run: every third problem, fewer k and draws, and smaller tables.
QUICK_STEP, QUICK_KS, QUICK_DRAWS = 3, (5, 20), 2
QUICK_DRAWING = Drawing(most_learned=5_000, most_tested=10_000)


@dataclass(frozen=True)
class Bench:
    """What a benchmark found.

    records: one for each problem, method, k and draw.
    table: a row per method, the best mean rank of AP first.
    notes: problems and methods that were left out, and why.
    path: of the benchmark's file.
    command: which makes the page again.

    >>> import tempfile
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from astralearn.datasets import load
    >>> tree = Method("tree", DecisionTreeClassifier())
    >>> with tempfile.TemporaryDirectory() as out:
    ...     found = bench([load("digits")], methods=[tree], ks=[2], draws=1, out=out, n_jobs=1)
    >>> found.table.columns[:2], found.command
    (('method', 'rank'), 'astralearn bench --problems digits --methods tree --k 2 --draws 1')
    """

    records: list[DrawRecord]
    table: Table
    notes: tuple[str, ...]
    path: Path
    command: str

    def write(self) -> str:
        """Write the leaderboard beside the benchmark's file; say where it is."""
        sessions = read_sessions(self.path)
        methods = {record.method for record in self.records}
        page = leaderboard_page(
            self.records,
            settings={
                name: text for name, text in methods_in(self.path).items() if name in methods
            },
            versions=sessions[-1][1] if sessions else {},
            command=self.command,
        )
        return f"Leaderboard: {write_whole(self.path.with_name(PAGE_FILE), page)}"

    def forget(self) -> None:
        """Delete the benchmark's file."""
        delete(self.path)


@dataclass(frozen=True)
class PlannedBench:
    """A benchmark whose tables are read and whose methods are at hand."""

    plan: DrawPlan
    path: Path
    notes: tuple[str, ...]
    command: str

    def run(
        self, *, n_jobs: int = -1, progress: Callable[[RunProgress], None] | None = None
    ) -> Bench:
        """Run what the file lacks, and rank all methods that the file has in every case."""
        ran = run(self.plan, self.path, n_jobs=n_jobs, progress=progress)
        cases = {record.case for record in ran}
        stored = [record for record in read_kind(self.path, DrawRecord) if record.case in cases]
        others = {record.method for record in stored} - {record.method for record in ran}
        whole = {name for name in others if _cases(stored, name) == cases}
        records = ran + [record for record in stored if record.method in whole]
        return Bench(records, rank_table(records), self.notes, self.path, self.command)


def _cases(records: Sequence[DrawRecord], method: str) -> set[tuple[str, int, int]]:
    return {record.case for record in records if record.method == method}


def bench(
    problems: str | Sequence[str | Problem] = "open",
    *,
    methods: Sequence[str | Method] = ("fast",),
    ks: Sequence[int] | None = None,
    draws: int | None = None,
    quick: bool = False,
    limit: float = 600.0,
    seed: int = 0,
    out: str | Path,
    n_jobs: int = -1,
    progress: Callable[[RunProgress], None] | None = None,
) -> Bench:
    """Benchmark methods on the same draws, and write a leaderboard.

    Interrupt it or kill it at any moment: the same call continues. Problems, methods, k and draws
    may be added in later calls.

    problems: "open" (to be tuned on), "sealed" (for reports only), "all", names, or Problems.
    methods: names, groups such as "fast", "all" and "entrants", or Methods of your own.
    ks: numbers of positives to learn from; 5, 10, 20, 50 and 100 by default.
    draws: of the positives, 5 by default.
    quick: a third of the problems, k = 5 and 20, two draws, at most 5,000 negatives.
    limit: seconds that one draw may take to learn and predict.
    seed: decides draws and fits.
    out: a folder for the leaderboard and the benchmark's file.
    n_jobs: processes at once, -1 for one per core.
    progress: called at the start and whenever a unit of work ends.

    >>> import tempfile
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from astralearn.datasets import load
    >>> tree = Method("tree", DecisionTreeClassifier())
    >>> with tempfile.TemporaryDirectory() as out:
    ...     found = bench([load("digits")], methods=[tree], ks=[2], draws=1, out=out, n_jobs=1)
    >>> [(record.k, record.draw) for record in found.records]
    [(2, 0)]
    """
    planned = plan_bench(
        problems, methods=methods, ks=ks, draws=draws, quick=quick, limit=limit, seed=seed, out=out
    )
    found = planned.run(n_jobs=n_jobs, progress=progress)
    found.write()
    return found


def plan_bench(
    problems: str | Sequence[str | Problem] = "open",
    *,
    methods: Sequence[str | Method] = ("fast",),
    ks: Sequence[int] | None = None,
    draws: int | None = None,
    quick: bool = False,
    limit: float = 600.0,
    seed: int = 0,
    out: str | Path,
) -> PlannedBench:
    """Read the tables and find the methods; arguments are those of `bench`.

    Tables that cannot be had on this machine are left out, and said to be.
    """
    chosen, absent = choose([m for m in methods if isinstance(m, str)])
    chosen += [method for method in methods if isinstance(method, Method)]
    listed: Sequence[str | Problem] = HALVES[problems] if isinstance(problems, str) else problems
    if quick and isinstance(problems, str):
        listed = listed[::QUICK_STEP]
    loaded, missing = [], []
    for problem in listed:
        try:
            loaded.append(load_problem(problem) if isinstance(problem, str) else problem)
        except UnavailableError as error:
            missing.append(f"{problem} was left out: {str(error).partition('. ')[0]}")
    plan = DrawPlan(
        loaded,
        chosen,
        ks=(QUICK_KS if quick else KS) if ks is None else ks,
        draws=(QUICK_DRAWS if quick else 5) if draws is None else draws,
        seed=seed,
        drawing=QUICK_DRAWING if quick else Drawing(),
        limit=limit,
    )
    notes = (*missing, *absent, *plan.left_out())
    command = _command(problems, methods, ks=ks, draws=draws, quick=quick)
    return PlannedBench(plan, Path(out) / BENCH_FILE, notes, command)


def _command(
    problems: str | Sequence[str | Problem],
    methods: Sequence[str | Method],
    *,
    ks: Sequence[int] | None,
    draws: int | None,
    quick: bool,
) -> str:
    """What runs the same from the command line, as far as it knows the names."""
    if isinstance(problems, str):
        words = [f"--{problems}"]
    else:
        words = ["--problems", ",".join(p if isinstance(p, str) else p.name for p in problems)]
    if [*methods] != ["fast"]:
        words += ["--methods", ",".join(m if isinstance(m, str) else m.name for m in methods)]
    words += ["--k", ",".join(map(str, ks))] if ks else []
    words += ["--draws", str(draws)] if draws else []
    words += ["--quick"] if quick else []
    return "astralearn bench " + " ".join(shlex.quote(word) for word in words)
