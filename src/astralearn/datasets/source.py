"""Where a catalogue file is found: ASTRALEARN_DATA, the user's cache, or the web."""

from __future__ import annotations

import hashlib
import http.client
import os
import sqlite3
import stat
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from astralearn.datasets.errors import UnavailableError, UnreadableError

ATTEMPTS = 3  # each continues where the one before broke off
TIMEOUT_SECONDS = 30.0
WAIT_SECONDS = 600.0  # for another process that downloads the same file
READ_BYTES = 1 << 16
MOST_BYTES = 1 << 30
SLOWEST_BYTES_PER_SECOND = 1024.0


def cache_folder() -> Path:
    """Where astralearn keeps files of its own.

    $XDG_CACHE_HOME/astralearn, by default ~/.cache/astralearn.

    >>> cache_folder().name
    'astralearn'
    """
    given = os.environ.get("XDG_CACHE_HOME") or (
        os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
    )
    try:
        return Path(given or Path.home() / ".cache") / "astralearn"
    except RuntimeError as error:
        # Accounts without a home folder exist in containers.
        raise UnavailableError(
            "there is no home folder to keep files in: set XDG_CACHE_HOME to a folder of yours"
        ) from error


def find(file: str) -> Path | None:
    """The file in ASTRALEARN_DATA or the cache, in this order; None for neither."""
    given = os.environ.get("ASTRALEARN_DATA")
    # Unlike Path.is_file, os.path's takes a folder that is closed to us for one without the file.
    if given and os.path.isfile(Path(given) / file):
        return Path(given) / file
    cached = cache_folder() / file
    return cached if os.path.isfile(cached) else None


def fetch(file: str, address: str, sha256: str) -> Path:
    """The path of the file with exactly this content, downloaded where it is absent.

    UnreadableError where a file of that name has other content. UnavailableError where it cannot
    be downloaded: the message says which file to put where.

    file: its name in a folder.
    address: on the web.
    sha256: of its content, in hexadecimal.
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
            f"{path} is not the catalogue's file (its SHA-256 differs): delete it, or get it again "
            f"from {address}"
        )
    return path


def download(address: str, path: Path, sha256: str) -> Path:
    """Bring a file to `path`, which appears only when it is complete and right.

    A part stays beside it and the next attempt continues it. Another process that wants the same
    file waits, and then finds it. A server that sends more than MOST_BYTES, or fewer than
    SLOWEST_BYTES_PER_SECOND after the first TIMEOUT_SECONDS, is given up.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path):
            if not (os.path.isfile(path) and checksum(path) == sha256):
                _bring(address, path, sha256)
    # URLError is an OSError. A ValueError is an address, of a redirection too, that is none.
    except (OSError, http.client.HTTPException, sqlite3.DatabaseError, ValueError) as error:
        raise UnavailableError(
            f"could not download {address} ({error or type(error).__name__}).\n"
            f"Put the file {path.name} into {path.parent}, or into a folder of yours and set "
            "ASTRALEARN_DATA to that folder."
        ) from error
    return path


class WrongContentError(ValueError):
    """What arrived is not what was expected."""


class TooLargeError(WrongContentError):
    """More arrives than any file of the catalogue has."""

    def __init__(self) -> None:
        super().__init__(f"it sends more than {MOST_BYTES >> 20} MiB")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time, by SQLite's lock on an empty file that stays.

    The lock is portable, and gone when its holder is, however that ends.
    """
    beside = path.with_name(path.name + ".lock")
    with closing(sqlite3.connect(beside, timeout=0, isolation_level=None)) as lock:
        _begin(lock, time.monotonic() + WAIT_SECONDS)
        yield


def _begin(lock: sqlite3.Connection, deadline: float) -> None:
    # SQLite's own waiting would not hear Ctrl-C.
    while True:
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
        except (OSError, http.client.HTTPException, ValueError) as error:
            is_refused = isinstance(error, urllib.error.HTTPError) and error.code < 500
            if isinstance(error, TooLargeError):
                part.unlink()
            if not left or is_refused or isinstance(error, TooLargeError):
                raise


def _continue(address: str, part: Path) -> None:
    """Add what is missing to the part; start again where the server cannot continue."""
    have = _length(part)
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    started = time.monotonic()
    try:
        response = _answer(request)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # nothing is missing
        raise
    continues = response.status == http.HTTPStatus.PARTIAL_CONTENT
    with response, open(part, "ab" if continues else "wb", opener=_opened_itself) as file:
        said = response.headers.get("Content-Length") or "0"
        if not said.strip().isdecimal():
            raise http.client.HTTPException(f"its Content-Length is {said[:80]!r}")
        received = 0
        # read1 hands over what has arrived; read would wait for a whole block, however slow.
        while block := response.read1(READ_BYTES):
            received += len(block)
            if file.tell() + len(block) > MOST_BYTES:
                raise TooLargeError
            file.write(block)
            patience = TIMEOUT_SECONDS + received / SLOWEST_BYTES_PER_SECOND
            if time.monotonic() - started > patience:
                raise TimeoutError(f"it sends less than {SLOWEST_BYTES_PER_SECOND:.0f} bytes/s")
    if received < int(said):
        raise http.client.IncompleteRead(b"", int(said) - received)


def _answer(request: urllib.request.Request) -> Any:
    """The server's answer, which must begin within TIMEOUT_SECONDS.

    It is waited for in a thread, since a socket's own timeout begins anew with every byte.
    """
    answer: Future[Any] = Future()

    def ask() -> None:
        try:
            response = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
        except BaseException as error:
            if answer.set_running_or_notify_cancel():
                answer.set_exception(error)
            return
        if answer.set_running_or_notify_cancel():
            answer.set_result(response)
        else:
            response.close()

    threading.Thread(target=ask, daemon=True).start()
    try:
        return answer.result(TIMEOUT_SECONDS)
    except TimeoutError:
        if answer.cancel():
            raise TimeoutError("it does not answer in time") from None
        return answer.result()


def _length(part: Path) -> int:
    """Bytes of the part that are there; what is no plain file, as a link, is removed."""
    try:
        found = part.lstat()
    except FileNotFoundError:
        return 0
    if stat.S_ISREG(found.st_mode):
        return found.st_size
    part.unlink()
    return 0


def _opened_itself(path: str, flags: int) -> int:
    """Open no link, since somebody else may have chosen what it points to."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def checksum(path: Path) -> str:
    """SHA-256 of the file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
