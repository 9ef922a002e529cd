"""Scores at the prevalence that a method learned from, by weighted test rows.

A test on 700 of 734 positives has far more of them than the data in use. So positives are given a
weight w = π / (1 − π) · n₀ / n₁, with which their share of the n₀ + n₁ test rows is the prevalence
π, and a false alarm costs what it costs in use. A score with weights is the score of a test set in
which every positive is repeated w times.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from astralearn.core import SoftConfusion

HIGHEST_SHARE = 0.01


def positive_weight(prevalence: float, *, positives: int, negatives: int) -> float:
    """Return the positives' weight at which their share is the prevalence.

    prevalence: in (0, 1). positives, negatives: test rows of each class.

    >>> positive_weight(0.5, positives=500, negatives=10_000)
    20.0
    """
    return prevalence / (1 - prevalence) * negatives / positives


def weighted_counts(
    *, tn: float, fp: float, fn: float, tp: float, positive_weight: float
) -> SoftConfusion:
    """Return the confusion matrix in which a positive counts `positive_weight` times."""
    return SoftConfusion(tn=tn, fp=fp, fn=positive_weight * fn, tp=positive_weight * tp)


def average_precision(
    truth: NDArray[np.int8], scores: NDArray[Any], *, positive_weight: float
) -> float:
    """Return the average precision in which a positive counts `positive_weight` times.

    truth: of shape (n,), 1 for a positive. scores: of shape (n,), higher for likelier positives.
    """
    from sklearn.metrics import average_precision_score

    weights = np.where(truth == 1, positive_weight, 1.0)
    return float(average_precision_score(truth, scores, sample_weight=weights))


def recall_among_highest(
    truth: NDArray[np.int8],
    scores: NDArray[Any],
    *,
    positive_weight: float,
    share: float = HIGHEST_SHARE,
) -> float:
    """Return the share of the positives among the highest scores.

    share: how much of the total weight may be looked at. Rows with equal scores are looked at in
    a random order; the value is the mean over such orders.

    >>> recall_among_highest(np.array([1, 0, 1, 0]), np.array([3, 2, 1, 0]), positive_weight=1.0,
    ...                      share=0.25)
    0.5
    """
    _, place = np.unique(-scores, return_inverse=True)
    rare = np.bincount(place, weights=truth == 1)
    common = np.bincount(place, weights=truth == 0)
    weight = positive_weight * rare + common
    before = np.cumsum(weight) - weight
    looked_at = np.clip((share * weight.sum() - before) / weight, 0.0, 1.0)
    return float((rare * looked_at).sum() / rare.sum())
