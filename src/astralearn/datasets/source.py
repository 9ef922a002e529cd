"""Where a catalogue file is found: the folder in ASTRALEARN_DATA, the user's cache, or its address on the web."""

from __future__ import annotations

import hashlib
import http.client
import os
import sqlite3
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from astralearn.datasets.errors import UnavailableError, UnreadableError

ATTEMPTS = 3  # each continues where the one before broke off
TIMEOUT_SECONDS = 30.0
WAIT_SECONDS = 600.0  # for another process that downloads the same file
BLOCK_BYTES = 1 << 16


def cache_folder() -> Path:
    """Where astralearn keeps files of its own: $XDG_CACHE_HOME/astralearn, by default ~/.cache/astralearn."""
    given = os.environ.get("XDG_CACHE_HOME") or (
        os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
    )
    try:
        return Path(given or Path.home() / ".cache") / "astralearn"
    except RuntimeError as error:  # an account without a home, as containers have
        raise UnavailableError(
            "there is no home folder to keep files in: set XDG_CACHE_HOME to a folder of yours"
        ) from error


def find(file: str) -> Path | None:
    """The file in ASTRALEARN_DATA or the cache, in this order; None where it is in neither."""
    given = os.environ.get("ASTRALEARN_DATA")
    # Unlike Path.is_file, os.path's takes a folder that is closed to us for one without the file.
    if given and os.path.isfile(Path(given) / file):
        return Path(given) / file
    cached = cache_folder() / file
    return cached if os.path.isfile(cached) else None


def fetch(file: str, address: str, sha256: str) -> Path:
    """The path of the file with exactly this content, downloaded into the cache where it is not on this machine.

    UnreadableError, where a file of that name has other content; UnavailableError, where it cannot be downloaded: the message says
    which file to put where.
    """
    path = find(file)
    if path is None:
        return download(address, cache_folder() / file, sha256)
    try:
        found = checksum(path)
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read ({error})") from error
    if found != sha256:
        raise UnreadableError(
            f"{path} is not the catalogue's file (its SHA-256 differs): delete it, or get it again from {address}"
        )
    return path


def download(address: str, path: Path, sha256: str) -> Path:
    """Into `path`, which appears only when it is complete and right; a part stays beside it and the next attempt continues it.

    Another process that wants the same file waits, and then finds it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path):
            if not (os.path.isfile(path) and checksum(path) == sha256):
                _bring(address, path, sha256)
    except (
        OSError,
        http.client.HTTPException,
        sqlite3.DatabaseError,
        WrongContentError,
    ) as error:  # URLError is an OSError
        raise UnavailableError(
            f"could not download {address} ({error}).\n"
            f"Put the file {path.name} into {path.parent}, or into a folder of yours and set ASTRALEARN_DATA to that folder."
        ) from error
    return path


class WrongContentError(ValueError):
    """What arrived is not what was expected."""


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time, by SQLite's lock on an empty file that stays: portable, and gone when its holder is, however it ends."""
    with closing(
        sqlite3.connect(path.with_name(path.name + ".lock"), timeout=0, isolation_level=None)
    ) as lock:
        _begin(lock, time.monotonic() + WAIT_SECONDS)
        yield


def _begin(lock: sqlite3.Connection, deadline: float) -> None:
    while True:  # SQLite's own waiting would not hear Ctrl-C
        try:
            lock.execute("BEGIN EXCLUSIVE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _bring(address: str, path: Path, sha256: str) -> None:
    """ATTEMPTS times; raises what was wrong with the last."""
    part = path.with_name(path.name + ".part")
    for left in reversed(range(ATTEMPTS)):
        try:
            _continue(address, part)
            if checksum(part) == sha256:
                os.replace(part, path)
                return
            part.unlink()
            raise WrongContentError("what arrived has another SHA-256 than the catalogue's")
        except (OSError, http.client.HTTPException, WrongContentError) as error:
            if not left or (isinstance(error, urllib.error.HTTPError) and error.code < 500):
                raise


def _continue(address: str, part: Path) -> None:
    """Adds what is missing to the part; starts again where the server cannot continue."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # nothing is missing
        raise
    with (
        response,
        part.open("ab" if response.status == http.HTTPStatus.PARTIAL_CONTENT else "wb") as file,
    ):
        expected = int(response.headers.get("Content-Length") or 0)
        received = 0
        while block := response.read(BLOCK_BYTES):
            file.write(block)
            received += len(block)
    if received < expected:
        raise http.client.IncompleteRead(b"", expected - received)


def checksum(path: Path) -> str:
    """SHA-256 of the file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
