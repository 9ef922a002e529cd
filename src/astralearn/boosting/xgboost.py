"""XGBoost's classifier with ASTra and the losses of the soft confusion matrix."""

from __future__ import annotations

import functools
import json
import math
from typing import Any, Self

import numpy as np
import xgboost as xgb
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from astralearn.boosting.estimator import (
    OWN_PARAMETERS,
    RebalancedBoosting,
    check_left_out,
    replaced,
    warn_without_splits,
)
from astralearn.boosting.scores import XGBoostScore, with_scores
from astralearn.boosting.state import STATE_KEY, Earlier, LearnedState
from astralearn.boosting.training import xgboost_round
from astralearn.classifier.left_whole import left_whole

# XGBoost keeps a start as a probability in single precision, which holds scores up to here.
LARGEST_START = 13.0


class ASTraXGBClassifier(RebalancedBoosting, xgb.XGBClassifier):
    """`xgboost.XGBClassifier` that boosts the paper's losses.

    Every parameter of XGBClassifier passes through; ours are explained in `RebalancedBoosting`.
    Labels may be any two values; the rarer class is the positive one: `minority_class_`. The start
    becomes XGBoost's `base_score`, unless that is given. `eval_metric` takes the names in SCORES
    (shown as 1 − score where more is better, since XGBoost minimises custom metrics) beside
    XGBoost's own.

    >>> X, y = np.arange(300.0)[:, None], np.repeat(["ok", "fraud"], [290, 10])
    >>> model = ASTraXGBClassifier(n_estimators=20).fit(X, y)
    >>> model.predict(X)[[0, -1]].tolist()
    ['ok', 'fraud']
    """

    def get_xgb_params(self) -> dict[str, Any]:
        """As XGBClassifier, without the parameters that XGBoost does not know."""
        params = super().get_xgb_params()
        return {name: value for name, value in params.items() if name not in OWN_PARAMETERS}

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
        check_left_out("objective", self.objective, "binary:logistic")
        # XGBoost takes labels of n times as many rows for n outputs.
        check_consistent_length(X, y)
        booster = None if xgb_model is None else as_it_predicts(xgb_model)
        fitting = self._begin(y, sample_weight, None if booster is None else earlier_of(booster))
        metrics = "soft_g_mean" if self.eval_metric is None and eval_set else self.eval_metric
        scores = with_scores(metrics, XGBoostScore, fitting.objective)
        changed: dict[str, Any] = {
            "objective": functools.partial(xgboost_round, fitting.objective),
            "eval_metric": scores if isinstance(metrics, (list, tuple)) else scores[0],
        }
        if self.base_score is None and booster is None:
            start = 0.0 if base_margin is not None else self._start(fitting)
            changed["base_score"] = self._base_score(start)
        if eval_set is not None:
            eval_set = [(rows, fitting.labels.to_binary(of)) for rows, of in eval_set]
        with left_whole(self), replaced(self, changed):
            self.__dict__.pop("_state", None)  # See classes_.
            super().fit(
                X,
                fitting.binary,
                sample_weight=fitting.weight,
                base_margin=base_margin,
                eval_set=eval_set,
                verbose=verbose,
                xgb_model=booster,
                **fit_params,
            )
            self._state = fitting.state
            self.get_booster().set_attr(**{STATE_KEY: self._state.as_text()})
        if not self.get_booster().get_score():
            warn_without_splits()
        return self

    def _threads(self) -> int | None:
        return self.n_jobs if self.n_jobs and self.n_jobs > 0 else None

    def _positive_weight(self, _binary: np.ndarray) -> float:
        return 1.0 if self.scale_pos_weight is None else self.scale_pos_weight

    def _base_score(self, start: float) -> float:
        """As XGBoost takes it: a probability."""
        if self.start is not None and abs(start) > LARGEST_START:
            raise ValueError(
                f"start must be within ±{LARGEST_START:g}, for XGBoost keeps it as a probability; "
                f"found {start:g}"
            )
        return 1.0 / (1.0 + math.exp(-min(max(start, -LARGEST_START), LARGEST_START)))

    @property
    def classes_(self) -> np.ndarray:
        # XGBClassifier.fit compares the labels that it is given, 0 and 1, with this.
        fitted = "_state" in self.__dict__
        return self._state.labels.labels if fitted else np.arange(self.n_classes_)

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
        options = {"validate_features": validate_features, "base_margin": base_margin}
        x, _ = self._scores_of(X, iteration_range, **options)
        return x if output_margin else self._decided(x)

    def predict_proba(
        self,
        X: Any,
        validate_features: bool = True,
        base_margin: Any = None,
        iteration_range: Any = None,
    ) -> np.ndarray:
        """1 − z and z in the order of `classes_`."""
        options = {"validate_features": validate_features, "base_margin": base_margin}
        return self._probabilities(*self._scores_of(X, iteration_range, **options))

    def decision_function(
        self, X: Any, iteration_range: tuple[int, int] | None = None
    ) -> np.ndarray:
        """g, positive for classes_[1]."""
        return self._decision(*self._scores_of(X, iteration_range))

    def load_model(self, fname: Any) -> None:
        """Read what `save_model`, or the Booster's, wrote."""
        base_score = self.base_score
        super().load_model(fname)
        self._state = LearnedState.of_text(self.get_booster().attr(STATE_KEY))
        # XGBoost takes these parameters from the file.
        self.objective, self.base_score = "binary:logistic", base_score


def as_it_predicts(xgb_model: Any) -> xgb.Booster:
    """The Booster of a model or a file, without trees after its best iteration.

    XGBoost would keep these and the old best iteration, and the new trees would never be used.
    """
    if isinstance(xgb_model, xgb.XGBModel):
        xgb_model = xgb_model.get_booster()
    booster = xgb_model if isinstance(xgb_model, xgb.Booster) else xgb.Booster(model_file=xgb_model)
    best = booster.attr("best_iteration")
    kind = json.loads(booster.save_config())["learner"]["gradient_booster"]["name"]
    # A linear model is one sum of all rounds.
    return booster if best is None or kind == "gblinear" else booster[: int(best) + 1]


def earlier_of(booster: xgb.Booster) -> Earlier:
    """What a Booster brings to a training that goes on from it."""
    text = booster.attr(STATE_KEY)
    return Earlier.of(booster.num_boosted_rounds(), LearnedState.of_text(text) if text else None)
