"""What one method did on one fold, and what every kind of record has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from astralearn.core import SoftConfusion

Key = tuple[str | int, ...]  # problem, method, and numbers such as repetition and fold
MonitoredSeries = Mapping[str, NDArray[np.float32]]
PASSING_ERROR = re.compile(r"KeyboardInterrupt|^\w*(MemoryError|ImportError|ModuleNotFoundError):")


@dataclass(frozen=True)
class Kept:
    """What a study's file keeps of one method on one problem; a table of such records.

    KEY: the fields that name a record. FORMAT: of the file, told apart when it is opened.
    """

    KEY: ClassVar[tuple[str, ...]]
    FORMAT: ClassVar[int]

    problem: str
    method: str

    @property
    def key(self) -> Key:
        return tuple(getattr(self, name) for name in self.KEY)

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
    ranks: of each tested positive "row:above+", or "row:above-" where it was missed: the number of
        its row in the table, and how many tested negatives score higher, of equals half.

    >>> record = Record("cards", "tree", 0, 0, 80, tn=15, fp=3, fn=0, tp=2, average_precision=0.5,
    ...                 fit_seconds=0.1)
    >>> record.tested, round(record.g_mean, 3)
    (20, 0.913)
    """

    KEY: ClassVar[tuple[str, ...]] = ("problem", "method", "repetition", "fold")
    FORMAT = 2

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
    ranks: str = ""

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

    def positives(self) -> list[TestedPositive]:
        """The tested positives, in the order of their rows."""
        return [TestedPositive.read(text) for text in self.ranks.split()]


class TestedPositive(NamedTuple):
    """Where a method put a positive that it had not seen.

    row: its number in the table.
    above: how many of the tested negatives score higher; of those that score the same, half.
    found: whether the method called it positive.
    """

    row: int
    above: float
    found: bool

    def __str__(self) -> str:
        return f"{self.row}:{self.above:.12g}{'+' if self.found else '-'}"

    @classmethod
    def read(cls, text: str) -> TestedPositive:
        """What `str` wrote.

        >>> TestedPositive.read("17:3.5-")
        TestedPositive(row=17, above=3.5, found=False)
        """
        row, above = text[:-1].split(":")
        return cls(int(row), float(above), text[-1] == "+")


@dataclass(frozen=True)
class StartRecord(Record):
    """What one start did on one fold of the paper's study, whatever chose its epoch.

    The counts of a Record are those of the paper's rule. A method without epochs has one epoch.

    start: the number of the initial weights.
    chosen_epoch: that of the paper's rule.
    last_fp, last_tp: counts of the last epoch.
    best_g_mean, best_mcc: of the epoch that is best on the test rows, each score for itself.
    worst_g_mean, worst_mcc: of the worst after the burn-in.
    """

    KEY = ("problem", "method", "repetition", "fold", "start")
    FORMAT = 202

    start: int = 0
    chosen_epoch: int = 0
    last_fp: int = 0
    last_tp: int = 0
    best_g_mean: float = 0.0
    best_mcc: float = 0.0
    worst_g_mean: float = 0.0
    worst_mcc: float = 0.0

    def at_last_epoch(self) -> StartRecord:
        """The same with the counts of the last epoch."""
        return replace(
            self,
            tn=self.tn + self.fp - self.last_fp,
            fp=self.last_fp,
            fn=self.fn + self.tp - self.last_tp,
            tp=self.last_tp,
        )


class Outcome(NamedTuple):
    """A record, and the soft scores the method monitored while it learned, if any."""

    record: Any
    history: MonitoredSeries
