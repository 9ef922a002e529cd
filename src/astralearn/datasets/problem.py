"""A two-class problem in memory: rows, labels, and what a repetition draws."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from astralearn.classifier.labels import positive_index
from astralearn.datasets.errors import MissingColumnError, NotTwoClassesError, UnreadableError
from astralearn.tabular.columns import LARGEST, with_text_names
from astralearn.tabular.readings import reading_of, said_of_reading, typed
from astralearn.tabular.suspects import check_spelling, suspects

RowNumbers = NDArray[np.intp]
EXACT = 2.0**53  # up to here a float holds every integer


class Redraw(NamedTuple):
    """How many of each class a repetition keeps, at random; None keeps all negatives.

    >>> from astralearn.datasets import load
    >>> load("digits").redraw
    Redraw(positives=5, negatives=None)
    """

    positives: int
    negatives: int | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows and labels of two classes, and how a repetition draws from them.

    Its sizes are those of one repetition, as in the paper's Table 1.

    X: one row per example, an array or a data frame.
    y: 1 for the minority, 0 for the majority.
    redraw: what a repetition keeps; None for everything.
    labels: what the file calls (majority, minority).
    notes: what was done to the data on the way here.
    columns: the names of X's columns; empty where they have none.
    groups: of each row a number; rows of a group are tested together. None without groups.
    times: of each row a number; rows are tested by what is earlier. None without times.

    >>> y = np.array([1] * 5 + [0] * 95, dtype=np.int8)
    >>> problem = Problem("cards", np.arange(200.0).reshape(100, 2), y, redraw=Redraw(3))
    >>> problem.positives, problem.rows, len(problem.draw(seed=0))
    (3, 98, 98)
    """

    name: str
    X: Any
    y: NDArray[np.int8]
    redraw: Redraw | None = None
    labels: tuple[str, str] = ("0", "1")
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    groups: NDArray[np.intp] | None = None
    times: NDArray[np.float64] | None = None

    @property
    def features(self) -> int:
        return int(self.X.shape[1])

    @property
    def positives(self) -> int:
        return self.redraw.positives if self.redraw else int(self.y.sum())

    @property
    def negatives(self) -> int:
        return (self.redraw and self.redraw.negatives) or int((self.y == 0).sum())

    @property
    def rows(self) -> int:
        return self.positives + self.negatives

    @property
    def imbalance_ratio(self) -> float:
        """IR: negatives per positive."""
        return self.negatives / self.positives

    def draw(self, seed: int) -> RowNumbers:
        """The rows of one repetition, in file order.

        All of them, or a fresh random choice where the problem is redrawn.
        """
        if self.redraw is None:
            return np.arange(len(self.y))
        random = np.random.default_rng(seed)
        minority, majority = np.flatnonzero(self.y == 1), np.flatnonzero(self.y == 0)
        minority = random.choice(minority, self.positives, replace=False)
        if self.redraw.negatives is not None:
            majority = random.choice(majority, self.redraw.negatives, replace=False)
        return np.sort(np.concatenate([minority, majority]))


