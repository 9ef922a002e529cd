"""Which rows learn and test where k positives are drawn and the rest tested on.

Repeated folds of a problem with ten positives test one or two at a time. A table with hundreds of
positives can do better: draw k of them, and test on those that were not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from astralearn.datasets.errors import TooFewPositivesError
from astralearn.datasets.problem import Problem
from astralearn.study.splits import Split, seed_of


@dataclass(frozen=True)
class Drawing:
    """How rows are drawn.

    imbalance: negatives drawn for each positive, as far as the table has them.
    most_learned: negatives drawn at most, whatever k is.
    most_tested: negatives tested on at most; positives are tested on, all of them.
    """

    imbalance: int = 4_000
    most_learned: int = 20_000
    most_tested: int = 50_000

    def negatives(self, problem: Problem, k: int) -> int:
        """Return how many negatives learn beside k positives: at most half of the table's."""
        return min(self.imbalance * k, self.most_learned, problem.negatives // 2)


def make_draws(
    problem: Problem, k: int, *, draws: int = 5, seed: int = 0, drawing: Drawing | None = None
) -> list[Split]:
    """Return `draws` splits that learn from k positives each, and test on the others.

    Equal arguments give equal splits. The draws of one seed are nested: what k = 5 learns from,
    k = 10 learns from too. A split's `repetition` is the number of the draw.
    """
    drawing = drawing or Drawing()
    check_k(problem, k)
    negatives = drawing.negatives(problem, k)
    splits = []
    for draw in range(draws):
        random = np.random.default_rng(seed_of(seed, draw))
        rare = random.permutation(np.flatnonzero(problem.y == 1))
        common = random.permutation(np.flatnonzero(problem.y == 0))
        tested = common[negatives : negatives + drawing.most_tested]
        # In a random order, so that no place in the table says which rows are rare.
        learn = random.permutation(np.concatenate([rare[:k], common[:negatives]]))
        test = np.sort(np.concatenate([rare[k:], tested]))
        splits.append(Split(draw, 0, train=learn, validation=learn[:0], test=test))
    return splits


def check_k(problem: Problem, k: int) -> None:
    """Refuse k where fewer positives would be tested on than learned from.

    TooFewPositivesError says so; ValueError where k is below 1.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1; found {k}")
    if 2 * k > problem.positives:
        raise TooFewPositivesError(
            f"{problem.name} has {problem.positives} positives: draw at most half of them "
            f"(k ≤ {problem.positives // 2}; found {k})"
        )
