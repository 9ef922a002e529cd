"""A fit of rows in many places: what one machine's fit would give.

A small table is joined and fitted in one place. Of a large one, a committee looks at a pool of
rows; the pool is drawn where the rows are, and fitted in one place, with the statistics of all.
Networks alone train on every row, in the processes that hold them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from astralearn.classifier.checks import LabelSums
from astralearn.classifier.left_whole import left_whole
from astralearn.classifier.prediction import solved_shift
from astralearn.classifier.processes import Processes, alone
from astralearn.classifier.rows import (
    MERGED_UP_TO,
    count_factor,
    first_of_equals,
    merged,
    view_of,
)
from astralearn.classifier.shards import (
    Described,
    Piece,
    PieceReading,
    Pieces,
    Shards,
    checked,
    describe,
    whole_piece,
)
from astralearn.core.elementary import sigmoid
from astralearn.engine.rows import Extent, Fold, Rows
from astralearn.engine.view import View

if TYPE_CHECKING:
    from astralearn.classifier.estimator import ASTraClassifier
    from astralearn.classifier.fitting import NetworkState

# Whether Ctrl-C cut a fit short, and what is said of positives that it misses.
End = tuple[bool, str]


P = TypeVar("P", bound=Pieces)


@dataclass(frozen=True)
class Spread(Generic[P]):
    """A table in pieces, each of which was looked at once."""

    pieces: P
    described: Sequence[Described]

    @classmethod
    def of(cls, pieces: P) -> Spread[P]:
        """Refuse pieces that are wrong or do not go together."""
        return cls(pieces, checked(pieces.each(describe), pieces.kind))

    @property
    def sums(self) -> LabelSums:
        return functools.reduce(LabelSums.plus, [one.sums for one in self.described])

    @property
    def is_small(self) -> bool:
        """Whether one place sorts all rows anyway."""
        return bool(self.sums.rows.sum() <= MERGED_UP_TO)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(*[one.dtype for one in self.described])

    def settled(self, model: ASTraClassifier, *, is_settled: bool = False) -> Shards:
        """The rows of the pieces; sets what a fit sets of its input.

        is_settled: whether an earlier fit says which class is the positive one.
        """
        sums = self.sums
        ignored = model._ignored_labels(sums.labels)
        kept = ~np.isin(sums.labels, ignored)
        sums = LabelSums(sums.labels[kept], sums.rows[kept], sums.weight[kept])
        extent = functools.reduce(Extent.plus, [one.extent for one in self.described])
        first = self.described[0]
        model.n_features_in_ = first.n_features
        if first.names is not None:
            model.feature_names_in_ = np.asarray(first.names, object)
        elif hasattr(model, "feature_names_in_"):
            del model.feature_names_in_
        model._check_sums(sums, extent, model.minority_class_ if is_settled else None)
        reading = PieceReading(self.dtype, model.minority_class_, tuple(ignored))
        return Shards(self.pieces, reading, self.described)


def fit_own_rows(
    model: ASTraClassifier, X: Any, y: Any, weight: Any, validation: Sequence[Any] | None
) -> End:
    """Fit the classifier to the rows of all processes, of which these are one's own.

    validation: as for `ASTraClassifier.fit`, the same in every process.
    """
    spread = Spread.of(Processes.of(X, y, weight))
    if model.committee or spread.is_small:
        return fit_pieces(model, spread, validation)
    with left_whole(model):
        return _fit_networks(model, spread, validation)


def fit_pieces(
    model: ASTraClassifier, spread: Spread[Any], validation: Sequence[Any] | None = None
) -> End:
    """Fit the classifier, which has a committee or few rows, to those of all pieces.

    validation: as for `ASTraClassifier.fit`.
    """
    if spread.is_small:
        _fit_joined(model, spread, validation)
        return False, ""
    with left_whole(model):
        task = _Task.of(model, spread)
        if validation is not None or model.validation_fraction > 0:
            raise ValueError(
                f"of more than {MERGED_UP_TO} rows in many places, a committee holds none out: "
                "set validation_fraction=0 and leave out validation, or committee=False"
            )
        pool = task.shards.pool(task.seed)
        pool = replace(pool, weight=pool.weight * task.factor)
        fold = Fold(pool, task.view, costs=model._costs(task.sums))
        was_interrupted, seen = model._fit_fold(fold, task.seed, task.earlier, task.prior)
        return was_interrupted, model._missed(seen)


def _fit_networks(
    model: ASTraClassifier, spread: Spread[Processes], validation: Sequence[Any] | None
) -> End:
    """Networks alone, on every row of every process."""
    processes = spread.pieces
    task = _Task.of(model, spread)
    if model.validation_fraction > 0:
        raise ValueError(
            f"of more than {MERGED_UP_TO} rows in many places, validation_fraction holds none "
            "out: set validation_fraction=0 and pass validation=(X_val, y_val)"
        )
    held_out = None if validation is None else model._checked_validation(validation)
    model._check_selection(held_out is not None)
    if held_out is not None:
        if model.selection != "last":
            from astralearn.classifier.fitting import check_both_classes

            check_both_classes([held_out], model.selection)
        held_out = merged(held_out)
    rows = task.shards.reading.rows(processes.own)
    rows = _with_the_rarer_class_merged(
        processes, replace(rows, weight=rows.weight * task.factor), task.shards.counts()
    )
    positives = task.sums.of_label(model.minority_class_)
    everywhere = np.asarray([task.sums.weight.sum() - positives, positives]) * task.factor
    fold = Fold(rows, task.view, held_out, model._costs(task.sums), (everywhere[0], everywhere[1]))
    of_all = model._plan(fold, task.seed, task.prior)
    (fitted,) = model._fit_plans([of_all], task.earlier)
    if fitted.interrupted and fitted.n_iter == 0:
        raise KeyboardInterrupt("nothing had been learned yet")
    model._keep_networks(of_all, fitted)
    scores = fitted.networks.scores(rows.X) if len(rows.X) else np.empty(0)
    model.prior_shift_ = _prior_shift(processes, scores, rows.weight, task.prior)
    model._set_cut()
    missed = processes.merged(lambda _: model._missed_weight(rows), np.add)
    return fitted.interrupted, model._said_of_missed(*missed)


@dataclass(frozen=True)
class _Task:
    """What a fit of many pieces knows before it trains.

    factor: that makes weights numbers of rows.
    prior: the positives' share of all rows, by weight.
    earlier: where the networks of a warm start go on from.
    """

    shards: Shards
    sums: LabelSums
    seed: int
    view: View
    factor: float
    prior: float
    earlier: list[NetworkState] | None

    @classmethod
    def of(cls, model: ASTraClassifier, spread: Spread[Any]) -> _Task:
        earlier = model._earlier() if model.warm_start else None
        shards = spread.settled(model, is_settled=earlier is not None)
        if earlier is not None:
            model._check_warm_start(len(earlier))
        seed = spread.pieces.first(model._draw_seed()) if earlier is None else model._seed
        sums = spread.sums
        weight = float(sums.weight.sum())
        return cls(
            shards=shards,
            sums=sums,
            seed=seed,
            view=view_of(shards, model._view_options()) if earlier is None else model._view(),
            factor=count_factor(int(sums.rows.sum()), weight),
            prior=sums.of_label(model.minority_class_) / weight,
            earlier=earlier,
        )


def _with_the_rarer_class_merged(processes: Processes, rows: Rows, counts: np.ndarray) -> Rows:
    """The rows here as they are merged where all are in one place.

    counts: negatives and positives of each process, (processes, 2).
    """
    of_both = counts.sum(axis=0)
    if of_both.min() > MERGED_UP_TO:
        return rows
    members = rows.of_class(bool(of_both[1] <= of_both[0]))
    everyones = processes.each(lambda _: (rows.X[members], rows.weight[members]))
    X, weight = (np.concatenate(part) for part in zip(*everyones, strict=True))
    first = first_of_equals(X)
    if np.all(first == np.arange(len(X))):
        return rows
    together = np.bincount(first, weight, minlength=len(weight))
    before = sum(len(own) for _, own in everyones[: processes.number])
    at_first = rows.weight.copy()
    at_first[members] = together[before : before + len(members)]
    return replace(rows, weight=at_first)


def _prior_shift(
    processes: Processes, scores: np.ndarray, weight: np.ndarray, prior: float
) -> float:
    """`prior_shift` of the scores of all processes."""
    extent = processes.merged(lambda _: Extent.of(scores[:, None]), Extent.plus)

    def mean(c: float) -> float:
        def look(_: Piece) -> np.ndarray:
            return np.asarray([np.sum(weight * sigmoid(scores - c, np)), np.sum(weight)])

        total, of = processes.merged(look, np.add)
        return float(total / of)

    return solved_shift(mean, float(extent.low[0]), float(extent.high[0]), prior)


def _fit_joined(
    model: ASTraClassifier, spread: Spread[Any], validation: Sequence[Any] | None
) -> None:
    from astralearn.classifier.estimator import ASTraClassifier

    parts = spread.pieces.each(whole_piece)
    # Parts without rows would widen the numbers and labels of the others.
    parts = [part for part in parts if len(part.y)] or list(parts)
    X: Any = np.concatenate([part.X for part in parts])
    names = spread.described[0].names
    if names is not None:
        import pandas as pd

        X = pd.DataFrame(X, columns=list(names))
    y = np.concatenate([part.y for part in parts])
    weight = np.concatenate([part.weight for part in parts])
    with alone():
        ASTraClassifier.fit(model, X, y, weight, validation)
