"""JAX in a forked process: refused, never waited for."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

IN_A_FORK = """
import os, sys, warnings
{first}
warnings.simplefilter("ignore")  # JAX and Python warn of the fork.
child = os.fork()
if child == 0:
    try:
        {then}
    except RuntimeError as error:
        os._exit(0 if "forked" in str(error) else 2)
    os._exit(1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def refused(first, then):
    """Whether `then` is refused in a fork of a process that ran `first`; hangs are cut short."""
    code = IN_A_FORK.format(first=first, then=then)
    return subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0


def test_a_fork_of_the_process_that_asked_first_is_refused():
    asked = "from astralearn.engine.fork import check_fork"
    assert refused(f"{asked}; check_fork(); check_fork()", "check_fork()")
    assert not refused(asked, "check_fork()")


NETWORKS = """
import jax
import numpy as np
from astralearn import ASTraClassifier
X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) < 6
model = ASTraClassifier(epochs=5, n_estimators=1)
"""
TREES = """
from astralearn.boosting import ASTraLGBMClassifier, sweep
sweep.COMPILED_ROWS = 60
trees = ASTraLGBMClassifier(n_estimators=1, n_jobs=1, min_child_samples=1, verbose=-1)
"""


@pytest.mark.slow
def test_networks_after_networks():
    """Predictions need no JAX."""
    assert refused(
        f"{NETWORKS}model.fit(X, y)", "assert model.predict(X).shape == (60,); model.fit(X, y)"
    )


@pytest.mark.slow
def test_networks_after_large_boosting():
    assert refused(f"{NETWORKS}{TREES}trees.fit(X, y)", "model.fit(X, y)")
