"""Rows as networks learn from them: weighed, of two classes, in folds. NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from astralearn.engine.view import FAR, View

T = TypeVar("T")


class Extent(NamedTuple):
    """The lowest and the highest value of each feature, (features,), float64."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray) -> Extent:
        """That of rows, (rows, features); of none, what changes no other's."""
        return cls(
            low=X.min(axis=0, initial=np.inf).astype(np.float64),
            high=X.max(axis=0, initial=-np.inf).astype(np.float64),
        )

    def plus(self, other: Extent) -> Extent:
        return Extent(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


@dataclass(frozen=True)
class Rows:
    """Rows of data as the user has them. Those without weight are not seen.

    X: (n, features).
    positive: (n,), whether each row is of the minority.
    weight: (n,), ≥ 0.
    """

    X: np.ndarray
    positive: np.ndarray
    weight: np.ndarray

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.X.dtype

    @property
    def extent(self) -> Extent:
        return Extent.of(self.X)

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @property
    def n_negatives(self) -> int:
        return int((~self.positive).sum())

    def merged(self, look: Callable[[Rows], T], plus: Callable[[T, T], T]) -> T:  # noqa: ARG002
        """A look at all of them: they are in one place."""
        return look(self)

    def take(self, rows: np.ndarray) -> Rows:
        return Rows(self.X[rows], self.positive[rows], self.weight[rows])

    def of_class(self, positive: bool) -> np.ndarray:
        """The numbers of the rows of one class that have weight."""
        return np.flatnonzero((self.positive == positive) & (self.weight > 0))


class RowCosts(NamedTuple):
    """What a mistake on a row of either class costs: a factor of its weight."""

    of_negative: float = 1.0
    of_positive: float = 1.0


@dataclass(frozen=True)
class Fold:
    """What a network learns from.

    Folds that hold the very same arrays X and positive, under weights of their own, are packed
    once.

    train: the rows to learn from.
    view: how the network sees them.
    held_out: rows to monitor and select on, through the same view.
    costs: what mistakes on rows of either cost.
    everywhere: what negatives and positives weigh in all places, where the rows are those of one
        place among several.
    """

    train: Rows
    view: View
    held_out: Rows | None = None
    costs: RowCosts = field(default_factory=RowCosts)
    everywhere: tuple[float, float] | None = None

    @property
    def class_weights(self) -> tuple[float, float]:
        """What negatives and positives weigh."""
        if self.everywhere is not None:
            return self.everywhere
        weight, positive = self.train.weight, self.train.positive
        return float(weight[~positive].sum()), float(weight[positive].sum())

    @property
    def parts(self) -> list[Rows]:
        """The training rows and, where there are any, those held out."""
        return [self.train] if self.held_out is None else [self.train, self.held_out]


def share_rows(folds: Sequence[Fold]) -> bool:
    """Whether they see the same rows, through scalings alone."""
    first = folds[0].train
    return all(
        rows.X is first.X and rows.positive is first.positive
        for fold in folds
        for rows in fold.parts
    ) and all(fold.view.root is None and fold.view.limit == FAR for fold in folds)
