"""The sweep through the objectives: shards, threads, blocks and the compiled form."""

import subprocess
import sys

import numpy as np
import pytest

from astralearn.boosting import ConfusionObjective
from astralearn.boosting.sweep import LabelledRows
from objectives import ALL, rows


@ALL
@pytest.mark.parametrize("cuts", [(10, 50), (0, 80), (79,)])
def test_shards_that_add_up_their_sums_are_exact(make, cuts):
    """A worker without rows (cut 0) and workers without positives (labels sorted) included."""
    y, x, w = rows(seed=5)
    order = np.argsort(y, kind="stable")
    y, x, w = y[order], x[order], w[order]
    whole = make()
    expected = [whole.round(y, x, w, shared=0.5) for _ in range(3)]
    parts = np.split(np.arange(len(y)), list(cuts))
    workers = [make() for _ in parts]
    for gradient, curvature in expected:
        total = sum(
            o.swept(LabelledRows.of(y[p], w[p]), x[p]).sums
            for o, p in zip(workers, parts, strict=True)
        )
        got = [
            o.round(y[p], x[p], w[p], add_up=lambda _, t=total: t, shared=0.5)
            for o, p in zip(workers, parts, strict=True)
        ]
        np.testing.assert_allclose(
            np.concatenate([g for g, _ in got]), gradient, rtol=1e-11, atol=1e-14
        )
        np.testing.assert_allclose(
            np.concatenate([c for _, c in got]), curvature, rtol=1e-11, atol=1e-14
        )
    assert {round(o.slope, 12) for o in workers} == {round(whole.slope, 12)}


def test_threads_and_blocks_change_nothing():
    rng = np.random.default_rng(7)
    y, x = (rng.random(200_000) < 0.01).astype(float), rng.normal(-1, 1, 200_000)
    one, three = (ConfusionObjective("gmn", activation="astra", n_threads=n) for n in (1, 3))
    for mine, theirs in zip(one(y, x), three(y, x), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert one.slope == three.slope


@ALL
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.slow
def test_the_compiled_sweep_follows_double_precision(make, weighted, monkeypatch):
    """From COMPILED_ROWS float32 rows on; 150,000 rows fill whole stripes and part of another."""
    monkeypatch.setattr("astralearn.boosting.sweep.COMPILED_ROWS", 1000)
    rng = np.random.default_rng(11)
    y, x, w = (
        (rng.random(150_000) < 0.01).astype(float),
        rng.normal(-1, 1, 150_000),
        rng.uniform(0.1, 3, 150_000),
    )
    one, many, double = make(n_threads=1), make(n_threads=3), make()
    w = w if weighted else None
    exact = double.round(y, x, w, shared=0.5)
    single, threaded = (o.round(y, x.astype(np.float32), w, shared=0.5) for o in (one, many))
    for mine, theirs, truth in zip(single, threaded, exact, strict=True):
        assert mine.dtype == np.float32
        np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_allclose(mine, truth, rtol=1e-4, atol=1e-5 * np.max(np.abs(truth)))
    assert one.slope == many.slope == pytest.approx(double.slope, rel=1e-6)
    np.testing.assert_allclose(one.counts, double.counts, rtol=1e-5)


@pytest.mark.slow
def test_only_large_single_precision_data_needs_jax():
    code = (
        "import sys, numpy as np; from astralearn.boosting import ASTraObjective;"
        "n = {n}; y = (np.arange(n) % 9 == 0).astype(float);"
        "ASTraObjective()(y, np.linspace(-1, 1, n).astype('{dtype}'));"
        "print('jax' in sys.modules)"
    )
    for n, dtype, expected in (
        (10_000, "float32", "False"),
        (300_000, "float64", "False"),
        (300_000, "float32", "True"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code.format(n=n, dtype=dtype)],
            check=True,
            capture_output=True,
            text=True,
        )
        assert done.stdout.strip() == expected, (n, dtype)
