"""From folds to networks, all trained as one stack.

It imports JAX, so the estimator imports it when a fit starts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from astralearn.classifier.prediction import Networks
from astralearn.classifier.progress import bar
from astralearn.classifier.threads import threads
from astralearn.core.curve import slope_for_ratio, starting_slope
from astralearn.core.elementary import TINY
from astralearn.engine.network import Architecture, initialise
from astralearn.engine.places import is_first
from astralearn.engine.rows import Fold, Rows
from astralearn.engine.stack import History, Settings, Stack, State, Trained
from astralearn.engine.training import train


@dataclass(frozen=True)
class Recipe:
    """How to make networks: the classifier's parameters of these names."""

    settings: Settings
    architecture: Architecture
    tau_init: float
    slope_limit: float | None
    alpha: float
    n_jobs: int | None
    verbose: int


NetworkState = dict[str, np.ndarray]


class Fitted(NamedTuple):
    """Some networks.

    n_iter: epochs run.
    history: the mean of theirs.
    states: where each stands.
    kept: which of the networks that were asked for these are.
    """

    networks: Networks
    n_iter: int
    history: History
    states: list[NetworkState]
    kept: np.ndarray
    interrupted: bool


def fit_networks(
    folds: Sequence[Fold],
    fold_of: Sequence[int],
    seeds: Sequence[Sequence[int]],
    recipe: Recipe,
    earlier: Sequence[NetworkState] | None = None,
) -> Trained:
    """Train networks, the k-th on fold `fold_of[k]` from weights of `seeds[k]`.

    earlier: where each goes on from.
    """
    if recipe.settings.selection != "last" and folds[0].everywhere is None:
        check_both_classes([fold.held_out for fold in folds], recipe.settings.selection)
    stack = _stack(folds, list(fold_of), seeds, recipe)
    if earlier is not None:
        stack = replace(stack, states=[_resumed(state) for state in earlier])
    verbose = recipe.verbose if not stack.is_spread or is_first() else 0
    with bar(verbose, recipe.settings.epochs) as progress:
        return train(stack, recipe.settings, n_jobs=threads(recipe.n_jobs), progress=progress)


def fitted(trained: Trained, recipe: Recipe, fold: Fold) -> Fitted:
    """What became of networks that share a view."""
    # After Ctrl-C, networks that had not begun are left out; without it, those that L-BFGS could
    # not better stay as they began.
    kept = (trained.n_epochs > 0) | (not trained.interrupted)
    slope = trained.slope if recipe.settings.astra else np.ones(len(kept), np.float32)
    return Fitted(
        networks=Networks(recipe.architecture, trained.parameters[kept], slope[kept], fold.view),
        n_iter=int(trained.n_epochs.max()),
        history=_mean([history for history in trained.history if history]),
        states=[state._asdict() for state in trained.states],
        kept=np.flatnonzero(kept),
        interrupted=trained.interrupted,
    )


def check_both_classes(held_out: Sequence[Rows | None], selection: str) -> None:
    """Refuse validation rows by which no epoch can be selected."""
    for name, positive in (("majority", False), ("minority", True)):
        if any(len(rows.of_class(positive)) == 0 for rows in held_out if rows is not None):
            raise ValueError(
                f'selection="{selection}" needs validation rows of both classes; found none of the '
                f"{name}"
            )


def _resumed(state: dict[str, np.ndarray]) -> State:
    """What was selected is forgotten, for the validation rows may be others now."""
    best = {
        "best_score": np.full_like(state["best_score"], np.inf),
        "best_epoch": np.full_like(state["best_epoch"], -1),
    }
    return State(**{**state, **best})


def _stack(
    folds: Sequence[Fold], fold_of: list[int], seeds: Sequence[Sequence[int]], recipe: Recipe
) -> Stack:
    architecture = recipe.architecture
    starts = [initialise(architecture, np.random.default_rng(seed)) for seed in seeds]
    limits = np.asarray([_slope_max(fold, recipe.slope_limit) for fold in folds])
    return Stack(
        architecture=architecture,
        folds=folds,
        fold_of=fold_of,
        parameters=np.stack(starts),
        slope=np.full(len(fold_of), starting_slope(recipe.tau_init)),
        alpha=np.full(len(fold_of), recipe.alpha),
        slope_max=limits[fold_of],
    )


def _slope_max(fold: Fold, limit: float | None) -> float:
    """(n₀/n₁)^limit, at least 1."""
    if limit is None:
        return math.inf
    negatives, positives = fold.class_weights
    return slope_for_ratio(negatives / max(positives, TINY), limit)


def _mean(histories: list[History]) -> History:
    """As far as the shortest goes."""
    length = min((len(history["epoch"]) for history in histories), default=0)
    names = histories[0] if histories else ()
    return {
        name: np.mean([history[name][:length] for history in histories], axis=0) for name in names
    }
