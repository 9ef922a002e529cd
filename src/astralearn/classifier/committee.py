"""Order rows by networks, trees, neighbours and a linear score. NumPy alone.

Each scores the rows that it learned from without having seen them. Its scores become evidence
(`evidence`), the unit that all share, and the committee adds

    Σ (1 − 1/M)¹⁵ · evidence,

M the mean evidence of the left-out positives, drawn towards what it usually is: a member that
tells nothing has M = 1 and no say. What the majority's shape tells matters less the more positives
there are, and what their mean tells matters more: of k, the say of the neighbours is √(5/k) of
that, from five on, and the linear score's k/20, up to twenty. The sum's own evidence v is the
committee's score, so that e^{−v} is the false alarm rate of a cut at v.

New rows are judged by all networks, a left-out positive by few, and what few say is noisier. So
positives are compared with majority rows that as few judge, and new rows with majority rows that
all judge who did not see them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from astralearn.classifier.crossed import PARTS, Scorer
from astralearn.classifier.decision import LeftOut, left_out, usual_mean
from astralearn.classifier.evidence import TAIL, Evidence, evidence_of
from astralearn.classifier.guests import fit_guest
from astralearn.classifier.linear import fit_linear
from astralearn.classifier.neighbours import take_neighbours
from astralearn.classifier.prediction import Networks, mean_output
from astralearn.classifier.trees import grow_forest
from astralearn.engine.network import BLOCK
from astralearn.engine.rows import Fold, Rows
from astralearn.engine.view import View

POOL = 100_000  # rows of a class that the committee looks at
MOST_NEGATIVES = 2_000  # of a network, or this many times its positives:
NEGATIVES_PER_POSITIVE = 4
POWER = 15.0
FEW_POSITIVES = 5  # up to which the neighbours have their whole say
SOME_POSITIVES = 20  # from which on the linear score has its whole say
TAIL_OF_SUM = 0.05  # A decision rests on it: a steadier tail than the members'.
LEAST_SHARE = 0.1  # of 1 − 1/M, so that a committee in which nobody knows anything still has a say


@dataclass(frozen=True)
class Plan:
    """What the networks of one fit train on, and what is left out for them to judge.

    fold: the rows that the fit looks at.
    prior: the positives' share of all rows, by weight.
    seed: of all that is drawn at random.
    folds: what networks train on.
    fold_of: the number of each network's fold among these.
    seen: (networks, rows), whether each network trains on each row; empty without a committee.
    """

    fold: Fold
    prior: float
    seed: int
    folds: list[Fold]
    fold_of: list[int]
    seen: np.ndarray


def plan(
    fold: Fold, n_networks: int, seed: int, *, committee: bool, prior: float | None = None
) -> Plan:
    """Plan a fit: every network on every row, or each without a part of them.

    prior: the positives' share of all rows, where the fold's are a pool drawn from them.
    """
    rows = fold.train
    if prior is None:
        prior = float(np.average(rows.positive, weights=rows.weight))
    if not committee:
        nowhere = np.empty((n_networks, 0), bool)
        return Plan(fold, prior, seed, folds=[fold], fold_of=[0] * n_networks, seen=nowhere)
    pool = pool_of(fold, seed)
    seen = seen_by(pool.train, n_networks, seed)
    folds = [replace(pool, train=pool.train.take(np.flatnonzero(rows))) for rows in seen]
    return Plan(pool, prior, seed, folds=folds, fold_of=list(range(n_networks)), seen=seen)


def pool_of(fold: Fold, seed: int) -> Fold:
    """The fold, with at most POOL rows of each class, drawn at random."""
    classes = [fold.train.of_class(positive) for positive in (False, True)]
    places = places_in_pool([len(rows) for rows in classes], seed)
    chosen = [rows[of_class] for rows, of_class in zip(classes, places, strict=True)]
    return replace(fold, train=fold.train.take(np.sort(np.concatenate(chosen))))


def places_in_pool(counts: Sequence[int], seed: int) -> list[np.ndarray]:
    """Which rows of each class the pool holds: numbers below its count, in any order."""
    rng = np.random.default_rng([seed, POOL])
    return [np.arange(n) if n <= POOL else rng.choice(n, POOL, replace=False) for n in counts]


def seen_by(rows: Rows, n_networks: int, seed: int) -> np.ndarray:
    """Whether each network trains on each row, (networks, rows).

    Rows of either class are dealt to PARTS, or to as many as there are networks or rows of the
    rarer class. A network is trained without one part, and of many negatives on some: on half of
    them, so that others judge them, but on MOST_NEGATIVES at most and NEGATIVES_PER_POSITIVE at
    least.
    """
    rng = np.random.default_rng([seed, PARTS])
    negatives, positives = (rows.of_class(positive) for positive in (False, True))
    n_parts = min(PARTS, n_networks, len(negatives), len(positives))
    part = np.full(len(rows.positive), -1)
    for members in (negatives, positives):
        part[rng.permutation(members)] = np.arange(len(members)) % n_parts
    seen = np.zeros((n_networks, len(part)), bool)
    for k, of_network in enumerate(seen):
        others = (part != k % n_parts) | (n_parts == 1)
        kept = positives[others[positives]]
        most = max(min(MOST_NEGATIVES, len(negatives) // 2), NEGATIVES_PER_POSITIVE * len(kept), 1)
        drawn = np.random.default_rng([seed, k, MOST_NEGATIVES])
        of_network[kept] = True
        of_network[_some(negatives[others[negatives]], most, drawn)] = True
    return seen


def _some(rows: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= most else rng.choice(rows, most, replace=False)


@dataclass(frozen=True)
class Committee:
    """Learners beside the networks, and how all of their scores become one.

    members: those beside the networks, by name; none where a fit was interrupted before them.
    evidence: of each member's scores, by its name.
    weight: of each member, by its name.
    of_sum: the evidence of the weighted sum.
    """

    members: dict[str, Scorer]
    evidence: dict[str, Evidence]
    weight: dict[str, float]
    of_sum: Evidence

    def scores(self, X: np.ndarray, networks: Networks, *, n_jobs: int) -> np.ndarray:
        """v of each row, (rows,), float64: the higher, the more the minority's."""
        starts = range(0, len(X), BLOCK)

        def of_block(start: int) -> np.ndarray:
            return self._of_block(X[start : start + BLOCK], networks)

        if n_jobs == 1 or len(starts) == 1:
            return np.concatenate([of_block(start) for start in starts])
        with ThreadPoolExecutor(n_jobs) as pool:
            return np.concatenate(list(pool.map(of_block, starts)))

    def _of_block(self, X: np.ndarray, networks: Networks) -> np.ndarray:
        u = networks.view.features(X)
        scores = {name: member.score(u) for name, member in self.members.items()}
        scores["networks"] = mean_output(networks.each(X))
        return self.of_sum(_weighted_sum(scores, self.evidence, self.weight))


