"""What one method did on one fold, and what every kind of record has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from astralearn.core import SoftConfusion

Key = tuple[str, str, int, int]  # problem, method, and two numbers such as repetition and fold
MonitoredSeries = Mapping[str, NDArray[np.float32]]
PASSING_ERROR = re.compile(r"KeyboardInterrupt|^\w*(MemoryError|ImportError|ModuleNotFoundError):")


@dataclass(frozen=True)
class Kept:
    """What a study's file keeps of one method on one problem; a table of such records.

    KEY: the fields that name a record. FORMAT: of the file, told apart when it is opened.
    """

    KEY: ClassVar[tuple[str, str, str, str]]
    FORMAT: ClassVar[int]

    problem: str
    method: str

    @property
    def key(self) -> Key:
        problem, method, first, second = (getattr(self, name) for name in self.KEY)
        return problem, method, first, second

    @property
    def is_final(self) -> bool:
        """False where another run may not meet the error.

        So it is with an interruption, and with a lack of memory or of a package.
        """
        error: str | None = getattr(self, "error", None)
        return error is None or PASSING_ERROR.search(error) is None


@dataclass(frozen=True)
class Record(Kept):
    """Counts of decisions on the test rows, and what they cost.

    learned: rows the method learned or chose from.
    average_precision: None where the method gives no scores.
    fit_seconds: what one fold took to learn; the mean of a stack.
    error: what the method raised, if it did. Then every positive counts as missed and no negative
        as a false alarm.
    """

    KEY = ("problem", "method", "repetition", "fold")
    FORMAT = 1

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
    """A record, and the soft scores the method monitored while it learned, if any."""

    record: Any
    history: MonitoredSeries
