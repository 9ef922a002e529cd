"""Scores to stop early on: soft and hard G-Mean, MCC and FNR of the rows evaluated, at the slope in force.

A soft score counts probabilities z, a hard one decisions x ≥ 0 (which no slope changes). Names as in SCORES: "soft_g_mean", "g_mean",
"soft_mcc", "mcc", "soft_fnr", "fnr".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astralearn.boosting.objective import Objective
from astralearn.core import SoftConfusion, rebalanced_logit, soft_confusion


class Score(NamedTuple):
    attribute: str  # of SoftConfusion
    soft: bool
    higher_is_better: bool


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
    return SoftConfusion(
        *(
            float(w[rows].sum())
            for rows in (~said & ~is_one, said & ~is_one, ~said & is_one, said & is_one)
        )
    )


def score_value(
    name: str, x: np.ndarray, y: np.ndarray, weight: np.ndarray | None, slope: float
) -> float:
    """A score of SCORES. x: scores, y: labels 0 and 1, weight: ≥ 0 or None, each of shape (n,)."""
    kind = SCORES[name]
    if kind.soft:
        w = None if weight is None else np.asarray(weight, np.float64)
        counts = soft_confusion(
            rebalanced_logit(np.asarray(x, np.float64), slope, xp=np),
            np.asarray(y, np.float64),
            w,
            xp=np,
        )
    else:
        counts = hard_confusion(x, y, weight)
    return float(getattr(counts, kind.attribute))


class LightGBMScore:
    """A score as LightGBM's scikit-learn API wants it: (y_true, y_pred, weight) → (name, value, higher is better)."""

    def __init__(self, name: str, objective: Objective) -> None:
        self.name = known(name)
        self.objective = objective

    def __call__(
        self, y_true: np.ndarray, y_pred: np.ndarray, weight: np.ndarray | None
    ) -> tuple[str, float, bool]:
        value = score_value(self.name, y_pred, y_true, weight, self.objective.slope)
        return self.name, value, SCORES[self.name].higher_is_better


class XGBoostScore:
    """A score as XGBoost's scikit-learn API wants it. XGBoost minimises what it does not know, so a gain is shown as 1 − gain."""

    def __init__(self, name: str, objective: Objective) -> None:
        self.name = known(name)
        self.objective = objective
        self.__name__ = f"1-{name}" if SCORES[name].higher_is_better else name

    def __call__(
        self, y_true: np.ndarray, y_pred: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float:
        value = score_value(self.name, y_pred, y_true, sample_weight, self.objective.slope)
        return 1.0 - value if SCORES[self.name].higher_is_better else value


def known(name: str) -> str:
    """The name, if SCORES has it."""
    if name not in SCORES:
        raise ValueError(f"eval_metric must be one of {', '.join(SCORES)}; found {name!r}")
    return name
