"""A file that is whole or not there: written beside its place, then renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to, which takes its place at the end.

    Where writing fails or is interrupted, `path` is what it was before.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")
    try:
        yield beside
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> Path:
    """Write text as UTF-8 with the line ends it has."""
    with whole_file(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="")
    return path
