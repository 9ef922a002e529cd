"""What every area of the attack gives, and what several of them do."""

import contextlib
import subprocess
import time
from typing import NamedTuple

import numpy as np
import psutil

SILENCE = 120  # seconds


class Trial(NamedTuple):
    """One attempt: what was done, and what went wrong, "" where it held."""

    what: str
    wrong: str


def damaged(data: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """The bytes with something wrong, and what."""
    at = int(rng.integers(len(data)))
    some = rng.bytes(int(rng.integers(1, 40)))
    return [
        (
            "one byte changed",
            data[:at] + bytes([data[at] ^ int(rng.integers(1, 256))]) + data[at + 1 :],
        ),
        ("cut short", data[:at]),
        ("bytes put in", data[:at] + some + data[at:]),
        ("bytes taken out", data[:at] + data[at + len(some) :]),
        ("random bytes", rng.bytes(len(data))),
    ][int(rng.integers(5))]


def _used(process: psutil.Process, family: bool) -> float:
    """Processor seconds of a process, and of those it started; 0 once it is gone."""
    seconds = 0.0
    with contextlib.suppress(psutil.Error):
        for one in (process, *(process.children(recursive=True) if family else ())):
            with contextlib.suppress(psutil.Error):
                times = one.cpu_times()
                seconds += times.user + times.system
    return seconds


def works(process: subprocess.Popen[str], seconds: float, *, family: bool = False) -> str:
    """Wait until it has worked for so long, and say how it stands: "ended", "works" or "hangs".

    The processor's time is counted, not the clock's, so that a moment is the same moment on a busy
    machine. A process that uses none for two minutes hangs.

    family: whether what the process started counts too.
    """
    try:
        of = psutil.Process(process.pid)
    except psutil.NoSuchProcess:
        return "ended"
    start = before = _used(of, family)
    heard = time.monotonic()
    while process.poll() is None:
        used = _used(of, family)
        if used - start >= seconds:
            return "works"
        if used > before:
            before, heard = used, time.monotonic()
        if time.monotonic() - heard > SILENCE:
            return "hangs"
        # Children are looked for among all processes of the machine, which takes a while.
        time.sleep(0.1 if family else 0.005)
    return "ended"
