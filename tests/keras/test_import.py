"""Where Keras or its backend is missing or wrong, one plain sentence says so."""

import subprocess
import sys

import pytest

HIDE = "import sys; sys.modules['{}'] = None; "  # as if it were not installed


def last_line(code, backend="jax"):
    environment = {"KERAS_BACKEND": backend, "PYTHONPATH": ":".join(sys.path), "PATH": ""}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    return run.stderr.strip().splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "backend", "message"),
    [
        (
            HIDE.format("keras"),
            "jax",
            "ImportError: astralearn.keras needs Keras 3: pip install 'astralearn[keras]'",
        ),
        (HIDE.format("tensorflow"), "tensorflow", "ImportError: Keras cannot be imported ("),
        (
            "",
            "numpy",
            "ImportError: astralearn.keras works on the backends tensorflow, jax and torch; "
            "found numpy",
        ),
    ],
)
def test_one_sentence(code, backend, message):
    assert last_line(code + "import astralearn.keras", backend).startswith(message)
