"""Scores to stop early on: G-Mean, MCC and FNR at the slope in force.

A soft score counts probabilities z, a hard one decisions x ≥ 0, which no slope changes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from astralearn.boosting.objective import Objective
from astralearn.core import SoftConfusion, rebalanced_logit, soft_confusion


class Score(NamedTuple):
    """An attribute of SoftConfusion, of soft counts or of hard ones."""

    attribute: str
    soft: bool
    higher_is_better: bool


#: The scores that `eval_metric` takes, by name.
SCORES: dict[str, Score] = {
    "soft_g_mean": Score("g_mean", soft=True, higher_is_better=True),
    "g_mean": Score("g_mean", soft=False, higher_is_better=True),
    "soft_mcc": Score("mcc", soft=True, higher_is_better=True),
    "mcc": Score("mcc", soft=False, higher_is_better=True),
    "soft_fnr": Score("fnr", soft=True, higher_is_better=False),
    "fnr": Score("fnr", soft=False, higher_is_better=False),
}


def hard_confusion(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> SoftConfusion:
    """The four counts of decisions x ≥ 0.

    >>> hard_confusion(np.asarray([-1.0, 2.0, 0.0]), np.asarray([0, 0, 1]))
    SoftConfusion(tn=1.0, fp=1.0, fn=0.0, tp=1.0)
    """
    w = np.ones(len(x)) if weight is None else np.asarray(weight, np.float64)
    said, is_one = np.asarray(x) >= 0, np.asarray(y) == 1
    cells = (~said & ~is_one, said & ~is_one, ~said & is_one, said & is_one)
    return SoftConfusion(*(float(w[rows].sum()) for rows in cells))


def score_value(
    name: str, x: np.ndarray, y: np.ndarray, weight: np.ndarray | None, slope: float
) -> float:
    """A score of SCORES.

    x: scores, shape (n,).
    y: labels 0 and 1, shape (n,).
    weight: ≥ 0, shape (n,), or None.
    slope: b, which soft scores see.
    """
    kind = SCORES[name]
    if kind.soft:
        w = None if weight is None else np.asarray(weight, np.float64)
        g = rebalanced_logit(np.asarray(x, np.float64), slope, xp=np)
        counts = soft_confusion(g, np.asarray(y, np.float64), w, xp=np)
    else:
        counts = hard_confusion(x, y, weight)
    return float(getattr(counts, kind.attribute))


class _Score:
    """A score of SCORES at the slope that an objective has when it is asked."""

    def __init__(self, name: str, objective: Objective) -> None:
        self.name = known(name)
        self.objective = objective
        self.higher_is_better = SCORES[name].higher_is_better

    def value(self, y: np.ndarray, x: np.ndarray, weight: np.ndarray | None) -> float:
        return score_value(self.name, x, y, weight, self.objective.slope)


class LightGBMScore(_Score):
    """A score for LightGBM's scikit-learn API, which asks which way is better."""

    def __call__(
        self, y_true: np.ndarray, y_pred: np.ndarray, weight: np.ndarray | None
    ) -> tuple[str, float, bool]:
        return self.name, self.value(y_true, y_pred, weight), self.higher_is_better


class XGBoostScore(_Score):
    """A score for XGBoost's scikit-learn API, which minimises: 1 − gain."""

    def __init__(self, name: str, objective: Objective) -> None:
        super().__init__(name, objective)
        self.__name__ = f"1-{name}" if self.higher_is_better else name

    def __call__(
        self, y_true: np.ndarray, y_pred: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float:
        value = self.value(y_true, y_pred, sample_weight)
        return 1.0 - value if self.higher_is_better else value


def with_scores(metrics: Any, kind: type[_Score], objective: Objective) -> list[Any]:
    """A library's metrics, one or several, with those that SCORES names as functions."""
    several = metrics if isinstance(metrics, (list, tuple)) else [metrics]
    return [
        kind(metric, objective) if isinstance(metric, str) and metric in SCORES else metric
        for metric in several
    ]


def known(name: str) -> str:
    """The name, if SCORES has it."""
    if name not in SCORES:
        raise ValueError(f"eval_metric must be one of {', '.join(SCORES)}; found {name!r}")
    return name
