"""What one method did on one draw."""

from __future__ import annotations

from dataclasses import dataclass

from astralearn.core import SoftConfusion
from astralearn.study.record import Kept
from astralearn.study.weighted_scores import positive_weight, weighted_counts

# Of a record, each higher for better methods: the field or property, and what tables call it.
DRAW_SCORES = {
    "average_precision": "AP",
    "auc": "AUC",
    "g_mean": "G-Mean",
    "mcc": "MCC",
    "top_recall": "recall at 1 %",
}


@dataclass(frozen=True)
class DrawRecord(Kept):
    """Scores on the rows that were not drawn, and what they cost.

    k, negatives: rows of each class that the method learned from.
    draw: the number of the draw, the same rows for every method.
    tn, fp, fn, tp: test rows by the method's own decision, not weighted.
    average_precision: at the prevalence learned from.
    top_recall: share of the positives among the 1 % highest scores, at that prevalence.
    error: what the method raised, if it did. Then every score is zero.
    """

    KEY = ("problem", "method", "k", "draw")
    FORMAT = 101

    k: int
    draw: int
    negatives: int
    tn: int
    fp: int
    fn: int
    tp: int
    average_precision: float
    auc: float
    top_recall: float
    fit_seconds: float
    predict_seconds: float
    error: str | None = None

    @property
    def case(self) -> tuple[str, int, int]:
        """What every method meets alike: the problem, k and the draw."""
        return self.problem, self.k, self.draw

    @property
    def prevalence(self) -> float:
        """Share of the positives among the rows learned from."""
        return self.k / (self.k + self.negatives)

    @property
    def counts(self) -> SoftConfusion:
        """Decisions at the prevalence learned from."""
        weight = positive_weight(
            self.prevalence, positives=self.fn + self.tp, negatives=self.tn + self.fp
        )
        return weighted_counts(
            tn=self.tn, fp=self.fp, fn=self.fn, tp=self.tp, positive_weight=weight
        )

    @property
    def g_mean(self) -> float:
        return 0.0 if self.error else float(self.counts.g_mean)

    @property
    def mcc(self) -> float:
        return 0.0 if self.error else float(self.counts.mcc)

    @property
    def recall(self) -> float:
        return self.tp / (self.tp + self.fn)

    @property
    def false_alarms(self) -> float:
        """Of a thousand negatives, those taken for positives."""
        return 1_000 * self.fp / (self.fp + self.tn)
