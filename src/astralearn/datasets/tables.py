"""A file on disk, whatever its form, into a data frame."""

from __future__ import annotations

import gzip
import os
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from astralearn.datasets.arff import read_arff
from astralearn.datasets.errors import MissingFileError, UnreadableError

# What a compressed file may become. One that is larger than memory when it is read would take the
# machine with it, and its size on disk does not tell.
MOST_DECOMPRESSED_BYTES = 4 << 30


def read_table(path: str | Path) -> pd.DataFrame:
    """CSV (also .gz, .tsv), Parquet or ARFF, told apart by the ending.

    MissingFileError where there is no such file. UnreadableError where it is not what its ending
    says, is empty, or decompresses to more than MOST_DECOMPRESSED_BYTES.
    """
    path = Path(path)
    # Unlike Path.is_file, os.path's takes a name too long for the file system for an absent one.
    if not os.path.isfile(path):
        raise MissingFileError(
            f"no such file: {path}" + (" (it is a folder)" if os.path.isdir(path) else "")
        )
    for ending, reader in READERS.items():
        if path.name.lower().endswith(ending):
            frame = _read(path, reader)
            if frame.empty:
                raise UnreadableError(f"{path} has no rows")
            return frame
    raise UnreadableError(f"{path}: unknown ending; known are {', '.join(READERS)}")


def _read(path: Path, reader: Callable[[Path], pd.DataFrame]) -> pd.DataFrame:
    try:
        return reader(path)
    except UnreadableError:
        raise
    except ImportError as error:
        raise UnreadableError(
            f"{path}: reading Parquet needs pyarrow: pip install 'astralearn[parquet]'"
        ) from error
    except UnicodeError as error:
        raise UnreadableError(f"{path} is not UTF-8 text: save it as UTF-8 ({error})") from error
    except Exception as error:
        # Readers raise what their libraries raise: parser, Arrow, gzip and OS errors.
        first_line = str(error).strip().partition("\n")[0]
        raise UnreadableError(
            f"{path} cannot be read: {first_line or type(error).__name__}"
        ) from error


def _read_separated(
    path: Path, *, separator: str, opened: Callable[[Path, str], Any] = Path.open
) -> pd.DataFrame:
    """Text with a header line.

    UnreadableError where another separator seems meant, a name stands twice, or rows are longer
    than the header by more than a separator at their end.
    """

    def read(**options: Any) -> pd.DataFrame:
        with opened(path, "rb") as file:
            return pd.read_csv(
                file,
                sep=separator,
                # Otherwise pandas takes the first column for row names where rows are longer than
                # the header, and every other name moves by one.
                index_col=False,
                skipinitialspace=True,
                # Otherwise it guesses types block by block, and in a large file 1 and 1.0 of one
                # column become two texts.
                low_memory=False,
                **options,
            )

    names = list(read(nrows=1, header=None, dtype=str, na_filter=False).iloc[0])
    for other in ";\t,".replace(separator, ""):
        if len(names) == 1 and other in names[0]:
            raise UnreadableError(
                f"{path} has one column, {names[0][:80]!r}: its separator seems to be {other!r}; "
                "save it with commas as .csv, or with tabs as .tsv"
            )
    # pandas would rename the second of them, even where it is the target.
    repeated = [name for name, count in Counter(names).items() if name and count > 1]
    if repeated:
        raise UnreadableError(f"{path} has a second column {repeated[0]!r}: rename one of the two")
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return read()
        except pd.errors.ParserWarning as error:
            raise UnreadableError(
                f"{path} has rows of more values than its header has names ({len(names)}): "
                "name every column"
            ) from error


class _LimitedGzip(gzip.GzipFile):
    """The content of a gzip file; UnreadableError beyond MOST_DECOMPRESSED_BYTES."""

    def read1(self, size: int = -1) -> bytes:
        block = super().read1(size)
        if self.tell() > MOST_DECOMPRESSED_BYTES:
            raise _too_large(self.name, "decompress it and read that")
        return block


def _read_parquet(path: Path) -> pd.DataFrame:
    from pyarrow.parquet import read_metadata

    found = read_metadata(path)
    if 8 * found.num_rows * found.num_columns > MOST_DECOMPRESSED_BYTES:
        raise _too_large(path, "leave out rows or columns")
    return pd.read_parquet(path)


def _too_large(path: str | Path, advice: str) -> UnreadableError:
    size = f"{MOST_DECOMPRESSED_BYTES / (1 << 30):.0f} GiB"
    return UnreadableError(f"{path} becomes more than {size} when it is read: {advice}")


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": partial(_read_separated, separator=","),
    ".csv.gz": partial(_read_separated, separator=",", opened=_LimitedGzip),
    ".tsv": partial(_read_separated, separator="\t"),
    ".parquet": _read_parquet,
    ".arff": read_arff,
}
