"""How methods compare over problems: ranks, differences, wins and losses.

The problem is the unit of the statistics: its draws are averaged first, because draws of one table
are not independent. Intervals are percentiles of a bootstrap that draws problems anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from astralearn.study.draw_record import DrawRecord
from astralearn.study.draw_unit import BEST
from astralearn.study.scores import Interval

BOOTSTRAPS = 2_000
BOOTSTRAP_SEED = 0
COVERAGE = 0.95
TIE = 1e-9


@dataclass(frozen=True)
class ScoreTable:
    """Mean scores of methods (columns) in cases (rows): a problem and a k each.

    values: of shape (cases, methods); a case counts where every method has a score.
    """

    score: str
    problems: tuple[str, ...]
    ks: tuple[int, ...]
    methods: tuple[str, ...]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class Ranked:
    """A method's standing over all cases.

    mean_rank, mean: over cases; 1 is the best rank. Intervals: over problems.
    wins, losses: cases above and below the method that all are compared with.
    difference: mean of its scores minus that method's, with an interval over problems.
    """

    method: str
    mean_rank: float
    rank_interval: Interval
    mean: float
    mean_interval: Interval
    difference: float
    difference_interval: Interval
    wins: int
    losses: int


def score_table(records: Sequence[DrawRecord], score: str, k: int | None = None) -> ScoreTable:
    """Average a score over draws, for every method, problem and k.

    k: only this one; None for all. Cases in which a method lacks a draw that another has are left
    out, and so is the best possible order.
    """
    cells: dict[tuple[str, int], dict[str, dict[int, float]]] = {}
    for record in records:
        if record.method != BEST and (k is None or record.k == k):
            case = cells.setdefault((record.problem, record.k), {})
            case.setdefault(record.method, {})[record.draw] = float(getattr(record, score))
    methods = tuple(dict.fromkeys(r.method for r in records if r.method != BEST))
    whole = {
        place: case
        for place, case in cells.items()
        if set(case) == set(methods) and len({frozenset(draws) for draws in case.values()}) == 1
    }
    values = [[np.mean(list(case[m].values())) for m in methods] for case in whole.values()]
    return ScoreTable(
        score,
        problems=tuple(problem for problem, _ in whole),
        ks=tuple(number for _, number in whole),
        methods=methods,
        values=np.array(values, dtype=float).reshape(len(whole), len(methods)),
    )


def ranks(table: ScoreTable) -> NDArray[np.float64]:
    """Rank of every method in every case, 1 for the highest; ties share their mean."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-np.round(table.values / TIE) * TIE, axis=1))


def ranking(table: ScoreTable, against: str | None = None) -> list[Ranked]:
    """Return every method's standing, the best mean rank first; empty without cases.

    against: the method that all are compared with; by default the first.
    """
    if not len(table.values):
        return []
    placed = ranks(table)
    weights = _bootstrap_weights(table.problems)
    order = np.argsort(placed.mean(axis=0), kind="stable")
    compared = order[0] if against is None else table.methods.index(against)
    apart = table.values - table.values[:, [compared]]
    rank_intervals, mean_intervals, difference_intervals = (
        _intervals(weights @ values) for values in (placed, table.values, apart)
    )
    return [
        Ranked(
            method=table.methods[i],
            mean_rank=float(placed[:, i].mean()),
            rank_interval=rank_intervals[i],
            mean=float(table.values[:, i].mean()),
            mean_interval=mean_intervals[i],
            difference=float(apart[:, i].mean()),
            difference_interval=difference_intervals[i],
            wins=int((apart[:, i] > TIE).sum()),
            losses=int((apart[:, i] < -TIE).sum()),
        )
        for i in order
    ]


def _bootstrap_weights(problems: Sequence[str]) -> NDArray[np.float64]:
    """Weights of the cases in each bootstrap, (bootstraps, cases), that sum to 1.

    All cases of a problem are drawn together.
    """
    names = sorted(set(problems))
    place = np.array([names.index(problem) for problem in problems])
    random = np.random.default_rng(BOOTSTRAP_SEED)
    counts = random.multinomial(len(names), [1 / len(names)] * len(names), size=BOOTSTRAPS)
    weights = counts[:, place].astype(float)
    return weights / weights.sum(axis=1, keepdims=True)


def _intervals(means: NDArray[np.float64]) -> list[Interval]:
    """Percentiles of bootstrapped means, one interval a column."""
    tail = (1 - COVERAGE) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return [Interval(float(a), float(b)) for a, b in zip(low, high, strict=True)]
