"""The kind of each column, and its values as that kind: numbers, dates or words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

NUMBER, DATE, WORD = "number", "date", "word"
INTEGER = re.compile(r"[+-]?\d+")
BEYOND_64_BITS = 2.0**63  # from here on readers give integers up for text
# Most methods compute in float32, and refuse what is infinite there.
LARGEST = float(np.finfo(np.float32).max)
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
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

    X: a pandas or polars frame, or an array (rows, columns), whose columns become "0", "1", ….
    """
    if isinstance(X, pd.DataFrame):
        frame = X.rename(columns=str).reset_index(drop=True)
    elif hasattr(X, "columns") and hasattr(X, "get_column"):
        frame = pd.DataFrame({name: X.get_column(name).to_numpy() for name in X.columns})
    else:
        from sklearn.utils import check_array

        rows = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=0)
        frame = pd.DataFrame(rows, columns=[str(place) for place in range(rows.shape[1])])
        frame = frame.infer_objects()
    if not frame.columns.is_unique:
        second = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"there is a second column {second!r}: rename one of the two")
    return frame


def typed(column: pd.Series) -> pd.Series:
    """The column as numbers or dates where it is that, whatever its reader made of it.

    Decimals and integers of more than 64 bits become floats, ISO dates dates; any other column
    stays as it is.
    """
    present = column.dropna()
    if present.empty or not _is_text(column):
        return column
    if all(isinstance(value, Decimal) for value in present) or _are_long_integers(present):
        # By way of text, of which an integer too large for a float is infinite, and not an error.
        known = column.astype(object).where(column.notna(), np.nan)
        return known.map(lambda value: float(str(value))).astype(float)
    if not all(ISO_DATE.fullmatch(str(value)) for value in present):
        return column
    try:
        return pd.to_datetime(column, format="ISO8601", utc=True)
    except ValueError:
        # There is no such day, or it lies beyond pandas' calendar.
        return column


def kind_of(column: pd.Series) -> str:
    """What a column's values are: NUMBER (yes/no, durations too), DATE or WORD."""
    column = typed(column)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return DATE
    is_number = pd.api.types.is_numeric_dtype(column.dtype)
    return NUMBER if is_number or pd.api.types.is_timedelta64_dtype(column.dtype) else WORD


def values_of(column: pd.Series, kind: str) -> Values:
    """The column as the kind that it had when it was learned from."""
    return _READERS[kind](column)


def listed(names: Iterable[object]) -> str:
    """The first five names, and how many more there are."""
    texts = [str(name) for name in names]
    more = f" and {len(texts) - 5} more" if len(texts) > 5 else ""
    return ", ".join(texts[:5]) + more


def _as_numbers(column: pd.Series) -> Values:
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        values = (column / pd.Timedelta(days=1)).to_numpy(float)
    elif pd.api.types.is_datetime64_any_dtype(column.dtype):
        values = np.full(len(column), np.nan)
    elif pd.api.types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(float, na_value=np.nan)
        return Values(_finite(values), np.zeros(len(column), dtype=bool))
    else:
        texts = column.astype(object)
        values = pd.to_numeric(texts, errors="coerce").to_numpy(float, copy=True)
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
    elif _is_text(column):
        values = pd.to_datetime(column.astype(object), format="ISO8601", utc=True, errors="coerce")
    else:
        values = pd.to_datetime(column, utc=True, errors="coerce")
    return Values(values, values.isna().to_numpy() & column.notna().to_numpy())


def _as_words(column: pd.Series) -> Values:
    if isinstance(column.dtype, pd.StringDtype):
        values = column.fillna(MISSING_WORD)
    else:
        objects = column.astype(object)
        values = objects.where(objects.notna(), MISSING_WORD).astype(str)
    return Values(values, np.zeros(len(column), dtype=bool))


_READERS = {NUMBER: _as_numbers, DATE: _as_dates, WORD: _as_words}


def _is_text(column: pd.Series) -> bool:
    return column.dtype == object or isinstance(column.dtype, pd.StringDtype)


def _are_long_integers(values: pd.Series) -> bool:
    """Whether all are integers, or their texts, and one is too long for 64 bits.

    Texts that fit were meant as text.
    """
    is_long = False
    for value in values:
        text = str(value)
        if isinstance(value, bool) or not INTEGER.fullmatch(text):
            return False
        is_long |= abs(float(text)) >= BEYOND_64_BITS
    return is_long
