"""LightGBM's classifier with ASTra and the losses of the soft confusion matrix."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import lightgbm as lgb
import numpy as np
from lightgbm.sklearn import LGBMModel
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.validation import check_is_fitted

from astralearn.boosting.estimator import (
    OWN_PARAMETERS,
    RebalancedBoosting,
    State,
    continue_slope,
    continued_labels,
    warn_without_splits,
)
from astralearn.boosting.labels import MinorityLabels
from astralearn.boosting.objective import Objective
from astralearn.boosting.scores import SCORES, LightGBMScore
from astralearn.boosting.training import lightgbm_round
from astralearn.classifier.left_whole import left_whole

# The line of a LightGBM model file that holds labels and slope. LightGBM reads past header keys that it does not know.
# A Booster in memory has no header: there it is an attribute, which pickles with it.
_HEADER = "astralearn_state"

# From 4.7 on LightGBM takes evaluation sets as eval_X and eval_y and warns at eval_set; 4.5, our lower bound, knows only that.
_TAKES_EVAL_X = "eval_X" in inspect.signature(LGBMModel.fit).parameters

# LightGBM's names for one parameter each.
_IS_UNBALANCE = ("is_unbalance", "unbalance", "unbalanced_sets")
_METRIC = ("metric", "metrics", "metric_types")


class ASTraLGBMClassifier(RebalancedBoosting, lgb.LGBMClassifier):
    """`lightgbm.LGBMClassifier` that boosts the paper's losses; every parameter of LGBMClassifier passes through.

    loss: "gmn" (1 − soft G-Mean), "bce", "f1", "mcc" or "balanced_accuracy". activation: "astra" or "sigmoid". tau_init, learnable,
    slope_rate_min, slope_rate_max: the slope, see `Objective`. start: score that boosting starts from; None takes the loss's best
    constant. It is added to the first tree's leaves, so LightGBM's own model file predicts the full score.

    The rarer class is the positive one: `minority_class_`. `eval_metric` takes the names in SCORES beside LightGBM's own ("soft_g_mean"
    is the default where there is an evaluation set). A per-row `init_score` is passed on and, as in LightGBM, is not part of predictions.
    """

    def _process_params(self, stage: str) -> dict[str, Any]:
        # "loss" is LightGBM's alias of "objective": our parameters must not reach it.
        plain = copy.copy(self)
        plain.__class__ = lgb.LGBMClassifier
        plain._other_params = {
            name: value for name, value in self._other_params.items() if name not in OWN_PARAMETERS
        }
        if self.objective is not None:
            raise ValueError(
                f"objective must be left out: loss and activation choose it; found {self.objective!r}"
            )
        plain._objective = self._fitting if stage == "fit" else "None"  # type: ignore[assignment]
        params: dict[str, Any] = LGBMModel._process_params(plain, stage)
        if stage == "fit":
            params["objective"] = _Round(self._fitting)
            # LightGBM drops features that min_child_samples rules out, and a custom objective then fails where none is left.
            params.setdefault("feature_pre_filter", False)
        if not self._named_metrics():
            params[
                "metric"
            ] = []  # LightGBM's default, binary_logloss, would take scores for probabilities
        return params

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        init_score: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
        eval_sample_weight: Any = None,
        eval_class_weight: Any = None,
        eval_init_score: Any = None,
        eval_metric: Any = None,
        *,
        callbacks: Any = None,
        init_model: Any = None,
        eval_X: Any = None,
        eval_y: Any = None,
        **fit_params: Any,
    ) -> Self:
        """As LGBMClassifier.fit; evaluation sets as `eval_set` or as `eval_X` and `eval_y`, with any LightGBM."""
        if "rf" in (self.boosting_type, self._other_params.get("boosting")):
            raise ValueError(
                "boosting_type must not be 'rf': LightGBM's random forests take no objective from outside"
            )
        pairs = _pairs(eval_set, eval_X, eval_y)
        earlier = None if init_model is None else _booster(init_model)
        state = None if earlier is None else _state_of(init_model, earlier)
        labels = continued_labels(y, state)
        binary = labels.to_binary(y)
        objective = self._new_objective(self._threads(), self._positive_weight(labels, binary))
        if earlier is not None:
            continue_slope(objective, state, earlier.current_iteration())
        start = 0.0
        if init_score is None and init_model is None:
            start = self._start(
                binary, sample_weight, objective.slope, self._start_weight(labels, binary)
            )
            self._check_linear_tree(start)
            init_score = np.full(len(binary), start)
            if pairs and eval_init_score is None:
                eval_init_score = [np.full(len(of), start) for _, of in pairs]
        # LightGBM knows the training set by its objects, and reports it as "training".
        recoded = [
            (rows, binary if rows is X and of is y else labels.to_binary(of)) for rows, of in pairs
        ]
        named = self._named_metrics()
        if pairs:
            _check_metrics(named)
        scores = _scores(eval_metric, objective, default=bool(pairs) and not named)
        with left_whole(self):
            self._describe_labels(labels)
            self._fitting = objective
            # Past LGBMClassifier.fit, which would encode labels by their order and insist on a built-in objective.
            super(lgb.LGBMClassifier, self).fit(
                X,
                binary,
                sample_weight=sample_weight,
                init_score=init_score,
                eval_names=eval_names,
                eval_sample_weight=eval_sample_weight,
                eval_class_weight=eval_class_weight,
                eval_init_score=eval_init_score,
                eval_metric=scores,
                callbacks=[*(callbacks or []), _path_of_trees(objective)],
                init_model=init_model,
                **_evaluation_sets(recoded),
                **fit_params,
            )
            del self._fitting
            self._labels = labels
            self._slope_path, self._rates = (
                list(objective.slope_path),
                list(objective.learner.rates),
            )
            self._objective = "none"
            if start != 0.0:
                _shift_first_tree(self.booster_, start)
            setattr(self.booster_, _HEADER, self._state)
        if not self.booster_.feature_importance("split").any():
            warn_without_splits()
        return self

    def _named_metrics(self) -> list[Any]:
        """Those that the constructor was given."""
        given = [
            self._other_params[name] for name in _METRIC if self._other_params.get(name) is not None
        ]
        return [
            metric
            for each in given
            for metric in (each if isinstance(each, (list, tuple, set)) else [each])
        ]

    def _describe_labels(self, labels: MinorityLabels) -> None:
        """What LGBMClassifier.fit would leave behind."""
        self._le = LabelEncoder().fit(labels.classes)
        self._classes = labels.classes
        self._n_classes = 2
        self._class_map = {label: int(labels.to_binary([label])[0]) for label in labels.classes}
        self._class_weight = labels.weights_by_binary(self.class_weight)
        if self.loss != "bce" and self.class_weight is not None:
            self._class_weight = {0: 1.0, 1: 1.0}  # see _positive_weight

    def _positive_weight(self, labels: MinorityLabels, binary: np.ndarray) -> float:
        """Class weights as one number. Rows' weights of a whole class cancel in the rates, and "balanced" is what rates are."""
        weight = float(self._other_params.get("scale_pos_weight", 1.0))
        if self.loss != "bce":
            return weight * self._class_weight_ratio(labels, 1.0)
        if not any(self._other_params.get(name) for name in _IS_UNBALANCE):
            return weight
        if weight != 1.0:
            raise ValueError(
                f"scale_pos_weight must be left out where is_unbalance is set, as in LightGBM; found {weight}"
            )
        return _imbalance(binary)

    def _start_weight(self, labels: MinorityLabels, binary: np.ndarray) -> float:
        """How much more a positive weighs than a negative in BCE: `class_weight` too, which LightGBM makes rows' weights of."""
        return self._positive_weight(labels, binary) * self._class_weight_ratio(
            labels, _imbalance(binary)
        )

    def _class_weight_ratio(self, labels: MinorityLabels, balanced: float) -> float:
        """`class_weight` of the positive class over that of the other."""
        if not isinstance(self.class_weight, dict):
            return 1.0 if self.class_weight is None else balanced
        by_class = labels.weights_by_binary(self.class_weight)
        return float(by_class.get(1, 1.0) / by_class.get(0, 1.0))

    def _check_linear_tree(self, start: float) -> None:
        if start != 0.0 and any(
            self._other_params.get(name) for name in ("linear_tree", "linear_trees")
        ):
            raise ValueError(
                f"linear_tree must be left out, or start set to 0.0: LightGBM lets no starting score be added to linear leaves; found "
                f"linear_tree with a start of {start:.4g}"
            )

    def _threads(self) -> int:
        return int(self._process_n_jobs(self.n_jobs))

    def _n_trees_used(self) -> int:
        best = self._best_iteration or 0  # −1 in a model that was loaded
        return int(best if best > 0 else self.n_estimators_)

    def _scores_of(
        self, X: Any, start_iteration: int, num_iteration: int | None, **kwargs: Any
    ) -> tuple[np.ndarray, float]:
        """x, and the slope for the trees that it came from."""
        check_is_fitted(self)
        x = LGBMModel.predict(
            self,
            X,
            raw_score=True,
            start_iteration=start_iteration,
            num_iteration=num_iteration,
            **kwargs,
        )
        asked = num_iteration if num_iteration is not None else self._n_trees_used()
        held = int(self.n_estimators_)
        return np.asarray(x), self._slope_at(
            min(start_iteration + asked, held) if asked > 0 else held
        )

    def predict(
        self,
        X: Any,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> np.ndarray:
        """Labels; with `raw_score` the scores x, with `pred_leaf` and `pred_contrib` as LightGBM."""
        if raw_score or pred_leaf or pred_contrib:
            options = {
                "raw_score": raw_score,
                "pred_leaf": pred_leaf,
                "pred_contrib": pred_contrib,
                "validate_features": validate_features,
            }
            return np.asarray(
                LGBMModel.predict(
                    self,
                    X,
                    start_iteration=start_iteration,
                    num_iteration=num_iteration,
                    **options,
                    **kwargs,
                )
            )
        x, _ = self._scores_of(
            X, start_iteration, num_iteration, validate_features=validate_features, **kwargs
        )
        return self._decided(x)

    def predict_proba(
        self,
        X: Any,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> np.ndarray:
        """1 − z and z in the order of `classes_`; otherwise as `predict`."""
        if raw_score or pred_leaf or pred_contrib:
            return self.predict(
                X,
                raw_score,
                start_iteration,
                num_iteration,
                pred_leaf,
                pred_contrib,
                validate_features,
                **kwargs,
            )
        x, slope = self._scores_of(
            X, start_iteration, num_iteration, validate_features=validate_features, **kwargs
        )
        return self._probabilities(x, slope)

    def decision_function(
        self,
        X: Any,
        *,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> np.ndarray:
        """g, positive for classes_[1]."""
        x, slope = self._scores_of(
            X, start_iteration, num_iteration, validate_features=validate_features, **kwargs
        )
        return self._decision(x, slope)

    def save_model(self, path: str | Path) -> None:
        """LightGBM's own model file (any LightGBM reads it), with labels and slope in one header line."""
        check_is_fitted(self)
        text = self.booster_.model_to_string()
        Path(path).write_text(
            text.replace("\n", f"\n{_HEADER}:{self._state.as_text()}\n", 1), encoding="utf-8"
        )

    def load_model(self, path: str | Path) -> Self:
        """Read what `save_model` wrote: predicts as the classifier that was saved."""
        text = Path(path).read_text(encoding="utf-8")
        self._from_text(_header(text))
        self._describe_labels(self._labels)
        self._Booster = lgb.Booster(model_str=text)
        setattr(self._Booster, _HEADER, self._state)
        self._best_iteration = self._Booster.best_iteration
        self._n_features = self.n_features_in_ = self._Booster.num_feature()
        self._objective = "none"
        self.fitted_ = True
        return self


def _header(text: str) -> str | None:
    """The line of a model file that holds labels and slope."""
    line = re.search(rf"^{_HEADER}:(.*)$", text, re.MULTILINE)
    return line[1] if line else None


class _Round:
    """The objective in LightGBM's signature, for one training."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    def __call__(self, preds: np.ndarray, dataset: lgb.Dataset) -> tuple[np.ndarray, np.ndarray]:
        return lightgbm_round(self.objective, preds, dataset)


def _path_of_trees(objective: Objective) -> Callable[[Any], None]:
    """A callback for rounds without a split, of which LightGBM keeps no tree (but the first): the next tree sees the slope after them."""

    def after_round(training: Any) -> None:
        objective.learner.forget_after(training.model.current_iteration())

    return after_round


def _booster(init_model: Any) -> lgb.Booster:
    """The Booster of a classifier, a Booster or a model file."""
    if isinstance(init_model, (str, Path)):
        return lgb.Booster(model_file=init_model)
    return init_model.booster_ if isinstance(init_model, LGBMModel) else init_model


def _state_of(init_model: Any, booster: lgb.Booster) -> State | None:
    """What a model, whose Booster is given too, carries of astralearn: labels, and the slope up to its trees."""
    if isinstance(init_model, (str, Path)):
        text = _header(Path(init_model).read_text(encoding="utf-8"))
        state = None if text is None else State.of_text(text)
    elif isinstance(init_model, ASTraLGBMClassifier):
        state = init_model._state
    else:
        state = getattr(booster, _HEADER, None)
    return None if state is None else state.cut(booster.current_iteration())


def _imbalance(binary: np.ndarray) -> float:
    """Rows of class 0 for each of class 1."""
    positives = int(np.count_nonzero(binary))
    return (len(binary) - positives) / positives


def _pairs(eval_set: Any, eval_X: Any, eval_y: Any) -> list[tuple[Any, Any]]:
    """Evaluation sets in either spelling as pairs of rows and labels."""
    if eval_X is None and eval_y is None:
        return [eval_set] if isinstance(eval_set, tuple) else list(eval_set or [])
    if eval_set is not None:
        raise ValueError("eval_set must be left out where eval_X and eval_y are given; found both")
    if eval_X is None or eval_y is None:
        raise ValueError(
            f"eval_X and eval_y must be given together; found {'eval_X' if eval_y is None else 'eval_y'} only"
        )
    if not isinstance(eval_X, tuple) and not isinstance(eval_y, tuple):
        return [(eval_X, eval_y)]
    lengths = [len(given) if isinstance(given, tuple) else None for given in (eval_X, eval_y)]
    if lengths[0] != lengths[1]:
        raise ValueError("eval_X and eval_y must be one array each, or tuples of one length")
    return list(zip(eval_X, eval_y, strict=True))


def _evaluation_sets(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    """As the installed LightGBM wants them."""
    if not pairs:
        return {}
    return (
        {"eval_X": tuple(X for X, _ in pairs), "eval_y": tuple(y for _, y in pairs)}
        if _TAKES_EVAL_X
        else {"eval_set": pairs}
    )


def _check_metrics(named: list[Any]) -> None:
    for metric in named:
        if isinstance(metric, str) and not _is_known(metric):
            raise ValueError(
                f"metric must be one of LightGBM's, those of SCORES go into fit's eval_metric; found {metric!r}"
            )


def _scores(eval_metric: Any, objective: Objective, *, default: bool) -> Any:
    """Names of SCORES replaced by functions; the soft G-Mean where nothing was asked for."""
    if eval_metric is None:
        return [LightGBMScore("soft_g_mean", objective)] if default else None
    asked = eval_metric if isinstance(eval_metric, list) else [eval_metric]
    for metric in asked:
        if isinstance(metric, str) and metric not in SCORES and not _is_known(metric):
            raise ValueError(
                f"eval_metric must be one of {', '.join(SCORES)}, or a metric of LightGBM's; found {metric!r}"
            )
    return [
        LightGBMScore(metric, objective) if isinstance(metric, str) and metric in SCORES else metric
        for metric in asked
    ]


def _is_known(metric: str) -> bool:
    """Whether LightGBM has a metric of that name; where it has none, it says nothing and evaluates nothing."""
    if metric.lower() in ("", "none", "null", "custom", "na"):
        return True
    rows = lgb.Dataset(np.zeros((2, 1)), [0.0, 1.0], params={"verbosity": -1})
    try:
        return bool(
            lgb.Booster({"metric": metric, "objective": "none", "verbosity": -1}, rows).eval_train()
        )
    except lgb.basic.LightGBMError:  # one for other problems: multiclass, ranking
        return True


def _shift_first_tree(booster: lgb.Booster, start: float) -> None:
    """Add the starting score to the first tree's leaves, as LightGBM does for its own objectives."""
    leaves = re.search(
        r"^num_leaves=(\d+)$", booster.model_to_string(num_iteration=1), re.MULTILINE
    )
    for leaf in range(int(leaves[1]) if leaves else 0):
        booster.set_leaf_output(0, leaf, booster.get_leaf_output(0, leaf) + start)
