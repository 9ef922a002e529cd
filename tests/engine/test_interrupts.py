"""Ctrl-C while JAX is imported: heard once, after the import, and the next fit works."""

import signal
import subprocess
import sys
import threading

import pytest

from astralearn.engine.interrupts import interrupts_deferred


def interrupted(then):
    with interrupts_deferred():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        then()


def test_ctrl_c_is_heard_once_at_the_end_of_the_block():
    reached = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(lambda: reached.append(True))
    assert reached == [True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_in_the_block_keeps_the_handler_and_ctrl_c_goes_first():
    with pytest.raises(ZeroDivisionError), interrupts_deferred():
        raise ZeroDivisionError
    with pytest.raises(KeyboardInterrupt):
        interrupted(lambda: 1 // 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_whoever_listens_otherwise_hears_it_in_that_way(monkeypatch):
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
            assert heard == []
        assert heard == [signal.SIGINT]
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_another_thread_nothing_changes():
    found = []

    def block():
        with interrupts_deferred():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=block)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


# Interrupts the import of JAX wherever the import of one of these modules begins.
INTERRUPTED = """
import importlib.abc, signal, sys
import numpy as np

class Interrupter(importlib.abc.MetaPathFinder):
    left = {"jax.version", "jax._src.config", "jax._src.lib", "jax._src.api", "jax.numpy"}

    def find_spec(self, name, path, target=None):
        if name in self.left:
            self.left.remove(name)
            signal.raise_signal(signal.SIGINT)

X, y = np.random.default_rng(0).normal(size=(60, 2)).astype("float32"), np.arange(60) < 6
X[:6] += 3
%s
assert "jax" not in sys.modules
sys.meta_path.insert(0, Interrupter())
try:
    model.fit(X, y)
except KeyboardInterrupt:
    assert not Interrupter.left
    model.fit(X, y)
    print("interrupted, then fitted")
"""
NETWORKS = """
from astralearn import ASTraClassifier
model = ASTraClassifier(epochs=50, n_estimators=1, committee=False)
"""
TREES = """
from astralearn.boosting import ASTraLGBMClassifier, sweep
sweep.COMPILED_ROWS = 60
model = ASTraLGBMClassifier(n_estimators=1, n_jobs=1, min_child_samples=1, verbose=-1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("model", [NETWORKS, TREES], ids=["networks", "trees"])
def test_the_first_fit_interrupted_while_it_imports_jax(model):
    command = [sys.executable, "-c", INTERRUPTED % model]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout) == (0, "interrupted, then fitted\n"), ended.stderr
