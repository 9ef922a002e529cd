import ctypes
import gc
import os
import random
import signal
import sys
from pathlib import Path

# keras.ops is tested on JAX unless tests/keras asks for another backend. The variable must be set
# before Keras is first imported.
os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ["JAX_PLATFORMS"] = "cpu"

import numpy as np
import pytest
from hypothesis import settings

# A shell that starts tests in the background has SIGINT ignored, and tests interrupt themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# From here on a worker gives back what JAX compiled.
LARGE_WORKER = 1_500_000_000
kept_bytes = [0]  # what a worker held when it had last done so

settings.register_profile("astralearn", deadline=None, derandomize=True)
settings.load_profile("astralearn")


@pytest.fixture(autouse=True)
def seeded():
    """What a test draws from a framework's own generator is the same in every run.

    Keras draws from those of Python, NumPy and its backend. Its `set_random_seed` would import
    TensorFlow, on every backend.
    """
    random.seed(0)
    np.random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)
    if "tensorflow" in sys.modules:
        sys.modules["tensorflow"].random.set_seed(0)


@pytest.fixture(autouse=True)
def _compiled_is_given_back():
    """JAX keeps every program that it compiled, gigabytes in the end."""
    yield
    # Where all else is large, tests are not to compile everything anew each time.
    if "jax" in sys.modules and _resident_bytes() > max(LARGE_WORKER, 1.2 * kept_bytes[0]):
        sys.modules["jax"].clear_caches()
        gc.collect()
        if sys.platform == "linux":
            # What was freed goes back to the system: the next test is not taken for a large one.
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        kept_bytes[0] = _resident_bytes()


def _resident_bytes():
    pages = Path("/proc/self/statm")
    return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGESIZE") if pages.exists() else 0
