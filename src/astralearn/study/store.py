"""The study's file: an SQLite database that one run leaves and another continues.

Every unit's records are written in one transaction, so that a killed run loses at most the units
in flight. A lock beside the file keeps a second run out; the operating system releases it when its
holder dies, however it dies.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from astralearn.study.errors import MismatchError, StudyError, damaged, reading, writing
from astralearn.study.method import differing
from astralearn.study.record import Kept, Key, MonitoredSeries, Outcome, Record

# What stands before their names among the settings.
PROBLEM_PREFIX, METHOD_PREFIX = "problem ", "method "
# A field's annotation: what SQLite calls it, and what it hands back.
COLUMN_TYPES: dict[str, tuple[str, Any]] = {
    "str": ("TEXT NOT NULL", str),
    "int": ("INTEGER NOT NULL", int),
    "float": ("REAL NOT NULL", float),
    "float | None": ("REAL", float | None),
    "str | None": ("TEXT", str | None),
}
TABLES = ("settings", "sessions", "records", "histories")
R = TypeVar("R", bound=Kept)


def schema(kind: type[Kept]) -> str:
    """The statements that make the tables of a file of such records."""
    columns = [f"{field.name} {COLUMN_TYPES[str(field.type)][0]}" for field in fields(kind)]
    key_columns = [column for column in columns if column.split()[0] in kind.KEY]
    key = ", ".join(kind.KEY)
    return f"""
BEGIN;
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions (started TEXT NOT NULL, versions TEXT NOT NULL);
CREATE TABLE records ({", ".join(columns)}, PRIMARY KEY ({key})) WITHOUT ROWID;
CREATE TABLE histories (
  {", ".join(key_columns)}, series TEXT NOT NULL,
  points BLOB NOT NULL, -- little-endian float32
  PRIMARY KEY ({key}, series)) WITHOUT ROWID;
