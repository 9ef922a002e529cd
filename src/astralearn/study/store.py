"""The study's file: an SQLite database that one run leaves and another continues.

Every unit's records are written in one transaction, so that a killed run loses at most the units
in flight. A lock beside the file keeps a second run out; the operating system releases it when its
holder dies, however it dies.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import astuple, fields
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from astralearn.study.record import Kept, Key, MonitoredSeries, Outcome, Record

# What stands before their names among the settings.
PROBLEM_PREFIX, METHOD_PREFIX = "problem ", "method "
# A field's annotation, and what SQLite calls it.
COLUMN_TYPES = {
    "str": "TEXT NOT NULL",
    "int": "INTEGER NOT NULL",
    "float": "REAL NOT NULL",
    "float | None": "REAL",
    "str | None": "TEXT",
}
R = TypeVar("R", bound=Kept)

# Where a description of a method falls apart: Class(name=value, name=value) with validation.
BETWEEN_PARAMETERS = re.compile(r"[(,] ?(?=\w+=)|\)(?=$| with)")


def schema(kind: type[Kept]) -> str:
    """The statements that make the tables of a file of such records."""
    columns = [f"{field.name} {COLUMN_TYPES[str(field.type)]}" for field in fields(kind)]
    key_columns = [column for column in columns if column.split()[0] in kind.KEY]
    key = ", ".join(kind.KEY)
    return f"""
