"""The plan of the paper's study: problem × method × fold × start is a record."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from astralearn.core import SoftConfusion
from astralearn.datasets.problem import Problem
from astralearn.study.identity import identities
from astralearn.study.method import Method
from astralearn.study.record import Key, Outcome, Record, StartRecord
from astralearn.study.run import check_names
from astralearn.study.splits import Split, make_splits, seed_of
from astralearn.study.store import read_kind
from astralearn.study.unit import Unit

# Networks that a unit trains as one stack, about: more gain nothing, and a killed run loses them.
STACKED = 20


@dataclass(frozen=True)
class NetworkUnit:
    """A method with epochs on some folds, from every start.

    method: its `fit_many` gives for each fold what has `decisions(X)`, one for each start, with
        the fields of `astralearn.paper_network.Decided`.
    starts: how many.
    burn_in: epochs before the worst is looked for.
    """

    problem: Problem
    method: Method
    splits: Sequence[Split]
    seed: int
    starts: int
    burn_in: int

    @property
    def method_name(self) -> str:
        return self.method.name

    def record_keys(self) -> list[Key]:
        """Of the records it makes."""
        return [
            (self.problem.name, self.method.name, split.repetition, split.fold, start)
            for split in self.splits
            for start in range(self.starts)
        ]

    def run(self) -> list[Outcome]:
        """Fit every fold as one stack, and count what its epochs decide of the test rows."""
        X, y = np.asarray(self.problem.X, float), self.problem.y
        seeds = [seed_of(self.seed, split.repetition, split.fold) for split in self.splits]
        roles = [(split.train, split.validation, split.test) for split in self.splits]
        started = time.perf_counter()
        with warnings.catch_warnings():
            # Warnings of a thousand networks would bury the progress.
            warnings.simplefilter("ignore")
            fitted = self.method.estimator.fit_many(X, y, roles, random_states=seeds)
        seconds = (time.perf_counter() - started) / (len(self.splits) * self.starts)
        return [
            self._outcome(split, start, decided, seconds)
            for split, of_fold in zip(self.splits, fitted, strict=True)
            for start, decided in enumerate(of_fold.decisions(X[split.test]))
        ]

    def _outcome(self, split: Split, start: int, decided: Any, seconds: float) -> Outcome:
        truth = self.problem.y[split.test] == 1
        chosen, last = counted(truth, decided.chosen), counted(truth, decided.last)
        looks = counted(truth, decided.looks)
        late = np.asarray(decided.history["epoch"]) >= self.burn_in
        found: dict[str, Any] = {name: int(count) for name, count in chosen._asdict().items()}
        for score in ("g_mean", "mcc"):
            own = [float(getattr(counts, score)) for counts in (chosen, last)]
            seen = np.asarray(getattr(looks, score))
            found[f"best_{score}"] = float(max(*own, *seen))
            found[f"worst_{score}"] = float(min(*own, *seen[late]))
        record = StartRecord(
            problem=self.problem.name,
            method=self.method.name,
            repetition=split.repetition,
            fold=split.fold,
            start=start,
            learned=len(split.learn),
            average_precision=None,
            fit_seconds=seconds,
            chosen_epoch=decided.chosen_epoch,
            last_fp=int(last.fp),
            last_tp=int(last.tp),
            **found,
        )
        history = {**decided.history, "test_g_mean": looks.g_mean, "test_mcc": looks.mcc}
        return Outcome(record, {name: np.asarray(v, np.float32) for name, v in history.items()})


@dataclass(frozen=True)
class RivalUnit:
    """A method without epochs on one fold; it learns from the validation fold too."""

    unit: Unit

    @property
    def problem(self) -> Problem:
        return self.unit.problem

    @property
    def method_name(self) -> str:
        return self.unit.method.name

    def record_keys(self) -> list[Key]:
        """Of the one record it makes."""
        return [(*key, 0) for key in self.unit.record_keys()]

    def run(self) -> list[Outcome]:
        ((record, _),) = self.unit.run()
        return [Outcome(_as_start(record), {})]


@dataclass(frozen=True)
class PaperPlan:
    """The paper's study: methods with epochs from several starts, and rivals.

    networks: methods that validate.
    rivals: methods that do not.
    burn_in: epochs before the worst is looked for.
    seed: decides draws, folds and every fit.
    """

    problems: Sequence[Problem]
    networks: Sequence[Method]
    rivals: Sequence[Method] = ()
    folds: int = 5
    repetitions: int = 10
    starts: int = 1
    burn_in: int = 0
    seed: int = 0

    kind = StartRecord
    in_threads = False

    def __post_init__(self) -> None:
        check_names(self.problems, [*self.networks, *self.rivals])
        for name, least in (("folds", 3), ("repetitions", 2), ("starts", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"`{name}` must be at least {least}; found {getattr(self, name)}")

    def units(self) -> list[NetworkUnit | RivalUnit]:
        """Every unit, problem after problem: some folds of a network, a fold of a rival."""
        listed: list[NetworkUnit | RivalUnit] = []
        of_all = self.seed, self.starts, self.burn_in
        size = max(1, STACKED // self.starts)
        for problem in self.problems:
            splits = make_splits(
                problem, folds=self.folds, repetitions=self.repetitions, seed=self.seed
            )
            listed += [
                NetworkUnit(problem, method, splits[start : start + size], *of_all)
                for method in self.networks
                for start in range(0, len(splits), size)
            ]
            listed += [
                RivalUnit(Unit(problem, method, [split], self.seed))
                for method in self.rivals
                for split in splits
            ]
        return listed

    def settings(self) -> dict[str, str]:
        """What a file's records depend on."""
        names = ("folds", "repetitions", "starts", "burn_in", "seed")
        numbers = {name: str(getattr(self, name)) for name in names}
        return {**numbers, **identities(self.problems, [*self.networks, *self.rivals])}

    def every_problem(self, path: Path) -> list[StartRecord]:
        """What the file holds, also of problems of earlier plans.

        A problem counts where all of the networks have all folds and starts; so does a rival.
        """
        stored = read_kind(path, StartRecord)
        found = Counter((record.problem, record.method) for record in stored)
        folds = self.folds * self.repetitions
        wanted = {method.name: folds * self.starts for method in self.networks}
        problems = {
            record.problem
            for record in stored
            if all(found[record.problem, name] == n for name, n in wanted.items())
        }
        wanted |= {method.name: folds for method in self.rivals}
        return [
            record
            for record in stored
            if record.problem in problems
            and found[record.problem, record.method] == wanted.get(record.method)
        ]


def counted(truth: NDArray[np.bool_], found: NDArray[np.bool_]) -> SoftConfusion:
    """Counts of decisions, (rows,) or (…, rows): one for each set of them."""
    tp, fp = (truth & found).sum(axis=-1), (~truth & found).sum(axis=-1)
    positives = int(truth.sum())
    return SoftConfusion(tn=len(truth) - positives - fp, fp=fp, fn=positives - tp, tp=tp)


def _as_start(record: Record) -> StartRecord:
    """A record of what has one epoch."""
    return StartRecord(
        **asdict(record),
        last_fp=record.fp,
        last_tp=record.tp,
        best_g_mean=record.g_mean,
        best_mcc=record.mcc,
        worst_g_mean=record.g_mean,
        worst_mcc=record.mcc,
    )
