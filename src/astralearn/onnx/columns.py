"""Columns of a table as ONNX nodes: what `tabular.TableEncoder` does with them.

A number or a truth value comes as float64, NaN for a gap; a word as text, "missing" for a gap; a
date as float64, the seconds since 1970-01-01 UTC. Days since a group's previous row are beyond
ONNX, for a row knows no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from astralearn.onnx.nodes import ML_DOMAIN, Nodes, Value, absolute, concatenated, floor, where
from astralearn.tabular.columns import LARGEST, WORD
from astralearn.tabular.dates import SINCE_PREVIOUS

if TYPE_CHECKING:
    from astralearn.tabular import TableEncoder

SECONDS_PER_DAY = 86_400.0
UNSEEN_WORD = "\0"  # a word that no table holds


def check_expressible(encoder: TableEncoder) -> None:
    """Refuse an encoder that needs more than the row itself."""
    if encoder.group is not None:
        raise ValueError(
            f"group={encoder.group!r} cannot be written as ONNX: days since the previous row need "
            "other rows; fit without group, or score with the model file"
        )


def column_kinds(encoder: TableEncoder) -> dict[str, type]:
    """The element type of every column that is an input, by its name."""
    return {name: str if kind == WORD else float for name, kind in encoder.kinds_.items()}


def encoded(encoder: TableEncoder, columns: dict[str, Value]) -> Value:
    """`TableEncoder.transform`, (rows, encoded columns).

    columns: (rows, 1) each, by name.
    """
    check_expressible(encoder)
    blocks = _numbers(encoder, columns)
    words = [name for name, kind in encoder.kinds_.items() if kind == WORD]
    one_hot, commonness = [], []
    for place, name in enumerate(words):
        known = [*map(str, encoder.one_hot_.categories_[place]), UNSEEN_WORD]
        row = _row_of_word(columns[name], known)
        nodes = row.nodes
        one_hot.append(nodes.add("Gather", _one_hot(encoder, place, known), row))
        if name in encoder.counts_:
            common = encoder._commonness(name, pd.Series(known))[:, None]
            commonness.append(nodes.add("Gather", common, row))
    return concatenated(*blocks, *one_hot, *commonness)


def _numbers(encoder: TableEncoder, columns: dict[str, Value]) -> list[Value]:
    """Numbers and parts of dates without gaps, and the columns that mark gaps."""
    names = encoder._number_names()
    if not names:
        return []
    numbers = concatenated(
        *(part_of(columns[name], part) if part else _finite(columns[name]) for name, part in names)
    )
    nodes = numbers.nodes
    is_gap = nodes.add("IsNaN", numbers)
    filled = where(is_gap, encoder.imputer_.statistics_[None], numbers)
    marked = encoder._marked()
    if not marked:
        return [filled]
    gaps = nodes.add("Gather", is_gap.astype(np.float64), np.asarray(marked, np.int64), axis=1)
    return [filled, gaps]


def _finite(number: Value) -> Value:
    return where(absolute(number) > LARGEST, np.nan, number)


def part_of(seconds: Value, part: str) -> Value:
    """`dates.part_of`. seconds: since 1970-01-01 UTC, NaN for none."""
    days = floor(seconds / SECONDS_PER_DAY)
    match part:
        case "weekday":  # The first day of 1970 was a Thursday.
            return _modulo(days + 3.0, 7.0)
        case "hour":
            minutes = floor(_modulo(seconds, SECONDS_PER_DAY) / 60.0)
            hours = floor(minutes / 60.0)
            return hours + (minutes - hours * 60.0) / 60.0
        case "month":
            return _month(days)
        case _:
            assert part != SINCE_PREVIOUS
            return seconds / SECONDS_PER_DAY


def _month(days: Value) -> Value:
    """The month of a day since 1970, counted from the first of March of year 0.

    Years then end with the leap day, and months have 153 days in every five.
    """
    day_of_400_years = _modulo(days + 719_468.0, 146_097.0)
    leaps = floor(day_of_400_years / 1_460.0) - floor(day_of_400_years / 36_524.0)
    leaps = leaps + floor(day_of_400_years / 146_096.0)
    year = floor((day_of_400_years - leaps) / 365.0)
    day = day_of_400_years - (year * 365.0 + floor(year / 4.0) - floor(year / 100.0))
    from_march = floor((day * 5.0 + 2.0) / 153.0)
    return from_march + where(from_march >= 10.0, -9.0, 3.0)


def _modulo(x: Value, n: float) -> Value:
    return x - floor(x / n) * n


def _row_of_word(words: Value, known: list[str]) -> Value:
    """The place of each row's word among the known, (rows,); the last if unseen."""
    nodes: Nodes = words.nodes
    place = nodes.add(
        "LabelEncoder",
        words,
        domain=ML_DOMAIN,
        keys_strings=known,
        values_int64s=list(range(len(known))),
        default_int64=len(known) - 1,
    )
    return nodes.add("Squeeze", place, np.asarray([1], np.int64))


def _one_hot(encoder: TableEncoder, place: int, known: list[str]) -> np.ndarray:
    """What the fitted encoder makes of every known word, (words, categories)."""
    fitted = encoder.one_hot_
    first = [categories[0] for categories in fitted.categories_]
    words = np.full((len(known), len(first)), first, dtype=object)
    words[:, place] = known
    widths = [len(encoder._categories(column)) for column in range(len(first))]
    start = sum(widths[:place])
    return np.asarray(fitted.transform(words)[:, start : start + widths[place]])
