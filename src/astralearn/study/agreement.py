"""Whether our means agree with published ones, where folds share a draw.

The five folds of a repetition test one draw of the positives, or one dealing of them, so they are
not independent, and a draw counts once: the error of a mean is that of the draws' means. Of the
published study only the deviation over its folds is known. Its error is that of independent folds,
widened as our own draws say (the design effect of survey statistics, Kish 1965).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from astralearn.study.paper import DRAWS, TRIALS, PublishedScore
from astralearn.study.record import StartRecord
from astralearn.study.scores import Interval
from astralearn.study.significance import LEVEL


class Estimate(NamedTuple):
    """A mean, its standard error, and the number of draws behind both."""

    mean: float
    error: float
    draws: int

    @property
    def interval(self) -> Interval:
        """95%, by Student's t with draws − 1 degrees of freedom."""
        from scipy.stats import t

        half = float(t.ppf(0.975, self.draws - 1)) * self.error
        return Interval(self.mean - half, self.mean + half)


class Agreement(NamedTuple):
    """Our mean beside a published one: Welch's test of their difference.

    p_value: two-sided; they agree where it is above 0.05.
    lowest, highest: means of the worst and the best epoch with hindsight.
    """

    ours: Estimate
    theirs: Estimate
    p_value: float
    lowest: float
    highest: float

    @property
    def agrees(self) -> bool:
        return self.p_value > LEVEL

    @property
    def is_within_reach(self) -> bool:
        """Whether some choice of the epoch, with hindsight, gives the published mean."""
        return self.lowest <= self.theirs.mean <= self.highest


class ScoreSpread(NamedTuple):
    """What moves a score.

    starts: deviation over the starts on one fold; 0 where there is one start.
    draws: deviation of the draws' means.
    """

    starts: float
    draws: float


def agreement(records: Sequence[StartRecord], published: PublishedScore, score: str) -> Agreement:
    """Test one cell of Table 2.

    records: of one problem and method, with the counts of the rule in question.
    score: "g_mean" or "mcc".
    """
    scores = by_draw(records, score)
    ours = of_draws(scores)
    theirs = of_published(published, design_effect(scores))
    lowest, highest = (
        float(np.mean([getattr(record, f"{end}_{score}") for record in records]))
        for end in ("worst", "best")
    )
    return Agreement(ours, theirs, welch(ours, theirs), lowest, highest)


def by_draw(records: Sequence[StartRecord], score: str) -> NDArray[np.float64]:
    """Scores as (draws, folds, starts)."""
    ordered = sorted(records, key=lambda r: (r.repetition, r.fold, r.start))
    shape = [len({getattr(r, name) for r in records}) for name in ("repetition", "fold", "start")]
    return np.array([getattr(record, score) for record in ordered], float).reshape(shape)


def of_draws(scores: NDArray[np.float64]) -> Estimate:
    """The mean, with the error that its draws show.

    >>> of_draws(np.array([[[1.0]], [[0.0]], [[1.0]], [[0.0]]])).interval
    Interval(low=-0.41869..., high=1.41869...)
    """
    of_each = scores.mean(axis=(1, 2))
    error = float(of_each.std(ddof=1)) / math.sqrt(len(of_each))
    return Estimate(float(of_each.mean()), error, len(of_each))


def design_effect(scores: NDArray[np.float64]) -> float:
    """How many times the variance of a draw's mean is that of independent folds.

    At least 1, so that no interval is narrower than independent folds make it. For one start at a
    time, as the paper has it, averaged over starts.
    """
    _, folds, _ = scores.shape
    of_draws = scores.mean(axis=1).var(axis=0, ddof=1).mean()
    of_folds = scores.reshape(-1, scores.shape[2]).var(axis=0, ddof=1).mean()
    return max(1.0, float(folds * of_draws / of_folds)) if of_folds > 0 else 1.0


def of_published(published: PublishedScore, effect: float) -> Estimate:
    """A published mean of 25 folds, five draws, with its error under a design effect."""
    error = published.deviation * math.sqrt(effect / TRIALS)
    return Estimate(published.mean, error, DRAWS)


def welch(first: Estimate, second: Estimate) -> float:
    """The two-sided p-value of the difference of two means of draws.

        t = (m₁ − m₂)/√(e₁² + e₂²),  ν = (e₁² + e₂²)²/(e₁⁴/(n₁ − 1) + e₂⁴/(n₂ − 1))

    Means without error agree where they are printed alike, to three digits.

    >>> round(welch(Estimate(0.5, 0.1, 10), Estimate(0.8, 0.1, 5)), 3)
    0.057
    """
    from scipy.stats import t

    difference = abs(first.mean - second.mean)
    squares = [estimate.error**2 for estimate in (first, second)]
    if sum(squares) == 0 or difference < 5e-4:
        return 1.0 if difference < 5e-4 else 0.0
    parts = [
        square**2 / (estimate.draws - 1)
        for square, estimate in zip(squares, (first, second), strict=True)
    ]
    freedom = sum(squares) ** 2 / sum(parts)
    return float(2.0 * t.sf(difference / math.sqrt(sum(squares)), freedom))


def spread(records: Sequence[StartRecord], score: str) -> ScoreSpread:
    """How far a score moves from start to start, and from draw to draw."""
    scores = by_draw(records, score)
    starts = 0.0 if scores.shape[2] < 2 else math.sqrt(scores.var(axis=2, ddof=1).mean())
    return ScoreSpread(starts, float(scores.mean(axis=(1, 2)).std(ddof=1)))
