"""How much L2 a problem wants, asked of the rows themselves: networks trained without some rows judge these, under little and much of it.

Where the classes can be told apart, little L2 draws the boundary finely. Where they overlap, a network with little of it fences in the
few positives that it has seen and finds no others. Which of the two it is shows in rows that were left out, and in no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from astralearn.core.sigmoid import sigmoid
from astralearn.engine.rows import Fold

LITTLE, MUCH = 2.0, 32.0  # values of alpha
PARTS = 5
TRAINED_ON = 2_000  # rows of a class in one trial, at most: enough to tell the two apart
JUDGED = 20_000  # rows of a class in all trials, at most
QUANTILE = 0.975  # of Student's t: a difference beyond it is no chance, p ≤ 0.05


class Trial(NamedTuple):
    """Rows to train on, and rows left out, to be judged."""

    train: Fold
    left_out: Fold


def trials(fold: Fold, seed: int) -> list[Trial]:
    """PARTS trials, each without another part of either class, or as many as the rarer class has rows; none where that is one row.

    Each trains on at most TRAINED_ON rows of a class, at random, under weights that add up to what the class weighs in the whole fold.
    """
    rng = np.random.default_rng([seed, PARTS])
    classes = [np.flatnonzero((fold.y == label) & (fold.weight > 0)) for label in (0, 1)]
    n = min(PARTS, *(len(rows) for rows in classes))
    if n < 2:
        return []
    totals = [float(fold.weight[rows].sum()) for rows in classes]
    drawn = [rng.permutation(rows)[:JUDGED] for rows in classes]
    found = []
    for part in range(n):
        seen = [np.delete(rows, np.s_[part::n])[:TRAINED_ON] for rows in drawn]
        factors = [total / float(fold.weight[rows].sum()) for total, rows in zip(totals, seen, strict=True)]
        found.append(Trial(_some(fold, seen, factors), _some(fold, [rows[part::n] for rows in drawn], [1.0, 1.0])))
    return found


def is_clearly_better(g: np.ndarray, than: np.ndarray, y: np.ndarray, weight: np.ndarray) -> bool:
    """Whether rebalanced logits g judge rows of either class better than others do, by a paired t-test.

    A row's share in `root_gmn` is r = (its probability of being right)^¼. What is tested is the mean gain in r among the positives plus
    that among the negatives; its variance is the sum of theirs, and the degrees of freedom are those of the smaller class.

    >>> y, weight = np.asarray([1, 1, 1, 0, 0, 0]), np.ones(6)
    >>> than = np.asarray([-3.0, -4.0, -3.5, -2.0, -3.0, -4.0])
    >>> is_clearly_better(than + 2.5 * y, than, y, weight), is_clearly_better(than, than, y, weight)
    (True, False)
    """
    towards = np.where(y == 1, 1.0, -1.0)
    gain = sigmoid(towards * g, np) ** 0.25 - sigmoid(towards * than, np) ** 0.25
    moments = [_mean_and_variance(gain[y == label], weight[y == label]) for label in (0, 1)]
    mean, variance = (sum(of) for of in zip(*moments, strict=True))
    degrees = min(int(np.sum(y == label)) for label in (0, 1)) - 1
    return bool(mean > float(stdtrit(degrees, QUANTILE)) * np.sqrt(variance))


def _mean_and_variance(values: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """The weighted mean, and the variance of that mean."""
    share, n = weight / weight.sum(), len(values)
    mean = float(share @ values)
    return mean, float(np.square(share) @ np.square(values - mean)) * n / (n - 1)


def _some(fold: Fold, classes: Sequence[np.ndarray], factors: Sequence[float]) -> Fold:
    """These rows of each class, their weights times the class's factor."""
    rows = np.concatenate(classes)
    weight = np.concatenate([factor * fold.weight[members] for factor, members in zip(factors, classes, strict=True)])
    return Fold(fold.X[rows], fold.y[rows], weight, fold.view)
