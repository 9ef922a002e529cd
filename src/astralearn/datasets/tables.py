"""A file on disk, whatever its form, into a data frame."""

from __future__ import annotations

import gzip
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from astralearn.datasets.arff import read_arff
from astralearn.datasets.errors import DataError, MissingFileError, UnreadableError
from astralearn.datasets.text_form import TEXT_ENDINGS, text_form

# What a compressed file may become. One that is larger than memory when it is read would take the
# machine with it, and its size on disk does not tell.
MOST_DECOMPRESSED_BYTES = 4 << 30


def read_table(
    path: str | Path, *, separator: str | None = None, encoding: str | None = None
) -> pd.DataFrame:
    """CSV (also .gz, .tsv), Parquet, Excel or ARFF, told apart by the ending.

    path: the file.
    separator, encoding: of a text file; None to find them (`text_form`).

    MissingFileError where there is no such file. UnreadableError where it is not what its ending
    says, is empty, or decompresses to more than MOST_DECOMPRESSED_BYTES.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "cards.csv")
    ...     pd.DataFrame({"amount": [1.5, 2.0], "fraud": [0, 1]}).to_csv(path, sep=";", index=False)
    ...     table = read_table(path)
    >>> table.columns.tolist(), table["amount"].tolist()
    (['amount', 'fraud'], [1.5, 2.0])
    """
    path = Path(path)
    # Unlike Path.is_file, os.path's takes a name too long for the file system for an absent one.
    if not os.path.isfile(path):
        raise MissingFileError(
            f"no such file: {path}" + (" (it is a folder)" if os.path.isdir(path) else "")
        )
    for ending, reader in READERS.items():
        if path.name.lower().endswith(ending):
            form = {"separator": separator, "encoding": encoding}
            with reading(path):
                frame = reader(path, **(form if ending in TEXT_ENDINGS else {}))
            if frame.empty:
                raise UnreadableError(f"{path} has no rows")
            return frame
    raise UnreadableError(f"{path}: unknown ending; known are {', '.join(READERS)}")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say of whatever a reader raises which file it is of, as an UnreadableError."""
    try:
        yield
    except DataError:
        raise
    except ImportError as error:
        kind, needed = ("Excel", "openpyxl") if path.suffix == ".xlsx" else ("Parquet", "pyarrow")
        raise UnreadableError(
            f"{path}: reading {kind} needs {needed}: pip install 'astralearn[{kind.lower()}]'"
        ) from error
    except UnicodeError as error:
        raise UnreadableError(
            f"{path} is not UTF-8 text: save it as UTF-8, or name its encoding ({error})"
        ) from error
    except Exception as error:
        # Readers raise what their libraries raise: parser, Arrow, gzip and OS errors.
        first_line = str(error).strip().partition("\n")[0]
        raise UnreadableError(
            f"{path} cannot be read: {first_line or type(error).__name__}"
        ) from error


def _read_separated(
    path: Path,
    *,
    separator: str | None,
    encoding: str | None,
    opened: Callable[[Path, str], Any] = Path.open,
) -> pd.DataFrame:
    """Text with a header line.

    UnreadableError where a name stands twice, or rows are longer than the header by more than a
    separator at their end.
    """
    form = text_form(path, separator=separator, encoding=encoding)

    def read(**options: Any) -> pd.DataFrame:
        with opened(path, "rb") as file:
            return pd.read_csv(
                file,
                **form.options(),
                # Otherwise pandas takes the first column for row names where rows are longer than
                # the header, and every other name moves by one.
                index_col=False,
                skipinitialspace=True,
                # Otherwise it guesses types block by block, and in a large file 1 and 1.0 of one
                # column become two texts.
                low_memory=False,
                **options,
            )

    names = header_names(path, read)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return form.numbers(read())
        except pd.errors.ParserWarning as error:
            raise rows_too_long(path, names) from error


def header_names(path: Path, read: Callable[..., pd.DataFrame]) -> list[str]:
    """The names in a text file's first line; UnreadableError where one stands twice.

    read: the file, by options of `pandas.read_csv`.
    """
    names = list(read(nrows=1, header=None, dtype=str, na_filter=False).iloc[0])
    # pandas would rename the second of them, even where it is the target.
    check_unique(path, names)
    return names


def check_unique(path: Path, names: list[str]) -> None:
    """Refuse a file in which a name stands twice; empty names may."""
    repeated = [name for name, count in Counter(names).items() if name and count > 1]
    if repeated:
        raise UnreadableError(f"{path} has a second column {repeated[0]!r}: rename one of the two")


def rows_too_long(path: Path, names: list[str]) -> UnreadableError:
    """The error of a text file with rows of more values than names."""
    return UnreadableError(
        f"{path} has rows of more values than its header has names ({len(names)}): "
        "name every column"
    )


class _LimitedGzip(gzip.GzipFile):
    """The content of a gzip file; UnreadableError beyond MOST_DECOMPRESSED_BYTES."""

    # Which of the two pandas calls depends on its version.
    def read(self, size: int | None = -1) -> bytes:
        return self._checked(super().read(size))

    def read1(self, size: int = -1) -> bytes:
        return self._checked(super().read1(size))

    def _checked(self, block: bytes) -> bytes:
        if self.tell() > MOST_DECOMPRESSED_BYTES:
            raise _too_large(self.name, "decompress it and read that")
        return block


def _read_parquet(path: Path) -> pd.DataFrame:
    from pyarrow.parquet import read_metadata

    found = read_metadata(path)
    if 8 * found.num_rows * found.num_columns > MOST_DECOMPRESSED_BYTES:
        raise _too_large(path, "leave out rows or columns")
    return with_index(pd.read_parquet(path), found.schema.to_arrow_schema().names)


def with_index(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The frame with an index that is a column of its Parquet file as that column.

    names: of the file's columns. An index without a name is no column to learn from.
    """
    index = frame.index
    columns = {name: index.get_level_values(name).array for name in index.names if name in names}
    return frame.reset_index(drop=True).assign(**columns)


def _too_large(path: str | Path, advice: str) -> UnreadableError:
    size = f"{MOST_DECOMPRESSED_BYTES / (1 << 30):.0f} GiB"
    return UnreadableError(f"{path} becomes more than {size} when it is read: {advice}")


READERS: dict[str, Callable[..., pd.DataFrame]] = {
    ".csv": _read_separated,
    ".csv.gz": partial(_read_separated, opened=_LimitedGzip),
    ".tsv": _read_separated,
    ".tsv.gz": partial(_read_separated, opened=_LimitedGzip),
    ".xlsx": pd.read_excel,
    ".parquet": _read_parquet,
    ".arff": read_arff,
}