def convene(
    of_plan: Plan,
    networks: Networks,
    kept: np.ndarray,
    *,
    guests: Mapping[str, Any],
    n_jobs: int,
    networks_only: bool,
) -> tuple[Committee, LeftOut, np.ndarray]:
    """Bring the members together.

    kept: which of the plan's networks these are.
    guests: unfitted classifiers that join, by name.
    Returns the committee, what a decision rests on, and the rows' left-out scores v, NaN where not
    every member left a row out.
    """
    rows = of_plan.fold.train
    by_all, by_few = _left_out_scores(rows, networks, of_plan.seen[kept], seed=of_plan.seed)
    members, beside = (
        ({}, {}) if networks_only else _beside(of_plan, networks.view, guests, n_jobs=n_jobs)
    )
    judged, few = {"networks": by_all, **beside}, {"networks": by_few, **beside}
    evidence = {name: _evidence(of_member, rows) for name, of_member in judged.items()}
    of_few = {**evidence, "networks": _evidence(by_few, rows)}
    k = float(rows.weight[rows.positive].sum())
    weight = {name: _share(name, k) * _say(of_few[name](few[name]), rows) for name in few}
    total = _weighted_sum(judged, evidence, weight)
    of_sum = _evidence(total, rows, tail=TAIL_OF_SUM)
    total_of_few = _weighted_sum(few, of_few, weight)
    of_sum_of_few = _evidence(total_of_few, rows, tail=TAIL_OF_SUM)
    v = np.where(rows.positive, of_sum_of_few(total_of_few), of_sum(total))
    known = np.isfinite(v)
    majority, positives = known & ~rows.positive, known & rows.positive
    rests_on = left_out(
        positives=v[positives],
        positive_weight=rows.weight[positives],
        majority=v[majority],
        majority_weight=rows.weight[majority],
        prior=of_plan.prior,
    )
    return Committee(members, evidence, weight, of_sum), rests_on, v


