"""Numbers as people write them: "$1,234.50", "1.234,50 €", "(12.00)", "7 %"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

CURRENCY = r"[$€£¥]|EUR|USD|GBP|CHF|JPY"
SPACES = " \u00a0\u202f"  # plain, no-break and narrow no-break
THOUSANDS = {".": ",", ",": "."}  # what sets thousands apart, by the decimal mark
GLANCE = 100  # rows that tell which ways to read the others are worth trying


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


class Amounts(NamedTuple):
    """What texts say.

    numbers: (rows,), NaN where one says none.
    units: currencies and % that are named.
    """

    numbers: np.ndarray
    units: set[str]


def amounts_of(texts: Iterable[object], mark: str) -> Amounts:
    """The amounts that texts say.

    mark: before the fraction, "." or ",".

    >>> amounts_of(["$1,234.50", "(12.00)"], ".")
    Amounts(numbers=array([1234.5,  -12. ]), units={'$'})
    """
    match, numbers, units = PATTERNS[mark].fullmatch, [], set()
    for text in texts:
        found = match(text.strip()) if isinstance(text, str) else None
        if found is None:
            numbers.append(np.nan)
            continue
        opened, sign, before, whole, apart, fraction, after = found.groups()
        if apart:
            whole = whole.replace(apart, "")
        number = float(f"{whole}.{fraction}" if fraction else whole)
        numbers.append(-number if opened or sign in ("-", "−") else number)
        units.add(before or after or "")
    return Amounts(np.asarray(numbers, float), units - {""})


class Written(NamedTuple):
    """How a column of amounts is written: its decimal mark, and the numbers it says."""

    mark: str
    numbers: np.ndarray


def written_amounts(column: Iterable[str], share: float) -> Written | None:
    """How texts are written as amounts; None where that cannot be told.

    Texts of two currencies are no amounts: their numbers do not compare.

    column: its texts.
    share: of them that have to be amounts.

    >>> [written_amounts([text], 1.0) for text in ("$1,234.50", "1.234,50")]
    [Written(mark='.', numbers=array([1234.5])), Written(mark=',', numbers=array([1234.5]))]
    >>> written_amounts(["1,234"], 1.0)
    """
    texts = list(column)  # Iterating over some of pandas' columns is slow.
    found = []
    for mark in PATTERNS:
        if np.isfinite(amounts_of(texts[:GLANCE], mark).numbers).mean() < 0.9:
            continue
        numbers, units = amounts_of(texts, mark)
        if np.isfinite(numbers).mean() >= share and len(units) <= 1:
            found.append(Written(mark, numbers))
    if not found or not np.array_equal(found[0].numbers, found[-1].numbers, equal_nan=True):
        return None
    is_known = np.isfinite(found[0].numbers)
    is_more = any(
        IS_AMOUNT.search(text) for text, known in zip(texts, is_known, strict=True) if known
    )
    return found[0] if is_more else None
