"""A cut for any model's scores, by the classifier's decisions. NumPy alone.

Scores become evidence (`evidence`), on which a decision rests (`decision`), and the cut becomes a
score again. Positives that the model has trained on flatter it. Their evidence counts for

    k/(k + 8)

of what it is, k their number: of five positives that is 0.38, of a hundred 0.93.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from astralearn.classifier.decision import (
    Expectations,
    check_decision,
    cut_for,
    expectations,
    left_out,
    possible_worlds,
)
from astralearn.classifier.evidence import Evidence, evidence_of

FLATTERY = 8.0  # the rows without evidence that a model's own positives are joined with
MODEL_TAIL = 0.05  # the share of the majority whose mean excess is the tail's scale
NEGATIVE, POSITIVE = 0, 1
FEWEST_NEGATIVES = 2


@dataclass(frozen=True)
class Cut:
    """Where a model's scores are cut, and what to expect of it.

    score: from which on rows are flagged.
    expectations: recall, false alarms per 1,000, precision, G-Mean, MCC and F1 on new rows, each
        with its 90 % interval, as `ASTraClassifier.expectations_` has them.

    >>> rng = np.random.default_rng(0)
    >>> scores, labels = np.r_[rng.normal(size=900), 3.0, 4.0, 2.5], np.r_[np.zeros(900), 1, 1, 1]
    >>> found = cut_scores(scores, labels)
    >>> found.flags(np.asarray([0.0, 3.0])).tolist()
    [False, True]
    """

    score: float
    expectations: Expectations

    def flags(self, scores: Any) -> Any:
        """Which scores, an array of any library, are at the cut or beyond."""
        if not hasattr(scores, "dtype"):
            raise TypeError(f"scores must be an array; found {type(scores).__name__}")
        return scores >= self.score

    def __str__(self) -> str:
        return f"Flags scores from {self.score:.4g} on.\n{self.expectations}"


def cut_scores(
    scores: np.ndarray,
    labels: np.ndarray,
    decision: Any = "g_mean",
    *,
    seen: bool = False,
    prior: float | None = None,
) -> Cut:
    """Find the cut for an aim from labelled scores.

    scores: (n,), finite, the higher the likelier positive.
    labels: (n,), 0 and 1; NaN marks missing ones.
    decision: as `ASTraClassifier` takes it; costs name the labels 0 and 1.
    seen: whether the model trained on these positives.
    prior: the positives' share where the model is used; None takes that of these rows.
    """
    check_decision(decision, [NEGATIVE, POSITIVE])
    scores, labels = np.asarray(scores, np.float64), np.asarray(labels, np.float64)
    if scores.ndim != 1 or scores.shape != labels.shape:
        raise ValueError(
            "scores must be one per row and labels of their shape; "
            f"found {scores.shape} and {labels.shape}"
        )
    known = ~np.isnan(labels)
    scores, labels = scores[known], labels[known]
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite; found NaN or infinity: look at the model's inputs")
    if not np.isin(labels, (NEGATIVE, POSITIVE)).all():
        wrong = labels[~np.isin(labels, (NEGATIVE, POSITIVE))][0]
        raise ValueError(f"labels must be 0, 1 or NaN (missing); found {wrong:g}")
    positives, majority = scores[labels == POSITIVE], scores[labels == NEGATIVE]
    if len(majority) < FEWEST_NEGATIVES:
        raise ValueError(
            f"a cut needs at least {FEWEST_NEGATIVES} negatives; found {len(majority)}"
        )
    prior = _checked_prior(prior, len(positives), len(scores))
    evidence = evidence_of(
        majority, np.ones(len(majority)), highest=float(scores.max()), tail=MODEL_TAIL
    )
    k = len(positives)
    share = k / (k + FLATTERY) if seen else 1.0
    worlds = possible_worlds(
        left_out(
            positives=share * evidence(positives),
            positive_weight=np.ones(k),
            majority=evidence(majority),
            majority_weight=np.ones(len(majority)),
            prior=prior,
        )
    )
    cut = cut_for(decision, worlds, positive=POSITIVE, negative=NEGATIVE)
    return Cut(_score_of(cut, evidence), expectations(worlds, cut, positives=float(k)))


def _checked_prior(prior: Any, positives: int, rows: int) -> float:
    if prior is None and not positives:
        raise ValueError(
            "prior must be given where no row is positive: the positives' share where the model "
            "is used"
        )
    prior = positives / rows if prior is None else prior
    if not isinstance(prior, Real) or not 0 < float(prior) < 1:
        raise ValueError(f"prior must be in (0, 1); found {prior!r}")
    return float(prior)


def _score_of(cut: float, evidence: Evidence) -> float:
    """The lowest score with this evidence."""
    last = float(evidence.values[-1])
    if cut > last:
        return float(evidence.knots[-1] + (cut - last) * evidence.scale)
    return float(np.interp(cut, evidence.values, evidence.knots))