def _beside(
    of_plan: Plan, view: View, guests: Mapping[str, Any], *, n_jobs: int
) -> tuple[dict[str, Scorer], dict[str, np.ndarray]]:
    """The members beside the networks, and the rows' left-out scores, each by name."""
    rows, seed = of_plan.fold.train, of_plan.seed
    given = view.features(rows.X), rows.positive, rows.weight
    found: dict[str, tuple[Scorer, np.ndarray]] = {
        "trees": grow_forest(*given, seed=seed, n_jobs=n_jobs),
        "neighbours": take_neighbours(*given, seed=seed),
        "linear": fit_linear(*given, seed=seed),
        **{name: fit_guest(name, model, *given, seed=seed) for name, model in guests.items()},
    }
    members = {name: member for name, (member, _) in found.items()}
    return members, {name: scores for name, (_, scores) in found.items()}


def _left_out_scores(
    rows: Rows, networks: Networks, seen: np.ndarray, *, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """What networks say of rows that they did not train on.

    Returns what all of these say of each row, and what as many of them say as judge a positive.
    A row that all networks saw has NaN. Where that is every majority row, one of a very few, all
    are judged: without any, there is nothing to compare positives with.
    """
    if seen[:, ~rows.positive].all():
        seen = seen & rows.positive
    judges = max(1, int((~seen[:, rows.positive]).sum(axis=0).min()))
    turn = np.random.default_rng([seed, judges]).random(seen.shape)
    turn[seen] = np.inf
    last = np.partition(turn, judges - 1, axis=0)[judges - 1]
    of_all, of_few = [], []
    for start in range(0, len(rows.X), BLOCK):
        some = slice(start, start + BLOCK)
        g = networks.each(rows.X[some])
        of_all.append(mean_output(g, counted=~seen[:, some]))
        of_few.append(mean_output(g, counted=~seen[:, some] & (turn[:, some] <= last[some])))
    return np.concatenate(of_all), np.concatenate(of_few)


def _evidence(scores: np.ndarray, rows: Rows, tail: float = TAIL) -> Evidence:
    known = np.isfinite(scores)
    majority = known & ~rows.positive
    highest = float(scores[known].max())
    return evidence_of(scores[majority], rows.weight[majority], highest=highest, tail=tail)


def _share(name: str, k: float) -> float:
    """How much of its say a member has with k positives."""
    shares = {"neighbours": math.sqrt(FEW_POSITIVES / k), "linear": k / SOME_POSITIVES}
    return min(1.0, shares.get(name, 1.0))


def _say(evidence: np.ndarray, rows: Rows) -> float:
    """How much a member tells: (1 − 1/M)¹⁵."""
    known = np.isfinite(evidence) & rows.positive
    mean = usual_mean(evidence[known], rows.weight[known])
    return float(max(LEAST_SHARE, 1.0 - 1.0 / mean) ** POWER)


def _weighted_sum(
    scores: dict[str, np.ndarray], evidence: dict[str, Evidence], weight: dict[str, float]
) -> np.ndarray:
    return np.sum([weight[name] * evidence[name](scores[name]) for name in scores], axis=0)
