"""How much L2 a problem wants, asked of the rows themselves: networks trained without some rows judge these, under more and less of it.

Where the classes can be told apart, little L2 draws the boundary finely. Where they overlap, a network with little of it fences in the
few positives that it has seen and finds no others. Which of the two it is shows in rows that were left out, and in no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from astralearn.core.losses import ROOT
from astralearn.core.sigmoid import sigmoid
from astralearn.engine.rows import Fold

ALPHAS = 2.0, 32.0, 128.0  # the first, unless another is clearly better
PARTS = 5
TRAINED_ON = 2_000  # rows of a class in one trial, at most: enough to tell one alpha from another
JUDGED = 20_000  # rows of a class in all trials, at most
GAIN = 1 / 8  # what counts as better, at least: see `clear_gain`
QUANTILE = 0.9  # of Student's t: chance reaches that in one of ten problems


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


def best_alpha(judged: Sequence[np.ndarray], y: np.ndarray, weight: np.ndarray) -> float:
    """Of ALPHAS, the one with the largest clear gain over the first. judged: rebalanced logits of the same rows under each of them."""
    gains = [0.0, *(clear_gain(g, judged[0], y, weight) for g in judged[1:])]
    return ALPHAS[int(np.argmax(gains))]


def clear_gain(g: np.ndarray, than: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """By how much rebalanced logits g judge rows of either class better than others do; 0 unless that is GAIN at least, and no chance.

    A row's share in `root_gmn` is r = (its probability of being right)^¼. The gain is the mean gain in r among the positives plus that
    among the negatives; its variance is the sum of theirs, and the degrees of freedom of a paired t-test are those of the smaller class.

    >>> y, weight = np.asarray([1, 1, 1, 0, 0, 0]), np.ones(6)
    >>> than = np.asarray([-3.0, -4.0, -3.5, -2.0, -3.0, -4.0])
    >>> round(clear_gain(than + 2.5 * y, than, y, weight), 3), clear_gain(than + 0.5 * y, than, y, weight)
    (0.304, 0.0)
    """
    towards = np.where(y == 1, 1.0, -1.0)
    gain = sigmoid(towards * g, np) ** ROOT - sigmoid(towards * than, np) ** ROOT
    moments = [_mean_and_variance(gain[y == label], weight[y == label]) for label in (0, 1)]
    mean, variance = (sum(of) for of in zip(*moments, strict=True))
    degrees = min(int(np.sum(y == label)) for label in (0, 1)) - 1
    is_clear = mean >= GAIN and mean > float(stdtrit(degrees, QUANTILE)) * np.sqrt(variance)
    return mean if is_clear else 0.0


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
