"""Which method for the user's decision: expected scores, how sure, at what cost.

Every method is tested on the same positives, each of them left out. A resample gives those rows
other weights, the same for all methods, and adds what k tests cannot tell of each method alone.
The best method is the one with the highest expected score, and its sureness the share of
resamples in which it has the highest.

A named aim is scored at each method's own decision. A demand (cost, alerts, recall, precision) is
scored at the cut of each method's scores that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from astralearn.classifier.decision import (
    AIMS,
    INTERVAL,
    LEAST_RATE,
    WORLDS,
    Costs,
    Expectations,
    Expected,
    LeftOut,
    Worlds,
    cut_for,
    expectations,
    possible_worlds,
)
from astralearn.study.record import Record
from astralearn.study.scores import Interval, wilson

# A positive that was never seen counts for half a row, found as often as not.
UNSEEN = 0.5
# The variance of recall's logit beyond what tests tell, divided by the positives: of each method's
# own luck, and of what all methods share. benchmarks/recommendation.py chose them.
LUCK_OF_ONE, SHARED_LUCK_OF_ONE = 6.0, 14.0
# The share of resamples that a method must win to be one that may be recommended.
MAY_WIN = 0.1
CURVE_CUTS = 200
PER = 1_000.0


@dataclass(frozen=True)
class Tested:
    """What a method's folds say of each positive, none of which it had seen.

    rows: (k,), their numbers in the table, rising.
    found: (k,), the share of tests in which each was found.
    share_above: (k,), the share of tested negatives that score higher, geometric mean over tests.
    false_alarms: the share of negatives that the method flags.
    negatives: how many there are.
    least_share: of a fold's negatives, one row's.
    prior: the positives' share of all rows.
    hits, tests: of positives, over all repetitions.
    """

    rows: np.ndarray
    found: np.ndarray
    share_above: np.ndarray
    false_alarms: float
    negatives: int
    least_share: float
    prior: float
    hits: int
    tests: int

    def left_out(self) -> LeftOut:
        """What decisions rest on, where evidence is −ln of the share of negatives above."""
        cuts = np.linspace(0.02, np.log(max(self.negatives, 2.0)) + 1.0, CURVE_CUTS)
        cuts = np.union1d(cuts, self.own_cut)
        return LeftOut(
            positives=-np.log(self.share_above),
            weight=np.ones(len(self.rows)),
            cuts=cuts,
            alarms=self.negatives * np.exp(-cuts),
            majority=float(self.negatives),
            prior=self.prior,
        )

    @property
    def own_cut(self) -> float:
        """The evidence at which the method itself cuts, below that of a fold's first row."""
        return float(-np.log(min(max(self.false_alarms, self.least_share), 0.98)))

    def expectations(self, cut: float) -> Expectations:
        """What to expect at a cut, and along all of them."""
        worlds = possible_worlds(self.left_out())
        return expectations(worlds, cut, positives=float(len(self.rows)))


def tested(records: Sequence[Record]) -> Tested:
    """Sum up the folds of one method on one problem."""
    found: dict[int, list[bool]] = {}
    above: dict[int, list[float]] = {}
    for record in records:
        negatives = record.tn + record.fp
        for positive in record.positives():
            share = (positive.above + 0.5) / (negatives + 1.0)
            found.setdefault(positive.row, []).append(positive.found)
            above.setdefault(positive.row, []).append(float(np.log(share)))
    rows = sorted(found)
    repetitions = len({record.repetition for record in records})
    alarms, all_negatives = sum(r.fp for r in records), sum(r.fp + r.tn for r in records)
    positives = sum(r.tp + r.fn for r in records)
    return Tested(
        rows=np.asarray(rows),
        found=np.asarray([np.mean(found[row]) for row in rows]),
        share_above=np.exp([np.mean(above[row]) for row in rows]),
        false_alarms=alarms / all_negatives,
        negatives=all_negatives // repetitions,
        least_share=len(records) / (all_negatives + len(records)),
        prior=positives / (positives + all_negatives),
        hits=sum(r.tp for r in records),
        tests=positives,
    )


class Aim(NamedTuple):
    """What a decision scores methods by.

    name: for a reader.
    score: of every world, (worlds, cuts).
    is_cost: whether less is better.
    """

    name: str
    score: Callable[[Worlds], np.ndarray]
    is_cost: bool = False


