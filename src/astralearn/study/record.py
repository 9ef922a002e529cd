"""What one method did on one fold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from astralearn.core import SoftConfusion

History = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Record:
    """Counts of decisions on the test rows, and what they cost.

    learned: rows the method learned or chose from. average_precision: None where the method gives no scores. error: what the method
    raised, if it did; then every positive counts as missed and no negative as a false alarm.
    """

    problem: str
    method: str
    repetition: int
    fold: int
    learned: int
    tn: int
    fp: int
    fn: int
    tp: int
    average_precision: float | None
    fit_seconds: float
    error: str | None = None

    @property
    def counts(self) -> SoftConfusion:
        return SoftConfusion(tn=self.tn, fp=self.fp, fn=self.fn, tp=self.tp)

    @property
    def g_mean(self) -> float:
        return float(self.counts.g_mean)

    @property
    def mcc(self) -> float:
        return float(self.counts.mcc)

    @property
    def tested(self) -> int:
        return self.tn + self.fp + self.fn + self.tp


class Outcome(NamedTuple):
    """A record, and the soft scores the method monitored while it learned; empty where it did not."""

    record: Record
    history: History
