"""One unit of work: a method on one fold, or on many that it trains as one stack."""

from __future__ import annotations

import inspect
import re
import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from astralearn.classifier.guests import seeded
from astralearn.datasets.problem import Problem, RowNumbers
from astralearn.study.method import Method
from astralearn.study.record import Key, MonitoredSeries, Outcome, Record, TestedPositive
from astralearn.study.splits import Split, seed_of
from astralearn.tabular import encoder_for

# Kept of each monitored series: enough for a figure, 1 kB a series.
HISTORY_POINTS = 250
# XGBoost says when and from where it raised: one error on many folds is to be one message.
PASSING_DETAIL = re.compile(r"\[\d\d:\d\d:\d\d\] |Stack trace:.*", re.DOTALL)
# Values of the table for which methods say how long they take.
TYPICAL_VALUES = 500_000
# Values of a unit's folds. A killed run loses its units in flight, and a unit of this many takes
# seconds; where X has to be encoded, each fold is a copy of its own, 8 MB of them.
MOST_STACKED = 1_000_000


class Unit(NamedTuple):
    """What is started, finished and recorded as one."""

    problem: Problem
    method: Method
    splits: Sequence[Split]
    seed: int

    @property
    def method_name(self) -> str:
        return self.method.name

    def record_keys(self) -> list[Key]:
        """Of the records it makes."""
        return [
            (self.problem.name, self.method.name, split.repetition, split.fold)
            for split in self.splits
        ]

    def run(self) -> list[Outcome]:
        """Fit and test every fold of the unit.

        Seeds depend on the study's seed and the place in it, not on the method, so that methods
        start alike. A method that raises has missed the fold. Where a stack raises, its folds are
        tried one by one, so that one bad fold does not cost the others.
        """
        first = self.splits[0]
        estimator = seeded(self.method.estimator, seed_of(self.seed, first.repetition, first.fold))
        with warnings.catch_warnings():
            # Warnings of hundreds of fits, of convergence and the like, would bury the progress.
            warnings.simplefilter("ignore")
            try:
                return _fit_and_test(self, estimator)
            except Exception as error:
                # A library that meets it in a callback makes an error of its own of it.
                if "KeyboardInterrupt" in str(error):
                    raise KeyboardInterrupt from None
                if len(self.splits) > 1:
                    alone = [self._replace(splits=[split]) for split in self.splits]
                    return [outcome for one in alone for outcome in one.run()]
                return [Outcome(_missed(self, first, error), {})]


