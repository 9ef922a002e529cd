"""A table of numbers, words, dates and gaps as numbers without gaps."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from astralearn.tabular.columns import DATE, NUMBER, WORD, as_frame, listed
from astralearn.tabular.dates import SINCE_PREVIOUS, days_since_previous, part_of, parts_of
from astralearn.tabular.readings import Reading, read, reading_of, said_of_reading

MOST_CATEGORIES = 20  # of one column; rarer ones share one column


class Feature(NamedTuple):
    """What one column, or one part of a date, became.

    name: what a reader calls it.
    column: the column of the table.
    part: of a date, "" elsewhere.
    places: its columns among the encoded ones, the value or the categories first.
    categories: the words of its categories; empty for numbers and dates.
    """

    name: str
    column: str
    part: str
    places: list[int]
    categories: list[str]


class Encoded(NamedTuple):
    """Rows as numbers, and what in them could not be read.

    numbers: (rows, encoded columns), finite; a bad value is encoded as a missing one.
    bad: {column: (rows,) whether its value is not of the column's kind}.
    """

    numbers: np.ndarray
    bad: dict[str, np.ndarray]


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode columns of every kind as numbers without gaps.

    Numbers stay. Gaps get the median of the training rows, and a column that marks them. Words
    become one column per frequent category; where there are many categories, one more column tells
    how common the row's own is, which holds for new ones too. A date becomes what carries over to
    later rows: its weekday, its hour where times are given, its month where the training rows span
    a year, and the days since the group's previous row where a group is named.

    Parameters
    ----------
    drop : sequence of str
        Columns to leave out.
    max_categories : int
        Columns that a column of words becomes at most; rarer categories share one.
    absolute_days : bool
        Give dates as days since 1970 too. Later rows then lie where training saw nothing.
    group : str, optional
        A column, say of a card or a customer. Each date also becomes the days since the previous
        row of the same group within the table given; the column itself is left out.

    Examples
    --------
    >>> table = pd.DataFrame({"amount": [5.0, None, 7.0], "shop": ["a", "b", "a"]})
    >>> TableEncoder().fit_transform(table).tolist()
    [[5.0, 0.0, 1.0, 0.0], [6.0, 1.0, 0.0, 1.0], [7.0, 0.0, 1.0, 0.0]]
    """

    __module__ = "astralearn.tabular"  # where users, pickles and model files find it

    def __init__(
        self,
        *,
        drop: Sequence[str] = (),
        max_categories: int = MOST_CATEGORIES,
        absolute_days: bool = False,
        group: str | None = None,
    ) -> None:
        self.drop = drop
        self.max_categories = max_categories
        self.absolute_days = absolute_days
        self.group = group

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn medians, categories and which parts of dates there are.

        X: a pandas or polars frame, an Arrow table, or an array.
        """
        frame = as_frame(X)
        if len(frame) == 0:
            raise ValueError("X must have a row at least; found 0 sample(s)")
        named = [*map(str, self.drop), *self._groups()]
        unknown = [name for name in named if name not in frame.columns]
        if unknown:
            raise ValueError(
                f"drop and group must name columns of X; it has no {unknown[0]!r}, but "
                f"{listed(frame.columns)}"
            )
        self.n_features_in_ = frame.shape[1]
        self._note_names(X, frame)
        self.left_out_ = named
        learned = [name for name in frame.columns if name not in self.left_out_]
        if not learned:
            said = "drop and group leave no column of X" if named else "X has no column"
            raise ValueError(f"{said} to learn from")
        readings = {name: reading_of(frame[name]) for name in learned}
        self.said_of_readings_ = [
            said for name in learned for said in said_of_reading(frame[name], readings[name])
        ]
        self.kinds_ = {name: reading.kind for name, reading in readings.items()}
        # In a file, plain values last longer than a class.
        self.readings_: dict[str, Any] = {name: tuple(of) for name, of in readings.items()}
        values = self._values(frame)[0]
        asked = {"absolute": self.absolute_days, "is_grouped": self.group is not None}
        dates = self._named_by_kind(DATE)
        self.date_parts_ = {name: parts_of(values[name], **asked) for name in dates}
        # A column that is empty in some fold must not change the number of columns: it becomes 0.
        self.imputer_ = SimpleImputer(
            strategy="median", add_indicator=True, keep_empty_features=True
        )
        if self._number_names():
            self.imputer_.fit(self._numbers(frame, values))
        self.one_hot_ = OneHotEncoder(
            handle_unknown="infrequent_if_exist",
            max_categories=self.max_categories,
            sparse_output=False,
            dtype=float,
        )
        words = self._named_by_kind(WORD)
        if words:
            self.one_hot_.fit(_objects(values, words))
        self.counts_ = {
            name: (counts.index.to_numpy(object), counts.to_numpy(float))
            for name in words
            if len(counts := values[name].value_counts()) > self.max_categories
        }
        self.n_rows_ = len(frame)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The rows as numbers without gaps, (rows, encoded columns).

        Raises ValueError for a column that is missing or has a value of another kind, which it
        names. Columns that are new are named in a warning and left out.
        """
        encoded = self.encode(X)
        for name, is_bad in encoded.bad.items():
            row = int(np.flatnonzero(is_bad)[0])
            value = self.framed(X)[name].iloc[row]
            raise ValueError(
                f"column {name!r} was learned as {self.kinds_[name]}s; row {row} has {value!r:.80}"
            )
        return encoded.numbers

    def encode(self, X: Any) -> Encoded:
        """The rows as numbers, whatever their values are; says which are of another kind."""
        check_is_fitted(self)
        frame = self.framed(X)
        for sentence in self.differences(frame):
            warnings.warn(sentence, UserWarning, stacklevel=3)
        values, bad = self._values(frame)
        blocks = []
        if self._number_names():
            blocks += self._without_gaps(self._numbers(frame, values))
        words = self._named_by_kind(WORD)
        if words:
            blocks.append(self.one_hot_.transform(_objects(values, words)))
        blocks += [self._commonness(name, values[name])[:, None] for name in self.counts_]
        return Encoded(np.concatenate(blocks, axis=1), bad)

    def framed(self, X: Any) -> pd.DataFrame:
        """The rows as a frame; columns without names go by their place."""
        frame = as_frame(X)
        if hasattr(self, "feature_names_in_") and hasattr(X, "columns"):
            return frame
        if frame.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {frame.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        if hasattr(self, "feature_names_in_"):
            return frame.set_axis(self.feature_names_in_, axis=1)
        return frame.set_axis([str(place) for place in range(frame.shape[1])], axis=1)

    def differences(self, frame: pd.DataFrame) -> list[str]:
        """Sentences on columns that are new, missing, or of another kind than before.

        Raises ValueError for a column that is missing.
        """
        missing = [name for name in self.needed() if name not in frame.columns]
        if missing:
            raise ValueError(
                f"the table has no column {', '.join(map(repr, missing))}, which was learned from"
            )
        known = {*self.kinds_, *self.left_out_}
        new = [name for name in frame.columns if name not in known]
        said = [f"columns that were not learned from are left out: {listed(new)}"] if new else []
        for name in self._named_by_kind(WORD):
            if pd.api.types.is_numeric_dtype(frame[name].dtype):
                said.append(f"column {name!r} was learned as words, and has numbers here")
        return said

    def features(self) -> list[Feature]:
        """What each column became, in the order of the columns."""
        check_is_fitted(self)
        names = self._number_names()
        marked = self._marked()
        found = []
        for place, (column, part) in enumerate(names):
            places = [place]
            if place in marked:
                places.append(len(names) + marked.index(place))
            name = f"{part} of {column}" if part else column
            found.append(Feature(name, column, part, places, []))
        start = len(names) + len(marked)
        words = self._named_by_kind(WORD)
        categories = [self._categories(place) for place in range(len(words))]
        first_count = start + sum(map(len, categories))
        for name, of_name in zip(words, categories, strict=True):
            places = list(range(start, start + len(of_name)))
            if name in self.counts_:
                places.append(first_count + list(self.counts_).index(name))
            found.append(Feature(name, name, "", places, of_name))
            start += len(of_name)
        order = list(self.kinds_)
        return sorted(found, key=lambda feature: order.index(feature.column))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:  # noqa: ARG002
        """A name for every encoded column."""
        names = [f"{part} of {column}" if part else column for column, part in self._number_names()]
        marked = [f"{names[place]} is missing" for place in self._marked()]
        words = [
            f"{name} is {category}"
            for place, name in enumerate(self._named_by_kind(WORD))
            for category in self._categories(place)
        ]
        common = [f"how common {name} is" for name in self.counts_]
        return np.asarray([*names, *marked, *words, *common], dtype=object)

    def needed(self) -> list[str]:
        """Columns that it reads: those that were learned from, and the group."""
        return [*self.kinds_, *self._groups()]

    def texts(self) -> list[str]:
        """Those among them that a reader of text files is to leave as they stand."""
        readings = {name: Reading(*reading) for name, reading in self.readings_.items()}
        texts = [name for name, of in readings.items() if of.kind != NUMBER or of.mark]
        return [*texts, *self._groups()]

    def columns_with_gaps(self) -> list[str]:
        """Columns of numbers or dates whose gaps are marked in a column of their own."""
        return list(dict.fromkeys(self._number_names()[place][0] for place in self._marked()))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _groups(self) -> list[str]:
        return [] if self.group is None else [self.group]

    def _note_names(self, X: Any, frame: pd.DataFrame) -> None:
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray(list(frame.columns), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _named_by_kind(self, kind: str) -> list[str]:
        return [name for name, its_kind in self.kinds_.items() if its_kind == kind]

    def _values(self, frame: pd.DataFrame) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Every learned column as its kind, and where one has bad values."""
        values, bad = {}, {}
        for name, reading in self.readings_.items():
            values[name], is_bad = read(frame[name], Reading(*reading))
            if is_bad.any():
                bad[name] = is_bad
        return values, bad

    def _number_names(self) -> list[tuple[str, str]]:
        """(column, part) of every column of numbers: numbers, then parts of dates."""
        numbers = [(name, "") for name in self._named_by_kind(NUMBER)]
        return numbers + [(name, part) for name, of in self.date_parts_.items() for part in of]

    def _marked(self) -> list[int]:
        """Places, among the columns of numbers, of those with a column that marks gaps."""
        return self.imputer_.indicator_.features_.tolist() if self._number_names() else []

    def _numbers(self, frame: pd.DataFrame, values: dict[str, Any]) -> np.ndarray:
        names = self._number_names()
        block = np.empty((len(frame), len(names)))
        for place, (name, part) in enumerate(names):
            if part == SINCE_PREVIOUS:
                block[:, place] = days_since_previous(values[name], frame[self.group])
            else:
                block[:, place] = part_of(values[name], part) if part else values[name]
        return block

    def _without_gaps(self, numbers: np.ndarray) -> list[np.ndarray]:
        """What the imputer makes of the numbers, without its checks of every row."""
        is_gap = np.isnan(numbers)
        filled = np.where(is_gap, self.imputer_.statistics_, numbers) if is_gap.any() else numbers
        return [filled, is_gap[:, self._marked()].astype(float)]

    def _categories(self, place: int) -> list[str]:
        """The encoded categories of the words' column at that place, rare ones last."""
        kept = self.one_hot_.categories_[place]
        rare = self.one_hot_.infrequent_categories_[place]
        if rare is None:
            return list(kept)
        is_rare = set(rare)
        return [*(word for word in kept if word not in is_rare), "a rare one"]

    def _commonness(self, name: str, words: pd.Series) -> np.ndarray:
        """log₁₀ of the category's share of training rows; of a new one, half a row."""
        known, counts = self.counts_[name]
        places = pd.Index(known).get_indexer(pd.Index(words.astype(object)))
        of_row = np.where(places < 0, 0.0, counts[places])
        return np.log10((of_row + 0.5) / self.n_rows_)


def encoder_for(X: Any) -> TableEncoder | None:
    """An encoder to fit inside each fold; None where X is complete numbers.

    >>> encoder_for(np.ones((3, 2))) is None
    True
    >>> encoder_for(pd.DataFrame({"amount": [5.0, 3.0], "shop": ["a", "b"]}))
    TableEncoder()
    """
    if not hasattr(X, "columns") and not np.isnan(X).any():
        return None
    return TableEncoder()


def _objects(values: dict[str, Any], names: list[str]) -> np.ndarray:
    return np.column_stack([values[name].to_numpy(object) for name in names])
