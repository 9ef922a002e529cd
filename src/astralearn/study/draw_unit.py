"""One unit of a benchmark: a method on the draws of one problem and one k."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from astralearn.classifier.guests import seeded
from astralearn.datasets.problem import Problem
from astralearn.datasets.rarebench import best_order
from astralearn.study.child import ChildError, in_child
from astralearn.study.draw_record import DrawRecord
from astralearn.study.method import Method
from astralearn.study.record import Key, Outcome
from astralearn.study.splits import Split, seed_of
from astralearn.study.unit import Unit, fit, how_positive, message_of
from astralearn.study.weighted_scores import (
    average_precision,
    positive_weight,
    recall_among_highest,
)

BEST = "best possible"


@dataclass(frozen=True)
class BestUnit:
    """The best scores that rows of a generated problem can have: nothing learns there."""

    problem: Problem
    splits: Sequence[Split]
    k: int

    @property
    def method_name(self) -> str:
        return BEST

    def record_keys(self) -> list[Key]:
        """Of the records it makes."""
        return [
            (self.problem.name, self.method_name, self.k, split.repetition) for split in self.splits
        ]

    def place(self, split: Split) -> dict[str, Any]:
        """The fields of a record that say where in the benchmark it belongs."""
        return {
            "problem": self.problem.name,
            "method": self.method_name,
            "k": self.k,
            "draw": split.repetition,
            "negatives": len(split.learn) - self.k,
        }

    def run(self) -> list[Outcome]:
        """Score the known order of the rows.

        A row is decided to be positive where the ratio of densities exceeds the odds, so where it
        is likelier positive than not.
        """
        order = best_order(self.problem)
        if order is None:
            raise ValueError(f"the best order of {self.problem.name} is not known")
        outcomes = []
        for split in self.splits:
            scores, place = order[split.test], self.place(split)
            decided = scores > np.log(place["negatives"] / self.k)
            found = _scores(self.problem.y[split.test], decided, scores, place)
            record = DrawRecord(**place, **found, fit_seconds=0.0, predict_seconds=0.0)
            outcomes.append(Outcome(record, {}))
        return outcomes


@dataclass(frozen=True)
class DrawUnit(BestUnit):
    """A method on draws: what is started, finished and recorded as one.

    limit: seconds that one draw may take to learn and predict.
    """

    method: Method
    seed: int
    limit: float

    @property
    def method_name(self) -> str:
        return self.method.name

    def run(self) -> list[Outcome]:
        """Fit and test every draw, in a process that is stopped at the limit.

        A method that raises, hangs, crashes or gives nonsense has missed the draw. Where a stack
        does, its draws are tried one by one, so that one bad draw does not cost the others.
        """
        try:
            records = in_child(_measured, self, seconds=self.limit * len(self.splits))
        except (TimeoutError, ChildError) as error:
            if len(self.splits) > 1:
                alone = [replace(self, splits=[split]) for split in self.splits]
                return [outcome for one in alone for outcome in one.run()]
            raised = str(error) if isinstance(error, ChildError) else message_of(error)
            records = [self._missed(self.splits[0], raised)]
        return [Outcome(record, {}) for record in records]

    def _missed(self, split: Split, message: str) -> DrawRecord:
        positives = int(self.problem.y[split.test].sum())
        return DrawRecord(
            **self.place(split),
            tn=len(split.test) - positives,
            fp=0,
            fn=positives,
            tp=0,
            average_precision=0.0,
            auc=0.0,
            top_recall=0.0,
            fit_seconds=0.0,
            predict_seconds=0.0,
            error=message,
        )


def _measured(unit: DrawUnit) -> list[DrawRecord]:
    """The records of a unit; raises what its method raises."""
    first = unit.splits[0]
    estimator = seeded(unit.method.estimator, seed_of(unit.seed, first.repetition, 0))
    with warnings.catch_warnings():
        # Warnings of hundreds of fits, of convergence and the like, would bury the progress.
        warnings.simplefilter("ignore")
        fitted = fit(Unit(unit.problem, unit.method, unit.splits, unit.seed), estimator)
        records = []
        for model, rows, split in zip(fitted.models, fitted.splits, unit.splits, strict=True):
            started = time.perf_counter()
            decided = np.asarray(model.predict(fitted.X[rows.test]))
            scores = how_positive(model, fitted.X[rows.test])
            seconds = time.perf_counter() - started
            truth, place = fitted.y[rows.test], unit.place(split)
            scores = decided if scores is None else scores
            _check(decided, scores, len(truth))
            found = _scores(truth, decided == 1, scores, place)
            found |= {"fit_seconds": fitted.seconds, "predict_seconds": seconds}
            records.append(DrawRecord(**place, **found))
    return records


def _check(decided: NDArray[Any], scores: NDArray[Any], rows: int) -> None:
    """Refuse what is no answer: another shape, other classes, or no numbers."""
    for name, values in (("predict", decided), ("the scores", scores)):
        if values.shape != (rows,):
            raise ValueError(f"{name} must have shape ({rows},); found {values.shape}")
    others = sorted(set(np.unique(decided).tolist()) - {0, 1})
    if others:
        raise ValueError(f"predict must give the classes 0 and 1; found {others[:3]}")
    bad = int((~np.isfinite(scores)).sum())
    if bad:
        raise ValueError(f"the scores are not finite on {bad} of {rows} rows")


def _scores(
    truth: NDArray[np.int8], decided: NDArray[np.bool_], scores: NDArray[Any], place: dict[str, Any]
) -> dict[str, Any]:
    """The fields of a record that say how good it is."""
    from sklearn.metrics import roc_auc_score

    positives = int(truth.sum())
    weight = positive_weight(
        place["k"] / (place["k"] + place["negatives"]),
        positives=positives,
        negatives=len(truth) - positives,
    )
    return {
        "tn": int(((truth == 0) & ~decided).sum()),
        "fp": int(((truth == 0) & decided).sum()),
        "fn": int(((truth == 1) & ~decided).sum()),
        "tp": int(((truth == 1) & decided).sum()),
        "average_precision": average_precision(truth, scores, positive_weight=weight),
        "auc": float(roc_auc_score(truth, scores)),
        "top_recall": recall_among_highest(truth, scores, positive_weight=weight),
    }
