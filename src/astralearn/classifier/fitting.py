"""What a fit does once its rows are prepared: trials choose alpha and margin, then all networks are trained as one stack.

It imports JAX, so `classifier` imports it when a fit starts.
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
from astralearn.classifier.checks import Costs
from astralearn.classifier.prediction import mean_slope
from astralearn.classifier.progress import bar
from astralearn.classifier.rows import Prepared
from astralearn.classifier.tuning import UNTRIED, Choice
from astralearn.core.curve import TINY, rebalanced_logit, starting_slope
from astralearn.engine.network import Architecture, initialise, predict_logits
from astralearn.engine.rows import Fold
from astralearn.engine.training import History, Settings, Stack, State, Trained, compiling, train


class Case(NamedTuple):
    """The rows of one fit, what mistakes on them cost, and its seed. Where it goes on: its networks' states, and what was chosen then."""

    rows: Prepared
    costs: Costs
    seed: int
    states: Sequence[dict[str, np.ndarray]] = ()
    chosen: Choice = UNTRIED


@dataclass(frozen=True)
class Recipe:
    """How to make the networks of every case. alpha, margin: "auto" where rows left out are to say. n_jobs: None for all cores."""

    settings: Settings
    architecture: Architecture
    n_networks: int
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


class Fitted(NamedTuple):
    """One case's networks: parameters (K, P), slopes (K,), epochs run, and their mean history.

    states: where each stands; None after Ctrl-C among the trials, whose networks these are. chosen: what a fit that goes on takes,
    whatever is given then. settled: what holds now.
    """

    coefs: np.ndarray
    slope: np.ndarray
    n_iter: int
    history: History
    states: list[dict[str, np.ndarray]] | None
    chosen: Choice
    settled: Choice
    interrupted: bool


def fit_networks(cases: Sequence[Case], recipe: Recipe) -> list[Fitted]:
    """The networks of each case; after Ctrl-C among the trials, one case's, which are the trials' own."""
    n, stack = recipe.n_networks, _planned(cases, recipe)
    chosen = [case.chosen for case in cases]
    if recipe.leaves_a_choice and stack.states is None:
        with compiling(stack, recipe.settings):
            for i, case in enumerate(cases):
                choice = _choose(case, recipe)
                if isinstance(choice, Trained):
                    return [_fitted(choice, None, recipe)]
                chosen[i] = choice
    alphas = np.repeat([recipe.settled(choice).alpha for choice in chosen], n)
    trained = _run(replace(stack, alpha=alphas), recipe.settings, recipe)
    return [
        _fitted(trained.take(slice(i * n, (i + 1) * n)), choice, recipe)
        for i, choice in enumerate(chosen)
    ]


def _planned(cases: Sequence[Case], recipe: Recipe) -> Stack:
    """The networks of all cases, one case after the other."""
    n, selection = recipe.n_networks, recipe.settings.selection
    held_out = [
        case.costs.on(case.rows.held_out) for case in cases if case.rows.held_out is not None
    ]
    if selection != "last":
        _check_both_classes(held_out, selection)
    states = [_resumed(state) for case in cases for state in case.states]
    folds, fold_of = (
        [(case.rows.train, case.costs) for case in cases],
        [i for i in range(len(cases)) for _ in range(n)],
    )
    stack = _stack(folds, fold_of, [[case.seed, k] for case in cases for k in range(n)], recipe)
    return replace(stack, validation=held_out or None, states=states or None)


def _check_both_classes(held_out: list[Fold], selection: str) -> None:
    for name, label in (("majority", 0), ("minority", 1)):
        if any(fold.weight[fold.y == label].sum() == 0 for fold in held_out):
            raise ValueError(
                f'selection="{selection}" needs validation rows of both classes; found none of the {name}'
            )


def _resumed(state: dict[str, np.ndarray]) -> State:
    """What was selected is forgotten, for the validation rows may be others now."""
    best = {
        "best_score": np.full_like(state["best_score"], np.inf),
        "best_epoch": np.full_like(state["best_epoch"], -1),
    }
    return State(**{**state, **best})


