"""What records depend on: the data, the methods' settings, the versions."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
from collections.abc import Sequence

import numpy as np

from astralearn.datasets.problem import Problem
from astralearn.study.method import Method
from astralearn.study.store import METHOD_PREFIX, PROBLEM_PREFIX

PACKAGES = (
    "astralearn", "numpy", "scipy", "scikit-learn", "pandas", "jax", "optax", "torch",
    "imbalanced-learn", "lightgbm", "xgboost", "catboost", "joblib",
)  # fmt: skip


def identities(problems: Sequence[Problem], methods: Sequence[Method]) -> dict[str, str]:
    """What problems and methods are, as settings of a file."""
    of_problems = {f"{PROBLEM_PREFIX}{p.name}": fingerprint(p) for p in problems}
    return of_problems | {f"{METHOD_PREFIX}{m.name}": m.described() for m in methods}


def fingerprint(problem: Problem) -> str:
    """Short text that differs where data or draws differ."""
    digest = hashlib.sha256()
    if hasattr(problem.X, "columns"):
        from pandas.util import hash_pandas_object

        digest.update(repr(list(problem.X.columns)).encode())
        digest.update(hash_pandas_object(problem.X.astype(str), index=False).to_numpy().tobytes())
    else:
        digest.update(np.ascontiguousarray(problem.X, dtype="<f8").tobytes())
    digest.update(problem.y.astype("<i1").tobytes())
    digest.update(repr(problem.redraw).encode())
    for of_rows in (problem.groups, problem.times):
        digest.update(b"" if of_rows is None else np.asarray(of_rows, dtype="<f8").tobytes())
    return f"{problem.rows} rows, {digest.hexdigest()[:16]}"


def versions() -> dict[str, str]:
    """Of Python, the machine, and every package a result may depend on.

    >>> versions()["numpy"] == np.__version__
    True
    """
    found = {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
