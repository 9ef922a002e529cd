"""Weighted scores are those of a test set in which positives are repeated."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, matthews_corrcoef

from astralearn.study.weighted_scores import (
    average_precision,
    positive_weight,
    recall_among_highest,
    weighted_counts,
)

REPEATS = 7


@pytest.fixture(params=[0, 1, 2])
def rows(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores; seed 2 has many equal scores."""
    random = np.random.default_rng(request.param)
    truth = (random.random(400) < 0.1).astype(np.int8)
    scores = random.normal(size=400) + 1.5 * truth
    return truth, scores.round(0 if request.param == 2 else 9)


def repeated(truth: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    times = np.where(truth == 1, REPEATS, 1)
    return np.repeat(truth, times), np.repeat(values, times)


def test_average_precision_is_that_of_repeated_rows(rows: tuple[np.ndarray, np.ndarray]) -> None:
    truth, scores = rows
    found = average_precision(truth, scores, positive_weight=REPEATS)
    assert found == pytest.approx(average_precision_score(*repeated(truth, scores)), abs=1e-12)


def test_mcc_is_that_of_repeated_rows(rows: tuple[np.ndarray, np.ndarray]) -> None:
    truth, scores = rows
    decided = scores > 0.7
    counts = weighted_counts(
        tn=int((~decided & (truth == 0)).sum()),
        fp=int((decided & (truth == 0)).sum()),
        fn=int((~decided & (truth == 1)).sum()),
        tp=int((decided & (truth == 1)).sum()),
        positive_weight=REPEATS,
    )
    assert float(counts.mcc) == pytest.approx(matthews_corrcoef(*repeated(truth, decided)))


def test_recall_among_highest_is_that_of_repeated_rows_in_random_order(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    truth, scores = rows
    labels, values = repeated(truth, scores)
    looked_at = len(labels) // 10
    random = np.random.default_rng(0)
    recalls = []
    for _ in range(300):
        order = np.lexsort((random.random(len(labels)), -values))
        recalls.append(labels[order[:looked_at]].sum() / labels.sum())
    found = recall_among_highest(
        truth, scores, positive_weight=REPEATS, share=looked_at / len(labels)
    )
    assert found == pytest.approx(np.mean(recalls), abs=0.005)


def test_weight_makes_the_share_of_positives_the_prevalence() -> None:
    weight = positive_weight(1 / 4001, positives=700, negatives=9_000)
    assert 700 * weight / (700 * weight + 9_000) == pytest.approx(1 / 4001)
