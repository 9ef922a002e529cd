"""What a fitted model knows beside its trees, and training that goes on from it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Self

from astralearn.boosting.labels import MinorityLabels
from astralearn.boosting.objective import Objective

# Where a library's model or its file keeps the LearnedState.
STATE_KEY = "astralearn_state"


class LearnedState(NamedTuple):
    """What a fitted model knows beside its trees.

    labels: which class is 1.
    slope_path: b before the first round and after each.
    rates: the slope's learning rate at each of these, for whoever goes on from there.
    """

    labels: MinorityLabels
    slope_path: list[float]
    rates: list[float]

    def as_text(self) -> str:
        """What a library's model file keeps: one line."""
        return json.dumps(
            {**self.labels.as_plain(), "slope_path": self.slope_path, "rates": self.rates}
        )

    @classmethod
    def of_text(cls, text: str | None) -> Self:
        """The state that `as_text` wrote; without a text a ValueError."""
        if not text:
            raise ValueError(
                "the model file was not written by this class: it holds no slope and no class "
                "labels"
            )
        plain = json.loads(text)
        slope_path, rates = ([float(b) for b in plain[name]] for name in ("slope_path", "rates"))
        return cls(MinorityLabels.from_plain(plain), slope_path, rates)

    def cut(self, trees: int) -> Self:
        """Without the rounds whose trees early stopping has dropped."""
        return self._replace(slope_path=self.slope_path[: trees + 1], rates=self.rates[: trees + 1])


class Earlier(NamedTuple):
    """A model to go on from.

    rounds: how many it has.
    state: None in a plain model of the library.
    """

    rounds: int
    state: LearnedState | None

    @classmethod
    def of(cls, rounds: int, state: LearnedState | None) -> Self:
        """A model's rounds, and its state without the steps after them."""
        return cls(rounds, None if state is None else state.cut(rounds))

    def continue_slope(self, objective: Objective) -> None:
        """Let an objective begin where this model ended: both share one path of slopes."""
        if self.state is None:
            objective.learner.continue_after(self.rounds)
            return
        self._check_activation(objective, self.state.slope_path)
        objective.learner.continue_from(self.state.slope_path, self.state.rates)

    def _check_activation(self, objective: Objective, path: list[float]) -> None:
        """The sigmoid's slope is 1 throughout; ASTra's is where it starts from 1."""
        flat = all(b == 1.0 for b in path)
        if objective.activation == "sigmoid" and not flat:
            raise ValueError(
                'activation must be "astra", that of the earlier model that training goes on '
                f'from, whose slope is {path[-1]:.4g}; found "sigmoid"'
            )
        if objective.activation == "astra" and flat and objective.slope_path[0] != 1.0:
            raise ValueError(
                'activation must be "sigmoid", that of the earlier model that training goes on '
                'from, whose slope is 1 throughout; found "astra"'
            )


def continued_labels(y: Any, earlier: Earlier | None) -> MinorityLabels:
    """The labels of `y`, or of an earlier model, whose scores speak of them."""
    labels = MinorityLabels.of(y)
    if earlier is None or earlier.state is None:
        return labels
    before = earlier.state.labels
    if labels.labels.tolist() != before.labels.tolist():
        raise ValueError(
            "y must hold the classes of the earlier model that training goes on from, "
            f"{before.labels.tolist()}; found {labels.labels.tolist()}: recode y, or train "
            "without that model"
        )
    return before
