"""How a column is read: its kind, its order of dates, and what stands for a gap."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from astralearn.tabular.amounts import GLANCE, amounts_of, written_amounts
from astralearn.tabular.columns import (
    DATE,
    NUMBER,
    WORD,
    Values,
    is_text,
    listed,
    texts_of,
    values_of,
)

# This share of a column's values makes its kind; the few others stand for gaps.
SHARE = 0.99
MOST = 0.8  # of them are of a kind: the others, named, may be gaps by another name
PLAIN_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*|\d*\.\d+|\d+\.)([eE][+-]?\d+)?")
INTEGER = re.compile(r"[+-]?\d+")
BEYOND_64_BITS = 2.0**63  # from here on readers give integers up for text
# Amounts of several currencies, or whose commas may be of thousands or decimals.
NEARLY_A_NUMBER = re.compile(r"[+-]?\s?[$€£]?\s?\d[\d.,' ]*\s?[%$€£]?")
TIME = r"(?P<time>[T ]\d\d?:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"
DAY, MONTH, YEAR = r"(?P<day>\d\d?)", r"(?P<month>\d\d?)", r"(?P<year>\d{4})"
ISO = "2024-12-31"
ORDERS = {
    ISO: re.compile(rf"{YEAR}-{MONTH}-{DAY}{TIME}"),
    "31.12.2024": re.compile(rf"{DAY}\.{MONTH}\.{YEAR}{TIME}"),
    "2024/12/31": re.compile(rf"{YEAR}/{MONTH}/{DAY}{TIME}"),
    "31/12/2024": re.compile(rf"{DAY}/{MONTH}/{YEAR}{TIME}"),
    "12/31/2024": re.compile(rf"{MONTH}/{DAY}/{YEAR}{TIME}"),
}


class Reading(NamedTuple):
    """How the values of a column are to be read.

    kind: NUMBER (yes/no, durations too), DATE or WORD.
    order: of a date's parts, a key of ORDERS.
    gaps: texts that stand for a gap.
    mark: before the fraction of numbers written as amounts; "" for plain numbers.
    """

    kind: str
    order: str = ISO
    gaps: tuple[str, ...] = ()
    mark: str = ""


def reading_of(column: pd.Series) -> Reading:
    """How a training column is to be read.

    Decimals and integers of more than 64 bits are numbers. Texts are amounts, numbers or dates
    where nearly all are; texts that are all plain numbers were meant as words, as are numbers with
    leading zeros, and dates whose day and month cannot be told apart.
    """
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return Reading(DATE)
    if pd.api.types.is_complex_dtype(column.dtype):
        raise ValueError(
            f"column {column.name!r} has complex numbers: give real and imaginary parts as columns "
            "of their own"
        )
    if not is_text(column):
        is_number = pd.api.types.is_numeric_dtype(column.dtype)
        is_duration = pd.api.types.is_timedelta64_dtype(column.dtype)
        return Reading(NUMBER if is_number or is_duration else WORD)
    present = column.dropna()
    if present.empty:
        return Reading(WORD)
    if all(isinstance(value, Decimal) for value in present) or _are_long_integers(present):
        return Reading(NUMBER)
    texts = texts_of(present)
    for look in (_amount_reading, _number_reading, _date_reading):
        reading = look(texts)
        if reading is not None:
            return reading
    return Reading(WORD)


def kind_of(column: pd.Series) -> str:
    """What a column's values are: NUMBER (yes/no, durations too), DATE or WORD."""
    return reading_of(column).kind


def read(column: pd.Series, reading: Reading) -> Values:
    """The column's values, read as they were when it was learned from."""
    if reading.gaps and is_text(column):
        column = column.mask(column.isin(reading.gaps))
    if reading.mark and is_text(column):
        amounts = amounts_of(column.tolist(), reading.mark).numbers
        # What is no amount may still be a number, and is bad otherwise.
        column = column.astype(object).where(np.isnan(amounts), amounts)
    if reading.kind == DATE and reading.order != ISO and is_text(column):
        column = column.astype(object).map(lambda text: _iso(text, reading.order))
    return values_of(column, reading.kind)


def typed(column: pd.Series, reading: Reading | None = None) -> pd.Series:
    """The column as numbers or dates where it is that, whatever its reader made of it.

    reading: of the column; None to find it.
    """
    reading = reading_of(column) if reading is None else reading
    if reading.kind == WORD or not is_text(column):
        return column
    if reading == Reading(NUMBER):
        # By way of text, of which an integer too large for a float is infinite, and not an error.
        known = column.astype(object).where(column.notna(), np.nan)
        return known.map(lambda value: float(str(value))).astype(float)
    return pd.Series(read(column, reading).values, index=column.index, name=column.name)