AIM_NAMES = {"g_mean": "G-Mean", "mcc": "MCC", "f1": "F1"}


def aim_of(decision: Any) -> Aim:
    """The score of a decision; costs are of the labels 1 and 0."""
    if isinstance(decision, str):
        return Aim(AIM_NAMES[decision], lambda worlds: worlds.scores()[decision])
    ((kind, value),) = decision.items()
    if kind == "cost":
        return Aim(f"cost per {PER:,.0f} rows", _cost(Costs(value[1], value[0])), is_cost=True)
    score, name = {
        "alerts": ("recall", f"recall, flagging {100 * value:g}% of rows"),
        "recall": ("precision", f"precision at a recall of {value:g}"),
        "precision": ("recall", f"recall at a precision of {value:g}"),
    }[kind]
    return Aim(name, lambda worlds: worlds.scores()[score])


def _cost(costs: Costs) -> Callable[[Worlds], np.ndarray]:
    def cost(worlds: Worlds) -> np.ndarray:
        missed = worlds.prior * (1.0 - worlds.recall)
        alarms = (1.0 - worlds.prior) * worlds.false_alarms
        return PER * (costs.of_miss * missed + costs.of_alarm * alarms)

    return cost


@dataclass(frozen=True)
class Judged:
    """A method beside the others.

    score: of the decision, on new rows.
    sureness: the share of resamples in which no other method has a better one.
    recall, precision, false_alarms: at its decision; false alarms per 1,000 negatives.
    tested: what it rests on.
    cut: where the method cuts for the decision, in evidence.
    """

    method: str
    score: Expected
    sureness: float
    recall: Expected
    precision: Expected
    false_alarms: Expected
    tested: Tested
    cut: float

    @property
    def may_be_recommended(self) -> bool:
        """Whether it found something, and may be the best for all that is known."""
        # In whole percent, as it is shown.
        return self.tested.hits > 0 and round(self.sureness, 2) >= MAY_WIN

    @property
    def found(self) -> Interval:
        """The 95 % interval of the share of positives found."""
        return wilson(self.tested.hits, self.tested.tests)


@dataclass(frozen=True)
class Answer:
    """The methods for a decision, best first.

    decision: what was asked for.
    aim: the name of its score.
    is_cost: whether less of it is better.
    judged: every method; the first is recommended.
    """

    decision: Any
    aim: str
    is_cost: bool
    judged: tuple[Judged, ...]

    @property
    def best(self) -> Judged:
        return self.judged[0]

    @property
    def is_useless(self) -> bool:
        """Whether no method found a positive."""
        return not any(one.tested.hits for one in self.judged)

    def sentences(self) -> tuple[str, ...]:
        """The verdict in three sentences."""
        best, n = self.best, len(self.judged)
        if self.is_useless:
            return ("No method found any of the positives: none can be recommended.",)
        score = f"{self.aim}: {best.score} expected on new rows (90% interval)"
        if n == 1:
            return (f"{best.method} is the only method that was run. {score}.", _at_its_cut(best))
        return (
            f"Use {best.method}. {score}.",
            f"It is the best of {n} in {best.sureness:.0%} of resamples; {self._runner_up()}",
            _at_its_cut(best),
        )

    def _runner_up(self) -> str:
        best, second = self.judged[:2]
        hits = 100 * (second.recall.mean - best.recall.mean)
        alarms = second.false_alarms.mean - best.false_alarms.mean
        ahead = abs(best.score.mean - second.score.mean)
        return (
            f"{second.method}, next, would cost {ahead:.2g} of {self.aim}: it would find "
            f"{_more(hits, '.0f')} of 100 positives and raise {_more(alarms, '.3g')} false alarms "
            f"per {PER:,.0f}."
        )


def _more(difference: float, form: str) -> str:
    size = format(abs(difference), form)
    if float(size) == 0:
        return "as many"
    return f"{size} {'more' if difference > 0 else 'fewer'}"


