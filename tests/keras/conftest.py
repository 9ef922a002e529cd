import os

import pytest


def pytest_configure(config):
    """Warnings of Keras and its backends about each other, which are not ours to fix."""
    for warning in (
        "ignore:__array__ implementation doesn't accept a copy keyword:DeprecationWarning",
        "ignore:`torch.jit.script_method` is deprecated:DeprecationWarning",
    ):
        config.addinivalue_line("filterwarnings", warning)


LIMITS = [2048]
if os.environ.get("KERAS_BACKEND") == "torch":
    LIMITS += [pytest.param(1, marks=pytest.mark.long), 0]


@pytest.fixture(params=LIMITS)
def few(request, monkeypatch):
    """On PyTorch, NumPy computes what is small.

    That is everything in these tests, single numbers only, or (as on a GPU) nothing.
    """
    from astralearn.keras import tensors  # only where Keras is installed

    monkeypatch.setattr(tensors, "FEW", request.param)
