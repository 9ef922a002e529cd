"""XGBoost's classifier with ASTra and the losses of the soft confusion matrix."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import xgboost as xgb
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from astralearn.boosting.estimator import (
    OWN_PARAMETERS,
    RebalancedBoosting,
    State,
    continue_slope,
    continued_labels,
    warn_without_splits,
)
from astralearn.boosting.objective import Objective
from astralearn.boosting.scores import SCORES, XGBoostScore
from astralearn.boosting.training import xgboost_round
from astralearn.classifier.left_whole import left_whole

# The attribute of a Booster that holds labels and slope; XGBoost keeps attributes in its model files.
STATE_ATTRIBUTE = "astralearn_state"

LARGEST_START = 13.0


class ASTraXGBClassifier(RebalancedBoosting, xgb.XGBClassifier):
    """`xgboost.XGBClassifier` that boosts the paper's losses; every parameter of XGBClassifier passes through.

    loss: "gmn" (1 − soft G-Mean), "bce", "f1", "mcc" or "balanced_accuracy". activation: "astra" or "sigmoid". tau_init, learnable,
    slope_rate_min, slope_rate_max: the slope, see `Objective`. start: score that boosting starts from; None takes the loss's best
    constant. It becomes XGBoost's `base_score`, unless that is given, so model files predict the full score.

    Labels may be any two values; the rarer class is the positive one: `minority_class_`. `eval_metric` takes one of the names in
    SCORES (shown as 1 − score where more is better, since XGBoost minimises custom metrics) beside XGBoost's own.
    """

    def get_xgb_params(self) -> dict[str, Any]:
        """As XGBClassifier, without the parameters that XGBoost does not know."""
        return {
            name: value
            for name, value in super().get_xgb_params().items()
            if name not in OWN_PARAMETERS
        }

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        base_margin: Any = None,
        eval_set: Any = None,
        verbose: bool | int | None = True,
        xgb_model: Any = None,
        **fit_params: Any,
    ) -> Self:
        """As XGBClassifier.fit."""
        if self.objective != "binary:logistic":
            raise ValueError(
                f"objective must be left out: loss and activation choose it; found {self.objective!r}"
            )
        check_consistent_length(X, y)  # XGBoost takes labels of n times as many rows for n outputs
        earlier = None if xgb_model is None else as_it_predicts(xgb_model)
        state = None if earlier is None else state_of(earlier)
        labels = continued_labels(y, state)
        binary = labels.to_binary(y)
        positive_weight = 1.0 if self.scale_pos_weight is None else self.scale_pos_weight
        objective = self._new_objective(
            self.n_jobs if self.n_jobs and self.n_jobs > 0 else None, positive_weight
        )
        if earlier is not None:
            continue_slope(objective, state, earlier.num_boosted_rounds())
        changed: dict[str, Any] = {
            "objective": _Round(objective),
            "eval_metric": _scores(self.eval_metric, objective, eval_set is not None),
        }
        if self.base_score is None and earlier is None:
            start = (
                0.0
                if base_margin is not None
                else self._start(binary, sample_weight, objective.slope, positive_weight)
            )
            changed["base_score"] = self._base_score(start)
        with left_whole(self), _replaced(self, changed):
            self.__dict__.pop("_labels", None)  # see classes_
            super().fit(
                X,
                binary,
                sample_weight=sample_weight,
                base_margin=base_margin,
                eval_set=None
                if eval_set is None
                else [(rows, labels.to_binary(of)) for rows, of in eval_set],
                verbose=verbose,
                xgb_model=earlier,
                **fit_params,
            )
            self._labels = labels
            self._slope_path, self._rates = (
                list(objective.slope_path),
                list(objective.learner.rates),
            )
            self.get_booster().set_attr(**{STATE_ATTRIBUTE: self._state.as_text()})
        if not self.get_booster().get_score():
            warn_without_splits()
        return self

    def _base_score(self, start: float) -> float:
        """As XGBoost takes it: a probability, in single precision, which holds starts up to LARGEST_START."""
        if self.start is not None and abs(start) > LARGEST_START:
            raise ValueError(
                f"start must be within ±{LARGEST_START:g}, for XGBoost keeps it as a probability; found {start:g}"
            )
        return 1.0 / (1.0 + math.exp(-min(max(start, -LARGEST_START), LARGEST_START)))

    @property
    def classes_(self) -> np.ndarray:
        # XGBClassifier.fit compares the labels that it is given, 0 and 1, with this.
        return self._labels.classes if "_labels" in self.__dict__ else np.arange(self.n_classes_)

    def _n_trees_used(self) -> int:
        booster = self.get_booster()
        best = booster.attr("best_iteration")
        return int(best) + 1 if best is not None else int(booster.num_boosted_rounds())

    def _scores_of(
        self, X: Any, iteration_range: tuple[int, int] | None = None, **options: Any
    ) -> tuple[np.ndarray, float]:
        """x, and the slope for the trees that it came from."""
        check_is_fitted(self)
        x = super().predict(X, output_margin=True, iteration_range=iteration_range, **options)
        asked = iteration_range[1] if iteration_range is not None else 0
        return np.asarray(x), self._slope_at(asked if asked > 0 else self._n_trees_used())

    def predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        validate_features: bool = True,
        base_margin: Any = None,
        iteration_range: tuple[int, int] | None = None,
    ) -> np.ndarray:
        """Labels; with `output_margin` the scores x."""
        x, _ = self._scores_of(
            X, iteration_range, validate_features=validate_features, base_margin=base_margin
        )
        return x if output_margin else self._decided(x)

    def predict_proba(
        self,
        X: Any,
        validate_features: bool = True,
        base_margin: Any = None,
        iteration_range: Any = None,
    ) -> np.ndarray:
        """1 − z and z in the order of `classes_`."""
        return self._probabilities(
            *self._scores_of(
                X, iteration_range, validate_features=validate_features, base_margin=base_margin
            )
        )

    def decision_function(
        self, X: Any, iteration_range: tuple[int, int] | None = None
    ) -> np.ndarray:
        """g, positive for classes_[1]."""
        return self._decision(*self._scores_of(X, iteration_range))

    def load_model(self, fname: Any) -> None:
        """Read what `save_model`, or the Booster's, wrote: predicts as the classifier that was saved."""
        base_score = self.base_score
        super().load_model(fname)
        self._from_text(self.get_booster().attr(STATE_ATTRIBUTE))
        self.objective, self.base_score = (
            "binary:logistic",
            base_score,
        )  # parameters, which XGBoost takes from the file


