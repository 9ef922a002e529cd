"""`import astralearn` is light: no framework, and hardly more than NumPy. Each claim is made in a
fresh interpreter.
"""

import subprocess
import sys

FRAMEWORKS = [
    "jax",
    "torch",
    "keras",
    "tensorflow",
    "sklearn",
    "matplotlib",
    "optax",
    "pandas",
    "lightgbm",
    "xgboost",
    "catboost",
]


def fresh(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


def frameworks_after(statement: str) -> str:
    return fresh(
        f"import sys; {statement}; print(*[name for name in {FRAMEWORKS} if name in sys.modules])"
    )


def modules_after(statement: str) -> set[str]:
    return set(fresh(f"import sys; {statement}; print(*sys.modules)").split())


def test_no_framework_is_imported():
    assert frameworks_after("import astralearn; astralearn.astra(0.0, 2.0)") == ""


def test_jax_is_imported_when_a_fit_starts():
    assert not {"jax", "optax"} & set(
        frameworks_after("import astralearn; astralearn.ASTraClassifier()").split()
    )


def test_the_tests_above_can_fail():
    assert "sklearn" in frameworks_after("import astralearn, sklearn").split()


def test_import_takes_little_more_than_numpy():
    """Counted, not timed: on a busy machine seconds say nothing."""
    more = modules_after("import astralearn") - modules_after("import numpy")
    assert {name.split(".")[0] for name in more} - set(sys.stdlib_module_names) == {
        "array_api_compat",
        "astralearn",
    }
    assert len(more) <= 20
