"""Whether two methods differ by more than the luck of the folds.

Folds of repeated cross-validation share most of their training rows, so their scores are not
independent, and the plain paired t-test finds differences everywhere. Nadeau and Bengio's
correction ("Inference for the generalization error", Machine Learning 52, 2003) widens the
variance by the ratio of test to training rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from astralearn.study.record import Record

LEVEL = 0.05  # the paper's


class TTest(NamedTuple):
    """The result of a paired test.

    difference: mean of first − second.
    p_value: two-sided.
    n: how many folds were paired.

    >>> test = corrected_t_test([0.9, 0.8, 0.95], [0.7, 0.75, 0.8], test_per_train=1 / 3)
    >>> test.n, round(test.difference, 3)
    (3, 0.133)
    """

    difference: float
    statistic: float
    p_value: float
    n: int


class Standing(NamedTuple):
    """A method beside the best one on some score.

    p_value: two-sided, corrected for many comparisons where that was asked for.
    wins: whether it is the best or cannot be told from it.

    >>> Standing("b", mean=0.4, best="a", p_value=0.01, wins=False, n=25).best
    'a'
    """

    method: str
    mean: float
    best: str
    p_value: float
    wins: bool
    n: int


class Challenger(NamedTuple):
    """A method with a better mean on some score than the one in question.

    ahead: by how much.
    p_value: as in a Standing.
    beats: whether the test can tell the two apart.
    """

    method: str
    mean: float
    ahead: float
    p_value: float
    beats: bool
    n: int


def corrected_t_test(
    first: Sequence[float], second: Sequence[float], *, test_per_train: float
) -> TTest:
    """The corrected resampled t-test of paired scores.

        t = d̄ / √((1/n + n_test/n_train) · s²_d),  n − 1 degrees of freedom

    Differences that are all equal have no variance: p is 1 where they are 0, up to rounding, and 0
    otherwise.

    first, second: scores on the same n folds, in the same order.
    test_per_train: n_test/n_train, 1/4 for five folds.

    >>> test = corrected_t_test([0.9, 0.8, 0.95, 0.85], [0.7, 0.75, 0.8, 0.8], test_per_train=1 / 3)
    >>> round(test.statistic, 3), round(test.p_value, 3)
    (1.964, 0.144)
    """
    from scipy.stats import t

    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    n = len(differences)
    if n < 2:
        raise ValueError(f"at least two folds must be paired; found {n}")
    if not test_per_train > 0:
        raise ValueError(f"test_per_train must be above 0; found {test_per_train}")
    mean = float(differences.mean())
    error = math.sqrt((1.0 / n + test_per_train) * float(differences.var(ddof=1)))
    # Differences equal up to rounding have a variance that is rounding only; so may their mean be.
    rounding = 1e-12 * max(1.0, float(np.abs([first, second]).max()))
    if error <= rounding:
        is_zero = abs(mean) <= rounding
        if is_zero:
            return TTest(mean, statistic=0.0, p_value=1.0, n=n)
        return TTest(mean, statistic=math.copysign(math.inf, mean), p_value=0.0, n=n)
    statistic = mean / error
    return TTest(mean, statistic, float(2.0 * t.sf(abs(statistic), n - 1)), n)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction, in the order given.

    Reject where the corrected value is at most the level.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = largest
    return corrected


def standings(
    methods: Mapping[str, Sequence[Record]], score: str, *, many: bool = True
) -> dict[str, Standing]:
    """Each method beside the best one, tested on the folds they share.

    methods: records by method.
    score: whose mean decides, "g_mean" or "mcc".
    many: correct by Holm for as many comparisons as there are other methods. The paper marks its
        Table 2 without.

    >>> made = {"a": (2, 2, 1), "b": (1, 0, 1)}
    >>> methods = {
    ...     name: [Record("cards", name, 0, i, 80, 15, 3, 2 - tp, tp, None, 0.1) for i, tp in each]
    ...     for name, each in ((name, enumerate(found)) for name, found in made.items())
    ... }
    >>> {name: (found.best, found.wins) for name, found in standings(methods, "g_mean").items()}
    {'a': ('a', True), 'b': ('a', True)}
    """
    means = {name: _mean(records, score) for name, records in methods.items()}
    best = max(means, key=lambda name: means[name])
    found = {best: Standing(best, means[best], best, p_value=1.0, wins=True, n=len(methods[best]))}
    others = [name for name in methods if name != best]
    for name, test in _against(methods, best, others, score, many=many).items():
        found[name] = Standing(
            name, means[name], best, test.p_value, wins=test.p_value > LEVEL, n=test.n
        )
    return {name: found[name] for name in methods}


def challengers(
    methods: Mapping[str, Sequence[Record]], name: str, score: str, *, many: bool = True
) -> list[Challenger]:
    """Every method with a better mean than `name`, tested against it.

    Nobody beats `name` only where none of them does. The best mean alone does not tell: a lower
    one that varies less may be proven better where the best is not.

    many: correct by Holm for as many comparisons as there are better means. Given who is ahead, a
        two-sided p is as likely to be small by chance as before, so those that are behind need no
        share of the level.
    """
    means = {other: _mean(records, score) for other, records in methods.items()}
    ahead = [other for other in methods if means[other] > means[name]]
    return [
        Challenger(
            method=other,
            mean=means[other],
            ahead=means[other] - means[name],
            p_value=test.p_value,
            beats=test.p_value <= LEVEL,
            n=test.n,
        )
        for other, test in _against(methods, name, ahead, score, many=many).items()
    ]


def tested_per_learned(records: Sequence[Record]) -> float:
    """n_test/n_train over these folds.

    Validation rows count as training rows: a method chooses by them, which is learning.
    """
    return sum(record.tested for record in records) / sum(record.learned for record in records)


def _mean(records: Sequence[Record], score: str) -> float:
    return float(np.mean([getattr(record, score) for record in records]))


def _against(
    methods: Mapping[str, Sequence[Record]],
    name: str,
    others: Sequence[str],
    score: str,
    *,
    many: bool,
) -> dict[str, TTest]:
    """Each of the others against `name`, on the folds they share."""
    ratio = tested_per_learned([record for records in methods.values() for record in records])
    tests = [
        corrected_t_test(*_paired(methods[other], methods[name], score), test_per_train=ratio)
        for other in others
    ]
    p_values = holm([test.p_value for test in tests]) if many else [test.p_value for test in tests]
    return {
        other: test._replace(p_value=p_value)
        for other, test, p_value in zip(others, tests, p_values, strict=True)
    }


def _paired(
    first: Sequence[Record], second: Sequence[Record], score: str
) -> tuple[list[float], list[float]]:
    """Scores on the folds that both have; of several starts on a fold their mean."""
    ours, theirs = by_fold(first, score), by_fold(second, score)
    shared = sorted(ours.keys() & theirs.keys())
    means = [[float(np.mean(of_fold[key])) for key in shared] for of_fold in (ours, theirs)]
    return means[0], means[1]


def by_fold(records: Sequence[Record], score: str) -> dict[tuple[int, int], list[float]]:
    """Scores by repetition and fold, one for each start."""
    scores: dict[tuple[int, int], list[float]] = {}
    for record in records:
        key = record.repetition, record.fold
        scores.setdefault(key, []).append(float(getattr(record, score)))
    return scores