class _Round:
    """The objective in XGBoost's signature, for one training."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    def __call__(
        self, y_true: np.ndarray, y_pred: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        return xgboost_round(self.objective, y_true, y_pred, sample_weight)


def as_it_predicts(xgb_model: Any) -> xgb.Booster:
    """The Booster of a classifier, a Booster or a model file, without the trees after its best iteration.

    XGBoost would keep these and the old best iteration, and the new trees would never be used.
    """
    if isinstance(xgb_model, xgb.XGBModel):
        xgb_model = xgb_model.get_booster()
    booster = xgb_model if isinstance(xgb_model, xgb.Booster) else xgb.Booster(model_file=xgb_model)
    best = booster.attr("best_iteration")
    is_linear = (
        json.loads(booster.save_config())["learner"]["gradient_booster"]["name"] == "gblinear"
    )  # one sum of all rounds
    return booster if best is None or is_linear else booster[: int(best) + 1]


def state_of(booster: xgb.Booster) -> State | None:
    """What a Booster carries of astralearn: labels, and the slope up to its trees."""
    text = booster.attr(STATE_ATTRIBUTE)
    return State.of_text(text).cut(booster.num_boosted_rounds()) if text else None


def _scores(eval_metric: Any, objective: Objective, default: bool) -> Any:
    """Names of SCORES replaced by functions; the soft G-Mean where nothing was asked for."""
    if eval_metric is None:
        return XGBoostScore("soft_g_mean", objective) if default else None
    asked = eval_metric if isinstance(eval_metric, (list, tuple)) else [eval_metric]
    replaced = [
        XGBoostScore(metric, objective) if isinstance(metric, str) and metric in SCORES else metric
        for metric in asked
    ]
    return replaced if isinstance(eval_metric, (list, tuple)) else replaced[0]


@contextlib.contextmanager
def _replaced(estimator: Any, values: dict[str, Any]) -> Iterator[None]:
    """Parameters that differ while the library fits; `get_params` is the same after as before."""
    before = {name: getattr(estimator, name) for name in values}
    try:
        for name, value in values.items():
            setattr(estimator, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(estimator, name, value)
