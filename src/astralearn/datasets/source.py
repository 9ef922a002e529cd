"""Where a catalogue file is found: the folder in ASTRALEARN_DATA, the user's cache, or its address on the web."""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

from astralearn.datasets.errors import UnavailableError, UnreadableError

ATTEMPTS = 3  # each continues where the one before broke off
TIMEOUT_SECONDS = 30.0
BLOCK_BYTES = 1 << 16


def cache_folder() -> Path:
    """Where astralearn keeps files of its own: $XDG_CACHE_HOME/astralearn, by default ~/.cache/astralearn."""
    default = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
    return Path(os.environ.get("XDG_CACHE_HOME") or default or Path.home() / ".cache") / "astralearn"


def find(file: str) -> Path | None:
    """The file in ASTRALEARN_DATA or the cache, in this order; None where it is in neither."""
    given = os.environ.get("ASTRALEARN_DATA")
    folders = ([Path(given)] if given else []) + [cache_folder()]
    return next((folder / file for folder in folders if (folder / file).is_file()), None)


def fetch(file: str, address: str, sha256: str) -> Path:
    """The path of the file with exactly this content, downloaded into the cache where it is not on this machine.

    UnreadableError, where a file of that name has other content; UnavailableError, where it cannot be downloaded: the message says
    which file to put where.
    """
    path = find(file)
    if path is None:
        return download(address, cache_folder() / file, sha256)
    if checksum(path) != sha256:
        raise UnreadableError(f"{path} is not the catalogue's file (its SHA-256 differs): delete it, or get it again from {address}")
    return path


def download(address: str, path: Path, sha256: str) -> Path:
    """Into `path`, which appears only when it is complete and right; a part stays beside it and the next attempt continues it."""
    part = path.with_name(path.name + ".part")
    problem: Exception | None = None
    for _ in range(ATTEMPTS):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _continue(address, part)
        except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
            problem = error
            if isinstance(error, urllib.error.HTTPError) and error.code < 500:
                break
            continue
        if checksum(part) == sha256:
            os.replace(part, path)
            return path
        part.unlink()
        problem = ValueError("what arrived has another SHA-256 than the catalogue's")
    raise UnavailableError(
        f"could not download {address} ({problem}).\n"
        f"Put the file {path.name} into {path.parent}, or into a folder of yours and set ASTRALEARN_DATA to that folder."
    )


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
    with response, part.open("ab" if response.status == http.HTTPStatus.PARTIAL_CONTENT else "wb") as file:
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
