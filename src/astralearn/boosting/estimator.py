"""What the three classifiers share, from labels to decisions."""

from __future__ import annotations

import contextlib
import inspect
import math
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from astralearn.boosting.labels import MinorityLabels
from astralearn.boosting.objective import Objective, checked_weight, make_objective, sees_rates
from astralearn.boosting.state import Earlier, LearnedState, continued_labels
from astralearn.boosting.sweep import check_process
from astralearn.core import rebalanced_logit, threshold
from astralearn.core.confusion import right_and_wrong


class Fitting(NamedTuple):
    """What a fit hands to the library beside the rows.

    binary: labels 0 and 1, (rows,).
    weight: of each row, with class weights where the loss weighs rows, (rows,); None if all are 1.
    objective: at the slope that training starts with.
    """

    labels: MinorityLabels
    binary: np.ndarray
    weight: np.ndarray | None
    objective: Objective

    @property
    def state(self) -> LearnedState:
        """What training has ended in."""
        learner = self.objective.learner
        return LearnedState(self.labels, list(learner.path), list(learner.rates))


class RebalancedBoosting:
    """Mixin before a library's classifier: keeps our parameters, hands on the others.

    `predict` cuts the score x at 0 (where g = 0 and z = ½), `predict_proba` is z,
    `decision_function` is g. A prediction from k trees takes slope_path_[k].

    loss: "gmn" (1 − soft G-Mean), "bce", "f1", "mcc" or "balanced_accuracy".
    activation: "astra" or "sigmoid".
    tau_init, learnable, slope_rate_min, slope_rate_max: the slope, see `Objective`.
    start: score that boosting starts from; None takes the loss's best constant. The library's model
        holds it, so that its file predicts the full score.
    """

    loss: str
    activation: str
    start: float | None
    _state: LearnedState

    # The precision of the scores that the library hands to an objective.
    _precision: Any = np.float32

    def __init__(
        self,
        *,
        loss: str = "gmn",
        activation: str = "astra",
        tau_init: float = 0.25,
        learnable: bool = True,
        slope_rate_min: float = 0.01,
        slope_rate_max: float = 0.5,
        start: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        own = (loss, activation, tau_init, learnable, slope_rate_min, slope_rate_max, start)
        self._keep(dict(zip(OWN_PARAMETERS, own, strict=True)))

    def _keep(self, own: dict[str, Any]) -> None:
        """Where scikit-learn's get_params, set_params and clone find them."""
        for name, value in own.items():
            setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.classifier_tags.multi_class = tags.classifier_tags.multi_label = False
        return tags

    @property
    def minority_class_(self) -> Any:
        """Label of the positive class: the rarer; of two equally frequent ones the last.

        Continued training keeps the earlier model's, whichever is rarer in the new rows.
        """
        return self._state.labels.minority

    @property
    def slope_path_(self) -> np.ndarray:
        """b before the first round and after each, shape (rounds + 1,)."""
        return np.asarray(self._state.slope_path)

    @property
    def slope_(self) -> float:
        """b of the fitted model (of its best iteration, if training stopped early)."""
        return self._slope_at(self._n_trees_used())

    @property
    def threshold_(self) -> float:
        """τ, the ŷ at which the positive class is predicted (Eq. 5)."""
        return float(threshold(self.slope_))

    def _n_trees_used(self) -> int:
        raise NotImplementedError

    def _slope_at(self, trees: int) -> float:
        path = self._state.slope_path
        return path[max(0, min(trees, len(path) - 1))]

    def _threads(self) -> int | None:
        """As many as the objective may use; None for every core."""
        return 1

    def _positive_weight(self, _binary: np.ndarray) -> float:
        """What the library's parameters make of each positive in the objective."""
        return 1.0

    def _class_weights(self, _labels: MinorityLabels, _binary: np.ndarray) -> tuple[float, float]:
        """The library's class weights, of 0 and of 1."""
        return 1.0, 1.0

    def _begin(self, y: Any, sample_weight: Any, earlier: Earlier | None = None) -> Fitting:
        """Check labels and weights, and make the objective of one fit.

        Weights of a whole class cancel in rates, so there their ratio joins the objective.
        """
        labels = continued_labels(y, earlier)
        binary = labels.to_binary(y)
        check_process(len(binary), self._precision)
        weight = _fit_weight(sample_weight, binary)
        positive_weight = self._positive_weight(binary)
        of_class = self._class_weights(labels, binary)
        if sees_rates(self.loss):
            positive_weight *= of_class[1] / of_class[0]
        elif of_class != (1.0, 1.0):
            weight = np.asarray(of_class)[binary] * (1.0 if weight is None else weight)
        options: Any = {name: getattr(self, name) for name in OWN_PARAMETERS if name != "start"}
        objective = make_objective(
            **options, n_threads=self._threads(), scale_pos_weight=positive_weight
        )
        if earlier is not None:
            earlier.continue_slope(objective)
        return Fitting(labels, binary, weight, objective)

    def _start(self, fitting: Fitting) -> float:
        """The score to start from: the one asked for, or the loss's best constant."""
        if self.start is None:
            return fitting.objective.best_constant(fitting.binary, fitting.weight)
        if not math.isfinite(self.start):
            raise ValueError(f"start must be finite; found {self.start}")
        return float(self.start)

    def _decided(self, x: np.ndarray) -> np.ndarray:
        return self._state.labels.decided(x >= 0)

    def _probabilities(self, x: np.ndarray, slope: float) -> np.ndarray:
        right, wrong = right_and_wrong(_g(x, slope), np)  # of a negative
        return self._state.labels.columns(minority=wrong, majority=right)

    def _log_probabilities(self, x: np.ndarray, slope: float) -> np.ndarray:
        """Finite where `_probabilities` underflow."""
        g = _g(x, slope)
        return self._state.labels.columns(
            minority=-np.logaddexp(0.0, -g), majority=-np.logaddexp(0.0, g)
        )

    def _decision(self, x: np.ndarray, slope: float) -> np.ndarray:
        """g, turned so that it is above 0 exactly where `predict` says classes_[1]."""
        g = _g(x, slope)
        if self._state.labels.positive == 0:
            return np.asarray(-g)
        # The positive class is predicted at g = 0 too.
        return np.where(g == 0, np.finfo(np.float64).tiny, g)


# The parameters that astralearn adds to a library's own, with their defaults.
OWN_PARAMETERS: dict[str, Any] = {
    name: parameter.default
    for name, parameter in inspect.signature(RebalancedBoosting.__init__).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
}


def _fit_weight(sample_weight: Any, binary: np.ndarray) -> np.ndarray | None:
    """Sample weights, checked: one per row, at least one of them above 0."""
    if sample_weight is None:
        return None
    weight = checked_weight(np.asarray(sample_weight, np.float64), binary.shape, of="y")
    if not weight.any():
        raise ValueError("sample_weight must be above 0 for some row; found a sum of 0")
    return weight


@contextlib.contextmanager
def replaced(estimator: Any, values: dict[str, Any]) -> Iterator[None]:
    """Attributes that differ while the library fits, and only then."""
    before = {name: getattr(estimator, name) for name in values}
    try:
        vars(estimator).update(values)
        yield
    finally:
        vars(estimator).update(before)


def check_left_out(name: str, found: Any, usual: Any = None) -> None:
    """Refuse an objective of the user's."""
    if found != usual:
        raise ValueError(f"{name} must be left out: loss and activation choose it; found {found!r}")


def warn_without_splits() -> None:
    warnings.warn(
        "the fitted trees hold no split: every row gets the same score. Check that X varies, and "
        "lower the library's limits on splits (rows per leaf, child weight, gain)",
        UserWarning,
        stacklevel=3,
    )


def _g(x: np.ndarray, slope: float) -> np.ndarray:
    return np.asarray(rebalanced_logit(np.asarray(x, np.float64), slope, xp=np))
