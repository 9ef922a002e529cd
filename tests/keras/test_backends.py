"""One table: every check on every backend, each backend in a process of its own.

Keras chooses its backend once. The checks are the room's tests: check_labels.py is that of
labels.py, and so on. What they mark as long runs with `make test-long`.
"""

import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EVERYWHERE = ("layer", "labels", "losses", "rare_head", "metrics", "fit", "decide", "saving")
TABLE = [
    *((backend, EVERYWHERE, {}) for backend in ("tensorflow", "torch")),
    ("jax", (*EVERYWHERE, "stratified"), {}),
    ("tensorflow", ("replicas",), {}),
    ("tensorflow", ("mirrored_eagerly",), {}),
    ("jax", ("data_parallel",), {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}),
]
CASES = {
    f"{backend}: {', '.join(checks)}{' (long)' if is_long else ''}": (
        backend,
        checks,
        variables,
        is_long,
    )
    for backend, checks, variables in TABLE
    for is_long in ((False, True) if set(checks) >= set(EVERYWHERE) else (False,))
}


def run(backend, checks, variables, is_long):
    files = [str(HERE / f"check_{check}.py") for check in checks]
    environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "2", **variables}
    marked = ["-m", "long" if is_long else "not long"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *marked, *files]
    return subprocess.run(
        command, env=environment, cwd=HERE.parents[1], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def runs(request):
    """Two processes at a time: they take minutes, and mostly one core each."""
    asked = {
        item.callspec.params["name"]
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    }
    rows = {name: case for name, case in CASES.items() if importlib.util.find_spec(case[0])}
    with ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(run, *case) for name, case in rows.items() if name in asked}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if is_long else ())
        for name, (_, _, _, is_long) in CASES.items()
    ],
)
def test_checks(name, runs):
    if name not in runs:
        pytest.skip(f"{name.partition(':')[0]} is not installed")
    done = runs[name].result()
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def test_every_check_is_in_the_table():
    assert {path.stem.removeprefix("check_") for path in HERE.glob("check_*.py")} == {
        check for _, checks, _ in TABLE for check in checks
    }
