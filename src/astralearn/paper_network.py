"""The paper's network from several starts, and what its epochs would have decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from astralearn.classifier.rows import Part, ViewOptions, make_folds
from astralearn.engine.interrupts import interrupts_deferred
from astralearn.engine.network import Architecture, predict_logits
from astralearn.engine.rows import RowCosts, Rows
from astralearn.engine.stack import History, Settings, State, Trained
from astralearn.engine.view import View

KEPT_OF_HISTORY = ("epoch", "e_ratio", "threshold", "val_fnr")  # of a history


@dataclass(frozen=True)
class Decided:
    """What one start decides of rows.

    chosen: whether each row is positive by the network of the paper's rule, (rows,).
    last: by that of the last epoch, (rows,).
    looks: by those of the epochs looked at, (looks, rows).
    chosen_epoch: which one the paper's rule takes.
    history: what was monitored at the epochs looked at.
    """

    chosen: NDArray[np.bool_]
    last: NDArray[np.bool_]
    looks: NDArray[np.bool_]
    chosen_epoch: int
    history: History


@dataclass(frozen=True)
class Starts:
    """The networks of one fold, one for each start, under both choices of the epoch."""

    architecture: Architecture
    view: View
    trained: Trained

    def decisions(self, X: NDArray[Any]) -> list[Decided]:
        """What each start decides of rows, (rows, features)."""
        return [
            self._decided(X, k, state, history)
            for k, (state, history) in enumerate(
                zip(self.trained.states, self.trained.history, strict=True)
            )
        ]

    def _decided(self, X: NDArray[Any], k: int, state: State, history: History) -> Decided:
        chosen = self.trained.parameters[k]
        parameters = np.concatenate([chosen[None], state.parameters[None], history["parameters"]])
        are_positive = predict_logits(parameters, self.architecture, X, self.view) >= 0
        return Decided(
            chosen=are_positive[0],
            last=are_positive[1],
            looks=are_positive[2:],
            chosen_epoch=int(self.trained.chosen_epoch[k]),
            history={name: history[name] for name in KEPT_OF_HISTORY},
        )


class PaperNetwork(BaseEstimator):
    """One narrow network with the settings of `ASTraClassifier.paper`, for the study.

    The same networks, up to rounding; one training serves both choices of the epoch.

    loss, activation: as in ASTraClassifier.
    starts: networks on each fold, which differ in their initial weights.
    epochs, burn_in: as in ASTraClassifier.
    looks: epochs, evenly spaced, whose decisions are kept.
    learning_rate, tau_init: as in ASTraClassifier.
    """

    def __init__(
        self,
        loss: str = "gmn",
        activation: str = "astra",
        *,
        starts: int = 1,
        epochs: int = 10_000,
        burn_in: int = 1_000,
        looks: int = 200,
        learning_rate: float = 0.001,
        tau_init: float = 0.25,
    ) -> None:
        self.loss = loss
        self.activation = activation
        self.starts = starts
        self.epochs = epochs
        self.burn_in = burn_in
        self.looks = looks
        self.learning_rate = learning_rate
        self.tau_init = tau_init

    def fit_many(
        self,
        X: NDArray[Any],
        y: NDArray[Any],
        splits: Sequence[Sequence[NDArray[np.intp]]],
        *,
        random_states: Sequence[int],
    ) -> list[Starts]:
        """The networks of each split, all trained as one stack on one core.

        X: (rows, features), as they came. y: 1 for the minority.
        splits: (train, validation, test) row numbers.
        random_states: a seed for each split.
        """
        with interrupts_deferred():
            from astralearn.classifier.fitting import Recipe, fit_networks

        rows = Rows(np.asarray(X, np.float64), np.asarray(y) == 1, np.ones(len(y)))
        seeds = [check_random_state(s).randint(np.iinfo(np.int32).max) for s in random_states]
        parts = [
            Part(train=train, held_out=validation, seed=seed, inverted=False, costs=RowCosts())
            for (train, validation, _), seed in zip(splits, seeds, strict=True)
        ]
        view = ViewOptions(standardize=True, clip=None, distance=False)
        folds = make_folds(rows, parts, view, fraction=0.0)
        n_inputs = folds[0].view.n_inputs
        recipe = Recipe(
            settings=Settings(
                loss=self.loss,
                activation=self.activation,
                selection="fnr",
                epochs=self.epochs,
                burn_in=self.burn_in,
                learning_rate=self.learning_rate,
                records=self.looks,
                trail=True,
            ),
            architecture=Architecture(n_inputs, (n_inputs // 2 + 1,)),
            tau_init=self.tau_init,
            slope_limit=None,
            alpha=0.0,
            n_jobs=1,
            verbose=0,
        )
        # Networks that share the matrix of all rows train faster than those that share a fold.
        each = [(fold, [seed, start]) for fold, seed in zip(folds, seeds, strict=True)
                for start in range(self.starts)]  # fmt: skip
        trained = fit_networks(
            [fold for fold, _ in each], range(len(each)), [seed for _, seed in each], recipe
        )
        if trained.interrupted:
            raise KeyboardInterrupt
        n = self.starts
        return [
            Starts(recipe.architecture, fold.view, trained.take(slice(n * i, n * (i + 1))))
            for i, fold in enumerate(folds)
        ]
