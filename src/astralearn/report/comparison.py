"""Records of one problem as a table a person reads at a glance."""

from __future__ import annotations

from collections.abc import Sequence

from astralearn.datasets.problem import Problem
from astralearn.report.tables import BOLD, Cell, Table
from astralearn.study import Record, Summary, by_method, standings, summarise, what_n_is

COMPARED = ("method", "G-Mean", "MCC", "found", "95%", "FPR", "AP", "fit")


def comparison_table(problem: Problem, records: Sequence[Record]) -> Table:
    """A row per method: scores with deviations, positives found, time of a fit.

    Bold: the best mean, and those that cannot be told from it at p ≤ 0.05 (corrected resampled
    t-test, Holm).
    """
    methods = by_method(records, problem.name)
    g_mean, mcc = standings(methods, "g_mean"), standings(methods, "mcc")
    summaries = [summarise(records) for records in methods.values()]
    rows = [
        _row(s, is_best_g_mean=g_mean[s.method].wins, is_best_mcc=mcc[s.method].wins)
        for s in summaries
    ]
    title = (
        f"{problem.name}: {problem.positives} positives ({problem.labels[1]}) among "
        f"{problem.rows:,} rows, IR {problem.imbalance_ratio:.1f}"
    )
    explained = (
        f"{BOLD} best, or not distinguishable from the best (p > 0.05). G-Mean and MCC: mean "
        "(standard deviation) over folds. found: positives found of those tested, pooled, with "
        "Wilson's 95% interval, which takes tests for independent."
    )
    notes = [explained, what_n_is(methods), *failures(summaries)]
    return Table(title, COMPARED, rows, notes=notes)


def failures(summaries: Sequence[Summary]) -> list[str]:
    """What methods raised, a sentence per message."""
    return [
        f"† {s.method} failed on {count} of {s.folds} folds, which count as missed: {message}"
        for s in summaries
        for message, count in s.errors
    ]


def seconds(value: float) -> str:
    """Short: 12 ms, 3.4 s."""
    return f"{1000 * value:.0f} ms" if value < 1 else f"{value:.1f} s"


def _row(s: Summary, *, is_best_g_mean: bool, is_best_mcc: bool) -> list[Cell | str]:
    return [
        s.method + (" †" if s.errors else ""),
        Cell(f"{s.g_mean:.3f} ({s.g_mean_sd:.3f})", is_best_g_mean),
        Cell(f"{s.mcc:.3f} ({s.mcc_sd:.3f})", is_best_mcc),
        f"{s.hits}/{s.trials}",
        f"{s.interval.low:.2f}–{s.interval.high:.2f}",
        f"{100 * s.fpr:.2f}%",
        "" if s.average_precision is None else f"{s.average_precision:.3f}",
        seconds(s.fit_seconds),
    ]
