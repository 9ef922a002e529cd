"""The paper's Tables 1 and 2 beside ours."""

from __future__ import annotations

from collections.abc import Sequence

from astralearn.datasets.problem import Problem
from astralearn.report.comparison import failures
from astralearn.report.tables import BOLD, Cell, Table
from astralearn.study import Record, by_method, recommend, standings, summarise
from astralearn.study.paper import (
    PAPER_METHODS,
    TABLE_1,
    TABLE_2,
    TRIALS,
    PublishedData,
    PublishedScore,
)
from astralearn.study.scores import PAPER_SCORES


def data_table(problems: Sequence[Problem]) -> Table:
    """Table 1: what was loaded beside what the paper prints."""
    rows = []
    for problem in problems:
        paper = TABLE_1[problem.name]
        ours, printed = _sizes(problem), _sizes(paper)
        agreement = "equal" if ours == printed else "differs: " + ", ".join(printed)
        rows.append([problem.name, *ours, agreement])
    return Table("Table 1: the problems", ["problem", "IR", "n_x", "m_tot", "m_1", "paper"], rows)


def _sizes(of: Problem | PublishedData) -> list[str]:
    return [f"{of.imbalance_ratio:.2f}", str(of.features), str(of.rows), str(of.positives)]


def results_table(records: Sequence[Record]) -> Table:
    """Table 2: our means beside the published ones.

    Ours have their deviation; the published ones their 95% interval, and whether ours lies in it.
    Bold: winners and ties among ours, marked as the paper marks them (p ≤ 0.05 against the best,
    without Holm).
    """
    rows: list[list[Cell | str]] = []
    inside: list[bool] = []
    for problem in [name for name in TABLE_2 if any(record.problem == name for record in records)]:
        methods = by_method(records, problem)
        wins = {score: standings(methods, score, many=False) for score in PAPER_SCORES}
        for method in [name for name in PAPER_METHODS if name in methods]:
            summary = summarise(methods[method])
            row: list[Cell | str] = [problem, method]
            for score in PAPER_SCORES:
                mean, sd = getattr(summary, score), getattr(summary, f"{score}_sd")
                published = TABLE_2[problem][score][method]
                inside.append(mean in published.interval)
                row += [
                    Cell(f"{mean:.3f} ({sd:.3f})", wins[score][method].wins),
                    beside(published, inside[-1]),
                ]
            rows.append(row)
    scores = [name for shown in PAPER_SCORES.values() for name in (shown, f"paper {shown}")]
    return Table(
        "Table 2: test performance beside the paper's",
        ["problem", "method", *scores],
        rows,
        notes=_notes(records, sum(inside), len(inside)),
        left=2,
        sections=True,
    )


def recommendations(records: Sequence[Record]) -> list[str]:
    """For each problem the rung of the ladder our records recommend, in words."""
    said = []
    for problem in dict.fromkeys(record.problem for record in records):
        advice = recommend(by_method(records, problem), many=False)
        if advice:
            said.append(f"{problem}: {advice}")
    return said


def beside(published: PublishedScore, agrees: bool) -> str:
    """Published mean, its interval, and whether ours lies in it: 0.760 0.57–0.89 ✓."""
    low, high = published.interval
    return f"{published.mean:.3f} {low:.2f}–{high:.2f} {'✓' if agrees else '✗'}"


def _notes(records: Sequence[Record], inside: int, cells: int) -> list[str]:
    folds = len({(record.repetition, record.fold) for record in records})
    summaries = [
        summarise(rows)
        for problem in dict.fromkeys(r.problem for r in records)
        for rows in by_method(records, problem).values()
    ]
    return [
        f"{inside} of {cells} means lie inside the published mean's 95% interval (✓). "
        f"Ours: n = {folds} folds. Published: taken as n = {TRIALS}, since the printed deviations "
        f"are those of {TRIALS} yes-or-no trials; intervals are Wilson's for hits, otherwise "
        "Student's from the printed deviation.",
        f"{BOLD} best, or not distinguishable from it (corrected resampled t-test, p > 0.05).",
        *failures(summaries),
    ]
