"""Rows judged by models of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

PARTS = 5  # into which rows are dealt: each is judged by a model of the other parts


class Scorer(Protocol):
    """A fitted model that scores rows."""

    def score(self, u: np.ndarray) -> np.ndarray:
        """The score of each row, (rows,). u: (rows, features), float32."""


Model = TypeVar("Model", bound=Scorer)


def cross_scored(
    fit: Callable[[list[np.ndarray]], Model],
    u: np.ndarray,
    positive: np.ndarray,
    rng: np.random.Generator,
) -> tuple[Model, np.ndarray]:
    """Fit a model on all rows; return it and scores by models that did not see them.

    A single positive, without which there is no model, has NaN. Of a very few majority rows none
    is left out: without any, there is no model either.

    fit: makes a model of the numbers of the majority's and of the positives' rows.
    u: (rows, features), float32.
    positive: (rows,), bool.
    """
    classes = [np.flatnonzero(positive == label) for label in (False, True)]
    n_parts = max(1, min(PARTS, len(classes[1])))
    part = np.full(len(u), -1)
    for rows in classes if len(classes[0]) >= 2 * PARTS else classes[1:]:
        part[rng.permutation(rows)] = np.arange(len(rows)) % n_parts
    of_all, scores = fit(classes), np.full(len(u), np.nan)
    judges = [(of_all, ~positive if n_parts == 1 else part == -1)]
    for left_out in range(n_parts if n_parts > 1 else 0):
        others = [rows[part[rows] != left_out] for rows in classes]
        judges.append((fit(others), part == left_out))
    for model, judged in judges:
        if judged.any():
            scores[judged] = model.score(u[judged])
    return of_all, scores
