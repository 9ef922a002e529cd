"""From folds to networks: trials choose alpha and margin, then all are trained as one stack.

It imports JAX, so the estimator imports it when a fit starts.
"""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import joblib
import numpy as np

from astralearn.classifier import tuning
from astralearn.classifier.prediction import Networks, mean_slope
from astralearn.classifier.progress import bar
from astralearn.classifier.tuning import UNTRIED, Choice
from astralearn.core.curve import rebalanced_logit, starting_slope
from astralearn.core.elementary import TINY
from astralearn.engine.network import Architecture, initialise, predict_logits
from astralearn.engine.rows import Fold, Rows
from astralearn.engine.stack import History, Settings, Stack, State, Trained
from astralearn.engine.training import compiling, train
from astralearn.engine.view import View


@dataclass(frozen=True)
class Recipe:
    """How to make the networks of every fold: the classifier's parameters of these names.

    alpha, margin: "auto" where rows left out are to say.
    """

    settings: Settings
    architecture: Architecture
    n_estimators: int
    tau_init: float
    slope_limit: float | None
    alpha: float | str
    margin: float | str
    n_jobs: int | None
    verbose: int

    @property
    def has_slope(self) -> bool:
        return self.settings.astra and self.slope_limit != 0

    @property
    def leaves_a_choice(self) -> bool:
        return self.alpha == "auto" or (self.margin == "auto" and self.has_slope)

    def settled(self, choice: Choice) -> Choice:
        """The choice, but for what is given."""
        alpha = choice.alpha if self.alpha == "auto" else float(self.alpha)
        if self.margin != "auto":
            return Choice(alpha, float(self.margin))
        return Choice(alpha, choice.margin if self.has_slope else 0.0)


class Earlier(NamedTuple):
    """What a warm start goes on from: each network's state, and what was chosen then."""

    states: Sequence[dict[str, np.ndarray]]
    chosen: Choice


class Fitted(NamedTuple):
    """One fold's networks.

    n_iter: epochs run.
    history: the mean of theirs.
    states: where each stands; None after Ctrl-C among the trials, whose networks these are.
    chosen: what a fit that goes on takes, whatever is given then.
    settled: what holds now.
    """

    networks: Networks
    n_iter: int
    history: History
    states: list[dict[str, np.ndarray]] | None
    chosen: Choice
    settled: Choice
    interrupted: bool


def fit_networks(
    folds: Sequence[Fold], seeds: Sequence[int], recipe: Recipe, earlier: Earlier | None = None
) -> list[Fitted]:
    """The networks of each fold; after Ctrl-C among the trials, one fold's: the trials' own.

    earlier: where the networks of a single fold go on from.
    """
    n = recipe.n_estimators
    if recipe.settings.selection != "last":
        _check_both_classes(folds, recipe.settings.selection)
    fold_of = [i for i in range(len(folds)) for _ in range(n)]
    stack = _stack(folds, fold_of, [[seed, k] for seed in seeds for k in range(n)], recipe)
    chosen = [UNTRIED for _ in folds]
    if earlier is not None:
        stack = replace(stack, states=[_resumed(state) for state in earlier.states])
        chosen = [earlier.chosen]
    elif recipe.leaves_a_choice:
        with compiling(stack, recipe.settings):
            for i, (fold, seed) in enumerate(zip(folds, seeds, strict=True)):
                found = _choose(fold, seed, recipe)
                if isinstance(found, Trained):
                    return [_fitted(found, fold, None, recipe)]
                chosen[i] = found
    alphas = np.repeat([recipe.settled(choice).alpha for choice in chosen], n)
    trained = _run(replace(stack, alpha=alphas), recipe.settings, recipe)
    return [
        _fitted(trained.take(slice(i * n, (i + 1) * n)), fold, choice, recipe)
        for i, (fold, choice) in enumerate(zip(folds, chosen, strict=True))
    ]


def _check_both_classes(folds: Sequence[Fold], selection: str) -> None:
    for name, positive in (("majority", False), ("minority", True)):
        held_out = [fold.held_out for fold in folds if fold.held_out is not None]
        if any(len(rows.of_class(positive)) == 0 for rows in held_out):
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
    folds: Sequence[Fold], fold_of: list[int], seeds: list[list[int]], recipe: Recipe
) -> Stack:
    """Networks on folds: the k-th on fold `fold_of[k]`, from weights drawn by `seeds[k]`."""
    architecture = recipe.architecture
    starts = [initialise(architecture, np.random.default_rng(seed)) for seed in seeds]
    limits = np.asarray([_slope_max(fold, recipe.slope_limit) for fold in folds])
    return Stack(
        architecture=architecture,
        folds=folds,
        fold_of=fold_of,
        parameters=np.stack(starts),
        slope=np.full(len(fold_of), starting_slope(recipe.tau_init)),
        slope_max=limits[fold_of],
    )


