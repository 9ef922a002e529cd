"""CatBoost's classifier with ASTra and the losses of the soft confusion matrix.

CatBoost hands an objective blocks of rows, never all of them. But it shows a custom metric all
training scores after every tree: there the counts are taken and the slope moves, and the blocks of
the next tree use these factors. By CatBoost's defaults for custom losses (plain boosting, one leaf
estimation step) no score changes in between, so every derivative is exact.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any, Self

import catboost as cb
import numpy as np
from sklearn.metrics import accuracy_score

from astralearn.boosting.estimator import (
    OWN_PARAMETERS,
    RebalancedBoosting,
    check_left_out,
    replaced,
    warn_without_splits,
)
from astralearn.boosting.labels import MinorityLabels, negatives_per_positive
from astralearn.boosting.objective import Objective, sees_rates
from astralearn.boosting.scores import SCORES, known, score_value
from astralearn.boosting.state import STATE_KEY, LearnedState
from astralearn.boosting.sweep import LabelledRows, Sweep

_KINDS_OF_FEATURES = ("cat_features", "text_features", "embedding_features")
_CLASS_WEIGHTS = ("class_weights", "auto_class_weights", "scale_pos_weight")

# Parameters that are ours while CatBoost fits; its model file keeps what it made of them.
_PUT_IN = ("loss_function", "eval_metric", "metric_period")


def _refused(name: str, instead: str) -> Any:
    """A method in which CatBoost would train past our fit."""

    def method(_self: Any, *_args: Any, **_options: Any) -> Any:
        raise ValueError(
            f"{name} is not supported: CatBoost trains there past this class's fit, with an "
            f"objective of its own; use sklearn.{instead}"
        )

    return method


class ASTraCatBoostClassifier(RebalancedBoosting, cb.CatBoostClassifier):
    """`catboost.CatBoostClassifier` that boosts the paper's losses.

    Every parameter of CatBoostClassifier passes through; ours are those of `RebalancedBoosting`.
    Labels are any two values; the rarer is positive: `minority_class_`. The start becomes the
    model's bias. `eval_metric` is one of SCORES, by default "soft_g_mean"; CatBoost's own metrics
    go into `custom_metric`. Python objectives need task_type="CPU".

    >>> X, y = np.arange(300.0)[:, None], np.repeat(["ok", "fraud"], [290, 10])
    >>> model = ASTraCatBoostClassifier(iterations=20, verbose=0, allow_writing_files=False)
    >>> model.fit(X, y).predict(X)[[0, -1]].tolist()
    ['ok', 'fraud']
    """

    _precision = np.float64

    def _keep(self, own: dict[str, Any]) -> None:
        # CatBoost's get_params, set_params, clone and pickle read them there.
        self._init_params.update(own)

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
        """As CatBoostClassifier.fit, with X and y as arrays or data frames.

        eval_set: (X, y) or a list of such pairs.
        """
        self._check_supported(X, y, fit_params)
        fitting = self._begin(y, sample_weight)
        start = self._start(fitting) if baseline is None else 0.0
        given = np.full(len(fitting.binary), start) if baseline is None else baseline
        x = np.asarray(given, np.float64).reshape(-1)
        score = known(self._init_params.get("eval_metric") or "soft_g_mean")
        # CatBoost reports a metric by the name of its class.
        rounds = type(score, (_Rounds,), {})(fitting.objective, score)
        rounds.advance(fitting.binary.astype(np.float64), x, fitting.weight)
        pools = [self._pool(pair, fitting.labels, start, fit_params) for pair in _pairs(eval_set)]
        taken = {*OWN_PARAMETERS, *_CLASS_WEIGHTS}
        params = {name: value for name, value in self._init_params.items() if name not in taken}
        params |= zip(_PUT_IN, (rounds, rounds, 1), strict=True)
        changed = {"_init_params": params, "_canonized_params": None}
        with _deferred_interrupt(rounds):
            with replaced(self, changed):
                super().fit(
                    X,
                    fitting.binary,
                    sample_weight=fitting.weight,
                    baseline=x,
                    eval_set=pools or None,
                    **fit_params,
                )
            # The last step came from the finished model's scores: no tree uses it.
            self._state = fitting.state.cut(len(fitting.objective.slope_path) - 2)
            scale, bias = self.get_scale_and_bias()
            self.set_scale_and_bias(scale, bias + start)
            self.get_metadata()[STATE_KEY] = self._state.as_text()
        if max(self.get_tree_leaf_counts(), default=1) == 1:
            warn_without_splits()
        return self

    def _check_supported(self, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        if isinstance(X, cb.Pool) or y is None:
            raise ValueError(
                "X and y must be given separately: a Pool's labels cannot be recoded to the "
                "minority class"
            )
        for name in ("init_model", "save_snapshot"):
            if fit_params.get(name) or self._init_params.get(name):
                raise ValueError(
                    f"{name} is not supported: CatBoost does not tell a custom objective the "
                    "scores that it starts from"
                )
        for name in ("loss_function", "objective"):
            check_left_out(name, self._init_params.get(name))

    def _pool(
        self, pair: Any, labels: MinorityLabels, start: float, fit_params: dict[str, Any]
    ) -> cb.Pool:
        """An evaluation set, whose features are of the kinds that the training rows' are."""
        rows, of = pair
        given = {name: kind for name, kind in fit_params.items() if kind is not None}
        kinds = {n: given.get(n, self._init_params.get(n)) for n in _KINDS_OF_FEATURES}
        return cb.Pool(rows, labels.to_binary(of), baseline=np.full(len(of), start), **kinds)

    def _class_weights(self, labels: MinorityLabels, binary: np.ndarray) -> tuple[float, float]:
        given, automatic, positive = (self._init_params.get(name) for name in _CLASS_WEIGHTS)
        if given is not None:
            return labels.class_weights(given)
        if positive is not None:
            return 1.0, float(positive)
        # "Balanced" is what losses of the rates are already, and changes nothing there.
        ratio = 1.0 if sees_rates(self.loss) else negatives_per_positive(binary)
        return 1.0, {"Balanced": ratio, "SqrtBalanced": ratio**0.5}.get(str(automatic), 1.0)

    grid_search = _refused("grid_search", "model_selection.GridSearchCV")
    randomized_search = _refused("randomized_search", "model_selection.RandomizedSearchCV")
    select_features = _refused("select_features", "feature_selection.RFE or SelectFromModel")

    @property
    def classes_(self) -> np.ndarray:
        return self._state.labels.labels if "_state" in self.__dict__ else np.asarray([])

    def _n_trees_used(self) -> int:
        return int(self.tree_count_ or 0)

    def _scores_of(
        self, data: Any, ntree_start: int = 0, ntree_end: int = 0, **options: Any
    ) -> tuple[np.ndarray, float]:
        """x, and the slope for the trees that it came from."""
        x = super().predict(data, "RawFormulaVal", ntree_start, ntree_end, **options)
        return np.asarray(x), self._slope_at(ntree_end or self._n_trees_used())

    def predict(
        self,
        data: Any,
        prediction_type: str = "Class",
        ntree_start: int = 0,
        ntree_end: int = 0,
        **options: Any,
    ) -> np.ndarray:
        """Labels, or 1 − z and z, their logarithms or the scores x, by CatBoost's names."""
        x, slope = self._scores_of(data, ntree_start, ntree_end, **options)
        return self._predicted(x, slope, prediction_type)

    def _predicted(self, x: np.ndarray, slope: float, prediction_type: str) -> np.ndarray:
        kinds: dict[str, Callable[[], np.ndarray]] = {
            "Class": lambda: self._decided(x),
            "Probability": lambda: self._probabilities(x, slope),
            "LogProbability": lambda: self._log_probabilities(x, slope),
            "RawFormulaVal": lambda: x,
        }
        if prediction_type not in kinds:
            raise ValueError(
                f"prediction_type must be one of {', '.join(kinds)}; found {prediction_type!r}"
            )
        return kinds[prediction_type]()

    def predict_proba(self, X: Any, *args: Any, **options: Any) -> np.ndarray:
        """1 − z and z in the order of `classes_`; further arguments as in `predict`."""
        return self.predict(X, "Probability", *args, **options)

    def predict_log_proba(self, data: Any, *args: Any, **options: Any) -> np.ndarray:
        """The logarithm of `predict_proba`; further arguments as in `predict`."""
        return self.predict(data, "LogProbability", *args, **options)

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

    def staged_predict_proba(self, data: Any, *args: Any, **options: Any) -> Any:
        """`predict_proba` at each stage; further arguments as in `staged_predict`."""
        return self.staged_predict(data, "Probability", *args, **options)

    def staged_predict_log_proba(self, data: Any, *args: Any, **options: Any) -> Any:
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
        ours = (*OWN_PARAMETERS, *_PUT_IN)
        given = {name: self._init_params[name] for name in ours if name in self._init_params}
        super().load_model(fname, format, stream, blob)
        for name in _PUT_IN:
            self._init_params.pop(name, None)
        self._init_params.update(given)
        self._read_metadata()
        self._prediction_values_change = None
        if self._object._has_leaf_weights_in_model() and not self.get_embedding_feature_indices():
            self.get_feature_importance()  # feature_importances_ then shows it, as after a fit.
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self.is_fitted():
            self._read_metadata()

    def _read_metadata(self) -> None:
        self._state = LearnedState.of_text(dict(self.get_metadata().items()).get(STATE_KEY))


