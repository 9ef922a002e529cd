"""A score's evidence: how rarely the majority scores as high. NumPy alone.

Learners of different kinds score rows in units of their own. Evidence is the unit that they share:

    v(s) = −ln (share of majority rows that score above s)

so that e^{−v} is the false alarm rate at the score s. Below the highest scores of the majority it
is read off their ranks. Above, where no rank tells scores apart, it goes on as an exponential tail.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TAIL = 0.02  # The share of the majority whose mean excess is the tail's scale, unless said.
FEWEST_IN_TAIL = 10
KNOTS = 1_000
# What the farthest left-out row may have beyond the tail's begin, so that no learner that tells
# the classes apart without any doubt outweighs the others by orders of magnitude.
LONGEST = 30.0


@dataclass(frozen=True)
class Evidence:
    """The evidence of a learner's scores.

    knots: scores of the majority, rising, up to where the tail begins.
    values: their evidence, rising.
    scale: by how much the score grows for one more unit of evidence in the tail.
    """

    knots: np.ndarray
    values: np.ndarray
    scale: float

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """The evidence of scores, ≥ 0 and of their shape."""
        excess = np.maximum(scores - self.knots[-1], 0.0) / self.scale
        return np.interp(scores, self.knots, self.values) + excess


def evidence_of(
    majority: np.ndarray, weight: np.ndarray, *, highest: float, tail: float = TAIL
) -> Evidence:
    """The evidence that left-out scores of majority rows define.

    majority: (n,), scores of majority rows by learners that did not see them.
    weight: (n,), > 0: how many rows each stands for.
    highest: the highest left-out score of any row.
    tail: the share of the majority whose mean excess is the tail's scale.

    >>> found = evidence_of(np.arange(1000.0), np.ones(1000), highest=1200.0)
    >>> found(np.asarray([500.0, 990.0, 1200.0])).round(2).tolist()
    [0.69, 4.91, 24.91]
    """
    scores, place = np.unique(majority, return_inverse=True)
    of_score = np.bincount(place, weight)
    total = float(of_score.sum())
    above = total - np.cumsum(of_score) + 0.5 * of_score  # Ties count by half.
    in_tail = min(max(FEWEST_IN_TAIL, tail * total), 0.5 * total)
    last = max(int(np.searchsorted(-above, -in_tail, side="right")) - 1, 0)
    values = -np.log((above[: last + 1] + 0.5) / (total + 1.0))
    begin = float(scores[last])
    beyond = scores[last + 1 :]
    excess = float(np.average(beyond, weights=of_score[last + 1 :])) - begin if len(beyond) else 0.0
    least = max(highest - begin, 0.0) / LONGEST
    scale = max(excess, least, 1e-9 * max(1.0, abs(begin)))
    kept = np.unique(np.searchsorted(values, np.linspace(0.0, values[-1], KNOTS)))
    kept = np.append(kept[kept < last], last)
    return Evidence(scores[kept], np.maximum(values[kept], 0.0), scale)
