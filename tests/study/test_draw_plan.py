"""A benchmark's plan: run, stopped, continued and extended."""

from __future__ import annotations

from pathlib import Path

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
    for change in ({"draws": 0}, {"limit": 0.0}, {"ks": ()}, {"ks": (0,)}):
        with pytest.raises(ValueError, match=next(iter(change))):
            DrawPlan([toy()], METHODS, **change)
