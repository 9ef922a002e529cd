"""What benchmarks measured, fold by fold: CSV files in results/, compressed.

`pandas.read_csv("benchmarks/results/defaults.csv.gz")` reads one as it is, and `zcat` prints it.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
VERSIONS = RESULTS / "versions.json"
WIDTH = 100  # of a line of the pages

# Every file of results, the script that makes it, and the version of what that script measures.
# Raise a number when a script, or what it measures, changes so that its file has to be made anew:
# tests/test_site.py fails until it is. Writing a file says which version it is of;
# `python benchmarks/records.py FILE` says so of one that another way has written.
MADE_BY = {
    "attack.csv": ("attack/run.py", 2),
    "boosting_study.csv.gz": ("benchmarks/boosting_study.py", 1),
    "committee.csv": ("benchmarks/committee.py", 2),
    "comparison.csv": ("benchmarks/comparison.py", 1),
    "core_before_after.csv": ("benchmarks/before_after.py", 1),
    "deep.csv.gz": ("benchmarks/deep.py", 2),
    "deep_choice.csv.gz": ("benchmarks/deep_choice.py", 2),
    "deep_keras.csv.gz": ("benchmarks/deep_keras.py", 2),
    "defaults.csv.gz": ("benchmarks/defaults.py", 2),
    "large.csv": ("benchmarks/large.py", 1),
    "licences.csv": ("benchmarks/licences.py", 1),
    "memory.csv": ("benchmarks/memory.py", 1),
    "rarebench.csv.gz": ("benchmarks/rarebench.py", 2),
    "recommendation.csv.gz": ("benchmarks/recommendation.py", 1),
    "regime.csv.gz": ("benchmarks/regime.py", 1),
    "reproduce_time.csv.gz": ("benchmarks/reproduce.py", 1),
    "reproduction.csv.gz": ("benchmarks/reproduce.py", 1),
    "scale.csv": ("benchmarks/scale.py", 1),
    "speed_torch.txt": ("benchmarks/speed.py", 1),
    "suggest.csv": ("benchmarks/suggest.py", 1),
    "tables.csv": ("benchmarks/tables.py", 1),
}


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
    if path.parent == RESULTS:
        stamp(path.name)


def stamp(name: str) -> None:
    """Say that a file of results is of the version that its script has now."""
    versions = json.loads(VERSIONS.read_text()) if VERSIONS.exists() else {}
    versions[name] = MADE_BY[name][1] if name in MADE_BY else 1
    VERSIONS.write_text(json.dumps(dict(sorted(versions.items())), indent=1) + "\n")


def put(path: Path, script: str, text: str) -> None:
    """Put a script's text where a page has marked its place.

    The marks are <!-- script: begin --> … <!-- end -->. Paragraphs are filled to the pages' width.
    """
    before, begin, rest = path.read_text().partition(f"<!-- {script}: begin -->")
    if not begin:
        raise ValueError(f"{path.name} has no place marked <!-- {script}: begin -->")
    _, end, after = rest.partition("<!-- end -->")
    path.write_text(f"{before}{begin}\n{filled(text.strip())}\n{end}{after}")


def filled(text: str) -> str:
    """Paragraphs and items of a list in lines of at most WIDTH; tables and headings as they are."""
    whole: list[str] = []
    for line in text.splitlines():
        goes_on = line and whole and whole[-1] and not line.startswith(("|", "#", "- "))
        if goes_on and not whole[-1].startswith(("|", "#")):
            whole[-1] += f" {line.strip()}"
        else:
            whole.append(line)
    return "\n".join(
        line
        if line.startswith(("|", "#"))
        else textwrap.fill(
            line,
            WIDTH,
            subsequent_indent="  " * line.startswith("- "),
            break_on_hyphens=False,
            break_long_words=False,
        )
        for line in whole
    )


if __name__ == "__main__":
    for name in sys.argv[1:]:
        stamp(name)
