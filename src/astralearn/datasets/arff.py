"""ARFF, dense and sparse, into a data frame.

A sparse row `{0 74,3 2}` names only some of its values. One that is left out is 0, and in a nominal column 0 means the FIRST value
of the declaration, whatever it is called: a class left out under `@attribute class {1,2}` is "1". Readers that fill in "0" or a
missing value get the labels wrong without noticing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from astralearn.datasets.errors import UnreadableError

NUMERIC = {"numeric", "real", "integer"}
TEXT = {"string", "date"}
NOT_NEEDED = {
    "@relation",
    "@inputs",
    "@outputs",
    "@input",
    "@output",
}  # all but the first are KEEL's

# A quoted run (with backslash escapes), or anything up to a comma, brace or space.
QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s{{]+)\s*(.*)$", re.IGNORECASE)
FIELD = re.compile(rf"\s*({QUOTED}|[^,'\"]*)\s*(?:,|$)")
PAIR_FIELD = re.compile(rf"\s*(\d+\s+(?:{QUOTED}|[^,'\"]*))\s*(?:,|$)")
PAIR = re.compile(r"(\d+)\s+(.+)")


class Attribute(NamedTuple):
    """One column: its name, and its values where it is nominal; `values` is None for numbers, () for text."""

    name: str
    values: tuple[str, ...] | None


def read_arff(path: Path) -> pd.DataFrame:
    """One column per attribute: float64 for numbers (`?` is NaN), Categorical with the declared values for nominal ones, text as is."""
    try:
        return _read(path)
    except UnicodeError as error:
        raise UnreadableError(f"{path} is not UTF-8 text: save it as UTF-8 ({error})") from error


def _read(path: Path) -> pd.DataFrame:
    with path.open(encoding="utf-8-sig") as file:
        lines = _meaningful(file)
        attributes = _header(lines, path)
        columns: list[list[str | None]] = [[] for _ in attributes]
        for number, line in lines:
            values = _sparse(line, attributes) if line.startswith("{") else _fields(line)
            if values is None or len(values) != len(attributes):
                raise UnreadableError(
                    f"{path}, line {number}: expected {len(attributes)} values, found {line[:80]!r}"
                )
            for column, value in zip(columns, values, strict=True):
                column.append(None if value == "?" else value)
    if not columns[0]:
        raise UnreadableError(f"{path} has no rows after @data")
    return pd.DataFrame(
        {a.name: _typed(column, a, path) for a, column in zip(attributes, columns, strict=True)}
    )


def _meaningful(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    """Numbered lines without blanks and comments."""
    for number, line in enumerate(map(str.strip, lines), start=1):
        if line and not line.startswith("%"):
            yield number, line


def _header(lines: Iterator[tuple[int, str]], path: Path) -> list[Attribute]:
    """The attributes; leaves `lines` at the first row."""
    attributes: list[Attribute] = []
    for number, line in lines:
        keyword = line.split(maxsplit=1)[0].lower()
        if keyword == "@data":
            if not attributes:
                break
            return attributes
        if keyword == "@attribute":
            found = _attribute(line, number, path)
            if any(found.name == known.name for known in attributes):
                raise UnreadableError(
                    f"{path}, line {number}: a second attribute {found.name!r}: rename one of the two"
                )
            attributes.append(found)
        elif keyword not in NOT_NEEDED:
            raise UnreadableError(f"{path}, line {number}: not ARFF: {line[:80]!r}")
    raise UnreadableError(f"{path} is not ARFF: it has no @attribute lines followed by @data")


def _attribute(line: str, number: int, path: Path) -> Attribute:
    match = ATTRIBUTE.match(line)
    if match:
        name, kind = _unquoted(match[1]), match[2].strip()
        if kind.startswith("{") and kind.endswith("}"):
            return Attribute(name, tuple(_fields(kind[1:-1]) or ()))
        word = kind.lower().split(maxsplit=1)[0] if kind else ""
        if word in NUMERIC:
            return Attribute(name, None)
        if word in TEXT:
            return Attribute(name, ())
    raise UnreadableError(
        f"{path}, line {number}: cannot read {line[:80]!r} (numeric, nominal, string and date attributes are known)"
    )


def _fields(line: str) -> list[str] | None:
    """Comma-separated values, quotes removed; None where quotes do not close."""
    if "'" not in line and '"' not in line:
        return [value.strip() for value in line.split(",")]
    values = _split(line, FIELD)
    return None if values is None else [_unquoted(value) for value in values]


def _split(line: str, field: re.Pattern[str]) -> list[str] | None:
    """The line as fields between commas, from end to end; None where anything else is in it."""
    values, position = [], 0
    while match := field.match(line, position):
        values.append(match[1].strip())
        if not match[0].endswith(","):
            return values
        position = match.end()
    return None


def _sparse(line: str, attributes: list[Attribute]) -> list[str | None] | None:
    """A whole row from `{index value, …}`; None where it is malformed."""
    row: list[str | None] = [_omitted(a) for a in attributes]
    inside = line[1:-1].strip()
    if not line.endswith("}"):
        return None
    pairs = _sparse_pairs(inside)
    if pairs is None:
        return None
    for pair in pairs:
        match = PAIR.fullmatch(pair)
        if match is None or int(match[1]) >= len(row):
            return None
        row[int(match[1])] = _unquoted(match[2])
    return row


def _sparse_pairs(inside: str) -> list[str] | None:
    if not inside:
        return []
    if "'" not in inside and '"' not in inside:
        return [pair.strip() for pair in inside.split(",")]
    return _split(inside, PAIR_FIELD)


def _omitted(attribute: Attribute) -> str | None:
    """What a sparse row means by leaving this value out."""
    if attribute.values is None:
        return "0"
    return attribute.values[0] if attribute.values else None


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text.strip()


def _typed(
    column: list[str | None], attribute: Attribute, path: Path
) -> np.ndarray | pd.Categorical | pd.Series:
    if attribute.values is None:
        try:
            return np.array([np.nan if value is None else float(value) for value in column])
        except ValueError as error:
            raise UnreadableError(
                f"{path}: column {attribute.name!r} is numeric, but: {error}"
            ) from error
    if not attribute.values:
        return pd.Series(column, dtype="str")
    unknown = set(column) - set(attribute.values) - {None}
    if unknown:
        raise UnreadableError(
            f"{path}: column {attribute.name!r} has {sorted(map(str, unknown))[:3]}, not among {list(attribute.values)}"
        )
    return pd.Categorical(column, categories=list(attribute.values))
