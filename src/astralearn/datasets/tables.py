"""A file on disk, whatever its form, into a data frame."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd

from astralearn.datasets.arff import read_arff
from astralearn.datasets.errors import MissingFileError, UnreadableError


def read_table(path: str | Path) -> pd.DataFrame:
    """CSV (also .gz, .tsv), Parquet or ARFF, told apart by the ending.

    MissingFileError, where there is no such file; UnreadableError, where it is not what its ending says, or is empty.
    """
    path = Path(path)
    if not os.path.isfile(
        path
    ):  # unlike Path.is_file, it takes a name too long for the file system for one that is not there
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
    except (
        Exception
    ) as error:  # the readers raise what their libraries raise: parser, Arrow, gzip and OS errors
        first_line = str(error).strip().partition("\n")[0]
        raise UnreadableError(
            f"{path} cannot be read: {first_line or type(error).__name__}"
        ) from error


def _read_separated(path: Path, separator: str) -> pd.DataFrame:
    """UnreadableError, where another separator seems meant, a name stands twice, or rows are longer than the header by more than a
    separator at their end.
    """
    # index_col: otherwise pandas takes the first column for row names where rows are longer than the header, and every other name moves
    # by one. low_memory: otherwise it guesses types block by block, and in a large file 1 and 1.0 of one column become two texts.
    read = partial(
        pd.read_csv, path, sep=separator, index_col=False, skipinitialspace=True, low_memory=False
    )
    names = list(read(nrows=1, header=None, dtype=str, na_filter=False).iloc[0])
    for other in ";\t,".replace(separator, ""):
        if len(names) == 1 and other in names[0]:
            hint = f"its separator seems to be {other!r}; save it with commas as .csv, or with tabs as .tsv"
            raise UnreadableError(f"{path} has one column, {names[0][:80]!r}: {hint}")
    repeated = [
        name for name, count in Counter(names).items() if name and count > 1
    ]  # which pandas would rename, the target too
    if repeated:
        raise UnreadableError(f"{path} has a second column {repeated[0]!r}: rename one of the two")
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return read()
        except pd.errors.ParserWarning as error:
            raise UnreadableError(
                f"{path} has rows of more values than its header has names ({len(names)}): name every column"
            ) from error


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": partial(_read_separated, separator=","),
    ".csv.gz": partial(_read_separated, separator=","),
    ".tsv": partial(_read_separated, separator="\t"),
    ".parquet": pd.read_parquet,
    ".arff": read_arff,
}
