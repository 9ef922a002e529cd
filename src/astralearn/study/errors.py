"""What can be wrong with a study's file, in messages that a person can act on.

All are `StudyError`s, which are ValueErrors.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# SQLite's codes for what is wrong with a file's place, and not with what is in it.
OF_THE_PLACE = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_AUTH,
}


class StudyError(ValueError):
    """The study's file cannot be used; the message says why and what to do.

    >>> from pathlib import Path
    >>> from astralearn.study import read_records
    >>> try:
    ...     read_records(Path("absent.sqlite"))
    ... except StudyError as error:
    ...     print(error)
    no study file: absent.sqlite
    """


class InUseError(StudyError):
    """Another run is writing this file.

    >>> issubclass(InUseError, StudyError)
    True
    """


class MismatchError(StudyError):
    """The file holds a study with other settings.

    >>> issubclass(MismatchError, StudyError)
    True
    """


def damaged(path: Path, error: object) -> StudyError:
    """The error for a file whose content is not that of a study."""
    return StudyError(
        f"{path} is not a study file, or damaged ({error}): move it away to begin anew, "
        "or use another `path`"
    )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in a StudyError what refused to let `path` be written.

    That is the operating system or SQLite. InUseError where another run holds the lock.
    """
    try:
        yield
    except sqlite3.IntegrityError:
        # Whoever wrote this asked for nonsense; the file is sound.
        raise
    except UnicodeDecodeError as error:
        # SQLite's message quotes the damaged text, which Python cannot decode.
        raise damaged(path, error) from error
    except (OSError, sqlite3.Error) as error:
        # The lowest byte of SQLite's code is what happened, the others are details of it.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_BUSY:
            raise InUseError(
                f"{path} is in use by another run: wait until it is done, or use another `path`"
            ) from error
        if isinstance(error, sqlite3.Error) and code not in OF_THE_PLACE:
            raise damaged(path, error) from error
        raise StudyError(
            f"{path} cannot be written ({error}): use another `path`, in a folder that can "
            "be made and written to"
        ) from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say in a StudyError why `path` cannot be read, or that it holds nonsense."""
    try:
        yield
    except StudyError:
        raise
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in OF_THE_PLACE:
            raise StudyError(f"{path} cannot be read ({error})") from error
        raise damaged(path, error) from error
    except (TypeError, ValueError) as error:
        raise damaged(path, error) from error
