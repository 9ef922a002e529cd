"""A frame of named columns, and a column's values as numbers, dates or words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

NUMBER, DATE, WORD = "number", "date", "word"
# Most methods compute in float32, and refuse what is infinite there.
LARGEST = float(np.finfo(np.float32).max)
MISSING_WORD = "missing"
TRUTH = {"true": 1.0, "false": 0.0}


class Values(NamedTuple):
    """A column's values as its kind, and which of them are not of that kind.

    values: (rows,), an array of floats, or a series of UTC dates or texts; a value of another
        kind is missing there.
    is_bad: (rows,), True where a value is there and is not of the kind.
    """

    values: Any
    is_bad: np.ndarray


def as_frame(X: Any) -> pd.DataFrame:
    """Rows as a pandas data frame whose column names are texts, numbered from 0.

    X: a pandas or polars frame, an Arrow table, or an array (rows, columns), whose columns become
        "0", "1", ….
    """
    if isinstance(X, pd.DataFrame):
        frame = with_text_names(X).reset_index(drop=True)
    elif hasattr(X, "get_column") and hasattr(X, "columns"):
        frame = pd.DataFrame({name: X.get_column(name).to_numpy() for name in X.columns})
    elif hasattr(X, "column_names") and hasattr(X, "to_pandas"):
        return as_frame(X.to_pandas())
    elif (
        X is None
        or hasattr(X, "collect")
        or (isinstance(X, (dict, str)) and not hasattr(X, "toarray"))
    ):
        kind = type(X).__name__
        raise TypeError(f"X must be a data frame or an array (rows, columns); found {kind}")
    else:
        from sklearn.utils import check_array

        rows = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=0)
        frame = pd.DataFrame(rows, columns=[str(place) for place in range(rows.shape[1])])
        frame = frame.infer_objects()
    if not frame.columns.is_unique:
        second = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"there is a second column {second!r}: rename one of the two")
    return frame


def with_text_names(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its column names as texts, one text for a name of several levels."""
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def texts_of(column: pd.Series) -> pd.Series:
    """The values as texts; ValueError where one is text that no file can hold."""
    try:
        return column.astype(str)
    except UnicodeEncodeError as error:
        raise ValueError(
            f"column {column.name!r} has text that is no Unicode, {error.object[:20]!r}: decode "
            "it with errors='replace'"
        ) from error


def values_of(column: pd.Series, kind: str) -> Values:
    """The column as the kind that it had when it was learned from."""
    return _READERS[kind](column)


def is_text(column: pd.Series) -> bool:
    """Whether the column holds texts, or objects of any kind."""
    return column.dtype == object or isinstance(column.dtype, pd.StringDtype)


def listed(names: Iterable[object]) -> str:
    """The first five names, and how many more there are."""
    texts = [str(name) for name in names]
    more = f" and {len(texts) - 5} more" if len(texts) > 5 else ""
    return ", ".join(texts[:5]) + more


_NO_NUMBERS = (pd.api.types.is_datetime64_any_dtype, pd.api.types.is_complex_dtype)


def _as_numbers(column: pd.Series) -> Values:
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        values = (column / pd.Timedelta(days=1)).to_numpy(float)
    elif any(is_kind(column.dtype) for is_kind in _NO_NUMBERS):
        values = np.full(len(column), np.nan)
    elif pd.api.types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(float, na_value=np.nan)
        return Values(_finite(values), np.zeros(len(column), dtype=bool))
    else:
        texts = column.astype(object)
        try:
            numbers = pd.to_numeric(texts, errors="coerce")
        except OverflowError:  # The text of an integer beyond every float is infinite instead.
            numbers = pd.to_numeric(texts.where(texts.isna(), texts_of(column)), errors="coerce")
        values = numbers.to_numpy(float, copy=True)
        is_other = np.isnan(values) & column.notna().to_numpy()
        values[is_other] = [TRUTH.get(str(text).lower(), np.nan) for text in texts[is_other]]
    is_bad = np.isnan(values) & column.notna().to_numpy()
    return Values(_finite(values), is_bad)


def _finite(values: np.ndarray) -> np.ndarray:
    """The values, and gaps where one is too large for float32."""
    is_too_large = np.abs(values) > LARGEST
    return np.where(is_too_large, np.nan, values) if is_too_large.any() else values


def _as_dates(column: pd.Series) -> Values:
    if pd.api.types.is_numeric_dtype(column.dtype):
        # Pandas would take numbers for nanoseconds since 1970.
        values = pd.Series(pd.NaT, index=column.index, dtype="datetime64[ns, UTC]")
    elif is_text(column):
        values = pd.to_datetime(column.astype(object), format="ISO8601", utc=True, errors="coerce")
    else:
        values = pd.to_datetime(column, utc=True, errors="coerce")
    return Values(values, values.isna().to_numpy() & column.notna().to_numpy())


def _as_words(column: pd.Series) -> Values:
    if isinstance(column.dtype, pd.StringDtype):
        values = column.fillna(MISSING_WORD)
    else:
        objects = column.astype(object)
        values = texts_of(objects.where(objects.notna(), MISSING_WORD))
    return Values(values, np.zeros(len(column), dtype=bool))


_READERS = {NUMBER: _as_numbers, DATE: _as_dates, WORD: _as_words}
