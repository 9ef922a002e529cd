"""How much L2 a problem wants, and where its boundary belongs, asked of rows left out.

Where the classes can be told apart, little L2 draws the boundary finely, and the positives need no
large allowance. Where they overlap, a network with little L2 fences in the few positives that it
has seen and finds no others. Which of the two it is shows in rows that networks were trained
without, and in no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from astralearn.core.elementary import sigmoid
from astralearn.core.losses import ROOT
from astralearn.engine.rows import Fold

ALPHAS = 2.0, 32.0, 128.0  # the first, unless another is clearly better
ALPHA_WITH_ROOM = 0.1  # in place of the first where left-out positives have room
PARTS = 5
TRAINED_ON = 2_000  # rows of a class in one trial, at most: enough to tell one alpha from another
JUDGED = 20_000  # rows of a class in all trials, at most
GAIN = 1 / 8  # what counts as better, at least: see `clear_gain`
QUANTILE = 0.9  # of Student's t: chance reaches that in one of ten problems
SURE = 0.99  # the chance that a new positive lies within the room


class Choice(NamedTuple):
    """What rows left out ask for.

    alpha: L2.
    margin: how far the boundary moves towards the minority, in rebalanced logits.
    """

    alpha: float
    margin: float


UNTRIED = Choice(ALPHAS[0], 0.0)


def trials(fold: Fold, seed: int) -> list[Fold]:
    """PARTS folds, each of which holds out another part of either class, to be judged.

    As many as the rarer class has rows, where these are fewer; none where that is one row. Each
    trains on at most TRAINED_ON rows of a class, at random, under weights that add up to what the
    class weighs in the whole fold.
    """
    rng = np.random.default_rng([seed, PARTS])
    rows = fold.train
    classes = [rows.of_class(positive) for positive in (False, True)]
    n = min(PARTS, *(len(members) for members in classes))
    if n < 2:
        return []
    totals = [float(rows.weight[members].sum()) for members in classes]
    drawn = [rng.permutation(members)[:JUDGED] for members in classes]
    found = []
    for part in range(n):
        seen = [np.delete(members, np.s_[part::n])[:TRAINED_ON] for members in drawn]
        left_out = np.concatenate([members[part::n] for members in drawn])
        weights = [
            total / float(rows.weight[members].sum()) * rows.weight[members]
            for total, members in zip(totals, seen, strict=True)
        ]
        train = replace(rows.take(np.concatenate(seen)), weight=np.concatenate(weights))
        found.append(replace(fold, train=train, held_out=rows.take(left_out)))
    return found


def choice(
    alphas: Sequence[float],
    judged: Sequence[np.ndarray],
    slopes: Sequence[float],
    positive: np.ndarray,
    weight: np.ndarray,
) -> Choice:
    """The alpha with the largest clear gain over the first, and the margin that it shows.

    Where none of several has a clear gain and there is room, ALPHA_WITH_ROOM, with the margin that
    the first shows: under less L2 logits are larger.

    judged: rebalanced logits of the same rows under each of the alphas.
    slopes: what networks had learned under each.
    positive, weight: of these rows.
    """
    gains = [0.0, *(clear_gain(g, judged[0], positive, weight) for g in judged[1:])]
    best = int(np.argmax(gains))
    of_positives = room(judged[best][positive], weight[positive])
    alpha = ALPHA_WITH_ROOM if len(alphas) > 1 and best == 0 and of_positives > 0 else alphas[best]
    return Choice(alpha, margin(of_positives, slopes[best]))


def room(g: np.ndarray, weight: np.ndarray) -> float:
    """How far on the right side of the boundary a new positive would lie, too.

    The lower prediction limit for one more of the rebalanced logits g (n,) of left-out positives,
    mean − t·√(s² + s²/n) with Student's t for SURE; 0 where that is on the wrong side. A row of
    weight k stands for k such rows, but for one in n.

    >>> round(room(np.asarray([7.0, 8.0, 9.0, 8.0, 7.5, 8.5]), np.ones(6)), 2)
    5.43
    """
    n, mean = len(g), float(np.average(g, weights=weight))
    variance = float(np.average(np.square(g - mean), weights=weight)) * n / (n - 1)
    return max(0.0, mean - float(stdtrit(n - 1, SURE)) * float(np.sqrt(variance + variance / n)))


def margin(begin: float, slope: float) -> float:
    """By how much to move the boundary, in rebalanced logits: begin·(1 − 1/b)/2.

    That is the middle of the gap between the classes. A slope b gives the positives b times the
    negatives' margin. So where the positives begin, the negatives end at −begin/b.
    """
    return begin * (1.0 - 1.0 / slope) / 2.0


def clear_gain(g: np.ndarray, than: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> float:
    """By how much g judges rows better than others do; 0 unless that is GAIN and no chance.

    A row's share in `root_gmn` is r = (its probability of being right)^¼. The gain is the mean gain
    in r among the positives plus that among the negatives; its variance is the sum of theirs, and
    the degrees of freedom of a paired t-test are those of the smaller class.

    g, than: rebalanced logits of the same rows.

    >>> positive, weight = np.asarray([True, True, True, False, False, False]), np.ones(6)
    >>> than = np.asarray([-3.0, -4.0, -3.5, -2.0, -3.0, -4.0])
    >>> round(clear_gain(than + 2.5 * positive, than, positive, weight), 3)
    0.304
    >>> clear_gain(than + 0.5 * positive, than, positive, weight)
    0.0
    """
    towards = np.where(positive, 1.0, -1.0)
    gain = sigmoid(towards * g, np) ** ROOT - sigmoid(towards * than, np) ** ROOT
    of_negatives = _mean_and_variance(gain[~positive], weight[~positive])
    of_positives = _mean_and_variance(gain[positive], weight[positive])
    mean, variance = (sum(both) for both in zip(of_negatives, of_positives, strict=True))
    degrees = min(int(positive.sum()), int((~positive).sum())) - 1
    is_clear = mean >= GAIN and mean > float(stdtrit(degrees, QUANTILE)) * np.sqrt(variance)
    return mean if is_clear else 0.0


def _mean_and_variance(values: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """The weighted mean, and the variance of that mean."""
    share, n = weight / weight.sum(), len(values)
    # Sums of NumPy's own: those of BLAS depend on its threads.
    mean = float(np.sum(share * values))
    return mean, float(np.sum(np.square(share * (values - mean)))) * n / (n - 1)
