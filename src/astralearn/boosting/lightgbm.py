"""LightGBM's classifier with ASTra and the losses of the soft confusion matrix."""

from __future__ import annotations

import copy
import functools
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
    check_left_out,
    warn_without_splits,
)
from astralearn.boosting.labels import MinorityLabels, negatives_per_positive
from astralearn.boosting.objective import Objective, sees_rates
from astralearn.boosting.scores import SCORES, LightGBMScore, with_scores
from astralearn.boosting.state import STATE_KEY, Earlier, LearnedState
from astralearn.boosting.training import lightgbm_fit, lightgbm_round

# From 4.7 on LightGBM takes evaluation sets as eval_X and eval_y and warns at eval_set; 4.6, our
# lower bound, knows only that.
_TAKES_EVAL_X = "eval_X" in inspect.signature(LGBMModel.fit).parameters

# LightGBM knows each of these parameters by several names.
_IS_UNBALANCE = ("is_unbalance", "unbalance", "unbalanced_sets")
_METRIC = ("metric", "metrics", "metric_types")
_LINEAR_TREE = ("linear_tree", "linear_trees")


class ASTraLGBMClassifier(RebalancedBoosting, lgb.LGBMClassifier):
    """`lightgbm.LGBMClassifier` that boosts the paper's losses.

    Every parameter of LGBMClassifier passes through; ours are explained in `RebalancedBoosting`.
    The rarer class is the positive one: `minority_class_`. The start is added to the first tree's
    leaves. `eval_metric` takes the names in SCORES beside LightGBM's own, by default "soft_g_mean".
    A per-row `init_score` is passed on and, as in LightGBM, is not part of predictions.

    >>> X, y = np.arange(300.0)[:, None], np.repeat(["ok", "fraud"], [290, 10])
    >>> ASTraLGBMClassifier(n_estimators=20, verbosity=-1).fit(X, y).predict(X)[[0, -1]].tolist()
    ['ok', 'fraud']
    """

    def _process_params(self, stage: str) -> dict[str, Any]:
        # "loss" is LightGBM's alias of "objective": our parameters must not reach it.
        plain = copy.copy(self)
        plain.__class__ = lgb.LGBMClassifier
        plain._other_params = {
            name: value for name, value in self._other_params.items() if name not in OWN_PARAMETERS
        }
        check_left_out("objective", self.objective)
        plain._objective = self._fitting if stage == "fit" else "None"  # type: ignore[assignment]
        params: dict[str, Any] = LGBMModel._process_params(plain, stage)
        if stage == "fit":
            params["objective"] = functools.partial(lightgbm_round, self._fitting)
            # LightGBM drops features that min_child_samples rules out, and a custom objective then
            # fails where none is left.
            params.setdefault("feature_pre_filter", False)
        if not self._named_metrics():
            # LightGBM's default, binary_logloss, would take scores for probabilities.
            params["metric"] = []
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
        """As LGBMClassifier.fit, with any LightGBM.

        eval_set, eval_X, eval_y: evaluation sets, as `eval_set` or as `eval_X` and `eval_y`.
        """
        if "rf" in (self.boosting_type, self._other_params.get("boosting")):
            raise ValueError(
                "boosting_type must not be 'rf': LightGBM's random forests take no objective from "
                "outside"
            )
        pairs = _pairs(eval_set, eval_X, eval_y)
        scores = self._scores(eval_metric, evaluated=bool(pairs))
        earlier = None if init_model is None else _earlier(init_model)
        fitting = self._begin(y, sample_weight, earlier)
        start = 0.0
        if init_score is None and init_model is None:
            start = self._start(fitting)
            if start != 0.0 and any(self._other_params.get(name) for name in _LINEAR_TREE):
                raise ValueError(
                    "linear_tree must be left out, or start set to 0.0: LightGBM lets no starting "
                    f"score be added to linear leaves; found linear_tree and a start of {start:.4g}"
                )
            init_score = np.full(len(fitting.binary), start)
            if pairs and eval_init_score is None:
                eval_init_score = [np.full(len(of), start) for _, of in pairs]
        # LightGBM knows the training set by its objects, and reports it as "training".
        recoded = [
            (rows, fitting.binary if rows is X and of is y else fitting.labels.to_binary(of))
            for rows, of in pairs
        ]
        with lightgbm_fit(self):
            self._describe_labels(fitting.labels)
            self._fitting = fitting.objective
            # LGBMClassifier.fit would encode labels by their order and insist on a built-in
            # objective.
            super(lgb.LGBMClassifier, self).fit(
                X,
                fitting.binary,
                sample_weight=fitting.weight,
                init_score=init_score,
                eval_names=eval_names,
                eval_sample_weight=eval_sample_weight,
                eval_class_weight=eval_class_weight,
                eval_init_score=eval_init_score,
                eval_metric=with_scores(scores, LightGBMScore, fitting.objective) or None,
                callbacks=[*(callbacks or []), _path_of_trees(fitting.objective)],
                init_model=init_model,
                **_evaluation_sets(recoded),
                **fit_params,
            )
            del self._fitting
            self._objective = "none"
            if start != 0.0:
                _shift_first_tree(self.booster_, start)
            self._state = fitting.state
            setattr(self.booster_, STATE_KEY, self._state)
        if not self.booster_.feature_importance("split").any():
            warn_without_splits()
        return self

    def _scores(self, eval_metric: Any, *, evaluated: bool) -> list[Any]:
        """The metrics that fit was asked for; the soft G-Mean where nothing was."""
        named = self._named_metrics()
        if evaluated:
            among = "metric must be one of LightGBM's, those of SCORES go into fit's eval_metric"
            _check_metrics(named, among)
        if eval_metric is None:
            return ["soft_g_mean"] if evaluated and not named else []
        asked = eval_metric if isinstance(eval_metric, list) else [eval_metric]
        among = f"eval_metric must be one of {', '.join(SCORES)}, or a metric of LightGBM's"
        _check_metrics([metric for metric in asked if metric not in SCORES], among)
        return asked

    def _named_metrics(self) -> list[Any]:
        """Those that the constructor was given."""
        given = [self._other_params.get(name) for name in _METRIC]
        each = [one if isinstance(one, (list, tuple, set)) else [one] for one in given]
        return [metric for several in each for metric in several if metric is not None]

    def _describe_labels(self, labels: MinorityLabels) -> None:
        """What LGBMClassifier.fit would leave behind."""
        self._le = LabelEncoder().fit(labels.labels)
        self._classes = labels.labels
        self._n_classes = 2
        self._class_map = {label: int(labels.to_binary([label])[0]) for label in labels.labels}
        # Class weights are in the rows' or in the objective's: LightGBM is not to apply them again.
        self._class_weight = None if self.class_weight is None else {0: 1.0, 1: 1.0}

    def _threads(self) -> int:
        return int(self._process_n_jobs(self.n_jobs))

    def _positive_weight(self, binary: np.ndarray) -> float:
        weight = float(self._other_params.get("scale_pos_weight", 1.0))
        is_unbalance = any(self._other_params.get(name) for name in _IS_UNBALANCE)
        if sees_rates(self.loss) or not is_unbalance:
            return weight
        if weight != 1.0:
            raise ValueError(
                "scale_pos_weight must be left out where is_unbalance is set, as in LightGBM; "
                f"found {weight}"
            )
        return negatives_per_positive(binary)

    def _class_weights(self, labels: MinorityLabels, binary: np.ndarray) -> tuple[float, float]:
        if isinstance(self.class_weight, dict):
            return labels.class_weights(self.class_weight)
        if self.class_weight is None or sees_rates(self.loss):
            return 1.0, 1.0  # "balanced" is what rates are.
        positives = np.count_nonzero(binary)
        return len(binary) / (2 * (len(binary) - positives)), len(binary) / (2 * positives)

    def _n_trees_used(self) -> int:
        best = self._best_iteration or 0  # It is −1 in a model that was loaded.
        return int(best if best > 0 else self.n_estimators_)

    def _scores_of(
        self, X: Any, start_iteration: int = 0, num_iteration: int | None = None, **options: Any
    ) -> tuple[np.ndarray, float]:
        """x, and the slope for the trees that it came from."""
        check_is_fitted(self)
        x = LGBMModel.predict(self, X, True, start_iteration, num_iteration, **options)
        asked = num_iteration if num_iteration is not None else self._n_trees_used()
        held = int(self.n_estimators_)
        last = min(start_iteration + asked, held) if asked > 0 else held
        return np.asarray(x), self._slope_at(last)

    def predict(
        self,
        X: Any,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **options: Any,
    ) -> np.ndarray:
        """Labels; with `raw_score` the scores x, with `pred_leaf` and others as LightGBM."""
        trees = (start_iteration, num_iteration)
        options["validate_features"] = validate_features
        if raw_score or pred_leaf or pred_contrib:
            asked = (raw_score, *trees, pred_leaf, pred_contrib)
            return np.asarray(LGBMModel.predict(self, X, *asked, **options))
        return self._decided(self._scores_of(X, *trees, **options)[0])

    def predict_proba(
        self,
        X: Any,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **options: Any,
    ) -> np.ndarray:
        """1 − z and z in the order of `classes_`; otherwise as `predict`."""
        trees = (start_iteration, num_iteration)
        options["validate_features"] = validate_features
        if raw_score or pred_leaf or pred_contrib:
            return self.predict(X, raw_score, *trees, pred_leaf, pred_contrib, **options)
        return self._probabilities(*self._scores_of(X, *trees, **options))

    def decision_function(self, X: Any, **options: Any) -> np.ndarray:
        """g, positive for classes_[1]; trees are chosen as in `predict`."""
        return self._decision(*self._scores_of(X, **options))

    def save_model(self, path: str | Path) -> None:
        """Write LightGBM's own model file, with labels and slope in one header line.

        LightGBM reads past header keys that it does not know.
        """
        check_is_fitted(self)
        header = f"\n{STATE_KEY}:{self._state.as_text()}\n"
        text = self.booster_.model_to_string().replace("\n", header, 1)
        Path(path).write_text(text, encoding="utf-8")

    def load_model(self, path: str | Path) -> Self:
        """Read what `save_model` wrote: predicts as the classifier that was saved."""
        self._state = LearnedState.of_text(_header(path))
        self._describe_labels(self._state.labels)
        self._Booster = lgb.Booster(model_file=path)
        setattr(self._Booster, STATE_KEY, self._state)
        self._best_iteration = self._Booster.best_iteration
        self._n_features = self.n_features_in_ = self._Booster.num_feature()
        self._objective = "none"
        self.fitted_ = True
        return self