def problem_from_frame(
    frame: pd.DataFrame,
    target: str,
    *,
    name: str,
    positive: object = None,
    group: str | None = None,
    time: str | None = None,
) -> Problem:
    """A table as a problem, whose positives are the rarer value of `target`.

    Column names become text. Rows without a target are left out. Columns that are all numbers
    become one float64 array; otherwise X stays a data frame, in which columns of dates are dates
    (`tabular.readings`).
    MissingColumnError, NotTwoClassesError, UnreadableError: with what was found.

    frame: features and target.
    target: the column to predict. Of two equally frequent values the last in order is the rarer.
    name: of the problem.
    positive: the value, itself or as text, that is positive against all others.
    group: a column whose equal values belong together; it is no feature.
    time: a column of numbers or dates that says which rows are earlier; it is no feature.

    >>> table = pd.DataFrame({"amount": [1.0, 2.0, 9.0], "fraud": ["no", "no", "yes"]})
    >>> problem = problem_from_frame(table, "fraud", name="cards")
    >>> problem.labels, problem.y.tolist()
    (('no', 'yes'), [0, 0, 1])
    """
    frame, labels, minority, notes = labelled(frame, target, positive=positive)
    others = sorted(set(labels) - {minority})
    for option, column in (("group", group), ("time", time)):
        if column is not None and column not in frame.columns:
            raise MissingColumnError(
                f"no column {column!r} (`{option}`); there are {listed_columns(frame)}"
            )
    features = frame.drop(columns=[str(target), *(name for name in (group, time) if name)])
    if features.shape[1] == 0:
        raise MissingColumnError(f"{target!r} is the only column: there is nothing to learn from")
    readings = {column: reading_of(features[column]) for column in features.columns}
    for column, reading in readings.items():
        notes += said_of_reading(features[column], reading)
    features = features.apply(lambda column: typed(column, readings[column.name]))
    numbers = features.select_dtypes("number")
    infinite = np.abs(numbers.to_numpy(dtype=float, na_value=np.nan)) > LARGEST
    if infinite.any():
        features[numbers.columns] = numbers.mask(infinite)
        notes.append(
            f"{int(infinite.sum())} infinite numbers, or beyond ±{LARGEST:.1e}, "
            "are taken for missing"
        )
    notes += [
        f"{suspect.column!r} {suspect.why}: take it out of the table if it is no feature"
        for suspect in suspects(features, (labels == minority).to_numpy(dtype=bool))
    ]
    if all(pd.api.types.is_numeric_dtype(kind) for kind in features.dtypes):
        X = features.to_numpy(dtype=float, na_value=np.nan)
    else:
        X = features.reset_index(drop=True)
    return Problem(
        name=name,
        X=X,
        y=(labels == minority).to_numpy(dtype=np.int8),
        labels=(" or ".join(others) if len(others) <= 3 else "other", minority),
        notes=tuple(notes),
        columns=tuple(features.columns),
        groups=None if group is None else _groups(frame[group]),
        times=None if time is None else _times(frame[time]),
    )


def _groups(column: pd.Series) -> RowNumbers:
    """A number for each value; UnreadableError for lists and the like."""
    try:
        return pd.factorize(column, use_na_sentinel=False)[0]
    except (TypeError, NotImplementedError) as error:
        raise UnreadableError(
            f"{column.name!r} (`group`) must be numbers, words or dates: {error!s:.120}"
        ) from None


def _times(column: pd.Series) -> NDArray[np.float64]:
    """Numbers as they are, dates as numbers; UnreadableError elsewhere and for gaps."""
    try:
        if not pd.api.types.is_numeric_dtype(column):
            dates = pd.to_datetime(column.astype(str), format="ISO8601", utc=True)
            return dates.to_numpy(dtype="datetime64[us]").astype(np.float64)
        numbers = column.to_numpy(dtype=float, na_value=np.nan)
    except (ValueError, TypeError) as error:
        raise UnreadableError(
            f"{column.name!r} (`time`) must be numbers or dates such as 2024-12-31: {error!s:.120}"
        ) from None
    if not np.isfinite(numbers).all():
        raise UnreadableError(f"{column.name!r} (`time`) must have no gaps")
    return numbers


class Labelled(NamedTuple):
    """The rows of a table that have a label.

    frame: those rows, column names as texts.
    labels: as texts, one for each row.
    minority: the label that is positive.
    notes: what was left out or assumed.
    """

    frame: pd.DataFrame
    labels: pd.Series
    minority: str
    notes: list[str]