class _Rounds:
    """CatBoost's objective and metric in one; CatBoost maximises, so it is given −W·J."""

    # CatBoost would try to compile the methods with numba, in vain, and lose interruptions there.
    no_jit = True

    def __init__(self, objective: Objective, score: str) -> None:
        self.objective = objective
        self.score = score
        self.advanced = False
        self.interrupted = False

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # CatBoost copies its parameters, and needs one object as objective and as metric.
        return self

    def advance(self, y: np.ndarray, x: np.ndarray, weight: np.ndarray | None) -> None:
        """From all rows, the slope and the factors of the next tree; then the slope moves."""
        self.slope = self.objective.slope
        self.factors = self.objective.advance(self._swept(y, x, weight).sums)

    def _swept(self, y: np.ndarray, x: np.ndarray, weight: np.ndarray | None) -> Sweep:
        if self.interrupted:
            raise KeyboardInterrupt
        return self.objective.swept(LabelledRows.of(y, weight), x, slope=self.slope)

    def calc_ders_range(self, approxes: Any, targets: Any, weights: Any) -> np.ndarray:
        self.advanced = False
        y, x, weight = _doubles(targets, approxes, weights)
        gradient, curvature = self._swept(y, x, weight).scaled(*self.factors)
        return np.column_stack([-gradient, -curvature])

    def is_max_optimal(self) -> bool:
        return SCORES[self.score].higher_is_better

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        y, x, weight = _doubles(target, approxes[0], weight)
        # After a tree CatBoost shows the training rows first, then each evaluation set.
        if not self.advanced:
            self.advance(y, x, weight)
            self.advanced = True
        return score_value(self.score, x, y, weight, self.slope), 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        return error / weight


def _doubles(*arrays: Any) -> list[Any]:
    """CatBoost's arrays as NumPy's; None stays."""
    return [None if array is None else np.asarray(array, np.float64) for array in arrays]


@contextlib.contextmanager
def _deferred_interrupt(rounds: _Rounds) -> Iterator[None]:
    """Let the next round raise Ctrl-C: elsewhere CatBoost loses it, or crashes."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: setattr(rounds, "interrupted", True))
    try:
        yield
    except cb.CatBoostError:
        if not rounds.interrupted:
            raise
    finally:
        signal.signal(signal.SIGINT, before)
    if rounds.interrupted:
        before(signal.SIGINT, None)
        raise KeyboardInterrupt


def _pairs(eval_set: Any) -> list[Any]:
    pairs = eval_set if isinstance(eval_set, list) else [] if eval_set is None else [eval_set]
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(
                "eval_set must be (X, y) or a list of such pairs, whose labels can be recoded; "
                f"found {type(pair).__name__}"
            )
    return list(pairs)
