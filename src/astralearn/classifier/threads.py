"""How many threads a fit or a prediction takes."""

from __future__ import annotations

import multiprocessing

import joblib


def threads(n_jobs: int | None) -> int:
    """How many threads n_jobs means here.

    joblib's own answer is about processes, and warns where there may be none.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; None or -1 takes all cores")
    if n_jobs is None:
        n_jobs = -1 if multiprocessing.parent_process() is None else 1
    return n_jobs if n_jobs > 0 else max(1, joblib.cpu_count() + 1 + n_jobs)