def _header(path: str | Path) -> str | None:
    """The line of a model file that holds labels and slope."""
    text = Path(path).read_text(encoding="utf-8")
    line = re.search(rf"^{STATE_KEY}:(.*)$", text, re.MULTILINE)
    return line[1] if line else None


def _path_of_trees(objective: Objective) -> Callable[[Any], None]:
    """A callback for rounds without a split: LightGBM keeps no tree but the first."""
    return lambda training: objective.learner.forget_after(training.model.current_iteration())


def _earlier(init_model: Any) -> Earlier:
    """What a classifier, a Booster or a model file brings to the next training."""
    if isinstance(init_model, (str, Path)):
        text = _header(init_model)
        state = LearnedState.of_text(text) if text else None
        return Earlier.of(lgb.Booster(model_file=init_model).current_iteration(), state)
    booster = init_model.booster_ if isinstance(init_model, LGBMModel) else init_model
    return Earlier.of(booster.current_iteration(), getattr(booster, STATE_KEY, None))


def _pairs(eval_set: Any, eval_X: Any, eval_y: Any) -> list[tuple[Any, Any]]:
    """Evaluation sets in either spelling as pairs of rows and labels."""
    if eval_X is None and eval_y is None:
        return [eval_set] if isinstance(eval_set, tuple) else list(eval_set or [])
    if eval_set is not None:
        raise ValueError("eval_set must be left out where eval_X and eval_y are given; found both")
    if eval_X is None or eval_y is None:
        found = "eval_X" if eval_y is None else "eval_y"
        raise ValueError(f"eval_X and eval_y must be given together; found {found} only")
    several = isinstance(eval_X, tuple)
    if several != isinstance(eval_y, tuple) or (several and len(eval_X) != len(eval_y)):
        raise ValueError("eval_X and eval_y must be one array each, or tuples of one length")
    return list(zip(eval_X, eval_y, strict=True)) if several else [(eval_X, eval_y)]


