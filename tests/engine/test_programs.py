"""Compiled programs: the last few are kept, and those before them are given back."""

import gc
import subprocess
import sys

import jax
import numpy as np
import pytest

from astralearn.engine.epoch import what_is_compiled
from astralearn.engine.network import Architecture
from astralearn.engine.programs import KEPT, program
from astralearn.engine.stack import Settings

pytestmark = pytest.mark.slow

STATIC = what_is_compiled(Architecture(1, ()), Settings())


def doubled(x, *, static):
    return 2 * x


def live():
    gc.collect()
    return len(jax.devices()[0].client.live_executables())


def test_one_program_for_each_shape():
    a, b = np.ones(3, np.float32), np.ones(4, np.float32)
    first = program(doubled, (a,), static=STATIC, thorough=False)
    assert first is program(doubled, (2 * a,), static=STATIC, thorough=False)
    assert first is not program(doubled, (b,), static=STATIC, thorough=False)
    assert first(a).tolist() == [2.0, 2.0, 2.0]


def test_programs_beyond_the_last_few_are_given_back():
    before = live()
    for n in range(1, 2 * KEPT + 1):
        x = np.ones(n, np.float32)
        program(doubled, (x,), static=STATIC, thorough=False)(x)
    assert live() <= before + KEPT


# Every table has another number of features, as recursive feature elimination has them.
MANY_SHAPES = """
import sys, warnings
import numpy as np, psutil
from astralearn import ASTraClassifier
warnings.simplefilter("ignore")
y, rng = np.arange(300) < 8, np.random.default_rng(0)
for i in range(50):
    X = rng.normal(size=(300, 2 + i)) + 2 * y[:, None]
    ASTraClassifier(epochs=5, n_estimators=2, random_state=0, n_jobs=1).fit(X, y)
    if i in (19, 49):
        print(psutil.Process().memory_info().rss)
"""


@pytest.mark.long
def test_memory_is_bounded_over_shapes():
    command = [sys.executable, "-c", MANY_SHAPES]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    after_some, at_the_end = (int(line) for line in ended.stdout.split())
    assert at_the_end - after_some < 30 * 1.5e6  # bytes; without a bound 5 to 11 MB each
