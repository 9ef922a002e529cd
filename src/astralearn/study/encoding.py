"""Tables with text, dates and gaps, as numbers.

What is fitted is fitted on the rows a fold learns from, never on those it is tested on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

MOST_CATEGORIES = 20  # of one column; rarer ones share a column of their own


class ColumnKinds(NamedTuple):
    """Names of columns of numbers (and yes/no), of dates, and of anything else."""

    numbers: list[str]
    dates: list[str]
    words: list[str]


def encoder_for(X: Any) -> Any:
    """A transformer to numbers without gaps, to be fitted inside each fold.

    None where X is complete numbers already.
    """
    if not isinstance(X, pd.DataFrame):
        return _imputer() if np.isnan(X).any() else None
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

    kinds = columns_by_kind(X)
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=MOST_CATEGORIES,
        sparse_output=False,
        dtype=float,
    )
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(FunctionTransformer(_as_floats), _imputer()), kinds.numbers),
            ("dates", make_pipeline(FunctionTransformer(_as_days), _imputer()), kinds.dates),
            ("words", make_pipeline(FunctionTransformer(_as_words), one_hot), kinds.words),
        ],
        sparse_threshold=0.0,
    )


def columns_by_kind(frame: pd.DataFrame) -> ColumnKinds:
    """Every column's name under the kind of its values."""
    kinds = ColumnKinds([], [], [])
    for name, dtype in frame.dtypes.items():
        if pd.api.types.is_numeric_dtype(dtype):
            kinds.numbers.append(name)
        elif pd.api.types.is_datetime64_any_dtype(dtype):
            kinds.dates.append(name)
        else:
            kinds.words.append(name)
    return kinds


def described(X: Any) -> list[str]:
    """What the encoder does with these columns, a sentence each; empty for nothing."""
    if not isinstance(X, pd.DataFrame):
        gaps = int(np.isnan(X).sum())
        return [_filled(gaps)] if gaps else []
    kinds = columns_by_kind(X)
    said = []
    if kinds.words:
        said.append(
            f"one-hot encoded, at most {MOST_CATEGORIES} categories a column, missing as one of "
            f"them: {_listed(kinds.words)}"
        )
    scattered = [name for name in kinds.words if _is_scattered(X[name])]
    if scattered:
        said.append(
            "most rows have a text beyond those categories, and look alike: "
            f"{_listed(scattered)} (read as numbers are columns of nothing but 1234.5 and gaps, "
            "as dates of 2024-12-31)"
        )
    if kinds.dates:
        said.append(f"turned into days since 1970: {_listed(kinds.dates)}")
    gaps = int(X[[*kinds.numbers, *kinds.dates]].isna().sum().sum())
    if gaps:
        said.append(_filled(gaps))
    return said


def _is_scattered(column: pd.Series) -> bool:
    """Whether less than half of the rows have a category that the encoder keeps.

    So it is in a column of amounts that was read as text.
    """
    counts = column.astype(str).value_counts()
    return bool(counts.iloc[: MOST_CATEGORIES - 1].sum() < len(column) / 2)


def _filled(gaps: int) -> str:
    return (
        f"{gaps} missing numbers: filled with their column's median, and marked in a column of "
        "their own"
    )


def _imputer() -> Any:
    from sklearn.impute import SimpleImputer

    # A column that is empty in some fold must not change the number of columns: it becomes 0.
    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)


def _as_floats(frame: pd.DataFrame) -> Any:
    return frame.to_numpy(dtype=float, na_value=np.nan)


def _as_days(frame: pd.DataFrame) -> Any:
    epoch, day = pd.Timestamp(0, tz="UTC"), pd.Timedelta(days=1)
    dates = [pd.to_datetime(frame[name], utc=True) for name in frame]
    return np.column_stack([((column - epoch) / day).to_numpy(float) for column in dates])


def _as_words(frame: pd.DataFrame) -> Any:
    words = frame.astype(object)
    return words.where(words.notna(), "missing").astype(str).to_numpy(dtype=object)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(str, names[:5])) + more
