"""Records of one problem as a table a person reads at a glance."""

from __future__ import annotations

from collections.abc import Sequence

from astralearn.datasets.problem import Problem
from astralearn.report.tables import BOLD, Cell, Table
from astralearn.study import Record, Summary, by_method, summarise, what_n_is
from astralearn.study.answer import MAY_WIN, Answer, Judged

COLUMNS = ("90%", "best", "found", "alarms", "AP", "fit", "G-Mean (sd)", "MCC (sd)")


def comparison_table(problem: Problem, records: Sequence[Record], answer: Answer) -> Table:
    """A row per method, best first: the decision's score, how sure, positives found.

    Bold: what may be recommended.

    >>> from astralearn.compare import compare
    >>> found = compare("digits", methods=["logistic"], folds=2, repetitions=1, n_jobs=1)
    >>> comparison_table(found.problem, found.records, found.answer).title
    'digits: 5 positives (8) among 1,628 rows'
    """
    methods = by_method(records, problem.name)
    summaries = {name: summarise(of_method) for name, of_method in methods.items()}
    rows = [_row(one, summaries[one.method]) for one in answer.judged]
    title = (
        f"{problem.name}: {problem.positives} positives ({problem.labels[1]}) among "
        f"{problem.rows:,} rows"
    )
    explained = (
        f"{BOLD} may be recommended: it found a positive, and is best in {MAY_WIN:.0%} of the "
        f"resamples or more. {answer.aim}: expected on new rows, with its 90% interval. best: the "
        "share of resamples that it wins. found: of the positives tested. alarms: false ones per "
        "1,000 negatives. fit: time to train a fold. (sd): mean and standard deviation over "
        "folds."
    )
    notes = [explained, what_n_is(methods), *failures(list(summaries.values()))]
    return Table(title, ("method", answer.aim, *COLUMNS), rows, notes=notes)


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


def _row(judged: Judged, s: Summary) -> list[Cell | str]:
    bold, score = judged.may_be_recommended, judged.score
    return [
        Cell(s.method + (" †" if s.errors else ""), bold),
        Cell(f"{score.mean:.3g}", bold),
        f"{score.low:.2g}–{score.high:.2g}",
        f"{judged.sureness:.0%}",
        f"{s.hits}/{s.trials}",
        f"{1000 * s.fpr:.3g}",
        "" if s.average_precision is None else f"{s.average_precision:.3f}",
        seconds(s.fit_seconds),
        f"{s.g_mean:.3f} ({s.g_mean_sd:.3f})",
        f"{s.mcc:.3f} ({s.mcc_sd:.3f})",
    ]