def units(
    problem: Problem, method: Method, splits: Sequence[Split], *, seed: int, stack: int
) -> list[Unit]:
    """The units of one problem and method.

    One fold each; where the method trains many in one call, at most `stack` of them and as many
    as MOST_STACKED allows.
    """
    most = max(1, MOST_STACKED // (problem.rows * problem.features))
    size = min(stack, most) if method.stacks else 1
    return [
        Unit(problem, method, splits[start : start + size], seed)
        for start in range(0, len(splits), size)
    ]


def said_seconds(unit: Any) -> float:
    """About how long a core takes for a unit, by what its method is said to take."""
    size = unit.problem.rows * unit.problem.features / TYPICAL_VALUES
    seconds = getattr(getattr(unit, "method", None), "seconds", 1.0)
    return float(len(unit.record_keys()) * seconds * max(size, 0.02))


def _fit_and_test(unit: Unit, estimator: Any) -> list[Outcome]:
    fitted = fit(unit, estimator)
    return [
        _tested(unit, model, fitted, split, original.test)
        for model, split, original in zip(fitted.models, fitted.splits, unit.splits, strict=True)
    ]


class FittedSplits(NamedTuple):
    """A model for each split, and the rows that the splits are of, in numbers.

    seconds: what one split took to learn.
    """

    models: Sequence[Any]
    X: NDArray[Any]
    y: NDArray[np.int8]
    splits: list[Split]
    seconds: float


def fit(unit: Unit, estimator: Any) -> FittedSplits:
    """Fit every split of the unit, as one stack where the method can."""
    X, y, splits = _as_numbers(unit)
    started = time.perf_counter()
    if unit.method.stacks:
        roles = [
            (s.train, s.validation, s.test) if unit.method.validates else (s.learn, s.test)
            for s in splits
        ]
        models = estimator.fit_many(X, y, roles, **_own_seeds(unit, estimator))
    else:
        (split,) = splits
        models = [estimator.fit(X[split.learn], y[split.learn])]
    seconds = (time.perf_counter() - started) / len(splits)
    return FittedSplits(models, X, y, splits, seconds)


def _own_seeds(unit: Unit, estimator: Any) -> dict[str, list[int]]:
    """A seed for each fold of the stack, where `fit_many` takes them.

    Otherwise all its folds start from the estimator's one seed.
    """
    if "random_states" not in inspect.signature(estimator.fit_many).parameters:
        return {}
    seeds = [seed_of(unit.seed, split.repetition, split.fold) for split in unit.splits]
    return {"random_states": seeds}


def _tested(
    unit: Unit, model: Any, fitted: FittedSplits, split: Split, rows: RowNumbers
) -> Outcome:
    """Count what the model decides on the test rows.

    split: of the rows in numbers.
    rows: the test rows' numbers in the problem.
    """
    X, truth = fitted.X[split.test], fitted.y[split.test]
    predicted = np.asarray(model.predict(X))
    scores = how_positive(model, X)
    if scores is None:
        precision = None
    else:
        from sklearn.metrics import average_precision_score

        precision = float(average_precision_score(truth, scores))
    record = Record(
        **_place(unit, split),
        tn=int(((truth == 0) & (predicted == 0)).sum()),
        fp=int(((truth == 0) & (predicted == 1)).sum()),
        fn=int(((truth == 1) & (predicted == 0)).sum()),
        tp=int(((truth == 1) & (predicted == 1)).sum()),
        average_precision=precision,
        fit_seconds=fitted.seconds,
        ranks=_ranks(truth, predicted == 1, predicted if scores is None else scores, rows),
    )
    return Outcome(record, _thinned(getattr(model, "history_", None)))


def _ranks(
    truth: NDArray[np.int8], is_found: NDArray[np.bool_], scores: NDArray[Any], rows: RowNumbers
) -> str:
    """Where the test positives lie among the test negatives, as a Record's `ranks`."""
    negatives = np.sort(scores[truth == 0])
    positives = np.flatnonzero(truth == 1)
    positives = positives[np.argsort(rows[positives])]
    ends = [np.searchsorted(negatives, scores[positives], side) for side in ("left", "right")]
    above = len(negatives) - (ends[0] + ends[1]) / 2
    return " ".join(
        str(TestedPositive(int(rows[place]), float(higher), bool(is_found[place])))
        for place, higher in zip(positives, above, strict=True)
    )


def _missed(unit: Unit, split: Split, error: Exception) -> Record:
    truth, nothing = unit.problem.y[split.test], np.zeros(len(split.test))
    positives = int(truth.sum())
    return Record(
        **_place(unit, split),
        tn=len(split.test) - positives,
        fp=0,
        fn=positives,
        tp=0,
        average_precision=None,
        fit_seconds=0.0,
        error=message_of(error),
        ranks=_ranks(truth, nothing == 1, nothing, split.test),
    )


def message_of(error: Exception) -> str:
    """One line that says what was raised, alike for equal errors."""
    message = f"{type(error).__name__}: {PASSING_DETAIL.sub('', str(error))}"
    return " ".join(message.split())[:500]


def _place(unit: Unit, split: Split) -> dict[str, Any]:
    """The fields of a Record that say where in the study it belongs."""
    return {
        "problem": unit.problem.name,
        "method": unit.method.name,
        "repetition": split.repetition,
        "fold": split.fold,
        "learned": len(split.train) + len(split.validation),
    }


def how_positive(model: Any, X: NDArray[Any]) -> NDArray[Any] | None:
    """How positive each row looks; None where the model does not say."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))[:, list(model.classes_).index(1)]
    return None


def _as_numbers(unit: Unit) -> tuple[NDArray[Any], NDArray[np.int8], list[Split]]:
    """X, y and splits, in numbers.

    Where X has to be encoded, each fold gets rows of its own, encoded by what was fitted on its
    training rows. Folds may see different categories; the narrower ones are filled up with zeros.
    """
    problem = unit.problem
    encoder = encoder_for(problem.X)
    if encoder is None:
        return problem.X, problem.y, list(unit.splits)
    from sklearn.base import clone

    blocks, labels, splits, offset = [], [], [], 0
    for split in unit.splits:
        rows = np.concatenate([split.train, split.validation, split.test])
        learned = split.train if unit.method.validates else split.learn
        fitted = clone(encoder).fit(_taken(problem.X, learned))
        blocks.append(np.asarray(fitted.transform(_taken(problem.X, rows)), dtype=float))
        labels.append(problem.y[rows])
        splits.append(_consecutive(split, offset))
        offset += len(rows)
    width = max(block.shape[1] for block in blocks)
    X = np.concatenate([np.pad(block, ((0, 0), (0, width - block.shape[1]))) for block in blocks])
    return X, np.concatenate(labels), splits


def _consecutive(split: Split, offset: int) -> Split:
    """The same roles for rows laid out as train, validation, test from `offset` on."""
    ends = offset + np.cumsum([0, len(split.train), len(split.validation), len(split.test)])
    return split._replace(
        train=np.arange(*ends[0:2]), validation=np.arange(*ends[1:3]), test=np.arange(*ends[2:4])
    )


def _taken(X: Any, rows: RowNumbers) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _thinned(history: Any) -> MonitoredSeries:
    """At most HISTORY_POINTS of each series, first and last epoch included."""
    if not history or "epoch" not in history:
        return {}
    length = len(history["epoch"])
    series = {
        name: np.asarray(values, dtype=np.float32)
        for name, values in history.items()
        if np.shape(values) == (length,)
    }
    kept = np.unique(np.linspace(0, length - 1, min(length, HISTORY_POINTS)).round().astype(int))
    return {name: values[kept] for name, values in series.items()}
