"""A method on draws: what it scores, and what its failures cost."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

from astralearn.datasets import Problem
from astralearn.datasets.rarebench import load_problem
from astralearn.study.draw_record import DrawRecord
from astralearn.study.draw_unit import BEST, BestUnit, DrawUnit
from astralearn.study.draws import Drawing, make_draws
from astralearn.study.method import Method

K = 8


def toy() -> Problem:
    random = np.random.default_rng(0)
    y = np.repeat(np.array([1, 0], dtype=np.int8), [60, 600])
    return Problem("toy", random.normal(size=(660, 3)) + 1.5 * y[:, None], y)


class Scores(ClassifierMixin, BaseEstimator):
    """Gives the sum of a row as its score; fails as it is told to."""

    def __init__(self, fails: str = "") -> None:
        self.fails = fails

    def fit(self, X: Any, y: Any) -> Scores:
        if self.fails == "raises":
            raise ValueError("too few rows")
        if self.fails == "hangs":
            time.sleep(60)
        if self.fails == "crashes":
            os.abort()
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: Any) -> Any:
        scores = X.sum(axis=1)
        return {"nan": np.full_like(scores, np.nan), "two": X[:, :2]}.get(self.fails, scores)

    def predict(self, X: Any) -> Any:
        return (X.sum(axis=1) > 2) * (7 if self.fails == "sevens" else 1)


class Stack(Scores):
    """Trains its draws in one call, which raises where it must not be more than one."""

    def fit_many(self, X: Any, y: Any, splits: Any, random_states: Any) -> list[Any]:
        assert len(random_states) == len(splits)
        if self.fails == "stack" and len(splits) > 1:
            raise ValueError("one at a time")
        return [Scores().fit(X[learn], y[learn]) for learn, _ in splits]


def records(estimator: Any, *, limit: float = 60.0, draws: int = 1) -> list[DrawRecord]:
    problem = toy()
    splits = make_draws(problem, K, draws=draws, drawing=Drawing(imbalance=20))
    unit = DrawUnit(problem, splits, K, method=Method("m", estimator), seed=0, limit=limit)
    outcomes = unit.run()
    assert [outcome.record.key for outcome in outcomes] == unit.record_keys()
    return [outcome.record for outcome in outcomes]


def test_scores_are_those_of_the_rows_that_were_not_drawn() -> None:
    problem = toy()
    (split,) = make_draws(problem, K, draws=1, drawing=Drawing(imbalance=20))
    truth, X = problem.y[split.test], problem.X[split.test]
    (record,) = records(Scores())
    assert (record.k, record.negatives, record.error) == (K, 160, None)
    decided = X.sum(axis=1) > 2
    assert record.tp == (decided & (truth == 1)).sum()
    assert record.fp == (decided & (truth == 0)).sum()
    assert record.auc == pytest.approx(roc_auc_score(truth, X.sum(axis=1)))
    weight = (K / 160) * (truth == 0).sum() / (truth == 1).sum()
    expected = average_precision_score(
        truth, X.sum(axis=1), sample_weight=np.where(truth == 1, weight, 1)
    )
    assert record.average_precision == pytest.approx(expected)
    assert record.fit_seconds > 0


@pytest.mark.parametrize(
    ("fails", "message"),
    [
        ("raises", "ValueError: too few rows"),
        ("hangs", "TimeoutError: stopped after 2 s"),
        ("crashes", "its process died"),
        ("nan", "the scores are not finite on 492 of 492 rows"),
        ("two", r"the scores must have shape \(492,\); found \(492, 2\)"),
        ("sevens", r"predict must give the classes 0 and 1; found \[7\]"),
    ],
)
@pytest.mark.slow
def test_failures_score_zero_and_say_why(fails: str, message: str) -> None:
    (record,) = records(Scores(fails), limit=2.0)
    with pytest.raises(ValueError, match=message):
        raise ValueError(record.error)
    assert record.average_precision == record.auc == record.top_recall == 0
    assert record.g_mean == record.mcc == record.recall == record.false_alarms == 0


def test_draws_train_as_one_stack_and_alone_where_that_fails() -> None:
    together, apart = records(Stack(), draws=2), records(Stack("stack"), draws=2)
    assert [r.error for r in together + apart] == [None] * 4
    assert [r.auc for r in together] == [r.auc for r in apart]


def test_nothing_beats_the_best_possible_order() -> None:
    problem = load_problem("gauss-shift")
    splits = make_draws(problem, 50, draws=1)
    (best,) = [outcome.record for outcome in BestUnit(problem, splits, 50).run()]
    logistic = Method("logistic", LogisticRegression())
    unit = DrawUnit(problem, splits, 50, method=logistic, seed=0, limit=60.0)
    (learned,) = [outcome.record for outcome in unit.run()]
    assert best.method == BEST
    assert best.auc > learned.auc > 0.8
    assert best.average_precision > learned.average_precision
    with pytest.raises(ValueError, match="not known"):
        BestUnit(toy(), splits, 50).run()
