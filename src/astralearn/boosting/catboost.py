"""CatBoost's classifier with ASTra and the losses of the soft confusion matrix.

CatBoost hands an objective blocks of rows, never all of them. But it shows a custom metric all training scores after every tree: there
the counts are taken and the slope moves, and the blocks of the next tree use these frozen coefficients. With plain boosting and one
leaf estimation step (CatBoost's defaults for custom losses) no score changes in between, so every derivative is exact.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any, Self

import catboost as cb
import numpy as np
from sklearn.metrics import accuracy_score

from astralearn.boosting.estimator import OWN_PARAMETERS, RebalancedBoosting, warn_without_splits
from astralearn.boosting.labels import MinorityLabels
from astralearn.boosting.objective import Objective
from astralearn.boosting.scores import SCORES, known, score_value
from astralearn.boosting.sweep import Rows

# The key of a CatBoost model's metadata that holds labels and slope.
_METADATA = "astralearn_state"

_KINDS_OF_FEATURES = ("cat_features", "text_features", "embedding_features")

# Parameters that are ours while CatBoost fits; its model file keeps what it made of them.
_PUT_IN = ("loss_function", "eval_metric", "metric_period")

_CLASS_WEIGHTS = ("class_weights", "auto_class_weights", "scale_pos_weight")


class ASTraCatBoostClassifier(RebalancedBoosting, cb.CatBoostClassifier):
    """`catboost.CatBoostClassifier` that boosts the paper's losses; every parameter of CatBoostClassifier passes through.

    loss: "gmn" (1 − soft G-Mean), "bce", "f1", "mcc" or "balanced_accuracy". activation: "astra" or "sigmoid". tau_init, learnable,
    slope_rate_min, slope_rate_max: the slope, see `Objective`. start: score that boosting starts from; None takes the loss's best
    constant. It becomes the model's bias, so model files predict the full score.

    Labels may be any two values; the rarer class is the positive one: `minority_class_`. `eval_metric` is one of the names in SCORES
    ("soft_g_mean" is the default); CatBoost's own metrics go into `custom_metric`. Python objectives need task_type="CPU".
    """

    def _keep(self, own: dict[str, Any]) -> None:
        self._init_params.update(
            own
        )  # which CatBoost's get_params, set_params, clone and pickle read

    def __getattr__(self, name: str) -> Any:
        if name in OWN_PARAMETERS and "_init_params" in self.__dict__:
            return self._init_params.get(name, OWN_PARAMETERS[name])
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        baseline: Any = None,
        eval_set: Any = None,
        **fit_params: Any,
    ) -> Self:
        """As CatBoostClassifier.fit, with X and y as arrays or data frames; an eval_set is (X, y) or a list of such pairs."""
        if isinstance(X, cb.Pool) or y is None:
            raise ValueError(
                "X and y must be given separately: a Pool's labels cannot be recoded to the minority class"
            )
        for name in ("init_model", "save_snapshot"):
            if fit_params.get(name) or self._init_params.get(name):
                raise ValueError(
                    f"{name} is not supported: CatBoost does not tell a custom objective the scores that it starts from"
                )
        labels = MinorityLabels.of(y)
        binary = labels.to_binary(y)
        of_class = _class_weights(self._init_params, labels, binary)
        weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        if self.loss == "bce" and of_class != (1.0, 1.0):
            weight = np.asarray(of_class)[binary] * (1.0 if weight is None else weight)
        objective = self._new_objective(1, 1.0 if self.loss == "bce" else of_class[1] / of_class[0])
        start = 0.0 if baseline is not None else self._start(binary, weight, objective.slope)
        scores = (
            np.full(len(binary), start)
            if baseline is None
            else np.asarray(baseline, np.float64).reshape(-1)
        )
        score = known(self._init_params.get("eval_metric") or "soft_g_mean")
        kind: type[_Rounds] = type(
            score, (_Rounds,), {}
        )  # CatBoost reports a metric by the name of its class
        rounds = kind(objective, binary, scores, weight, score)
        pools = [self._evaluation(pair, labels, start, fit_params) for pair in _pairs(eval_set)]
        with (
            _training_parameters(self, rounds),
            rounds.raising_interruptions(),
            warnings.catch_warnings(),
        ):
            # CatBoost tries to compile the objective, and warns where numba cannot or is not installed; it works uncompiled.
            warnings.filterwarnings(
                "ignore",
                "(Failed to optimize|Can't optimi?ze) method|Failed to import numba",
                UserWarning,
            )
            super().fit(
                X,
                binary,
                sample_weight=weight,
                baseline=scores,
                eval_set=pools or None,
                **fit_params,
            )
        self._labels = labels
        # The last step came from the finished model's scores: no tree uses it.
        self._slope_path, self._rates = objective.slope_path[:-1], objective.learner.rates[:-1]
        scale, bias = self.get_scale_and_bias()
        self.set_scale_and_bias(scale, bias + start)
        self.get_metadata()[_METADATA] = self._state.as_text()
        if max(self.get_tree_leaf_counts(), default=1) == 1:
            warn_without_splits()
        return self

    def _evaluation(
        self, pair: Any, labels: MinorityLabels, start: float, fit_params: dict[str, Any]
    ) -> cb.Pool:
        rows, of = pair
        given = {name: fit_params.get(name) for name in _KINDS_OF_FEATURES}
        kinds = {
            name: self._init_params.get(name) if columns is None else columns
            for name, columns in given.items()
        }
        return cb.Pool(rows, labels.to_binary(of), baseline=np.full(len(of), start), **kinds)

    def grid_search(self, *_args: Any, **_kwargs: Any) -> Any:
        """Refused."""
        raise _untrained_here("grid_search", "use sklearn.model_selection.GridSearchCV")

    def randomized_search(self, *_args: Any, **_kwargs: Any) -> Any:
        """Refused."""
        raise _untrained_here("randomized_search", "use sklearn.model_selection.RandomizedSearchCV")

    def select_features(self, *_args: Any, **_kwargs: Any) -> Any:
        """Refused."""
        raise _untrained_here(
            "select_features", "use sklearn.feature_selection.RFE or SelectFromModel"
        )

    @property
    def classes_(self) -> np.ndarray:
        return self._labels.classes if "_labels" in self.__dict__ else np.asarray([])

    def _n_trees_used(self) -> int:
        return int(self.tree_count_ or 0)

    def _scores_of(
        self, data: Any, ntree_start: int = 0, ntree_end: int = 0, **options: Any
    ) -> tuple[np.ndarray, float]:
        """x, and the slope for the trees that it came from."""
        x = super().predict(
            data,
            prediction_type="RawFormulaVal",
            ntree_start=ntree_start,
            ntree_end=ntree_end,
            **options,
        )
        return np.asarray(x), self._slope_at(ntree_end or self._n_trees_used())

    def predict(
        self,
        data: Any,
        prediction_type: str = "Class",
        ntree_start: int = 0,
        ntree_end: int = 0,
        **options: Any,
    ) -> np.ndarray:
        """Labels ("Class"), 1 − z and z ("Probability"), their logarithms ("LogProbability") or the scores x ("RawFormulaVal")."""
        return self._predicted(
            *self._scores_of(data, ntree_start, ntree_end, **options), prediction_type
        )

    def _predicted(self, x: np.ndarray, slope: float, prediction_type: str) -> np.ndarray:
        if prediction_type == "Class":
            return self._decided(x)
        if prediction_type == "Probability":
            return self._probabilities(x, slope)
        if prediction_type == "LogProbability":
            return self._log_probabilities(x, slope)
        if prediction_type == "RawFormulaVal":
            return x
        raise ValueError(
            f"prediction_type must be Class, Probability, LogProbability or RawFormulaVal; found {prediction_type!r}"
        )

    def predict_proba(
        self, X: Any, ntree_start: int = 0, ntree_end: int = 0, **options: Any
    ) -> np.ndarray:
        """1 − z and z in the order of `classes_`."""
        return self.predict(X, "Probability", ntree_start, ntree_end, **options)

    def predict_log_proba(
        self, data: Any, ntree_start: int = 0, ntree_end: int = 0, **options: Any
    ) -> np.ndarray:
        """The logarithm of `predict_proba`."""
        return self.predict(data, "LogProbability", ntree_start, ntree_end, **options)

    def staged_predict(
        self,
        data: Any,
        prediction_type: str = "Class",
        ntree_start: int = 0,
        ntree_end: int = 0,
        eval_period: int = 1,
        **options: Any,
    ) -> Iterator[np.ndarray]:
        """`predict` with the first trees, `eval_period` more at each stage."""
        last = ntree_end or self._n_trees_used()
        stages = super().staged_predict(
            data, "RawFormulaVal", ntree_start, ntree_end, eval_period, **options
        )
        for stage, x in enumerate(stages, start=1):
            slope = self._slope_at(min(ntree_start + stage * eval_period, last))
            yield self._predicted(np.asarray(x), slope, prediction_type)

    def staged_predict_proba(self, data: Any, *args: Any, **options: Any) -> Iterator[np.ndarray]:
        """`predict_proba` at each stage; further arguments as in `staged_predict`."""
        return self.staged_predict(data, "Probability", *args, **options)

    def staged_predict_log_proba(
        self, data: Any, *args: Any, **options: Any
    ) -> Iterator[np.ndarray]:
        """`predict_log_proba` at each stage; further arguments as in `staged_predict`."""
        return self.staged_predict(data, "LogProbability", *args, **options)

    def decision_function(self, X: Any) -> np.ndarray:
        """g, positive for classes_[1]."""
        return self._decision(*self._scores_of(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy."""
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def load_model(
        self, fname: Any = None, format: str = "cbm", stream: Any = None, blob: Any = None
    ) -> Self:
        """Read what `save_model` wrote: predicts as the classifier that was saved."""
        given = {
            name: self._init_params[name]
            for name in (*OWN_PARAMETERS, *_PUT_IN)
            if name in self._init_params
        }
        super().load_model(fname, format, stream, blob)
        for name in _PUT_IN:
            self._init_params.pop(name, None)
        self._init_params.update(given)
        self._read_metadata()
        self._prediction_values_change = None
        if self._object._has_leaf_weights_in_model() and not self.get_embedding_feature_indices():
            self.get_feature_importance()  # which feature_importances_ then shows, as after a fit
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self.is_fitted():
            self._read_metadata()

    def _read_metadata(self) -> None:
        metadata = self.get_metadata()
        self._from_text(metadata[_METADATA] if _METADATA in list(metadata.keys()) else None)


