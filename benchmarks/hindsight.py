"""How far the best threshold would carry each method, chosen with hindsight: docs/defaults.md, "With hindsight".

On some problems one rival has the best G-Mean and another the best MCC. Is there a method that has both at once, at any threshold? For
each method one threshold serves all 10 × 5 test folds, and it is chosen on these very folds, which nobody could do in practice: what is
out of reach even so, no rule for thresholds can reach. Last, on how many of the paper's problems a classifier without a single mistake
would be significantly better than each rival: what few positives can prove at most.

    python benchmarks/hindsight.py [PROBLEM ...]

Data: the catalogue of astralearn.datasets (set ASTRALEARN_DATA).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from astralearn import ASTraClassifier, datasets
from astralearn.core import SoftConfusion
from astralearn.methods import DEFAULT_METHOD, RIVALS, choose
from astralearn.study import Method, Split, by_method, make_splits
from astralearn.study.method import seeded
from astralearn.study.paper import TABLE_1
from astralearn.study.splits import seed_of
from astralearn.study.unit import how_positive
from defaults import REPETITIONS, SCORES, read, sign

OPEN = ["cod-763", "cod-3500", "ijcnn-971"]  # where the default does not have both
OURS = {
    "alpha = 2": {"alpha": 2.0, "margin": 0.0},
    "alpha = 32": {"alpha": 32.0, "margin": 0.0},
    "alpha = 128": {"alpha": 128.0, "margin": 0.0},
    "linear, alpha = 2": {"alpha": 2.0, "margin": 0.0, "hidden_layer_sizes": ()},
}


class Tested(NamedTuple):
    """Scores of one test fold's rows, in ascending order: of its negatives and of its positives."""

    negatives: np.ndarray
    positives: np.ndarray


def tested(problem: datasets.Problem, method: Method, split: Split) -> Tested:
    """A method that raises has missed the fold: no threshold finds anything there."""
    y = problem.y[split.test]
    try:
        with warnings.catch_warnings(action="ignore"):
            model = seeded(method.estimator, seed_of(0, split.repetition, split.fold)).fit(
                problem.X[split.learn], problem.y[split.learn]
            )
        scores = how_positive(model, problem.X[split.test])
    except ValueError:
        scores = np.full(len(y), -np.inf)
    return Tested(np.sort(scores[y == 0]), np.sort(scores[y == 1]))


def at_thresholds(folds: Sequence[Tested]) -> tuple[np.ndarray, np.ndarray]:
    """G-Mean and MCC, each the mean over the folds, at every threshold at which another positive is found."""
    found = np.concatenate([fold.positives for fold in folds])
    thresholds = np.unique(found[np.isfinite(found)])
    g_mean, mcc = np.zeros(len(thresholds)), np.zeros(len(thresholds))
    for negatives, positives in folds:
        tn, fn = (np.searchsorted(scores, thresholds) for scores in (negatives, positives))
        counts = SoftConfusion(
            *(count.astype(float) for count in (tn, len(negatives) - tn, fn, len(positives) - fn))
        )
        g_mean += counts.g_mean / len(folds)
        mcc += counts.mcc / len(folds)
    return g_mean, mcc


def best_rivals(problem: str) -> tuple[float, float]:
    """The best mean G-Mean and the best mean MCC that any rival has, at its own threshold."""
    records = by_method(read(), problem)
    best_g_mean, best_mcc = (
        max(float(np.mean([getattr(r, score) for r in records[name]])) for name in RIVALS)
        for score in SCORES
    )
    return best_g_mean, best_mcc


def highest(values: np.ndarray, where: np.ndarray) -> str:
    return f"{values[where].max():.3f}" if where.any() else "–"


def show(name: str) -> None:
    problem = datasets.load(name)
    splits = make_splits(problem, repetitions=REPETITIONS)
    best_g_mean, best_mcc = best_rivals(name)
    print(
        f"\n| {name} | MCC where the G-Mean is at least {best_g_mean:.3f} | G-Mean where the MCC is at least {best_mcc:.3f} |"
    )
    print("|---|---|---|")
    variants = [
        Method(variant, ASTraClassifier(**options, n_jobs=1)) for variant, options in OURS.items()
    ]
    for method in [*choose([DEFAULT_METHOD]).methods, *variants, *choose(["rivals"]).methods]:
        folds = Parallel(n_jobs=-1)(delayed(tested)(problem, method, split) for split in splits)
        g_mean, mcc = at_thresholds(folds)
        print(
            f"| {method.name} | {highest(mcc, g_mean >= best_g_mean)} | {highest(g_mean, mcc >= best_mcc)} |",
            flush=True,
        )


def flawless() -> None:
    records = read()
    print(
        "\nA classifier without a mistake would be significantly better, in one score at least, than"
    )
    for rival in RIVALS:
        of_rival = [by_method(records, problem)[rival] for problem in TABLE_1]
        proven = [
            any(sign([1.0] * len(rows), [getattr(r, score) for r in rows]) for score in SCORES)
            for rows in of_rival
        ]
        print(
            f"  {rival} on {sum(proven)} of {len(proven)}: {', '.join(np.asarray([*TABLE_1])[proven])}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("problems", nargs="*", help=f"default: {' '.join(OPEN)}")
    for asked in parser.parse_args().problems or OPEN:
        show(asked)
    flawless()