def _slope_max(fold: Fold, limit: float | None) -> float:
    """(n₀/n₁)^limit, at least 1."""
    if limit is None:
        return math.inf
    rows = fold.train
    negatives, positives = (rows.weight[rows.positive == label].sum() for label in (False, True))
    return float(max(negatives / max(positives, TINY), 1.0) ** limit)


def _choose(fold: Fold, seed: int, recipe: Recipe) -> Choice | Trained:
    """What rows left out ask for; after Ctrl-C, the networks that were to judge them.

    Those under the first alpha.
    """
    alphas = tuning.ALPHAS if recipe.alpha == "auto" else (float(recipe.alpha),)
    trials = tuning.trials(fold, seed)
    n = len(trials)
    if n == 0:
        return UNTRIED
    seen = [replace(trial, held_out=None) for trial in trials]
    seeds = [[seed, k, 0] for k in range(n)]
    stack = _stack(seen, [*range(n)] * len(alphas), seeds * len(alphas), recipe)
    epochs = max(1, recipe.settings.epochs // 2)
    settings = replace(recipe.settings, epochs=epochs, selection="last")
    trained = _run(replace(stack, alpha=np.repeat(alphas, n)), settings, recipe, "trials")
    if trained.interrupted:
        return trained.take(slice(min(n, recipe.n_estimators)))
    left_out = [trial.held_out for trial in trials if trial.held_out is not None]
    judged, slopes = [], []
    for start in range(0, n * len(alphas), n):
        under = trained.take(slice(start, start + n))
        judged.append(_judged(left_out, under, fold.view, recipe))
        slopes.append(mean_slope(under.slope) if recipe.has_slope else 1.0)
    positive = np.concatenate([rows.positive for rows in left_out])
    weight = np.concatenate([rows.weight for rows in left_out])
    return tuning.choice(alphas, judged, slopes, positive, weight)


def _judged(left_out: list[Rows], trained: Trained, view: View, recipe: Recipe) -> np.ndarray:
    """g of each network for the rows that it was trained without, one after the other."""
    found = []
    for k, rows in enumerate(left_out):
        x = predict_logits(trained.parameters[k : k + 1], recipe.architecture, rows.X, view)[0]
        b = trained.slope[k].astype(x.dtype)
        found.append(rebalanced_logit(x, b, xp=np) if recipe.settings.astra else x)
    return np.concatenate(found)


def _run(stack: Stack, settings: Settings, recipe: Recipe, label: str = "epoch") -> Trained:
    with bar(recipe.verbose, settings.epochs, label) as progress:
        return train(stack, settings, n_jobs=threads(recipe.n_jobs), progress=progress)


def threads(n_jobs: int | None) -> int:
    """How many threads n_jobs means here.

    joblib's own answer is about processes, and warns where there may be none.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; None or -1 takes all cores")
    if n_jobs is None:
        n_jobs = -1 if multiprocessing.parent_process() is None else 1
    return n_jobs if n_jobs > 0 else max(1, joblib.cpu_count() + 1 + n_jobs)


def _fitted(trained: Trained, fold: Fold, choice: Choice | None, recipe: Recipe) -> Fitted:
    """choice: None where the networks are of trials."""
    # After Ctrl-C, networks that had not begun are left out; without it, those that L-BFGS could
    # not better stay as they began.
    kept = (trained.n_epochs > 0) | (not trained.interrupted)
    slope = trained.slope if recipe.settings.astra else np.ones(len(kept), np.float32)
    chosen = choice or UNTRIED
    return Fitted(
        networks=Networks(recipe.architecture, trained.parameters[kept], slope[kept], fold.view),
        n_iter=int(trained.n_epochs.max()),
        history=_mean([history for history in trained.history if history]),
        states=None if choice is None else [state._asdict() for state in trained.states],
        chosen=chosen,
        settled=recipe.settled(chosen),
        interrupted=trained.interrupted,
    )


def _mean(histories: list[History]) -> History:
    """As far as the shortest goes."""
    length = min((len(history["epoch"]) for history in histories), default=0)
    names = histories[0] if histories else ()
    return {
        name: np.mean([history[name][:length] for history in histories], axis=0) for name in names
    }
