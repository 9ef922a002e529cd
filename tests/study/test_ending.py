"""Workers that end with their parent, and signals that end a run as Ctrl-C does."""

import os
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from astralearn.study import ending
from astralearn.study.ending import (
    ended_after,
    interrupt,
    quiet_workers,
    signals_as_interrupts,
)

# A study of slow folds in two workers. Each fold leaves its process id in a folder of the test's.
STUDY = """
import os, sys, time
from pathlib import Path
import numpy as np
sys.path.insert(0, {tests!r})
from astralearn.datasets import Problem
from astralearn.study import Method, Plan, run
from classifiers import Nearest

class Slow(Nearest):
    def fit(self, X, y):
        (Path({folder!r}) / str(os.getpid())).touch()
        time.sleep(600)

y = (np.arange(100) < 10).astype(np.int8)
run(Plan([Problem("p", np.ones((100, 1)), y)], [Method("m", Slow())]), {file!r}, n_jobs=2)
"""


def is_running(process):
    """Whether there is such a process that has not ended: a zombie has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def waited_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="there is no /proc")
def test_workers_of_a_killed_run_end_too(tmp_path):
    seen = tmp_path / "seen"
    seen.mkdir()
    code = STUDY.format(
        tests=str(Path(__file__).parents[1]), folder=str(seen), file=str(tmp_path / "s.sqlite")
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as parent:
        try:
            assert waited_for(lambda: len(list(seen.iterdir())) == 2, seconds=60)
        finally:
            parent.kill()
    workers = [int(path.name) for path in seen.iterdir()]
    assert waited_for(lambda: not any(map(is_running, workers)), seconds=20)


def test_a_process_ends_when_its_parent_is_another_one(monkeypatch):
    codes = queue.SimpleQueue()
    monkeypatch.setattr(ending.os, "_exit", codes.put)
    ending.watch(-1)
    assert codes.get(timeout=30) == 1


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP")
def test_what_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_as_interrupts():
            assert signal.getsignal(signal.SIGTERM) is interrupt
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_signal_interrupts_once_and_ends_the_program_the_second_time():
    with signals_as_interrupts():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_another_thread_handles_no_signals():
    seen = []

    def look():
        with signals_as_interrupts():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL]


def test_a_budget_ends_what_is_within_and_goes_on():
    begun = time.monotonic()
    with ended_after(0.2):
        time.sleep(60)
    assert time.monotonic() - begun < 30


def test_no_budget_and_one_that_is_not_spent_change_nothing():
    for seconds in (None, 60.0):
        with pytest.raises(KeyboardInterrupt), ended_after(seconds):
            raise KeyboardInterrupt


def test_a_replaced_worker_is_no_news_and_other_warnings_are():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with quiet_workers():
            warnings.warn("A worker stopped while some jobs were given to it.", stacklevel=1)
            warnings.warn("other", stacklevel=1)
    assert [str(one.message) for one in told] == ["other"]
