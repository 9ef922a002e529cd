"""A benchmark's plan: run, stopped, continued and extended."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from astralearn.datasets import Problem
from astralearn.datasets.rarebench import load_problem
from astralearn.study import Method, MismatchError, RunProgress, StudyError, kept, read_records, run
from astralearn.study.draw_plan import DrawPlan
from astralearn.study.draw_record import DrawRecord
from astralearn.study.draw_unit import BEST
from astralearn.study.draws import Drawing
from astralearn.study.store import read_kind

FAST = Drawing(most_learned=300, most_tested=500)


def toy(name: str = "toy", positives: int = 30) -> Problem:
    random = np.random.default_rng(len(name))
    y = np.repeat(np.array([1, 0], dtype=np.int8), [positives, 400])
    return Problem(name, random.normal(size=(len(y), 3)) + y[:, None], y)


class Constant(ClassifierMixin, BaseEstimator):
    def fit(self, X: np.ndarray, y: np.ndarray) -> Constant:
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.zeros(len(X))


METHODS = [Method("logistic", LogisticRegression()), Method("constant", Constant())]


@pytest.mark.slow
def test_runs_resumes_and_grows(tmp_path: Path) -> None:
    path = tmp_path / "bench.sqlite"
    plan = DrawPlan([toy()], METHODS, ks=(5,), draws=1, drawing=FAST)
    first = run(plan, path, n_jobs=1)
    assert [record.method for record in first] == ["logistic", "constant"]
    assert first[1].auc == 0.5
    larger = DrawPlan([toy(), toy("other")], METHODS, ks=(5, 10), draws=2, drawing=FAST)
    assert kept(larger, path) == (2, 16)
    seen: list[RunProgress] = []
    records = run(larger, path, n_jobs=2, progress=seen.append)
    assert (seen[0].done, seen[-1].done, seen[-1].total) == (2, 16, 16)
    assert len(records) == 16
    assert first[0] in records
    assert run(larger, path, n_jobs=1) == records


def test_best_possible_is_recorded_where_it_is_known(tmp_path: Path) -> None:
    plan = DrawPlan([load_problem("far-out"), toy()], METHODS, ks=(5,), draws=1, drawing=FAST)
    records = run(plan, tmp_path / "bench.sqlite", n_jobs=1)
    found = [(record.problem, record.method) for record in records]
    assert found.count(("far-out", BEST)) == 1
    assert ("toy", BEST) not in found


def test_problems_with_too_few_positives_are_left_out_and_said_to_be() -> None:
    plan = DrawPlan([toy(), toy("larger", 60)], METHODS, ks=(5, 20), draws=1, drawing=FAST)
    assert plan.left_out() == ["toy has 30 positives, too few for k = 20"]
    places = {(unit.problem.name, unit.k) for unit in plan.units()}
    assert places == {("toy", 5), ("larger", 5), ("larger", 20)}


def test_other_settings_and_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bench.sqlite"
    run(DrawPlan([toy()], METHODS[1:], ks=(5,), draws=1, drawing=FAST), path, n_jobs=1)
    with pytest.raises(MismatchError, match="seed"):
        run(DrawPlan([toy()], METHODS[1:], ks=(5,), draws=1, seed=1, drawing=FAST), path)
    with pytest.raises(StudyError, match="format 101"):
        read_records(path)
    assert DrawPlan.kind is DrawRecord
    for change in ({"draws": 0}, {"limit": 0.0}, {"limit": np.nan}, {"ks": ()}, {"ks": (0,)}):
        with pytest.raises(ValueError, match=next(iter(change))):
            DrawPlan([toy()], METHODS, **change)


def decided(records: list[DrawRecord]) -> list[DrawRecord]:
    """Records without what was measured by the clock."""
    return [replace(record, fit_seconds=0.0, predict_seconds=0.0) for record in records]


VICTIM = """
import sys
from pathlib import Path
import numpy as np
from sklearn.linear_model import LogisticRegression
from astralearn.datasets import Problem
from astralearn.study import Method, run
from astralearn.study.draw_plan import DrawPlan
from astralearn.study.draws import Drawing

random = np.random.default_rng(3)
y = np.repeat(np.array([1, 0], dtype=np.int8), [30, 400])
problem = Problem("toy", random.normal(size=(len(y), 3)) + y[:, None], y)
run(
    DrawPlan(
        [problem],
        [Method("logistic", LogisticRegression())],
        ks=(5, 10),
        draws=30,
        drawing=Drawing(most_learned=300, most_tested=500),
    ),
    Path(sys.argv[1]),
    n_jobs=1,
)
"""


@pytest.mark.slow
def test_killed_a_benchmark_ends_as_if_it_had_run_through(tmp_path: Path) -> None:
    path, whole = tmp_path / "killed.sqlite", tmp_path / "whole.sqlite"
    victim = subprocess.Popen([sys.executable, "-c", VICTIM, path])
    deadline = time.monotonic() + 120
    while written(path) < 3 and victim.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    victim.send_signal(signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    before = written(path)
    assert 3 <= before < 60
    plan = DrawPlan([toy()], METHODS[:1], ks=(5, 10), draws=30, drawing=FAST)
    assert kept(plan, path)[0] >= 3
    records = run(plan, path, n_jobs=1)
    assert decided(records) == decided(run(plan, whole, n_jobs=1))


def written(path: Path) -> int:
    try:
        return len(read_kind(path, DrawRecord))
    except StudyError:  # The victim has not come so far as to make its tables.
        return 0


@pytest.mark.slow
def test_a_dask_cluster_of_two_workers_draws_the_same(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    plan = DrawPlan([toy()], METHODS, ks=(5, 10), draws=2, drawing=FAST)
    here = run(plan, tmp_path / "here.sqlite", n_jobs=1)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", processes=False
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        there = run(plan, tmp_path / "there.sqlite")
    assert decided(there) == decided(here)
