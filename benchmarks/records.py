"""What benchmarks measured, fold by fold: CSV files in results/, compressed.

`pandas.read_csv("benchmarks/results/defaults.csv.gz")` reads one as it is, and `zcat` prints it.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows by column; none where there is no such file."""
    if not path.exists():
        return []
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a file anew; the same rows are the same bytes, without a name or a time."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0))


def put(path: Path, script: str, text: str) -> None:
    """Put a script's text where a page has marked its place: <!-- script: begin --> … <!-- end -->."""
    before, begin, rest = path.read_text().partition(f"<!-- {script}: begin -->")
    if not begin:
        raise ValueError(f"{path.name} has no place marked <!-- {script}: begin -->")
    _, end, after = rest.partition("<!-- end -->")
    path.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}")
