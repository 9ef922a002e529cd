"""report.html of a comparison and of a model, for whoever decides."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from astralearn.classifier import ASTraClassifier
from astralearn.datasets import read_table
from astralearn.datasets.streams import writing
from astralearn.report.artefacts import versions_of
from astralearn.report.page import Explained, Explorer, Placed, ReportPage
from astralearn.report.whole_file import write_whole
from astralearn.scoring import table_model
from astralearn.study import LADDER, by_method, read_histories, read_sessions, summarise
from astralearn.study.answer import PER
from astralearn.study.identity import versions
from astralearn.tabular import TabularASTraClassifier
from astralearn.tabular.columns import as_frame
from astralearn.tabular.described import described

if TYPE_CHECKING:
    from astralearn.compare import Comparison

MOST_EXPLAINED = 12
MOST_NEAREST = 3


MOST_CURVES = 3


def comparison_page(found: Comparison) -> ReportPage:
    """The page of a comparison."""
    answer, problem = found.answer, found.problem
    best = answer.best
    of_best = best.tested
    methods = by_method(found.records, problem.name)
    histories = read_histories(found.study, problem.name)
    by, rows = _explained_rows(found)
    return ReportPage(
        title=f"Which method for {problem.name}? {problem.positives} positives among "
        f"{problem.rows:,} rows",
        verdict=answer.sentences(),
        lines=found.lines(),
        answer=answer,
        seconds={name: summarise(records).fit_seconds for name, records in methods.items()},
        explorer=Explorer(best.method, of_best.expectations(best.cut), best.cut, of_best.prior),
        positives=[
            Placed(int(row) + 1, float(above), float(share))
            for row, above, share in zip(
                of_best.rows, of_best.share_above, of_best.found, strict=True
            )
        ],
        negatives=of_best.negatives,
        curves={
            one.method: one.tested.expectations(one.cut) for one in answer.judged[:MOST_CURVES]
        },
        training={name: histories[name] for name in LADDER if name in histories},
        explained=rows,
        explained_by=by,
        ladder=found.ladder(),
        notes=[*found.notes, *found.table.notes[1:]],
        facts=found.planned.asked.facts(),
        command=found.planned.asked.command,
        versions=versions_of(read_sessions(found.study)),
    )


def _explained_rows(found: Comparison) -> tuple[str, list[Explained]]:
    """Rows of the first fold that the default flags without having seen them.

    Returns what the page says of them, and the rows; none where the fit fails.
    """
    problem = found.problem
    unit = found.planned.plan.units()[0]
    split = unit.splits[0]
    table = as_frame(problem.X)
    if problem.columns:
        table = table.set_axis(list(problem.columns), axis=1)
    model = TabularASTraClassifier(ASTraClassifier(decision=found.answer.decision, random_state=0))
    known = split.learn[problem.y[split.learn] == 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(table.iloc[split.learn], problem.y[split.learn])
        except ValueError:
            return "", []
        rows = explained(
            model,
            table.iloc[split.test],
            rows=split.test + 1,
            is_positive=problem.y[split.test] == 1,
            known=table.iloc[known],
            known_rows=known + 1,
        )
    said = (
        "Rows of the first fold that ASTraClassifier flags without having seen them, the highest "
        "risk first."
    )
    return said, rows


def write_model_page(
    model: TabularASTraClassifier | str | Path,
    path: str | Path,
    *,
    data: str | Path | pd.DataFrame | None = None,
    command: str = "",
) -> None:
    """Write the page of a model to a file.

    model: fitted, or its file.
    path: of the page.
    data: a table, or its file, of rows to flag, some of them with reasons; None for none.
    command: that makes the page, for its reader.

    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.linear_model import LogisticRegression
    >>> table = pd.DataFrame({"amount": range(40)})
    >>> model = TabularASTraClassifier(LogisticRegression()).fit(table, table["amount"] > 35)
    >>> with TemporaryDirectory() as folder:
    ...     write_model_page(model, Path(folder) / "report.html")
    ...     "<h1>" in (Path(folder) / "report.html").read_text()
    True
    """
    model = table_model(model)
    table = read_table(data) if isinstance(data, str | Path) else data
    page = model_page(model, table=table, command=command)
    with writing(path):
        write_whole(Path(path), page.html())


def model_page(
    model: TabularASTraClassifier, *, table: pd.DataFrame | None = None, command: str = ""
) -> ReportPage:
    """The page of a fitted model.

    model: fitted.
    table: rows to flag and explain some of; None for none.
    command: that makes the page, for its reader.
    """
    classifier = model.classifier_
    target = model.target_ or "y"
    title = f"A model of {target}"
    facts = [
        ("file", model.data_ or "a table in memory"),
        ("target", f"{target}; positive is {model.minority_class_}"),
        ("rows", f"{model.n_rows_:,}, of them {model.n_positives_:,} positive"),
        ("decision", str(getattr(classifier, "decision", "the classifier's own"))),
    ]
    notes = [*described(model.encoder_), *model.said_of_columns(model.encoder_.left_out_)]
    training = getattr(classifier, "history_", None)
    page = ReportPage(
        title=title,
        verdict=["This classifier states no expectations of new rows."],
        training={"networks": [training]} if training else {},
        explained=[] if table is None else explained(model, table),
        explained_by="Rows of the table that the model flags, the highest risk first; those that "
        "it learned from look surer than new ones.",
        notes=notes,
        facts=facts,
        command=command,
        versions=versions(),
    )
    if getattr(classifier, "committee_", None) is None:
        return page
    return _with_expectations(page, model)


def _with_expectations(page: ReportPage, model: TabularASTraClassifier) -> ReportPage:
    """The page, with what the committee's left-out rows tell."""
    seen, expected, cut = (
        model.classifier_.left_out_, model.expectations_, model.classifier_.cut_
    )  # fmt: skip
    expected = replace(expected, curve=_evenly(expected.curve, cut))
    explorer = Explorer("the model", expected, cut, seen.prior)
    placed = [
        Placed(None, float(np.exp(-evidence)), float(evidence >= cut))
        for evidence in seen.positives
    ]
    recall, precision = expected.recall, expected.precision
    flagged = float(np.interp(cut, expected.curve["cut"], explorer.flagged()))
    verdict = (
        f"Of new rows, expect it to find {100 * recall.mean:.0f} of 100 positives "
        f"({100 * recall.low:.0f} to {100 * recall.high:.0f}, 90% interval).",
        f"It flags {flagged:.3g} of {PER:,.0f} rows; of 100 flagged rows "
        f"{100 * precision.mean:.0f} are positive ({100 * precision.low:.0f} to "
        f"{100 * precision.high:.0f}).",
        f"This rests on {expected.positives:g} positives among {model.n_rows_:,} rows: kinds of "
        "them that are not among these may be missed.",
    )
    return replace(
        page,
        verdict=verdict,
        explorer=explorer,
        positives=placed,
        negatives=round(seen.majority),
        curves={"the model": expected},
    )


