"""Objectives as `lgb.train`, `xgb.train` and the scikit-learn APIs call them."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from astralearn.boosting.objective import Objective
from astralearn.boosting.slope_learner import SlopeLearner
from astralearn.classifier.left_whole import left_whole

# Part of the curvature that all rows share under XGBoost. Of two children it builds the histogram
# of the one with less curvature. Without sharing that is often the larger one, full of sure
# negatives, and a round takes longer, for no better trees.
SHARED = 2 / 3


class _BySet:
    """An objective that learns a slope for each training set apart.

    `lgb.cv` and `xgb.cv` train their folds by turns. The objective shows the slope of the set that
    came last.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = checked_objective(objective)
        self._learners: weakref.WeakKeyDictionary[Any, SlopeLearner] = weakref.WeakKeyDictionary()

    def __reduce__(self) -> Any:
        return type(self), (self.objective,)  # Weak references do not pickle.

    def __sklearn_clone__(self) -> Self:
        return type(self)(self.objective.__sklearn_clone__())

    @contextlib.contextmanager
    def _learning_from(self, data: Any) -> Iterator[Objective]:
        self.objective.learner = self._learners.get(data, self.objective.learner)
        yield self.objective
        self._learners[data] = self.objective.learner


class LightGBMObjective(_BySet):
    """An objective for `lgb.train` and others of LightGBM.

    Set the data's `init_score` (0 is right for losses of the counts) and add it to predictions:
    LightGBM does neither for custom objectives. Scores are taken in float32, the precision in which
    LightGBM stores gradients. In `lgb.cv` each fold learns a slope.

    >>> import lightgbm as lgb
    >>> from astralearn.boosting import ConfusionObjective
    >>> X, y = np.arange(100.0)[:, None], np.arange(100) >= 90
    >>> params = {"objective": LightGBMObjective(ConfusionObjective("gmn")), "verbosity": -1}
    >>> booster = lgb.train(params, lgb.Dataset(X, y, init_score=np.zeros(100)), 5)
    >>> bool(booster.predict(X)[-1] > 0 > booster.predict(X)[0])
    True
    """

    def __call__(self, preds: np.ndarray, dataset: Any) -> tuple[np.ndarray, np.ndarray]:
        with self._learning_from(dataset) as objective:
            objective.begin_if_equal(preds)
            return lightgbm_round(objective, preds, dataset)


class XGBoostObjective(_BySet):
    """An objective for `xgb.train` and others of XGBoost.

    `xgb.train({"base_score": 0.0}, data, obj=XGBoostObjective(ConfusionObjective("gmn")))`; also in
    `xgboost.dask.train`, and `XGBClassifier(objective=XGBoostObjective(…), base_score=0.5)`. All
    rows share two thirds of the curvature (SHARED), which makes XGBoost faster than under the
    objective itself. Without `base_score` XGBoost starts from a margin of its own. (With
    `"objective": "binary:logistic"` beside it, `base_score` is a probability, and 0.5 the score 0.)
    Under XGBoost's collective (Dask, Spark, rabit) the eight sums of each round are added up over
    the workers, so that every worker's gradient is the one of all rows. In `xgb.cv`
    each fold learns a slope.

    >>> import xgboost as xgb
    >>> from astralearn.boosting import ConfusionObjective
    >>> data = xgb.DMatrix(np.arange(100.0)[:, None], np.arange(100) >= 90)
    >>> objective = XGBoostObjective(ConfusionObjective("gmn"))
    >>> booster = xgb.train({"base_score": 0.0}, data, 5, obj=objective)
    >>> bool(booster.predict(data)[-1] > 0 > booster.predict(data)[0])
    True
    """

    def __call__(
        self, first: np.ndarray, second: Any, sample_weight: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """One round.

        first, second: scores and a DMatrix, or labels and scores.
        """
        if not hasattr(second, "get_label"):
            _begin_if_alone(self.objective, second)
            return xgboost_round(self.objective, first, second, sample_weight)
        weight = second.get_weight()
        with self._learning_from(second) as objective:
            _begin_if_alone(objective, first)
            return xgboost_round(
                objective, second.get_label(), first, weight if weight.size else None
            )


def checked_objective(objective: Any) -> Objective:
    """The objective, if it is one of ours by itself."""
    if not isinstance(objective, Objective):
        raise TypeError(
            "objective must be an ASTraObjective or a ConfusionObjective; "
            f"found {type(objective).__name__}"
        )
    return objective


@contextlib.contextmanager
def lightgbm_fit(estimator: object) -> Iterator[None]:
    """A fit by LightGBM that leaves the estimator whole and names a table of zeros.

    LightGBM keeps no feature of zeros alone, and without any gives custom objectives up.
    """
    with left_whole(estimator):
        try:
            yield
        except Exception as error:
            if "num_features()" not in str(error):
                raise
            raise ValueError(
                "X must hold a feature that varies: LightGBM found only columns of zeros"
            ) from error


def lightgbm_round(
    objective: Objective, preds: np.ndarray, dataset: Any
) -> tuple[np.ndarray, np.ndarray]:
    """One round of a training that has begun."""
    return objective.round(dataset.get_label(), preds.astype(np.float32), dataset.get_weight())


def xgboost_round(
    objective: Objective,
    y_true: np.ndarray,
    y_pred: np.ndarray,
    sample_weight: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """One round of a training that has begun, over all workers."""
    collective = _collective()

    def add_up(sums: np.ndarray) -> np.ndarray:
        return collective.allreduce(sums, collective.Op.SUM)

    several = add_up if collective.is_distributed() else None
    return objective.round(y_true, y_pred, sample_weight, add_up=several, shared=SHARED)


def _begin_if_alone(objective: Objective, x: np.ndarray) -> None:
    # One worker's rows may have equal scores in the middle of a training.
    if not _collective().is_distributed():
        objective.begin_if_equal(x)


def _collective() -> Any:
    return sys.modules["xgboost.collective"]
