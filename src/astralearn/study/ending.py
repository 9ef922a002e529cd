"""How a run ends: with its workers, by signals, when a budget is spent."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

LOOK_SECONDS = 1.0


def watch(parent: int) -> None:
    """End this process, whatever it is doing, when its parent is another one.

    A worker whose parent was killed would wait for ever, on a pipe that nobody else has open.
    """

    def look() -> None:
        # A pool of threads would call this in the parent itself.
        while parent in (os.getppid(), os.getpid()):
            time.sleep(LOOK_SECONDS)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


@contextmanager
def quiet_workers() -> Iterator[None]:
    """Say nothing of workers that are replaced for their memory: no unit is lost."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
        yield


@contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does.

    Their default leaves the workers behind. What `nohup` ignores stays ignored, and signals are
    handled in the main thread alone.
    """
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def interrupt(number: int, _frame: object) -> None:
    """Raise KeyboardInterrupt at the first signal; the next one ends the program.

    A library's callback may swallow what is raised here.
    """
    signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt


@contextmanager
def ended_after(seconds: float | None) -> Iterator[None]:
    """End what is within after so many seconds, as Ctrl-C would, and go on behind it.

    In the main thread alone, where signals are heard, and where there are alarms; elsewhere nothing
    ends early.

    seconds: None for no end.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if seconds is None or not is_main or not hasattr(signal, "setitimer"):
        yield
        return
    spent: list[int] = []

    def end(number: int, _frame: object) -> None:
        spent.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except KeyboardInterrupt:
        if not spent:
            raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
