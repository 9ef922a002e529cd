"""From a table to decisions: fit, score, suggest rows to label, show a model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from astralearn.datasets import read_table
from astralearn.datasets.problem import labelled, majority_of
from astralearn.datasets.streams import check_place, writing
from astralearn.datasets.text_form import TEXT_ENDINGS, text_form
from astralearn.large_table import fit_large, is_large
from astralearn.model_card import card
from astralearn.report.whole_file import write_whole
from astralearn.scoring import ScoredTable, score_table, table_model
from astralearn.tabular import TabularASTraClassifier
from astralearn.tabular.choosing import suggested_rows
from astralearn.tabular.columns import as_frame, with_text_names
from astralearn.tabular.described import described

__all__ = [
    "FittedTable",
    "ScoredTable",
    "Suggestions",
    "fit_table",
    "score_table",
    "show",
    "suggest",
]


@dataclass(frozen=True)
class FittedTable:
    """A model that was learned from a table, and what was noticed on the way.

    model: fitted.
    notes: what was assumed of the file and done with its columns, a sentence each.
    card: Markdown on the model.

    >>> amount = np.random.default_rng(0).normal(size=300) + np.repeat([4, 0], [6, 294])
    >>> table = pd.DataFrame({"amount": amount, "fraud": np.repeat(["yes", "no"], [6, 294])})
    >>> fitted = fit_table(table, "fraud")
    >>> print(fitted.card.splitlines()[0])
    # A model of `fraud`
    """

    model: TabularASTraClassifier
    notes: list[str]
    card: str


@dataclass(frozen=True)
class Suggestions:
    """Rows to look at next.

    rows: of the pool, in the order to look at them, with risk and reasons; those of a file
        are numbered from 0.
    expected_positives: how many positives the pool is expected to hold.

    >>> amount = np.random.default_rng(0).normal(size=300) + np.repeat([4, 0], [6, 294])
    >>> table = pd.DataFrame({"amount": amount, "fraud": np.repeat(["yes", "no"], [6, 294])})
    >>> found = suggest(fit_table(table, "fraud").model, table[["amount"]], n=5)
    >>> len(found.rows), found.expected_positives > 0
    (5, True)
    """

    rows: pd.DataFrame
    expected_positives: float


def fit_table(
    data: Any,
    target: str,
    *,
    positive: object = None,
    model: TabularASTraClassifier | None = None,
    decision: Any = None,
    out: str | Path | None = None,
    separator: str | None = None,
    encoding: str | None = None,
) -> FittedTable:
    """Learn from a table.

    data: a file (CSV, Parquet, ARFF, Excel), or a pandas or polars frame. Parquet of 2 GB and more
        is read in blocks.
    target: the column to predict; the rarer of its two values is the positive one.
    positive: the positive value where there are more than two.
    model: with other settings than the default's; it is fitted.
    decision: what the cut is for, as `ASTraClassifier.decide` takes it; None for the model's own.
    out: where the model file goes; a card goes beside it, with the ending .md.
    separator, encoding: of a text file; None to find them.

    >>> amount = np.random.default_rng(0).normal(size=300) + np.repeat([4, 0], [6, 294])
    >>> table = pd.DataFrame({"amount": amount, "fraud": np.repeat(["yes", "no"], [6, 294])})
    >>> fitted = fit_table(table, "fraud")
    >>> fitted.model.minority_class_, fitted.model.predict(table[["amount"]])[0]
    ('yes', 'yes')
    """
    if out is not None:
        check_place(out, data)
    model = TabularASTraClassifier(random_state=0) if model is None else model
    _check_model(model)
    name = Path(data).name if isinstance(data, str | Path) else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if isinstance(data, str | Path) and is_large(data, model):
            notes = fit_large(data, str(target), positive=positive, model=model)
        else:
            form = {"separator": separator, "encoding": encoding}
            notes = _fit_in_memory(data, target, positive=positive, model=model, **form)
    notes += described(model.encoder_)
    said = [str(warning.message) for warning in caught if warning.category is UserWarning]
    notes += dict.fromkeys(said)  # What is said of every block is said once.
    if decision is not None:
        model = model.decide(decision)
    model.data_ = name
    written = card(model)
    if out is not None:
        with writing(out):
            model.save(out)
            write_whole(Path(f"{out}.md"), written)
    return FittedTable(model, notes, written)


def _check_model(model: Any) -> None:
    if not isinstance(model, TabularASTraClassifier):
        kind = type(model).__name__
        raise TypeError(
            f"model must be a TabularASTraClassifier; found {kind}: pass it as its `classifier`"
        )


def _check_count(n: Any) -> None:
    if not isinstance(n, Integral):
        raise TypeError(f"n must be a whole number; found {n!r}")
    if n < 1:
        raise ValueError(f"n must be at least 1; found {n}")


def _fit_in_memory(
    data: Any,
    target: str,
    *,
    positive: object,
    model: TabularASTraClassifier,
    separator: str | None,
    encoding: str | None,
) -> list[str]:
    """Fit the model to the whole table; says what was assumed, a sentence each."""
    notes: list[str] = []
    if isinstance(data, str | Path):
        frame = read_table(data, separator=separator, encoding=encoding)
        if Path(data).name.lower().endswith(TEXT_ENDINGS):
            said = text_form(data, separator=separator, encoding=encoding).said()
            notes += [said] if said else []
    else:
        frame = as_frame(data)
    rows, labels, minority, said_of_labels = labelled(frame, target, positive=positive)
    majority = majority_of(labels.value_counts(), minority, target)
    y = pd.Series(np.where(labels == minority, minority, majority), name=str(target))
    model.fit(rows.drop(columns=str(target)), y)
    return [*notes, *said_of_labels]


def suggest(
    model: TabularASTraClassifier | str | Path,
    pool: Any,
    n: int = 50,
    *,
    separator: str | None = None,
    encoding: str | None = None,
) -> Suggestions:
    """Which unlabelled rows to look at next, and how many positives the pool may hold.

    Four of five are those of the highest risk, which are the likeliest positives; every fifth is
    the one nearest to the cut, whose label tells the model most.

    model: fitted, or its file.
    pool: a file or a frame, with the columns that were learned from; rows with a value that
        cannot be read are passed over.
    n: how many rows.
    separator, encoding: of a text file; None to find them.

    >>> amount = np.random.default_rng(0).normal(size=300) + np.repeat([4, 0], [6, 294])
    >>> table = pd.DataFrame({"amount": amount, "fraud": np.repeat(["yes", "no"], [6, 294])})
    >>> found = suggest(fit_table(table, "fraud").model, table[["amount"]], n=5)
    >>> found.rows[["amount", "risk"]].shape
    (5, 2)
    """
    _check_count(n)
    model = table_model(model)
    if isinstance(pool, str | Path):
        frame = read_table(pool, separator=separator, encoding=encoding)
    else:
        # A frame keeps its index, by which its owner finds the rows.
        frame = with_text_names(pool) if isinstance(pool, pd.DataFrame) else as_frame(pool)
    learned = frame[[name for name in model.encoder_.needed() if name in frame.columns]]
    if not len(frame):
        raise ValueError("pool has no rows")
    encoded = model.encoder_.encode(learned)
    is_bad = np.any([np.zeros(len(frame), dtype=bool), *encoded.bad.values()], axis=0)
    good = np.flatnonzero(~is_bad)
    if not len(good):
        name = next(iter(encoded.bad))
        kind, value = model.encoder_.kinds_[name], frame[name].iloc[0]
        raise ValueError(
            f"pool has no row that can be read: column {name!r} was learned as {kind}s, and the "
            f"first row has {value!r:.80}"
        )
    score, risk = model.score_and_risk(encoded.numbers[good])
    chosen = suggested_rows(score, n)
    reasons = model.explain(learned, rows=good[chosen])
    rows = frame.iloc[good[chosen]].assign(risk=risk[chosen], reasons=reasons)
    return Suggestions(rows, float(risk.sum()))


def show(model: TabularASTraClassifier | str | Path) -> str:
    """What a model is, what it was trained on and what to expect of it, as Markdown.

    model: fitted, or its file.

    >>> amount = np.random.default_rng(0).normal(size=300) + np.repeat([4, 0], [6, 294])
    >>> table = pd.DataFrame({"amount": amount, "fraud": np.repeat(["yes", "no"], [6, 294])})
    >>> print(show(fit_table(table, "fraud").model).splitlines()[0])
    # A model of `fraud`
    """
    return card(table_model(model))
