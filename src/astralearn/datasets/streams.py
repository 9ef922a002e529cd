"""Tables that are read and written a block of rows at a time, whatever their size."""

from __future__ import annotations

import errno
import gzip
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

import numpy as np
import pandas as pd

from astralearn.datasets.errors import MissingFileError, UnreadableError, UnwritableError
from astralearn.datasets.tables import (
    check_unique,
    header_names,
    read_table,
    reading,
    rows_too_long,
    with_index,
)
from astralearn.datasets.text_form import TEXT_ENDINGS, TextForm, text_form
from astralearn.tabular.columns import with_text_names

PARQUET = ".parquet"
BEYOND = "\0 beyond the header"  # no name of a file
Result = TypeVar("Result")


class RowStream(Protocol):
    """A table in blocks, as values to compute with or as what stands in the file.

    form: of a text file; None elsewhere.
    """

    form: TextForm | None

    def columns(self) -> list[str]:
        """Names of the columns."""

    def frames(self, columns: Sequence[str], texts: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Blocks of some columns; those among `texts` are never read as numbers."""

    def originals(self) -> Iterator[Any]:
        """The same blocks as they stand: Arrow tables, or frames of texts."""


def row_stream(
    path: str | Path, *, rows: int, separator: str | None = None, encoding: str | None = None
) -> RowStream:
    """The table in blocks of so many rows.

    path: CSV (also .gz, .tsv) or Parquet; Excel or ARFF, which is read as a whole.
    rows: of a block.
    separator, encoding: of a text file; None to find them.

    MissingFileError, UnreadableError: where it is not there, or of another kind.
    """
    path = Path(path)
    if not os.path.isfile(path):
        raise MissingFileError(f"no such file: {path}")
    name = path.name.lower()
    with reading(path):
        if name.endswith(PARQUET):
            return _ParquetStream(path, rows)
        if name.endswith(TEXT_ENDINGS):
            return _TextStream(path, rows, text_form(path, separator=separator, encoding=encoding))
        return _WholeStream(read_table(path), rows)


class _TextStream:
    def __init__(self, path: Path, rows: int, form: TextForm) -> None:
        self.path, self.rows = path, rows
        self.form: TextForm | None = form
        self.options = form.options()
        header_names(path, self._read)
        self.names = [str(name) for name in self._read(nrows=0, dtype=str, index_col=None).columns]
        self.beyond = self._beyond()

    def columns(self) -> list[str]:
        return self.names

    def frames(self, columns: Sequence[str], texts: Sequence[str]) -> Iterator[pd.DataFrame]:
        kinds = dict.fromkeys(texts, str)
        numbers = [name for name in columns if name not in kinds]
        for frame in self._blocks(usecols=[*columns, *self.beyond], dtype=kinds):
            yield self.form.numbers(frame, numbers) if self.form else frame

    def originals(self) -> Iterator[pd.DataFrame]:
        yield from self._blocks(dtype=str, keep_default_na=False)

    def _beyond(self) -> list[str]:
        """A column for what stands beyond the header: a separator at rows' ends.

        pandas would cut the first row there, and with it all others; what is longer than the row
        before it, it refuses.
        """
        first = self._read(nrows=1, dtype=str, index_col=None)
        n_more = 0 if isinstance(first.index, pd.RangeIndex) else first.index.nlevels
        if n_more > 1:
            raise rows_too_long(self.path, self.names)
        return [BEYOND] * n_more

    def _blocks(self, **options: Any) -> Iterator[pd.DataFrame]:
        """Blocks of rows; UnreadableError where there are none, or one is too long."""
        names = [*self.names, *self.beyond]
        with (
            reading(self.path),
            self._read(chunksize=self.rows, names=names, header=0, **options) as blocks,
        ):
            for frame in blocks:
                if frame.empty:
                    raise UnreadableError(f"{self.path} has no rows")
                for name in self.beyond:
                    values = frame.pop(name)
                    if (values.notna() & (values != "")).any():
                        raise rows_too_long(self.path, self.names)
                yield frame

    def _read(self, **options: Any) -> Any:
        return pd.read_csv(
            self.path,
            **{"index_col": False, **self.options, **options},
            skipinitialspace=True,
            low_memory=False,
        )


class _ParquetStream:
    form: TextForm | None = None

    def __init__(self, path: Path, rows: int) -> None:
        from pyarrow.parquet import ParquetFile

        self.path, self.rows = path, rows
        # Buffered ahead, the whole file would be in memory.
        self.file = ParquetFile(path, pre_buffer=False)
        check_unique(path, self.columns())
        if not self.file.metadata.num_rows:
            raise UnreadableError(f"{path} has no rows")

    def columns(self) -> list[str]:
        return list(self.file.schema_arrow.names)

    def frames(
        self,
        columns: Sequence[str],
        texts: Sequence[str],  # noqa: ARG002 - a Parquet file knows its texts
    ) -> Iterator[pd.DataFrame]:
        with reading(self.path):
            for batch in self._batches(columns=list(columns)):
                yield with_index(batch.to_pandas(), columns)

    def originals(self) -> Iterator[Any]:
        import pyarrow

        for batch in self._batches():
            yield pyarrow.Table.from_batches([batch])

    def _batches(self, **options: Any) -> Iterator[Any]:
        # One thread: whoever asks has others for the work on the rows.
        with reading(self.path):
            yield from self.file.iter_batches(batch_size=self.rows, use_threads=False, **options)


def _whole_frame(table: Any) -> pd.DataFrame:
    """An Arrow table with all its columns, an index of pandas among them."""
    frame = table.to_pandas()
    stored = [name or f"__index_level_{i}__" for i, name in enumerate(frame.index.names)]
    return with_index(frame.rename_axis(stored), table.column_names)


class _WholeStream:
    """A table of a form that cannot be read in parts."""

    form: TextForm | None = None

    def __init__(self, frame: pd.DataFrame, rows: int) -> None:
        self.frame, self.rows = with_text_names(frame), rows

    def columns(self) -> list[str]:
        return list(self.frame.columns)

    def frames(
        self,
        columns: Sequence[str],
        texts: Sequence[str],  # noqa: ARG002 - the values have their types
    ) -> Iterator[pd.DataFrame]:
        for block in self.originals():
            yield block[list(columns)]

    def originals(self) -> Iterator[pd.DataFrame]:
        for start in range(0, len(self.frame), self.rows):
            yield self.frame.iloc[start : start + self.rows].reset_index(drop=True)


def in_threads(
    work: Callable[[Any], Result], blocks: Iterator[Any], *, threads: int
) -> Iterator[Result]:
    """The work on every block, in order, while the next ones are read.

    work: on one block.
    blocks: read by the caller's thread, a few ahead.
    threads: that work at once.
    """
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for block in blocks:
            waiting.append(pool.submit(work, block))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Say of errors of the disk inside which file they are of, as an UnwritableError."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise UnwritableError(f"{path} cannot be written ({why}): use another `out`") from error


def check_place(path: str | Path, read: object = None) -> None:
    """Refuse a folder in which nothing can be written, before there is work to lose.

    read: what is read, which is not to be written over.

    Raises UnwritableError, which names the file.
    """
    if isinstance(read, str | Path) and _is_one_file(path, read):
        raise UnwritableError(f"{path} is the table that is read: use another `out`")
    with writing(path):
        if Path(path).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        handle, beside = tempfile.mkstemp(prefix=f".{Path(path).name}.", dir=Path(path).parent)
        os.close(handle)
        os.unlink(beside)


def _is_one_file(path: str | Path, other: str | Path) -> bool:
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


class RowWriter:
    """A table written block by block, which appears under its name when it is whole.

    Used in a `with`: an error inside leaves the old file, or none.

    path: CSV (also .gz, .tsv) or Parquet, by its ending.
    form: of a text file that is written.
    """

    def __init__(self, path: str | Path, form: TextForm | None = None) -> None:
        self.path = Path(path)
        name = self.path.name.lower()
        self.is_parquet = name.endswith(PARQUET)
        if not self.is_parquet and not name.endswith(TEXT_ENDINGS):
            raise ValueError(
                f"{path}: unknown ending; rows are written to {', '.join((*TEXT_ENDINGS, PARQUET))}"
            )
        usual = TextForm("\t") if ".tsv" in name else TextForm()
        self.form = usual if form is None else form
        self.has_header = False
        self.writer: Any = None

    def __enter__(self) -> RowWriter:
        handle, self.beside = tempfile.mkstemp(
            prefix=f".{self.path.name}.", dir=self.path.parent or "."
        )
        # mkstemp's files are the owner's alone; a result is as readable as any new file.
        umask = os.umask(0)
        os.umask(umask)
        os.fchmod(handle, 0o666 & ~umask)
        self.raw: IO[bytes] = os.fdopen(handle, "wb")
        is_compressed = self.path.name.lower().endswith(".gz")
        self.file: Any = gzip.GzipFile(fileobj=self.raw, mode="wb") if is_compressed else self.raw
        return self

    def write(self, original: Any, added: dict[str, Any]) -> None:
        """One more block.

        original: what `RowStream.originals` gave.
        added: {name: values (rows,)} of the columns to add; None or NaN for none.
        """
        if self.is_parquet:
            self._write_arrow(original, added)
        else:
            self._write_text(original, added)

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            if kind is None:
                if self.writer is not None:
                    self.writer.close()
                if self.file is not self.raw:
                    self.file.close()
                self.raw.flush()
                os.fsync(self.raw.fileno())
                self.raw.close()
                os.replace(self.beside, self.path)
        finally:
            # On a full disk, closing fails once more.
            with suppress(OSError):
                self.raw.close()
            if os.path.exists(self.beside):
                os.unlink(self.beside)

    def _write_text(self, original: Any, added: dict[str, Any]) -> None:
        frame = original if isinstance(original, pd.DataFrame) else _whole_frame(original)
        frame = frame.assign(**{name: np.asarray(column) for name, column in added.items()})
        frame.to_csv(
            self.file,
            index=False,
            header=not self.has_header,
            sep=self.form.separator,
            decimal=self.form.decimal,
        )
        self.has_header = True

    def _write_arrow(self, original: Any, added: dict[str, Any]) -> None:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
        from pyarrow.types import is_floating

        table = original
        if isinstance(original, pd.DataFrame):
            table = pyarrow.Table.from_pandas(original, preserve_index=False)
        for name, column in added.items():
            values = pyarrow.array(column, from_pandas=True)
            table = table.append_column(name, values)
        if self.writer is None:
            schema = table.schema
            # Dictionaries of numbers, hardly any of which repeats, cost more than all the rest.
            texts = [column.name for column in schema if not is_floating(column.type)]
            self.writer = ParquetWriter(self.file, schema, use_dictionary=texts)
        self.writer.write_table(table.cast(self.writer.schema))
