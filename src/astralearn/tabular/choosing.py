"""Which rows are flagged, and which to look at next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

EVERY = 5  # the place of a suggestion that is chosen for what its label tells


class FlagRule(NamedTuple):
    """Which rows are flagged: by one rule, or by the model's own cut.

    top: so many of the highest risk.
    share: this share of all rows, those of the highest risk.
    cost_miss, cost_alarm: what a missed positive and a false alarm cost; a row is flagged where
        its risk times the one is at least the other's chance times its cost.
    """

    top: int | None = None
    share: float | None = None
    cost_miss: float | None = None
    cost_alarm: float | None = None

    def check(self) -> None:
        """Refuse numbers out of range, and two rules at once."""
        has_costs = self.cost_miss is not None or self.cost_alarm is not None
        if sum([self.top is not None, self.share is not None, has_costs]) > 1:
            raise ValueError("`top`, `share` and costs exclude each other: name one of them")
        if self.top is not None and self.top < 0:
            raise ValueError(f"`top` must be at least 0; found {self.top}")
        if self.share is not None and not 0 <= self.share <= 1:
            raise ValueError(f"`share` must lie between 0 and 1; found {self.share}")
        if has_costs:
            for name in ("cost_miss", "cost_alarm"):
                cost = getattr(self, name)
                if not (cost or 0) > 0:
                    raise ValueError(f"`{name}` must be above 0; found {cost}")
                if np.isinf(cost):
                    raise ValueError(f"`{name}` must be finite; found {cost}")

    def flagged(self, risk: np.ndarray, ranks: np.ndarray, is_cut: np.ndarray) -> np.ndarray:
        """Whether each row is flagged, (rows,). is_cut: by the model's own cut."""
        if self.top is not None:
            return ranks <= self.top
        if self.share is not None:
            return ranks <= round(self.share * np.isfinite(risk).sum())
        if self.cost_miss is not None and self.cost_alarm is not None:
            return risk * self.cost_miss >= (1 - risk) * self.cost_alarm
        return is_cut


def suggested_rows(score: np.ndarray, n: int) -> np.ndarray:
    """The n rows to look at, in order: every fifth is the nearest to the cut.

    score: (rows,), above 0 for the minority.

    >>> suggested_rows(np.asarray([9.0, -9.0, 8.0, 0.1, 7.0, 6.0, 5.0]), 6).tolist()
    [0, 2, 4, 5, 3, 6]
    """
    likeliest = iter(np.argsort(-score, kind="stable").tolist())
    nearest = iter(np.argsort(np.abs(score), kind="stable").tolist())
    chosen: dict[int, None] = {}
    while len(chosen) < min(n, len(score)):
        order = nearest if len(chosen) % EVERY == EVERY - 1 else likeliest
        chosen[next(row for row in order if row not in chosen)] = None
    return np.asarray(list(chosen), dtype=int)
