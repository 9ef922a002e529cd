"""What the three classifiers share: labels, slope and the way from scores to probabilities and decisions."""

from __future__ import annotations

import inspect
import json
import math
import warnings
from typing import Any, NamedTuple, Self

import numpy as np

from astralearn.boosting.labels import MinorityLabels
from astralearn.boosting.objective import Objective, make_objective
from astralearn.boosting.start import start_score
from astralearn.core import rebalanced_logit, threshold
from astralearn.core.confusion import right_and_wrong


class State(NamedTuple):
    """What a fitted model knows beside its trees. labels: which class is 1. slope_path: b before the first round and after each.
    rates: the slope's learning rate at each of these, for whoever goes on from there."""

    labels: MinorityLabels
    slope_path: list[float]
    rates: list[float]

    def as_text(self) -> str:
        """What a library's model file keeps: one line."""
        return json.dumps(
            {**self.labels.as_plain(), "slope_path": self.slope_path, "rates": self.rates}
        )

    @classmethod
    def of_text(cls, text: str) -> Self:
        plain = json.loads(text)
        return cls(
            MinorityLabels.from_plain(plain),
            *([float(number) for number in plain[name]] for name in ("slope_path", "rates")),
        )

    def cut(self, trees: int) -> Self:
        """Without the rounds whose trees early stopping has dropped."""
        return self._replace(slope_path=self.slope_path[: trees + 1], rates=self.rates[: trees + 1])


class RebalancedBoosting:
    """Mixin, to stand before a library's classifier: keeps astralearn's parameters and hands on the library's own.

    `predict` cuts the score x at 0 (where g = 0 and z = ½), `predict_proba` is z, `decision_function` is g.

    Fitted state that is not in the library's model: `State`. A prediction from k trees takes slope_path_[k].
    """

    loss: str
    activation: str
    start: float | None
    _labels: MinorityLabels
    _slope_path: list[float]
    _rates: list[float]

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
        """The label of the rarer class, the positive one; of two equally frequent ones, that which sorts last.

        Continued training keeps the earlier model's, whichever is rarer in the new rows.
        """
        return self._labels.minority

    @property
    def slope_path_(self) -> np.ndarray:
        """b before the first round and after each, shape (rounds + 1,)."""
        return np.asarray(self._slope_path)

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
        return self._slope_path[max(0, min(trees, len(self._slope_path) - 1))]

    def _new_objective(self, n_threads: int | None, scale_pos_weight: float = 1.0) -> Objective:
        options: Any = {
            name: getattr(self, name)
            for name in OWN_PARAMETERS
            if name not in ("loss", "activation", "start")
        }
        return make_objective(
            self.loss,
            self.activation,
            n_threads=n_threads,
            scale_pos_weight=scale_pos_weight,
            **options,
        )

    def _start(
        self, y: np.ndarray, sample_weight: Any, slope: float, positive_weight: float = 1.0
    ) -> float:
        if self.start is not None:
            if not math.isfinite(self.start):
                raise ValueError(f"start must be finite; found {self.start}")
            return float(self.start)
        weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        if weight is not None and weight.shape != y.shape:
            raise ValueError(
                f"sample_weight must have the shape of y, {y.shape}; found {weight.shape}"
            )
        if positive_weight != 1.0:
            weight = np.where(y == 1, positive_weight, 1.0) * (1.0 if weight is None else weight)
        return start_score(self.loss, y, weight, slope)

    def _decided(self, x: np.ndarray) -> np.ndarray:
        return self._labels.from_binary(x >= 0)

    def _probabilities(self, x: np.ndarray, slope: float) -> np.ndarray:
        z, complement = _rebalanced(x, slope)
        return self._labels.probabilities(z, complement)

    def _log_probabilities(self, x: np.ndarray, slope: float) -> np.ndarray:
        """Finite where `_probabilities` underflow."""
        g = rebalanced_logit(np.asarray(x, np.float64), slope, xp=np)
        return self._labels.probabilities(-np.logaddexp(0.0, -g), -np.logaddexp(0.0, g))

    def _decision(self, x: np.ndarray, slope: float) -> np.ndarray:
        """g, turned so that it is above 0 exactly where `predict` says classes_[1], as scikit-learn has it."""
        g = rebalanced_logit(np.asarray(x, np.float64), slope, xp=np)
        if self._labels.positive == 0:
            return np.asarray(-g)
        return np.where(
            g == 0, np.finfo(np.float64).tiny, g
        )  # the positive class is predicted at g = 0 too

    @property
    def _state(self) -> State:
        return State(self._labels, self._slope_path, self._rates)

    def _from_text(self, text: str | None) -> None:
        if text is None:
            raise ValueError(
                "the model file was not written by this class: it holds no slope and no class labels"
            )
        self._labels, self._slope_path, self._rates = State.of_text(text)


# The parameters that astralearn adds to a library's own, with their defaults.
OWN_PARAMETERS: dict[str, Any] = {
    name: parameter.default
    for name, parameter in inspect.signature(RebalancedBoosting.__init__).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
}


def continued_labels(y: Any, earlier: State | None) -> MinorityLabels:
    """The labels of `y`; those of an earlier model where there is one, since its scores speak of its positive class."""
    labels = MinorityLabels.of(y)
    if earlier is None:
        return labels
    if labels.classes.tolist() != earlier.labels.classes.tolist():
        raise ValueError(
            f"y must hold the classes of the earlier model that training goes on from, {earlier.labels.classes.tolist()}; "
            f"found {labels.classes.tolist()}: recode y, or train without that model"
        )
    return earlier.labels


def continue_slope(objective: Objective, earlier: State | None, rounds: int) -> None:
    """Begin where an earlier model of so many rounds ended, so that its trees and the new ones share one path of slopes."""
    if earlier is None:
        objective.learner.continue_after(rounds)
        return
    _check_activation(objective, earlier)
    objective.learner.continue_from(earlier.slope_path, earlier.rates)


def _check_activation(objective: Objective, earlier: State) -> None:
    """The sigmoid's slope is 1 throughout. So is ASTra's that starts from 1, for its step vanishes there."""
    flat = all(b == 1.0 for b in earlier.slope_path)
    if objective.activation == "sigmoid" and not flat:
        raise ValueError(
            'activation must be "astra", that of the earlier model that training goes on from, whose slope is '
            f'{earlier.slope_path[-1]:.4g}; found "sigmoid"'
        )
    if objective.activation == "astra" and flat and objective.slope_path[0] != 1.0:
        raise ValueError(
            'activation must be "sigmoid", that of the earlier model that training goes on from, whose slope is 1 throughout; found "astra"'
        )


def warn_without_splits() -> None:
    warnings.warn(
        "the fitted trees hold no split: every row gets the same score. Check that X varies, and lower the library's limits on splits "
        "(rows per leaf, child weight, gain)",
        UserWarning,
        stacklevel=3,
    )


def _rebalanced(x: np.ndarray, slope: float) -> tuple[np.ndarray, np.ndarray]:
    """z = σ(g) and 1 − z."""
    complement, z = right_and_wrong(rebalanced_logit(np.asarray(x, np.float64), slope, xp=np), np)
    return z, complement