def labelled(frame: pd.DataFrame, target: str, *, positive: object = None) -> Labelled:
    """The rows with a label, and which label is positive, as in `problem_from_frame`."""
    frame, target = with_text_names(frame), str(target)
    if not frame.columns.is_unique:
        second = frame.columns[frame.columns.duplicated()][0]
        raise UnreadableError(f"there is a second column {second!r}: rename one of the two")
    if target not in frame.columns:
        raise MissingColumnError(f"no column {target!r}; there are {listed_columns(frame)}")
    known = frame[target].notna()
    frame, missing = frame[known], int((~known).sum())
    notes = []
    if missing:
        notes.append(
            f"{missing} rows without {target!r} (empty, or in a CSV NA, None, null …) were left out"
        )
        if _has_long_integers_as_floats(frame[target]):
            raise UnreadableError(
                f"{target!r} has integers too long to be told apart beside missing values, where "
                f"they are floats: leave the rows without {target!r} out of the file"
            )
    labels = label_texts(frame[target])
    minority = minority_of(labels.value_counts(), target, positive, notes)
    return Labelled(frame, labels, minority, notes)


def label_texts(column: pd.Series) -> pd.Series:
    """The labels of a column without gaps, as texts."""
    # As objects, since a category that never occurs is no class.
    codes, found = pd.factorize(column.astype(object))
    texts = np.asarray([_as_text(value) for value in found], object)
    return pd.Series(texts[codes], index=column.index, dtype=object)


def majority_of(counts: pd.Series, minority: str, target: str) -> str:
    """What the other labels are called; refuses a minority that is not the rarer.

    counts: of labels as texts.
    """
    if 2 * counts[minority] > counts.sum():
        raise ValueError(
            f"positive must be the rarer class of {target!r}; {minority!r} has "
            f"{counts[minority]} of {counts.sum()} rows"
        )
    others = sorted(set(counts.index) - {minority})
    return others[0] if len(others) == 1 else f"not {minority}"


def listed_columns(frame: pd.DataFrame) -> str:
    """The first columns' names, for a message."""
    return ", ".join(map(repr, frame.columns[:20])) + _more(len(frame.columns) - 20)


def _has_long_integers_as_floats(column: pd.Series) -> bool:
    if not pd.api.types.is_float_dtype(column):
        return False
    return bool((np.isfinite(column) & (column.abs() >= EXACT)).any())


def minority_of(counts: pd.Series, target: str, positive: object, notes: list[str]) -> str:
    """Which label is positive, as in `problem_from_frame`.

    counts: of labels as texts, the most frequent first.
    notes: what is assumed is added to them.
    """
    first = ", ".join(f"{value!r} ({count})" for value, count in counts.iloc[:10].items())
    values = "; ".join([first + _more(len(counts) - 10) or "none at all", *notes])
    if len(counts) < 2:
        raise NotTwoClassesError(f"{target!r} has only one value, {values}: two classes are needed")
    try:
        check_spelling(counts.index, target)
    except ValueError as error:
        raise NotTwoClassesError(str(error)) from None
    if positive is not None:
        found = [text for text in _spellings(positive) if text in counts.index]
        if not found:
            raise NotTwoClassesError(
                f"{target!r} never has the value {positive!r}; it has {values}"
            )
        return found[0]
    if len(counts) > 2:
        raise NotTwoClassesError(
            f"{target!r} has {len(counts)} values, {values}: choose the positive one (`positive`)"
        )
    by_label = counts.sort_index()
    minority = str(by_label.index[positive_index(by_label.to_numpy())])
    if counts.iloc[0] == counts.iloc[1]:
        notes.append(
            f"both values of {target!r} occur {counts.iloc[0]} times; {minority!r}, which sorts "
            "last, is taken for the positive one"
        )
    return minority


def _as_text(value: object) -> str:
    """A label as text.

    1.0 and 1 are one label, "1", so that it is found however the file was read. Spaces around a
    label do not show.
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _spellings(positive: object) -> list[str]:
    """How a label that was asked for may stand among the texts."""
    text = _as_text(positive)
    whole = re.fullmatch(r"(-?\d+)\.0*", text)
    as_whole = [whole[1]] if whole else []
    as_number = [str(int(positive))] if isinstance(positive, bool) else []
    return [text, *as_whole, *as_number]


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""
