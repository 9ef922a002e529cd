import os
import signal
import sys

# keras.ops is tested on JAX unless tests/keras asks for another backend; the variable must be set before Keras is first imported.
os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ["JAX_PLATFORMS"] = "cpu"

import pytest
from hypothesis import settings

# A shell that starts tests in the background has SIGINT ignored, and tests interrupt themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("astralearn", deadline=None, derandomize=True)
settings.load_profile("astralearn")


@pytest.fixture(autouse=True)
def seeded():
    """What a test draws from a framework's own generator is the same in every run."""
    if "keras" in sys.modules:
        sys.modules["keras"].utils.set_random_seed(0)
    elif "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)
