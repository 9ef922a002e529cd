"""How a text file is written: its encoding, its separator and its decimal mark."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from astralearn.tabular.amounts import amounts_of
from astralearn.tabular.columns import is_text
from astralearn.tabular.readings import SHARE

SAMPLE_BYTES = 1 << 18
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
QUOTED = re.compile(r'(?<![^,;\t|\r\n ])"(?:[^"]|"")*"')  # A quote within a value opens nothing.
COMMA_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+")
PLAIN = re.compile(r"[+-]?[\d.,]+")
# Three digits after a point may be thousands, where other values have decimal commas.
POINT_NUMBER = re.compile(r"[+-]?(?![1-9]\d{0,2}\.\d{3}$)\d+\.\d+")
TEXT_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")


class TextForm(NamedTuple):
    """How the values of a text file are set apart and written.

    separator: between values.
    encoding: of the bytes.
    decimal: the mark before a fraction, "." or ",".
    """

    separator: str = ","
    encoding: str = "utf-8"
    decimal: str = "."

    def options(self) -> dict[str, Any]:
        """The same as options of `pandas.read_csv`; thousands are left to `numbers`."""
        return {"sep": self.separator, "encoding": self.encoding, "decimal": self.decimal}

    def numbers(self, frame: pd.DataFrame, known: Sequence[str] | None = None) -> pd.DataFrame:
        """The frame with "1.234" read as thousands where decimals have commas.

        pandas would take the points out of dates and addresses too.

        known: columns of numbers; None for those whose texts are nearly all numbers.
        """
        if self.decimal != ",":
            return frame
        names = list(frame) if known is None else known
        least = SHARE if known is None else 0.0
        found = {name: _grouped(frame[name]) for name in names if is_text(frame[name])}
        read = {name: column for name, (column, share) in found.items() if share >= least}
        return frame.assign(**read)

    def said(self) -> str:
        """What is assumed, as a sentence; empty where the file is as CSV files are.

        >>> TextForm(";", "cp1252", ",").said()
        'read with semicolons between values, as cp1252, with decimal commas'
        """
        name = SEPARATORS.get(self.separator, repr(self.separator))
        parts = [] if self.separator == "," else [f"with {name}s between values"]
        if self.encoding not in ("utf-8", "utf-8-sig"):
            parts.append(f"as {self.encoding}")
        if self.decimal == ",":
            parts.append("with decimal commas")
        return f"read {', '.join(parts)}" if parts else ""


def text_form(
    path: str | Path, *, separator: str | None = None, encoding: str | None = None
) -> TextForm:
    """How the file is written, from its first lines and from what is named.

    path: a text file, compressed where it ends in .gz.
    separator, encoding: where they are known; None to find them.

    Raises ValueError for an encoding that Python does not know.
    """
    path = Path(path)
    with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
        sample = file.read(SAMPLE_BYTES)
    encoding = _encoding(sample) if encoding is None else _known(encoding)
    text = sample.decode(encoding, errors="replace")
    lines = text.splitlines() if len(sample) < SAMPLE_BYTES else text.splitlines()[:-1]
    if separator is None:
        usual = "\t" if ".tsv" in path.name.lower() else ","
        separator = _separator(text, usual)
    if len(separator) != 1:
        raise ValueError(f"separator must be one character; found {separator!r}")
    return TextForm(separator, encoding, _decimal(lines[1:1000], separator))


def _grouped(column: pd.Series) -> tuple[pd.Series, float]:
    """The column with its plain numbers as such, and their share of what is there."""
    texts = column.astype(object)
    plain = [text if isinstance(text, str) and PLAIN.fullmatch(text) else None for text in texts]
    amounts = amounts_of(plain, ",").numbers
    n_present, n_numbers = int(column.notna().sum()), int(np.isfinite(amounts).sum())
    found = texts.where(np.isnan(amounts), amounts)
    if n_numbers == n_present:
        found = found.astype(float)
    return found, n_numbers / n_present if n_present else 0.0


def _known(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise ValueError(f"encoding must be one that Python knows; found {encoding!r}") from None


def _encoding(sample: bytes) -> str:
    for mark, encoding in MARKS.items():
        if sample.startswith(mark):
            return encoding
    try:
        # A character may be cut in two where the sample ends.
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _separator(text: str, usual: str) -> str:
    """The separator that parts the header most; the usual one where none does more."""
    # A quoted name may have separators and line ends of its own.
    lines = (line for line in QUOTED.sub("", text).splitlines() if line.strip())
    return max((usual, *SEPARATORS), key=next(lines, "").count)


def _decimal(lines: list[str], separator: str) -> str:
    if separator == ",":
        return "."
    values = [value.strip() for row in csv.reader(lines, delimiter=separator) for value in row]
    has_commas = any(COMMA_NUMBER.fullmatch(value) for value in values)
    has_points = any(POINT_NUMBER.fullmatch(value) for value in values)
    return "," if has_commas and not has_points else "."