def _at_its_cut(best: Judged) -> str:
    p, recall, precision = best.tested.prior, best.recall, best.precision
    flagged = PER * p * recall.mean + (1.0 - p) * best.false_alarms.mean
    return (
        f"Expect it to flag {flagged:.3g} of {PER:,.0f} rows and find {100 * recall.mean:.0f} of "
        f"100 positives ({100 * recall.low:.0f} to {100 * recall.high:.0f}); of 100 flagged rows "
        f"{100 * precision.mean:.2g} are positive."
    )


def answer(
    methods: Mapping[str, Sequence[Record]], decision: Any = AIMS[0], *, seed: int = 0
) -> Answer:
    """Judge methods for a decision.

    methods: a problem's records by method.
    decision: as the classifier takes it, with costs of the labels 1 and 0.
    seed: of the resamples.
    """
    aim = aim_of(decision)
    found = {name: tested(records) for name, records in methods.items()}
    rates = {name: _rates(of_method, decision, seed) for name, of_method in found.items()}
    rng = np.random.default_rng([seed, WORLDS])
    shared = rng.standard_normal((WORLDS, 1))
    worlds = {
        name: _with_luck(at, shared, len(found[name].rows), rng) for name, at in rates.items()
    }
    scores = np.stack([aim.score(of_method)[:, 0] for of_method in worlds.values()])
    better = -scores if aim.is_cost else scores.copy()
    # A method that found nothing has no claim, whatever it saves in false alarms.
    has_hits = np.asarray([of_method.hits > 0 for of_method in found.values()])
    if has_hits.any():
        better[~has_hits] = -np.inf
    is_first = better == better.max(axis=0)
    sureness = (is_first / is_first.sum(axis=0)).mean(axis=1)
    judged = [
        Judged(
            method=name,
            score=_expected(scores[place]),
            sureness=float(sureness[place]),
            recall=_expected(worlds[name].recall[:, 0]),
            precision=_expected(worlds[name].scores()["precision"][:, 0]),
            false_alarms=_expected(PER * worlds[name].false_alarms[:, 0]),
            tested=found[name],
            cut=float(worlds[name].cuts[0]),
        )
        for place, name in enumerate(found)
    ]
    order = np.argsort(-better.mean(axis=1), kind="stable")
    return Answer(decision, aim.name, aim.is_cost, tuple(judged[place] for place in order))


def _rates(found: Tested, decision: Any, seed: int) -> Worlds:
    """Possible rates at the method's own decision, or at the cut that is demanded."""
    if not isinstance(decision, str):
        worlds = possible_worlds(found.left_out(), seed=seed)
        cut = cut_for(decision, worlds, positive=1, negative=0)
        place = [int(np.searchsorted(worlds.cuts, cut))]
        return Worlds(
            cut * np.ones(1), worlds.recall[:, place], worlds.false_alarms[:, place], worlds.prior
        )
    # One seed for all methods: a resample weighs the same rows alike.
    rng = np.random.default_rng(seed)
    counts = np.append(np.ones(len(found.rows)), UNSEEN)
    shares = rng.gamma(counts, size=(WORLDS, len(counts)))
    shares /= shares.sum(axis=1, keepdims=True)
    recall = shares @ np.append(found.found, 0.5)
    alarms = rng.gamma(found.false_alarms * found.negatives + 0.5, size=WORLDS)
    rate = np.minimum(alarms / (found.negatives + 1.0), 1.0)
    return Worlds(np.asarray([found.own_cut]), recall[:, None], rate[:, None], found.prior)


def _with_luck(
    worlds: Worlds, shared: np.ndarray, positives: int, rng: np.random.Generator
) -> Worlds:
    """The same worlds, with what so few tests cannot tell.

    shared: (worlds, 1), the luck that all methods have in common.
    """
    recall = np.clip(worlds.recall, LEAST_RATE, 1.0 - LEAST_RATE)
    luck = np.sqrt(SHARED_LUCK_OF_ONE / positives) * shared
    luck = luck + np.sqrt(LUCK_OF_ONE / positives) * rng.standard_normal(recall.shape)
    return worlds._replace(recall=expit(logit(recall) + luck))


def _expected(values: np.ndarray) -> Expected:
    ends = (1.0 - INTERVAL) / 2.0
    low, high = np.quantile(values, [ends, 1.0 - ends])
    return Expected(float(values.mean()), float(low), float(high))
