"""What of a date carries over to later rows."""

from __future__ import annotations

import numpy as np
import pandas as pd

A_YEAR = pd.Timedelta(days=365)
SINCE_PREVIOUS = "days since the previous"


def parts_of(dates: pd.Series, *, absolute: bool, is_grouped: bool) -> list[str]:
    """The parts that these dates have.

    A month that training rows of less than a year have not seen says nothing of later ones, so it
    is a part only where they span a year.

    dates: UTC, of the training rows.
    absolute: whether days since 1970 are asked for.
    is_grouped: whether there are groups with previous rows.
    """
    known = dates.dropna()
    has_times = bool((known != known.dt.normalize()).any())
    spans_a_year = len(known) > 0 and known.max() - known.min() >= A_YEAR
    asked = {
        "weekday": True,
        "hour": has_times,
        "month": spans_a_year,
        "day": absolute,
        SINCE_PREVIOUS: is_grouped,
    }
    return [part for part, is_part in asked.items() if is_part]


def part_of(dates: pd.Series, part: str) -> np.ndarray:
    """One part of every date, (rows,), NaN where there is none.

    >>> part_of(pd.Series(pd.to_datetime(["2024-12-31 06:30"], utc=True)), "hour").tolist()
    [6.5]
    """
    match part:
        case "weekday":
            values = dates.dt.day_of_week
        case "hour":
            values = dates.dt.hour + dates.dt.minute / 60
        case "month":
            values = dates.dt.month
        case _:
            values = (dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    return np.asarray(values, dtype=float)


def days_since_previous(dates: pd.Series, groups: pd.Series) -> np.ndarray:
    """Days since the same group's previous row, (rows,), NaN where there is none.

    >>> days = pd.Series(pd.to_datetime(["2024-01-03", "2024-01-01", "2024-01-02"]))
    >>> days_since_previous(days, pd.Series(["a", "a", "b"])).tolist()
    [2.0, nan, nan]
    """
    ordered = dates.sort_values(kind="stable")
    gaps = ordered.groupby(groups.loc[ordered.index].to_numpy()).diff()
    return (gaps.reindex(dates.index) / pd.Timedelta(days=1)).to_numpy(float)
