"""Numbers as people write them: "$1,234.50", "1.234,50 €", "(12.00)", "7 %"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

CURRENCY = r"[$€£¥]|EUR|USD|GBP|CHF|JPY"
SPACES = " \u00a0\u202f"  # plain, no-break and narrow no-break
THOUSANDS = {".": ",", ",": "."}  # what sets thousands apart, by the decimal mark
GLANCE = 100  # rows that tell whether the others are worth a look


def _pattern(mark: str) -> re.Pattern[str]:
    apart = re.escape(THOUSANDS[mark]) + "'’" + SPACES
    whole = rf"(?:0|[1-9]\d*|[1-9]\d{{0,2}}(?P<apart>[{apart}])\d{{3}}(?:(?P=apart)\d{{3}})*)"
    return re.compile(
        rf"(?P<open>\()?(?P<sign>[+−-]?)[{SPACES}]?(?P<before>{CURRENCY})?[{SPACES}]?"
        rf"(?P<whole>{whole})(?:{re.escape(mark)}(?P<fraction>\d+))?"
        rf"[{SPACES}]?(?P<after>{CURRENCY}|%)?(?(open)\))"
    )


PATTERNS = {mark: _pattern(mark) for mark in THOUSANDS}
# Points and spaces alone also part telephone numbers, addresses and versions.
IS_AMOUNT = re.compile(rf"{CURRENCY}|[%,'’]")


class Amount(NamedTuple):
    """What a text says: a number, NaN where it says none, and its currency, % or ""."""

    number: float
    unit: str


NOTHING = Amount(np.nan, "")


def amount_of(text: object, mark: str) -> Amount:
    """The amount that a text says.

    mark: before the fraction, "." or ",".

    >>> amount_of("$1,234.50", "."), amount_of("(12,00)", ",")
    (Amount(number=1234.5, unit='$'), Amount(number=-12.0, unit=''))
    """
    found = PATTERNS[mark].fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        return NOTHING
    whole = found["whole"]
    if found["apart"]:
        whole = whole.replace(found["apart"], "")
    number = float(f"{whole}.{found['fraction'] or 0}")
    is_negative = found["open"] or found["sign"] in ("-", "−")
    return Amount(-number if is_negative else number, found["before"] or found["after"] or "")


def amounts_of(texts: Iterable[object], mark: str) -> np.ndarray:
    """The number of every text, (rows,)."""
    return np.asarray([amount_of(text, mark).number for text in texts], float)


def decimal_mark(texts: pd.Series, share: float) -> str:
    """The mark by which texts are amounts; "" where it cannot be told.

    Texts of two currencies are no amounts: their numbers do not compare.

    texts: all of a column.
    share: of them that have to be amounts.

    >>> [decimal_mark(pd.Series([text]), 1.0) for text in ("$1,234.50", "1.234,50", "1,234")]
    ['.', ',', '']
    """
    found = {}
    for mark in PATTERNS:
        if np.isfinite(amounts_of(texts.head(GLANCE), mark)).mean() < 0.9:
            continue
        amounts = [amount_of(text, mark) for text in texts]
        numbers = np.asarray([amount.number for amount in amounts], float)
        units = {amount.unit for amount in amounts} - {""}
        if np.isfinite(numbers).mean() >= share and len(units) <= 1:
            found[mark] = numbers
    if not found or (len(found) == 2 and not np.array_equal(*found.values(), equal_nan=True)):
        return ""
    ((mark, numbers), *_) = found.items()
    is_more = texts[np.isfinite(numbers)].str.contains(IS_AMOUNT).any()
    return mark if is_more else ""
