"""A file on disk, whatever its form, into a data frame."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from astralearn.datasets.arff import read_arff
from astralearn.datasets.errors import MissingFileError, UnreadableError


def read_table(path: str | Path) -> pd.DataFrame:
    """CSV (also .gz, .tsv), Parquet or ARFF, told apart by the ending.

    MissingFileError, where there is no such file; UnreadableError, where it is not what its ending says, or is empty.
    """
    path = Path(path)
    if not path.is_file():
        raise MissingFileError(f"no such file: {path}" + (" (it is a folder)" if path.is_dir() else ""))
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
        raise UnreadableError(f"{path}: reading Parquet needs a package that is not installed: pip install pyarrow") from error
    except Exception as error:  # the readers raise what their libraries raise: parser, Arrow, gzip, Unicode and OS errors
        first_line = str(error).strip().partition("\n")[0]
        raise UnreadableError(f"{path} cannot be read: {first_line or type(error).__name__}") from error


def _read_tsv(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, sep="\t")


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": pd.read_csv,
    ".csv.gz": pd.read_csv,
    ".tsv": _read_tsv,
    ".parquet": pd.read_parquet,
    ".arff": read_arff,
}
