"""ARFF, dense and sparse, into a data frame.

A sparse row `{0 74,3 2}` names only some of its values. One that is left out is 0, and in a nominal
column 0 means the FIRST value of the declaration, whatever it is called: a class left out under
`@attribute class {1,2}` is "1". Readers that fill in "0" or a missing value get the labels wrong
without noticing.
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
# Lines of the header that say nothing about the values; all but the first are KEEL's.
NOT_NEEDED = {"@relation", "@inputs", "@outputs", "@input", "@output"}

# A quoted run with backslash escapes. Repetitions are possessive here and below: what they have
# taken they keep, so that no line takes longer than its length.
QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
ATTRIBUTE = re.compile(rf"@attribute\s++({QUOTED}|[^\s{{]++)\s*+(.*+)", re.IGNORECASE)
FIELD = re.compile(rf"\s*+({QUOTED}|[^,'\"]*+)\s*+(,|$)")
INDEXED_FIELD = re.compile(rf"\s*+(\d++)\s++({QUOTED}|[^,'\"\s][^,'\"]*+)\s*+(,|$)")


class Attribute(NamedTuple):
    """One column of the file.

    values: those declared where it is nominal; None for numbers, () for text.
    """

    name: str
    values: tuple[str, ...] | None

    @property
    def left_out(self) -> str | None:
        """What a sparse row means by leaving this value out."""
        if self.values is None:
            return "0"
        return self.values[0] if self.values else None


def read_arff(path: Path) -> pd.DataFrame:
    """One column per attribute.

    Numbers are float64 (`?` is NaN), nominal columns Categorical with the declared values, text is
    text.

    >>> import tempfile
    >>> lines = ["@relation c", "@attribute x real", "@attribute y {a,b}", "@data", "1,a", "?,b"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "cards.arff")
    ...     _ = path.write_text(chr(10).join(lines))
    ...     table = read_arff(path)
    >>> table["x"].tolist(), table["y"].tolist()
    ([1.0, nan], ['a', 'b'])
    """
    try:
        return _read(path)
    except UnicodeError as error:
        raise UnreadableError(f"{path} is not UTF-8 text: save it as UTF-8 ({error})") from error


def _read(path: Path) -> pd.DataFrame:
    with path.open(encoding="utf-8-sig") as file:
        lines = _meaningful(file)
        attributes = _header(lines, path)
        left_out = [attribute.left_out for attribute in attributes]
        rows = []
        for number, line in lines:
            row = _sparse(line, left_out) if line.startswith("{") else _dense(line)
            if row is None or len(row) != len(attributes):
                raise UnreadableError(
                    f"{path}, line {number}: expected {len(attributes)} values, found {line[:80]!r}"
                )
            rows.append(row)
    if not rows:
        raise UnreadableError(f"{path} has no rows after @data")
    return pd.DataFrame(
        {
            attribute.name: _typed(column, attribute, path)
            for attribute, column in zip(attributes, zip(*rows, strict=True), strict=True)
        }
    )


def _meaningful(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    """Numbered lines without blanks and comments."""
    for number, line in enumerate(map(str.strip, lines), start=1):
        if line and not line.startswith("%"):
            yield number, line


def _header(lines: Iterator[tuple[int, str]], path: Path) -> list[Attribute]:
    """The attributes; leaves `lines` at the first row."""
    attributes: dict[str, Attribute] = {}
    for number, line in lines:
        keyword = line.split(maxsplit=1)[0].lower()
        if keyword == "@data":
            if not attributes:
                break
            return list(attributes.values())
        if keyword == "@attribute":
            found = _attribute(line, number, path)
            if found.name in attributes:
                raise UnreadableError(
                    f"{path}, line {number}: a second attribute {found.name!r}: "
                    "rename one of the two"
                )
            attributes[found.name] = found
        elif keyword not in NOT_NEEDED:
            raise UnreadableError(f"{path}, line {number}: not ARFF: {line[:80]!r}")
    raise UnreadableError(f"{path} is not ARFF: it has no @attribute lines followed by @data")


def _attribute(line: str, number: int, path: Path) -> Attribute:
    match = ATTRIBUTE.match(line)
    if match:
        name, kind = _unquoted(match[1]), match[2].strip()
        if kind.startswith("{") and kind.endswith("}"):
            values = _dense(kind[1:-1]) or []
            return Attribute(name, tuple(value for value in values if value is not None))
        word = kind.lower().split(maxsplit=1)[0] if kind else ""
        if word in NUMERIC:
            return Attribute(name, None)
        if word in TEXT:
            return Attribute(name, ())
    raise UnreadableError(
        f"{path}, line {number}: cannot read {line[:80]!r} "
        "(numeric, nominal, string and date attributes are known)"
    )


def _dense(line: str) -> list[str | None] | None:
    """Values between commas, quotes removed; None where quotes do not close."""
    if "'" not in line and '"' not in line:
        return [value.strip() for value in line.split(",")]
    fields = _matched(line, FIELD)
    return None if fields is None else [_unquoted(field[1]) for field in fields]


def _sparse(line: str, left_out: list[str | None]) -> list[str | None] | None:
    """A whole row from `{index value, …}`; None where it is malformed."""
    inside = line[1:-1].strip()
    fields = _matched(inside, INDEXED_FIELD) if inside else []
    if fields is None or not line.endswith("}"):
        return None
    row = left_out.copy()
    for field in fields:
        # An index of thousands of digits would be refused by int itself.
        if len(field[1]) > 9 or int(field[1]) >= len(row):
            return None
        row[int(field[1])] = _unquoted(field[2])
    return row


def _matched(line: str, field: re.Pattern[str]) -> list[re.Match[str]] | None:
    """The line as fields between commas, from end to end; None for anything else."""
    found: list[re.Match[str]] = []
    position = 0
    while match := field.match(line, position):
        found.append(match)
        if match[match.re.groups] != ",":
            return found
        position = match.end()
    return None


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text.strip()


def _typed(
    column: tuple[str | None, ...], attribute: Attribute, path: Path
) -> np.ndarray | pd.Categorical | pd.Series:
    known = [None if value == "?" else value for value in column]
    if attribute.values is None:
        try:
            return np.array([np.nan if value is None else float(value) for value in known])
        except ValueError as error:
            raise UnreadableError(
                f"{path}: column {attribute.name!r} is numeric, but: {error}"
            ) from error
    if not attribute.values:
        return pd.Series(known, dtype="str")
    unknown = set(known) - set(attribute.values) - {None}
    if unknown:
        raise UnreadableError(
            f"{path}: column {attribute.name!r} has {sorted(map(str, unknown))[:3]}, "
            f"not among {list(attribute.values)}"
        )
    return pd.Categorical(known, categories=list(attribute.values))
