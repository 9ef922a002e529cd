"""Which process may use JAX: its threads do not survive a fork."""

from __future__ import annotations

import functools
import os


def check_fork() -> None:
    """Refuse JAX in a process forked after its use; called before every use."""
    if _first_user() != os.getpid():
        raise RuntimeError(
            "this process was forked from one that had trained already, and JAX would wait for "
            "ever: start processes by multiprocessing.get_context('spawn') or 'forkserver', or by "
            "joblib's default backend, loky"
        )


@functools.cache
def _first_user() -> int:
    """The process that asked first. A fork inherits the answer, not the number."""
    return os.getpid()