def _evaluation_sets(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    """As the installed LightGBM wants them."""
    if not pairs or not _TAKES_EVAL_X:
        return {"eval_set": pairs or None}
    return {"eval_X": tuple(X for X, _ in pairs), "eval_y": tuple(y for _, y in pairs)}


def _check_metrics(metrics: list[Any], among: str) -> None:
    """Refuse names that LightGBM does not know: it would evaluate nothing."""
    for metric in metrics:
        if isinstance(metric, str) and not _is_known(metric):
            raise ValueError(f"{among}; found {metric!r}")


def _is_known(metric: str) -> bool:
    if metric.lower() in ("", "none", "null", "custom", "na"):
        return True
    rows = lgb.Dataset(np.zeros((2, 1)), [0.0, 1.0], params={"verbosity": -1})
    params = {"metric": metric, "objective": "none", "verbosity": -1}
    try:
        return bool(lgb.Booster(params, rows).eval_train())
    except lgb.basic.LightGBMError:  # It is one for other problems: multiclass, ranking.
        return True


def _shift_first_tree(booster: lgb.Booster, start: float) -> None:
    """Add the start to the first tree's leaves, as LightGBM's own objectives do."""
    first = booster.model_to_string(num_iteration=1)
    leaves = re.search(r"^num_leaves=(\d+)$", first, re.MULTILINE)
    for leaf in range(int(leaves[1]) if leaves else 0):
        booster.set_leaf_output(0, leaf, booster.get_leaf_output(0, leaf) + start)
