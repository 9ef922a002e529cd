"""What every area of the attack gives, and what several of them do."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
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


def works(process: Forked | subprocess.Popen[str], seconds: float, *, family: bool = False) -> str:
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


# Forks a process for every line that it reads, and says its number and later its exit code.
SERVER = """
import os, sys
{imports}
print("ready", flush=True)
for line in sys.stdin:
    child = os.fork()
    if not child:
        os.dup2(os.open(line.split()[0], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.dup2(1, 2)
        arguments = line.split()[1:]
        {work}
        break
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Forks:
    """Processes whose imports are done, which take most of a short process's time.

    imports, work: code; the work finds its `arguments`, words. What it prints goes to `out`.
    """

    def __init__(self, imports: str, work: str, folder: Path) -> None:
        self.out = folder / "out"
        code = SERVER.format(imports=imports, work=work.strip().replace("\n", "\n        "))
        self.server = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.server.stdout.readline()

    def start(self, *arguments: object) -> Forked:
        """A process of these arguments; one at a time."""
        self.out.unlink(missing_ok=True)
        self.server.stdin.write(" ".join(map(str, (self.out, *arguments))) + "\n")
        self.server.stdin.flush()
        return Forked(int(self.server.stdout.readline()), self)

    def printed(self) -> str:
        """What the process has printed until now."""
        return self.out.read_text() if self.out.exists() else ""


class Forked:
    """One of them, with the names of `subprocess.Popen`."""

    def __init__(self, pid: int, forks: Forks) -> None:
        self.pid, self.forks = pid, forks
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        stdout = self.forks.server.stdout
        if self.returncode is None and select.select([stdout], [], [], 0)[0]:
            self.returncode = int(stdout.readline())
        return self.returncode

    def send(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def wait_for(self, text: str) -> None:
        """Until it has printed so much, or ended."""
        while text not in self.forks.printed() and self.poll() is None:
            time.sleep(0.005)

    def end(self) -> int:
        """`kill -9` it, and the exit code."""
        self.send(signal.SIGKILL)
        while self.poll() is None:
            time.sleep(0.005)
        return self.returncode