def _evenly(curve: dict[str, np.ndarray], cut: float) -> dict[str, np.ndarray]:
    """A curve along evenly spaced cuts, as a slider moves, and the one in use."""
    cuts = curve["cut"]
    even = np.union1d(np.linspace(cuts[0], cuts[-1], len(cuts)), cut)
    along = {
        name: np.stack([np.interp(even, cuts, row) for row in values])
        for name, values in curve.items()
        if name != "cut"
    }
    return {"cut": even, **along}


def explained(
    model: TabularASTraClassifier,
    table: pd.DataFrame,
    *,
    rows: Any = None,
    is_positive: np.ndarray | None = None,
    known: pd.DataFrame | None = None,
    known_rows: Any = (),
) -> list[Explained]:
    """Some of a table's rows that the model flags, the highest risk first.

    table: with the columns that were learned from.
    rows: their numbers for a reader; None to count from 1.
    is_positive: which are known to be; None where no label is known.
    known: the known positives, among which the nearest are looked for.
    known_rows: their numbers for a reader.
    """
    table = _learned(model, table)
    numbers = model.encoder_.encode(table).numbers
    score, risk = model.score_and_risk(numbers)
    chosen = np.argsort(-risk, kind="stable")
    chosen = chosen[score[chosen] >= 0][:MOST_EXPLAINED]
    if not len(chosen):
        return []
    nearest = _nearest(model, numbers, chosen, known, known_rows)
    reasons = model.explain(table, rows=chosen)
    names = np.arange(1, len(table) + 1) if rows is None else np.asarray(rows)
    labels = [None] * len(table) if is_positive is None else is_positive.tolist()
    return [
        Explained(int(names[row]), float(risk[row]), labels[row], why, near)
        for row, why, near in zip(chosen, reasons, nearest, strict=True)
    ]


def _learned(model: TabularASTraClassifier, table: pd.DataFrame) -> pd.DataFrame:
    """The columns of a table that the model knows."""
    known = model.encoder_.needed()
    return table[[name for name in table.columns if name in known]]


def _nearest(
    model: TabularASTraClassifier,
    numbers: np.ndarray,
    chosen: np.ndarray,
    known: Any,
    known_rows: Any,
) -> list[tuple[int, ...]]:
    """The known positives nearest to each chosen row, in scaled columns."""
    if known is None:
        return [() for _ in chosen]
    positives = model.encoder_.encode(_learned(model, known)).numbers
    scale = np.maximum(numbers.std(axis=0), 1e-9)
    near = []
    for row in chosen:
        distance = np.sqrt((((positives - numbers[row]) / scale) ** 2).sum(axis=1))
        near.append(tuple(int(known_rows[i]) for i in np.argsort(distance)[:MOST_NEAREST]))
    return near