BEGIN;
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sessions (started TEXT NOT NULL, versions TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS records ({", ".join(columns)}, PRIMARY KEY ({key})) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS histories (
  {", ".join(key_columns)}, series TEXT NOT NULL,
  points BLOB NOT NULL, -- little-endian float32
  PRIMARY KEY ({key}, series)) WITHOUT ROWID;
PRAGMA user_version = {kind.FORMAT};
COMMIT;
"""


class StudyError(ValueError):
    """The study's file cannot be used; the message says why and what to do."""


class InUseError(StudyError):
    """Another run is writing this file."""


class MismatchError(StudyError):
    """The file holds a study with other settings."""


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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._database.close()
        self._lock.close()

    def agree(self, settings: Mapping[str, str]) -> None:
        """Store settings that are new; MismatchError where a stored one has another value."""
        stored = dict(self._database.execute("SELECT name, value FROM settings"))
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
                places = ", ".join("?" * len(values))
                self._database.execute(f"INSERT OR REPLACE INTO records VALUES ({places})", values)
                rows = [
                    (*record.key, name, np.asarray(points, dtype="<f4").tobytes())
                    for name, points in sorted(history.items())
                ]
                self._database.executemany(
                    "INSERT OR REPLACE INTO histories VALUES (?, ?, ?, ?, ?, ?)", rows
                )

    def finished(self) -> set[Key]:
        """Which folds have a final record."""
        return {record.key for record in _records(self._database, self.kind) if record.is_final}


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in a StudyError what refused to let `path` be written.

    That is the operating system or SQLite. InUseError where another run holds the lock.
    """
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        # The lowest byte of SQLite's code is what happened, the others are details of it.
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise InUseError(
                f"{path} is in use by another run: wait until it is done, or use another `path`"
            ) from error
        raise StudyError(
            f"{path} cannot be written ({error}): use another `path`, in a folder that can "
            "be made and written to"
        ) from error


def delete(path: Path) -> None:
    """Delete a study's file, and what SQLite and the lock leave beside it."""
    for ending in ("", "-wal", "-shm", ".lock"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def read_records(path: Path) -> list[Record]:
    """Every record, in order of problem, method, repetition and fold.

    It works while a run is writing.
    """
    return read_kind(path, Record)


def read_kind(path: Path, kind: type[R]) -> list[R]:
    """Every record of a file of such records, in the order of their keys."""
    with closing(_opened_to_read(path, kind)) as database:
        return _records(database, kind)


def read_histories(path: Path, problem: str) -> dict[str, list[MonitoredSeries]]:
    """For each method of a problem, its folds' monitored series."""
    query = "SELECT method, repetition, fold, series, points FROM histories WHERE problem = ?"
    folds: dict[tuple[str, int, int], dict[str, Any]] = defaultdict(dict)
    with closing(_opened_to_read(path)) as database:
        for method, repetition, fold, series, points in database.execute(query, (problem,)):
            folds[method, repetition, fold][series] = np.frombuffer(points, dtype="<f4")
    by_method: dict[str, list[MonitoredSeries]] = defaultdict(list)
    for (method, _, _), history in folds.items():
        by_method[method].append(history)
    return dict(by_method)


def read_sessions(path: Path) -> list[tuple[str, dict[str, str]]]:
    """When each run on this file began, and its versions."""
    with closing(_opened_to_read(path)) as database:
        return [
            (started, json.loads(versions))
            for started, versions in database.execute("SELECT started, versions FROM sessions")
        ]


def problems_in(path: Path) -> list[str]:
    """The names of the problems that the file's plans had."""
    with closing(_opened_to_read(path)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM settings ORDER BY name")]
    return [name.removeprefix(PROBLEM_PREFIX) for name in names if name.startswith(PROBLEM_PREFIX)]


def methods_in(path: Path) -> dict[str, str]:
    """The methods of the file's plans by name, as `Method.described` says them."""
    with closing(_opened_to_read(path)) as database:
        settings = dict(database.execute("SELECT name, value FROM settings ORDER BY name"))
    return {
        name.removeprefix(METHOD_PREFIX): value
        for name, value in settings.items()
        if name.startswith(METHOD_PREFIX)
    }


def _records(database: sqlite3.Connection, kind: type[R]) -> list[R]:
    names = [field.name for field in fields(kind)]
    rows = database.execute(f"SELECT {', '.join(names)} FROM records")
    return [kind(**dict(zip(names, row, strict=True))) for row in rows]


def differing(setting: str, other: str) -> str:
    """The parameters of a setting that the other does not have.

    All of it, where it is no list of parameters.
    """
    others = BETWEEN_PARAMETERS.split(other)
    own = [part for part in BETWEEN_PARAMETERS.split(setting) if part not in others]
    return ", ".join(own).strip() or "without it"


def _locked(path: Path, wait_seconds: float) -> sqlite3.Connection:
    """SQLite's own exclusive lock, on an empty database beside the file.

    It is portable, and gone when the process is.
    """
    with writing(path):
        lock = sqlite3.connect(
            path.with_name(path.name + ".lock"), timeout=wait_seconds, isolation_level=None
        )
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except BaseException:
            lock.close()
            raise
    return lock


def _opened(path: Path, kind: type[Kept]) -> sqlite3.Connection:
    with writing(path):
        database = sqlite3.connect(path)
        try:
            _prepare(database, path, kind)
        except BaseException:
            database.close()
            raise
    return database


def _prepare(database: sqlite3.Connection, path: Path, kind: type[Kept]) -> None:
    try:
        _check_format(database, path, kind)
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(schema(kind))
    except sqlite3.OperationalError:
        # This one is a DatabaseError too, but of the file's place, not of what is in it.
        raise
    except sqlite3.DatabaseError as error:
        raise StudyError(f"{path} is not a study file: {error}") from error


def _check_format(database: sqlite3.Connection, path: Path, kind: type[Kept]) -> None:
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, kind.FORMAT):
        raise StudyError(
            f"{path} was written in format {version}, of other records or by another version of "
            f"astralearn; here it must be {kind.FORMAT}"
        )


def _opened_to_read(path: Path, kind: type[Kept] | None = None) -> sqlite3.Connection:
    """The file as it is, or an empty study where a killed run had written nothing.

    kind: of its records; None where they do not matter.
    """
    # Unlike Path.is_file, this takes a name that is too long, or hidden from us, for an absent one.
    if not os.path.isfile(path):
        raise StudyError(f"no study file: {path}")
    try:
        database = _read_only(path)
    except sqlite3.OperationalError as error:
        raise StudyError(f"{path} cannot be read ({error})") from error
    except sqlite3.DatabaseError as error:
        raise StudyError(f"{path} is not a study file: {error}") from error
    listed = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    tables = {name for (name,) in listed}
    if not tables:
        database.close()
        database = sqlite3.connect(":memory:")
        database.executescript(schema(kind or Record))
    elif "records" not in tables:
        database.close()
        raise StudyError(f"{path} is not a study file: it has no table of records")
    elif kind is not None:
        try:
            _check_format(database, path, kind)
        except BaseException:
            database.close()
            raise
    return database


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