def _stack(
    folds: Sequence[tuple[Fold, Costs]], fold_of: list[int], seeds: list[list[int]], recipe: Recipe
) -> Stack:
    """Networks on folds at their costs: the k-th on fold `fold_of[k]`, from weights drawn by `seeds[k]`."""
    return Stack(
        recipe.architecture,
        [cost.on(fold) for fold, cost in folds],
        fold_of,
        np.stack([initialise(recipe.architecture, np.random.default_rng(seed)) for seed in seeds]),
        np.full(len(fold_of), starting_slope(recipe.tau_init)),
        slope_max=np.asarray([_slope_max(fold, recipe.slope_limit) for fold, _ in folds])[fold_of],
    )


def _slope_max(rows: Fold, limit: float | None) -> float:
    """(n₀/n₁)^limit, at least 1."""
    if limit is None:
        return math.inf
    negatives, positives = (rows.weight[rows.y == label].sum() for label in (0, 1))
    return float(max(negatives / max(positives, TINY), 1.0) ** limit)


def _choose(case: Case, recipe: Recipe) -> Choice | Trained:
    """What rows left out ask for; after Ctrl-C, the networks under the first alpha that were to judge them."""
    alphas = tuning.ALPHAS if recipe.alpha == "auto" else (float(recipe.alpha),)
    trials = tuning.trials(case.rows.train, case.seed)
    n = len(trials)
    if n == 0:
        return UNTRIED
    folds, seeds = (
        [(trial.train, case.costs) for trial in trials],
        [[case.seed, k, 0] for k in range(n)],
    )
    stack = _stack(folds, [*range(n)] * len(alphas), seeds * len(alphas), recipe)
    settings = replace(
        recipe.settings, epochs=max(1, recipe.settings.epochs // 2), selection="last"
    )
    trained = _run(replace(stack, alpha=np.repeat(alphas, n)), settings, recipe, "trials")
    if trained.interrupted:
        return trained.take(slice(min(n, recipe.n_networks)))
    rows = [trial.left_out for trial in trials]
    starts = range(0, n * len(alphas), n)
    judged = [
        np.concatenate([_judged(of, trained, start + k, recipe) for k, of in enumerate(rows)])
        for start in starts
    ]
    slopes = [
        mean_slope(trained.slope[start : start + n]) if recipe.has_slope else 1.0
        for start in starts
    ]
    y, weight = (np.concatenate([getattr(of, name) for of in rows]) for name in ("y", "weight"))
    return tuning.choice(alphas, judged, slopes, y, weight)


def _judged(rows: Fold, trained: Trained, k: int, recipe: Recipe) -> np.ndarray:
    """g of the k-th network alone."""
    x = predict_logits(trained.parameters[k : k + 1], recipe.architecture, rows.X, rows.view)[0]
    return (
        np.asarray(rebalanced_logit(x, trained.slope[k].astype(x.dtype), xp=np))
        if recipe.settings.astra
        else x
    )


def _run(stack: Stack, settings: Settings, recipe: Recipe, label: str = "epoch") -> Trained:
    with bar(recipe.verbose, settings.epochs, label) as progress:
        return train(stack, settings, n_jobs=threads(recipe.n_jobs), progress=progress)


def threads(n_jobs: int | None) -> int:
    """How many threads n_jobs means here. joblib's own answer is about processes, and warns where there may be none."""
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; None or -1 takes all cores")
    if n_jobs is None:
        n_jobs = -1 if multiprocessing.parent_process() is None else 1
    return n_jobs if n_jobs > 0 else max(1, joblib.cpu_count() + 1 + n_jobs)


def _fitted(trained: Trained, choice: Choice | None, recipe: Recipe) -> Fitted:
    """choice: None where the networks are of trials."""
    # After Ctrl-C, networks that had not begun are left out; without it, those that L-BFGS could not better stay as they began.
    kept = (trained.n_epochs > 0) | (not trained.interrupted)
    coefs, chosen = trained.parameters[kept], choice or UNTRIED
    return Fitted(
        coefs,
        trained.slope[kept] if recipe.settings.astra else np.ones(len(coefs), np.float32),
        int(trained.n_epochs.max()),
        _mean([history for history in trained.history if history]),
        None if choice is None else [state._asdict() for state in trained.states],
        chosen,
        recipe.settled(chosen),
        trained.interrupted,
    )


def _mean(histories: list[History]) -> History:
    """As far as the shortest goes."""
    length = min((len(history["epoch"]) for history in histories), default=0)
    return {
        name: np.mean([history[name][:length] for history in histories], axis=0)
        for name in (histories[0] if histories else ())
    }