class _Rounds:
    """CatBoost's objective and metric in one: `evaluate` sees all training scores and fixes the factors that the blocks then use.

    CatBoost maximises: the derivatives that it is given are those of −W·J.
    """

    def __init__(
        self,
        objective: Objective,
        y: np.ndarray,
        x: np.ndarray,
        weight: np.ndarray | None,
        score: str,
    ) -> None:
        self.objective = objective
        self.score = score
        self.advanced = False
        self.interrupted = False
        self.advance(y.astype(np.float64), x, weight)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Rounds:
        return (
            self  # CatBoost copies its parameters, and needs one object as objective and as metric
        )

    @contextlib.contextmanager
    def raising_interruptions(self) -> Iterator[None]:
        """CatBoost makes an error of its own of a KeyboardInterrupt that meets it in here."""
        try:
            yield
        except cb.CatBoostError:
            if self.interrupted:
                raise KeyboardInterrupt from None
            raise

    @contextlib.contextmanager
    def _noting_interruptions(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted = True
            raise

    def advance(self, y: np.ndarray, x: np.ndarray, weight: np.ndarray | None) -> None:
        """From all rows, the factors and the slope for the blocks of the next tree; then the slope moves."""
        self.slope = self.objective.slope
        self.factors = self.objective.advance(self.objective.swept(Rows.of(y, weight), x).sums)

    def calc_ders_range(
        self, approxes: np.ndarray, targets: np.ndarray, weights: np.ndarray | None
    ) -> np.ndarray:
        self.advanced = False
        with self._noting_interruptions():
            weight = None if weights is None else np.asarray(weights, np.float64)
            rows = Rows.of(np.asarray(targets, np.float64), weight)
            gradient, curvature = self.objective.swept(
                rows, np.asarray(approxes, np.float64), slope=self.slope
            ).scaled(*self.factors)
            return np.column_stack([-gradient, -curvature])

    def is_max_optimal(self) -> bool:
        return SCORES[self.score].higher_is_better

    def evaluate(
        self, approxes: Any, target: np.ndarray, weight: np.ndarray | None
    ) -> tuple[float, float]:
        with self._noting_interruptions():
            x, y = np.asarray(approxes[0], np.float64), np.asarray(target, np.float64)
            weight = None if weight is None else np.asarray(weight, np.float64)
            if (
                not self.advanced
            ):  # after a tree CatBoost shows the training rows first, then each evaluation set
                self.advance(y, x, weight)
                self.advanced = True
            return score_value(self.score, x, y, weight, self.slope), 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        with self._noting_interruptions():
            return error / weight


def _pairs(eval_set: Any) -> list[Any]:
    if eval_set is None:
        return []
    pairs = list(eval_set) if isinstance(eval_set, list) else [eval_set]
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(
                f"eval_set must be (X, y) or a list of such pairs, whose labels can be recoded; found {type(pair).__name__}"
            )
    return pairs


def _untrained_here(name: str, instead: str) -> ValueError:
    return ValueError(
        f"{name} is not supported: CatBoost trains there past this class's fit, with an objective of its own; {instead}"
    )


def _class_weights(
    params: dict[str, Any], labels: MinorityLabels, y: np.ndarray
) -> tuple[float, float]:
    """CatBoost's class weights of 0 and 1. "Balanced" is what losses of the rates are already, and changes nothing there."""
    if params.get("class_weights") is not None:
        given = params["class_weights"]
        if not isinstance(given, dict) and len(given) != 2:
            raise ValueError(
                f"class_weights must have a weight for each of the classes {labels.classes.tolist()}; found {given!r:.80}"
            )
        given = (
            given
            if isinstance(given, dict)
            else dict(zip(labels.classes.tolist(), given, strict=True))
        )
        of_class = labels.weights_by_binary(given)
        return float(of_class.get(0, 1.0)), float(of_class.get(1, 1.0))
    if params.get("scale_pos_weight") is not None:
        return 1.0, float(params["scale_pos_weight"])
    ratio = (
        float(np.count_nonzero(y == 0) / np.count_nonzero(y == 1))
        if params.get("loss") == "bce"
        else 1.0
    )
    return 1.0, {"Balanced": ratio, "SqrtBalanced": ratio**0.5}.get(
        str(params.get("auto_class_weights")), 1.0
    )


@contextlib.contextmanager
def _training_parameters(estimator: Any, rounds: _Rounds) -> Iterator[None]:
    """CatBoost's parameters while it fits: ours taken out, objective and metric put in."""
    before = estimator._init_params
    for name in ("loss_function", "objective"):
        if before.get(name) is not None:
            raise ValueError(
                f"{name} must be left out: loss and activation choose it; found {before[name]!r}"
            )
    taken = {*OWN_PARAMETERS, *_CLASS_WEIGHTS}
    estimator._init_params = {name: value for name, value in before.items() if name not in taken}
    estimator._init_params.update(zip(_PUT_IN, (rounds, rounds, 1), strict=True))
    estimator._canonized_params = None
    try:
        yield
    finally:
        estimator._init_params = before
        estimator._canonized_params = None
