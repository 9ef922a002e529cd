"""A draw's record: scores at the prevalence learned from, and zero where a method failed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sklearn.metrics import matthews_corrcoef

from astralearn.study.draw_record import DrawRecord

RECORD = DrawRecord(
    problem="toy",
    method="m",
    k=5,
    draw=0,
    negatives=495,
    tn=960,
    fp=30,
    fn=4,
    tp=6,
    average_precision=0.5,
    auc=0.9,
    top_recall=0.4,
    fit_seconds=1.0,
    predict_seconds=0.1,
)


def test_decisions_are_judged_at_the_prevalence_learned_from() -> None:
    """Of 1,000 test rows 10 are rare, and of the rows learned from 1 %: no weights."""
    assert RECORD.prevalence == 0.01
    truth = [0] * 990 + [1] * 10
    decided = [0] * 960 + [1] * 30 + [0] * 4 + [1] * 6
    assert RECORD.mcc == pytest.approx(matthews_corrcoef(truth, decided))
    assert RECORD.g_mean == pytest.approx((0.6 * 960 / 990) ** 0.5)
    assert RECORD.recall == 0.6
    assert RECORD.false_alarms == pytest.approx(1000 * 30 / 990)
    rarer = replace(RECORD, negatives=5 * 4000)
    assert rarer.g_mean == RECORD.g_mean
    assert rarer.mcc < RECORD.mcc / 3


def test_a_method_that_failed_scores_zero() -> None:
    failed = replace(RECORD, error="ValueError: no")
    assert (failed.g_mean, failed.mcc) == (0.0, 0.0)
    assert failed.is_final
    assert not replace(RECORD, error="MemoryError: 5 GB").is_final
    assert RECORD.key == ("toy", "m", 5, 0)