def said_of_reading(column: pd.Series, reading: Reading) -> list[str]:
    """What was assumed of a training column, a sentence each."""
    name = column.name
    what = "dates" if reading.kind == DATE else "numbers"
    like = ""
    if reading.mark:
        longest = max(column[~column.isin(reading.gaps)].dropna().astype(str), key=len)
        (number,) = amounts_of([longest], reading.mark).numbers
        like = f", {longest!r} as {number:.15g}"
    elif reading.kind == DATE and reading.order != ISO:
        like = f" like {reading.order}"
    if reading.gaps:
        shown = listed(map(repr, reading.gaps))
        return [f"{name} is read as {what}{like}, and as a gap where it is {shown}"]
    if like:
        return [f"{name} is read as {what}{like}"]
    why = _near_miss(column) if reading.kind == WORD and is_text(column) else ""
    return [f"{name} is read as words: {why}"] if why else []


def _near_miss(column: pd.Series) -> str:
    """Why texts that look like dates or numbers are read as words, or ""."""
    first = column.dropna().head(GLANCE).astype(str)
    if not len(first):
        return ""
    if all(map(ORDERS["31/12/2024"].fullmatch, first)):
        return f"day and month of {first.iloc[0]!r} cannot be told apart"
    is_nearly = all(map(NEARLY_A_NUMBER.fullmatch, first))
    if is_nearly and not all(map(INTEGER.fullmatch, first)):
        return f"write values like {first.iloc[0]!r} as 1234.5 to make them numbers"
    return _odd_ones_out(column.dropna().astype(str))


def _odd_ones_out(texts: pd.Series) -> str:
    """Which texts keep a column of numbers or dates from being read as such, or ""."""
    for what, pattern in [("numbers", PLAIN_NUMBER), *(("dates", of) for of in ORDERS.values())]:
        if np.mean([bool(pattern.fullmatch(text)) for text in texts.head(GLANCE)]) < MOST:
            continue
        is_odd = ~texts.map(lambda text, of=pattern: bool(of.fullmatch(text)))
        share = 1 - is_odd.mean()
        if MOST <= share < SHARE:
            odd = listed(map(repr, texts[is_odd].unique()))
            return f"leave cells with {odd} empty to make it {what}, as {share:.0%} of it are"
    return ""


def _amount_reading(texts: pd.Series) -> Reading | None:
    """As amounts, where nearly all texts are."""
    written = written_amounts(texts.tolist(), SHARE)
    if written is None:
        return None
    others = texts[np.isnan(written.numbers)]
    is_gap = np.isnan(values_of(others, NUMBER).values)
    return Reading(NUMBER, gaps=tuple(others[is_gap].unique()), mark=written.mark)


def _number_reading(texts: pd.Series) -> Reading | None:
    """As numbers, where nearly all texts are, and one is not."""
    if np.mean([bool(PLAIN_NUMBER.fullmatch(text)) for text in texts.head(GLANCE)]) < 0.9:
        return None
    is_number = texts.map(lambda text: bool(PLAIN_NUMBER.fullmatch(text)))
    if is_number.all() or is_number.mean() < SHARE:
        return None
    return Reading(NUMBER, gaps=tuple(texts[~is_number].unique()))


def _date_reading(texts: pd.Series) -> Reading | None:
    """As dates of the one order in which nearly all texts are days of the calendar."""
    found = []
    for order, pattern in ORDERS.items():
        if np.mean([bool(pattern.fullmatch(text)) for text in texts.head(GLANCE)]) < 0.9:
            continue
        is_bad = read(texts, Reading(DATE, order)).is_bad
        if is_bad.mean() <= 1 - SHARE:
            found.append(Reading(DATE, order, tuple(texts[is_bad].unique())))
    return found[0] if len(found) == 1 else None


def _iso(text: Any, order: str) -> Any:
    """A date written in that order as ISO 8601; what is none, as it is.

    >>> _iso("31.12.2024 6:30", "31.12.2024")
    '2024-12-31 06:30'
    """
    found = ORDERS[order].fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return text
    day, month, time = found["day"].zfill(2), found["month"].zfill(2), found["time"] or ""
    if time and time[2] == ":":
        time = f"{time[0]}0{time[1:]}"
    return f"{found['year']}-{month}-{day}{time}"


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
