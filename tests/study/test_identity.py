"""Fingerprints and versions; that a file holds to them is tested in test_run."""

import numpy as np

from astralearn.datasets import Problem, Redraw
from astralearn.study.identity import fingerprint, versions


def problem(name="p", **options):
    rows = np.random.default_rng(0).normal(size=(40, 2))
    return Problem(name, rows, (np.arange(40) < 8).astype(np.int8), **options)


def test_fingerprints_tell_data_apart():
    base = problem()
    others = [
        Problem("p", base.X[:, :1], base.y),
        Problem("p", base.X, 1 - base.y),
        problem(redraw=Redraw(5)),
    ]
    assert len({fingerprint(p) for p in [base, *others]}) == 4
    assert fingerprint(base) == fingerprint(problem("other name"))


def test_versions_name_python_and_what_results_depend_on():
    found = versions()
    assert found["numpy"] == np.__version__
    assert {"python", "machine", "scikit-learn"} <= set(found)
