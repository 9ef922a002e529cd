"""Records of one method on one problem, summed up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from astralearn.study.record import Record

R = TypeVar("R", bound=Record)

# The two that the paper tests, per fold: an attribute of Record → what a reader calls it.
PAPER_SCORES = {"g_mean": "G-Mean", "mcc": "MCC"}


class Interval(NamedTuple):
    """The ends of an interval, which belong to it.

    >>> 0.76 in Interval(0.57, 0.89), 0.5 in Interval(0.57, 0.89)
    (True, False)
    """

    low: float
    high: float

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float | np.floating) and bool(self.low <= value <= self.high)


@dataclass(frozen=True)
class Summary:
    """A method on a problem: G-Mean and MCC over folds, the rest pooled.

    g_mean, mcc: means over folds, as in the paper, with standard deviations `_sd`.
    hits, trials: positives found of positives tested.
    interval: the 95% Wilson interval of hits. It takes trials for independent, which they are not
        quite, since repetitions test the same positives again.
    errors: what the method raised, with how often.

    >>> records = [Record("cards", "tree", 0, i, 80, 15, 3, 1 - i, 1 + i, 0.5, 0.1) for i in (0, 1)]
    >>> summary = summarise(records)
    >>> summary.hits, summary.trials, summary.folds
    (3, 4, 2)
    """

    problem: str
    method: str
    folds: int
    g_mean: float
    g_mean_sd: float
    mcc: float
    mcc_sd: float
    hits: int
    trials: int
    interval: Interval
    fnr: float
    fpr: float
    average_precision: float | None
    fit_seconds: float
    errors: tuple[tuple[str, int], ...]


def summarise(records: Sequence[Record]) -> Summary:
    """Of records that share problem and method.

    >>> records = [Record("cards", "tree", 0, i, 80, 15, 3, 1 - i, 1 + i, 0.5, 0.1) for i in (0, 1)]
    >>> summary = summarise(records)
    >>> round(summary.g_mean, 3), round(summary.fpr, 3)
    (0.779, 0.167)
    """
    kinds = {(record.problem, record.method) for record in records}
    if len(kinds) != 1:
        found = sorted(map(str, kinds))
        raise ValueError(f"records of one problem and method are summed up, not of {found}")
    ((problem, method),) = kinds
    g_means, mccs = np.array([r.g_mean for r in records]), np.array([r.mcc for r in records])
    hits, trials = sum(r.tp for r in records), sum(r.tp + r.fn for r in records)
    precisions = [r.average_precision for r in records if r.average_precision is not None]
    fitted = [r.fit_seconds for r in records if r.error is None]
    return Summary(
        problem=problem,
        method=method,
        folds=len(records),
        g_mean=float(g_means.mean()),
        g_mean_sd=deviation(g_means),
        mcc=float(mccs.mean()),
        mcc_sd=deviation(mccs),
        hits=hits,
        trials=trials,
        interval=wilson(hits, trials),
        fnr=1.0 - hits / trials,
        fpr=sum(r.fp for r in records) / max(sum(r.fp + r.tn for r in records), 1),
        average_precision=float(np.mean(precisions)) if precisions else None,
        fit_seconds=float(np.mean(fitted)) if fitted else 0.0,
        errors=tuple(Counter(r.error for r in records if r.error is not None).most_common()),
    )


def deviation(values: np.ndarray) -> float:
    """The sample standard deviation (n − 1, as the paper's brackets); 0 for one value."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def wilson(hits: int, trials: int) -> Interval:
    """The 95% Wilson score interval of a proportion.

    >>> low, high = wilson(19, 25)
    >>> round(low, 3), round(high, 3)
    (0.566, 0.885)
    """
    from scipy.stats import binomtest

    found = binomtest(hits, trials).proportion_ci(0.95, method="wilson")
    return Interval(float(found.low), float(found.high))


def by_method(records: Sequence[R], problem: str) -> dict[str, list[R]]:
    """A problem's records by method, each in order of repetition and fold.

    >>> records = [Record("cards", "tree", 0, i, 80, 15, 3, 1 - i, 1 + i, 0.5, 0.1) for i in (0, 1)]
    >>> {name: len(found) for name, found in by_method(records, "cards").items()}
    {'tree': 2}
    """
    methods: dict[str, list[R]] = {}
    for record in sorted(records, key=lambda r: (r.repetition, r.fold)):
        if record.problem == problem:
            methods.setdefault(record.method, []).append(record)
    return methods
