"""One table: every check on every backend, each backend in a process of its own, for Keras chooses its backend once."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EVERYWHERE = ("layer", "losses", "metrics", "fit", "saving")
TABLE = [
    *((backend, EVERYWHERE, {}) for backend in ("tensorflow", "jax", "torch")),
    ("tensorflow", ("mirrored",), {}),
    ("jax", ("data_parallel",), {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}),
]


@pytest.mark.parametrize(("backend", "checks", "variables"), TABLE, ids=[f"{backend}: {', '.join(checks)}" for backend, checks, _ in TABLE])
def test_checks(backend, checks, variables):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    files = [str(HERE / f"check_{check}.py") for check in checks]
    environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "2", **variables}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    run = subprocess.run(command, env=environment, cwd=HERE.parents[1], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]


def test_every_check_is_in_the_table():
    assert {path.stem.removeprefix("check_") for path in HERE.glob("check_*.py")} == {check for _, checks, _ in TABLE for check in checks}
