"""`import astralearn` is light: no framework, and hardly slower than NumPy. Each claim is made in a fresh interpreter."""

import subprocess
import sys

FRAMEWORKS = ["jax", "torch", "keras", "tensorflow", "sklearn", "matplotlib", "optax", "pandas", "lightgbm", "xgboost", "catboost"]


def fresh(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def frameworks_after(statement: str) -> str:
    return fresh(f"import sys; {statement}; print(*[name for name in {FRAMEWORKS} if name in sys.modules])")


def milliseconds(statement: str, runs: int = 5) -> float:
    """The best of several fresh interpreters, each timing only its import."""
    code = f"import time; start = time.perf_counter(); {statement}; print((time.perf_counter() - start) * 1000)"
    return min(float(fresh(code)) for _ in range(runs))


def test_no_framework_is_imported():
    assert frameworks_after("import astralearn; astralearn.astra(0.0, 2.0)") == ""


def test_jax_is_imported_when_a_fit_starts():
    assert not {"jax", "optax"} & set(frameworks_after("import astralearn; astralearn.ASTraClassifier()").split())


def test_the_tests_above_can_fail():
    assert "sklearn" in frameworks_after("import astralearn, sklearn").split()


def test_import_takes_little_more_than_numpy():
    assert milliseconds("import astralearn") <= milliseconds("import numpy") + 100