PRAGMA user_version = {kind.FORMAT};
COMMIT;
"""


class Store:
    """An open study file, this process its only writer. Use as a context manager.

    kind: of its records; a file has one kind.
    """

    def __init__(self, path: Path, *, kind: type[Kept] = Record, wait_seconds: float = 0.0) -> None:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.kind = path, kind
        self._lock = _locked(path, wait_seconds)
        try:
            self._database = _opened(path, kind)
        except BaseException:
            self._lock.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()
        self._lock.close()

    def agree(self, settings: Mapping[str, str]) -> None:
        """Store settings that are new; MismatchError where a stored one has another value."""
        with reading(self.path):
            stored = _settings(self._database)
        for name, value in settings.items():
            if stored.get(name, value) != value:
                before, now = differing(stored[name], value), differing(value, stored[name])
                raise MismatchError(
                    f"{self.path} holds another study: its {name} is {before}, now it is {now}. "
                    "Use another `path`, or delete the file."
                )
        with writing(self.path), self._database:
            self._database.executemany(
                "INSERT OR IGNORE INTO settings VALUES (?, ?)", settings.items()
            )

    def begin_session(self, started: str, versions: Mapping[str, str]) -> None:
        """Note when a run began and with which versions of what."""
        with writing(self.path), self._database:
            self._database.execute(
                "INSERT INTO sessions VALUES (?, ?)",
                (started, json.dumps(versions, sort_keys=True)),
            )

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """All of them or none."""
        with writing(self.path), self._database:
            for record, history in outcomes:
                values = astuple(record)
                columns = ", ".join(field.name for field in fields(record))
                places = ", ".join("?" * len(values))
                self._database.execute(
                    f"INSERT OR REPLACE INTO records ({columns}) VALUES ({places})", values
                )
                rows = [
                    (*record.key, name, np.asarray(points, dtype="<f4").tobytes())
                    for name, points in sorted(history.items())
                ]
                places = ", ".join("?" * (len(record.key) + 2))
                self._database.executemany(
                    f"INSERT OR REPLACE INTO histories VALUES ({places})", rows
                )

    def finished(self) -> set[Key]:
        """Which folds have a final record."""
        with reading(self.path):
            records = _records(self._database, self.kind)
        return {record.key for record in records if record.is_final}


def delete(path: Path) -> None:
    """Delete a study's file, and what SQLite and the lock leave beside it."""
    for ending in ("", "-wal", "-shm", ".lock"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def read_records(path: Path) -> list[Record]:
    """Every record, in order of problem, method, repetition and fold.

    It works while a run is writing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder, "s.sqlite")) as store:
    ...     store.add([Outcome(Record("cards", "GMN", 0, 0, 80, 15, 3, 0, 2, None, 0.1), {})])
    ...     [record.method for record in read_records(store.path)]
    ['GMN']
    """
    return read_kind(path, Record)


def read_kind(path: Path, kind: type[R]) -> list[R]:
    """Every record of a file of such records, in the order of their keys."""
    with _opened_to_read(path, kind) as database:
        return _records(database, kind)


def read_histories(
    path: Path, problem: str, kind: type[Kept] = Record
) -> dict[str, list[MonitoredSeries]]:
    """For each method of a problem, the monitored series of its records.

    kind: of the file's records.

    >>> import tempfile
    >>> record = Record("cards", "GMN", 0, 0, 80, 15, 3, 0, 2, None, 0.1)
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder, "s.sqlite")) as store:
    ...     store.add([Outcome(record, {"fnr": np.array([0.5, 0.25])})])
    ...     read_histories(store.path, "cards")["GMN"][0]["fnr"].tolist()
    [0.5, 0.25]
    """
    types = {field.name: COLUMN_TYPES[str(field.type)][1] for field in fields(kind)}
    columns = {name: types[name] for name in kind.KEY} | {"series": str, "points": bytes}
    runs: dict[Key, dict[str, Any]] = defaultdict(dict)
    with _opened_to_read(path) as database:
        for row in _rows(database, "histories", columns, where={"problem": problem}):
            series = runs[tuple(row[name] for name in kind.KEY)]
            series[row["series"]] = np.frombuffer(row["points"], dtype="<f4")
    by_method: dict[str, list[MonitoredSeries]] = defaultdict(list)
    for key, history in runs.items():
        by_method[str(key[kind.KEY.index("method")])].append(history)
    return dict(by_method)


def read_sessions(path: Path) -> list[tuple[str, dict[str, str]]]:
    """When each run on this file began, and its versions.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder, "s.sqlite")) as store:
    ...     store.begin_session("2026-01-31T12:00:00+00:00", {"numpy": "2.0"})
    ...     read_sessions(store.path)
    [('2026-01-31T12:00:00+00:00', {'numpy': '2.0'})]
    """
    with _opened_to_read(path) as database:
        rows = _rows(database, "sessions", {"started": str, "versions": str})
        return [(row["started"], dict(json.loads(row["versions"]))) for row in rows]


def problems_in(path: Path) -> list[str]:
    """The names of the problems that the file's plans had.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder, "s.sqlite")) as store:
    ...     store.agree({"problem cards": "1000 rows", "method GMN": "ASTraClassifier()"})
    ...     problems_in(store.path)
    ['cards']
    """
    return list(_named(path, PROBLEM_PREFIX))


def methods_in(path: Path) -> dict[str, str]:
    """The methods of the file's plans by name, as `Method.described` says them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder, "s.sqlite")) as store:
    ...     store.agree({"problem cards": "1000 rows", "method GMN": "ASTraClassifier()"})
    ...     methods_in(store.path)
    {'GMN': 'ASTraClassifier()'}
    """
    return _named(path, METHOD_PREFIX)


def _named(path: Path, prefix: str) -> dict[str, str]:
    """The settings whose name begins so, by the rest of it."""
    with _opened_to_read(path) as database:
        stored = _settings(database)
    return {
        name.removeprefix(prefix): value
        for name, value in sorted(stored.items())
        if name.startswith(prefix)
    }


def _settings(database: sqlite3.Connection) -> dict[str, str]:
    rows = _rows(database, "settings", {"name": str, "value": str})
    return {row["name"]: row["value"] for row in rows}


def _records(database: sqlite3.Connection, kind: type[R]) -> list[R]:
    columns = {field.name: COLUMN_TYPES[str(field.type)][1] for field in fields(kind)}
    return [kind(**row) for row in _rows(database, "records", columns)]


def _rows(
    database: sqlite3.Connection,
    table: str,
    columns: Mapping[str, Any],
    where: Mapping[str, str] | None = None,
) -> Iterator[dict[str, Any]]:
    """A table's rows by column; ValueError where a value is not of its column's type."""
    condition = "".join(f" WHERE {name} = ?" for name in where or ())
    query = f"SELECT {', '.join(columns)} FROM {table}{condition}"
    for values in database.execute(query, tuple((where or {}).values())):
        row = dict(zip(columns, values, strict=True))
        wrong = [name for name, value in row.items() if not isinstance(value, columns[name])]
        if wrong:
            raise ValueError(f"{wrong[0]} among its {table} is {row[wrong[0]]!r:.80}")
        yield row


def _locked(path: Path, wait_seconds: float) -> sqlite3.Connection:
    """SQLite's own exclusive lock, on an empty database beside the file.

    It is portable, and gone when the process is.
    """
    beside = path.with_name(path.name + ".lock")
    with writing(path):
        lock = sqlite3.connect(beside, timeout=wait_seconds, isolation_level=None)
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except BaseException as error:
            lock.close()
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB:
                raise StudyError(f"{beside} is not a study's lock: delete it") from error
            raise
    return lock


def _opened(path: Path, kind: type[Kept]) -> sqlite3.Connection:
    with writing(path):
        database = sqlite3.connect(path)
        try:
            if _is_empty(database, path, kind):
                database.execute("PRAGMA journal_mode = WAL")
                database.executescript(schema(kind))
        except BaseException:
            database.close()
            raise
    return database


@contextmanager
def _opened_to_read(path: Path, kind: type[Kept] | None = None) -> Iterator[sqlite3.Connection]:
    """The file as it is, or an empty study where a killed run had written nothing.

    kind: of its records; None where they do not matter.
    """
    # Unlike Path.is_file, this takes a name that is too long, or hidden from us, for an absent one.
    if not os.path.isfile(path):
        raise StudyError(f"no study file: {path}")
    with reading(path), closing(_read_only(path)) as stored:
        if not _is_empty(stored, path, kind):
            yield stored
            return
        with closing(sqlite3.connect(":memory:")) as empty:
            empty.executescript(schema(kind or Record))
            yield empty


def _is_empty(database: sqlite3.Connection, path: Path, kind: type[Kept] | None) -> bool:
    """Whether it has no tables yet; StudyError where it has not those of such a study."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if kind is not None and version not in (0, kind.FORMAT):
        raise StudyError(
            f"{path} was written in format {version}, of other records or by another version of "
            f"astralearn; here it must be {kind.FORMAT}"
        )
    listed = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    tables = {name for (name,) in listed}
    missing = [name for name in TABLES if name not in tables]
    if tables and missing:
        raise damaged(path, f"it has no table of {missing[0]}")
    return not tables


def _read_only(path: Path) -> sqlite3.Connection:
    """Open a file without leaving a journal beside it.

    Without a journal there nobody is writing the file, and SQLite has to be told: it would make
    one, and leave it. The journal is beside the file itself, not beside a link to it.
    """
    path = Path(os.path.realpath(path))
    way = "mode=ro" if os.path.exists(f"{path}-wal") else "immutable=1"
    database = sqlite3.connect(f"{path.absolute().as_uri()}?{way}", uri=True)
    try:
        # SQLite opens a file when it is first asked something.
        database.execute("SELECT name FROM sqlite_master LIMIT 1")
    except BaseException:
        database.close()
        raise
    return database
