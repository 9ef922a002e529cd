"""Synthetic tasks: their best scores agree with Monte Carlo and with closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from astralearn.datasets.generator import TASKS

PAIRS = 40_000


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.slow
def test_best_auc_agrees_with_monte_carlo(name: str) -> None:
    """AUC is how often a fresh positive beats a fresh negative."""
    task = TASKS[name]
    X, y = task.table()
    of_table = roc_auc_score(y, task.best_order(X))
    random = np.random.default_rng(1)
    pairs = PAIRS if task.majority.width < 100 else PAIRS // 20
    positives, negatives = (
        task._shown(kind.rows(random, pairs)) for kind in (task.minority, task.majority)
    )
    wins = task.best_order(positives) - task.best_order(negatives)
    assert of_table == pytest.approx((wins > 0).mean() + (wins == 0).mean() / 2, abs=0.012)


def test_best_scores_agree_with_closed_forms() -> None:
    """Two Gaussians a distance d apart have AUC Φ(d/√2)."""
    for name, distance in [("gauss-shift", 0.8 * np.sqrt(10)), ("needle", 3.5)]:
        X, y = TASKS[name].table()
        best = roc_auc_score(y, TASKS[name].best_order(X))
        assert best == pytest.approx(norm.cdf(distance / np.sqrt(2)), abs=0.01)


def test_no_learner_that_saw_everything_does_better() -> None:
    task = TASKS["gauss-shift"]
    X, y = task.table()
    learned = LogisticRegression().fit(X, y).decision_function(X)
    assert roc_auc_score(y, learned) <= roc_auc_score(y, task.best_order(X)) + 0.001


def test_tables_are_the_same_in_every_call_and_categories_are_text() -> None:
    first, y = TASKS["mixed"].table()
    again, _ = TASKS["mixed"].table()
    assert first.equals(again)
    assert first["x0"].iloc[0].startswith("level ")
    assert first["x1"].dtype == float
    assert y[:1000].all()
    assert not y[1000:].any()
