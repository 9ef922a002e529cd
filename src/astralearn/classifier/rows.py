"""From a user's rows to what the engine trains on: held out, merged, scaled, labelled 0 and 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from astralearn.engine.network import BLOCK
from astralearn.engine.reproducible import cholesky, product
from astralearn.engine.rows import Fold
from astralearn.engine.view import FAR, View

MERGED_UP_TO = 100_000  # rows, of both classes or else of the rarer; sorting more to find equal ones costs more than it saves
LEAST_VARIANCE = 1e-6  # of a scaled feature in the majority, for which it is taken at least
LEAST_SPREAD = 1e-6  # of the distances, in multiples of their mean: less is rounding
HUGE = 1e100  # features beyond it, or below its inverse, are squared in a unit of their own
MOST_FEATURES = (
    1_000  # with more, the majority's covariance costs more than the training and means little
)


@dataclass(frozen=True)
class Rows:
    """X: (n, features). positive: whether each row is of the minority. weight: ≥ 0."""

    X: np.ndarray
    positive: np.ndarray
    weight: np.ndarray

    def take(self, rows: np.ndarray) -> Rows:
        return Rows(self.X[rows], self.positive[rows], self.weight[rows])


class Prepared(NamedTuple):
    """What to train on, and what is held out, through the scaling of the training rows."""

    train: Fold
    held_out: Fold | None


class Part(NamedTuple):
    """Which rows to train on and which to hold out, by their indices. inverted: whether the other class is this part's minority."""

    train: np.ndarray
    held_out: np.ndarray | None
    inverted: bool


def prepare(
    train: Rows,
    held_out: Rows | None,
    *,
    standardize: bool,
    clip: float | None,
    distance: bool,
    view: View | None = None,
) -> Prepared:
    """view: one that networks know already; None: what the training rows ask for."""
    train = merged(train)
    view = view or view_of(train, standardize=standardize, clip=clip, distance=distance)

    def fold(rows: Rows) -> Fold:
        return Fold(rows.X, rows.positive, rows.weight, view)

    return Prepared(fold(train), None if held_out is None else fold(merged(held_out)))


def prepare_many(
    rows: Rows, parts: Sequence[Part], *, standardize: bool, clip: float | None, distance: bool
) -> list[Prepared]:
    """What `prepare` would make of each part's rows, as weights over one matrix of distinct rows that all parts share."""
    distinct, place = distinct_rows(rows)
    labels = {False: distinct.positive, True: ~distinct.positive}

    def weights(part: np.ndarray) -> np.ndarray:
        return np.bincount(place[part], rows.weight[part], minlength=len(distinct.X))

    prepared = []
    for part in parts:
        y, weight = labels[part.inverted], weights(part.train)
        view = view_of(
            Rows(distinct.X, y, weight).take(weight > 0),
            standardize=standardize,
            clip=clip,
            distance=distance,
        )
        held_out = (
            None if part.held_out is None else Fold(distinct.X, y, weights(part.held_out), view)
        )
        prepared.append(Prepared(Fold(distinct.X, y, weight, view), held_out))
    return prepared


def hold_out(positive: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Which rows to hold out: the fraction of each class, but at least one row of each class on either side."""
    n = int(positive.sum())
    if n < 2:
        raise ValueError(
            f"validation_fraction={fraction} needs at least two rows of the minority class, one to train and one to validate on; "
            f"found {n}. Set validation_fraction=0 to train on every row."
        )
    rng = np.random.default_rng(seed)
    away = np.zeros(len(positive), bool)
    for members in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        away[
            rng.permutation(members)[
                : min(len(members) - 1, max(1, round(fraction * len(members))))
            ]
        ] = True
    return away


def merged(rows: Rows) -> Rows:
    """Equal rows of one class as one row with their weights added, in a fixed order; rows without weight left out.

    The loss is the same, and so, to the bit, is what a weight of 2 and a row given twice lead to, or the same rows in another order. Of
    many rows, `distinct_rows` merges less. Which class is the rarer was settled before, by rows: there a weight is no repetition.
    """
    return distinct_rows(rows if np.all(rows.weight > 0) else rows.take(rows.weight > 0))[0]


def distinct_rows(rows: Rows) -> tuple[Rows, np.ndarray]:
    """The rows merged, and where each of them went; of many rows, only the rarer class's."""
    if len(rows.X) > MERGED_UP_TO:
        return _with_the_rarer_class_merged(rows)
    distinct, place = np.unique(
        np.column_stack([rows.positive, rows.X]), axis=0, return_inverse=True
    )
    X = np.ascontiguousarray(distinct[:, 1:]).astype(rows.X.dtype)
    return Rows(X, distinct[:, 0] > 0, np.bincount(place.ravel(), rows.weight)), place.ravel()


def _with_the_rarer_class_merged(rows: Rows) -> tuple[Rows, np.ndarray]:
    """All weight of equal rows of the rarer class on the first of them; X is not copied.

    Of a handful of positives no copy may be left out by a trial that trains on another. With many rows of both classes, as they are.
    """
    place = np.arange(len(rows.X))
    members = np.flatnonzero(rows.positive == (2 * rows.positive.sum() <= len(rows.X)))
    if len(members) > MERGED_UP_TO:
        return rows, place
    _, first, of = np.unique(rows.X[members], axis=0, return_index=True, return_inverse=True)
    if len(first) == len(members):
        return rows, place  # and no second array of weights
    place[members] = members[first[of.ravel()]]
    return Rows(rows.X, rows.positive, np.bincount(place, rows.weight, minlength=len(place))), place


def view_of(rows: Rows, *, standardize: bool, clip: float | None, distance: bool) -> View:
    """How a network that trains on these rows sees them. clip: limit of scaled features."""
    n_features = rows.X.shape[1]
    view = View(np.zeros(n_features), np.ones(n_features))
    if standardize:
        view = View(*scaling(rows), limit=FAR if clip is None else min(clip, FAR))
    return with_distance(view, rows) if distance and n_features <= MOST_FEATURES else view


def scaling(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of each feature, in float64; its value and 1 for one that does not vary but by rounding."""
    low, high = rows.X.min(axis=0).astype(np.float64), rows.X.max(axis=0).astype(np.float64)
    extent = np.maximum(np.abs(low), np.abs(high))
    unit, total = (
        np.where((extent > HUGE) | (extent < 1 / HUGE) & (extent > 0), extent, 1.0),
        rows.weight.sum(),
    )
    mean = _weighted_sum(rows, lambda X: X / unit) / total
    variance = _weighted_sum(rows, lambda X: np.square(X / unit - mean)) / total
    scale = np.sqrt(variance) * unit
    varies = (high / 2 - low / 2 > 2 * np.finfo(rows.X.dtype).eps * extent) & (scale > 0)
    return np.where(varies, mean * unit, low), np.where(varies, scale, 1.0)


def with_distance(view: View, rows: Rows) -> View:
    """The view with the distance from the majority as one more input, scaled like the others.

    The majority's covariance is drawn a little towards a multiple of the identity, by (features + 1)/(rows + features + 1), so that
    it can be inverted whatever the rows are.
    """
    majority = Rows(
        rows.X, rows.positive, np.where(rows.positive, 0.0, rows.weight)
    )  # no copy of X
    total, p = majority.weight.sum(), view.n_inputs
    centre = _weighted_sum(majority, lambda X: view.inputs(X).T) / total
    covariance = np.zeros((p, p))
    for X, weight in _blocks(majority):
        u = view.inputs(X).T - centre
        covariance += product((weight[:, None] * u).T, u) / total
    shrink = (p + 1) / (int((~rows.positive).sum()) + p + 1)
    covariance = (1 - shrink) * covariance + shrink * max(
        np.trace(covariance) / p, LEAST_VARIANCE
    ) * np.eye(p)
    root = solve_triangular(cholesky(covariance), np.eye(p), lower=True).T
    seen = View(np.append(view.mean, 0.0), np.append(view.scale, 1.0), centre, root, view.limit)

    def distance(X: np.ndarray) -> np.ndarray:
        return seen.inputs(X)[-1:].T

    mean = _weighted_sum(rows, distance) / rows.weight.sum()
    variance = _weighted_sum(rows, lambda X: np.square(distance(X) - mean)) / rows.weight.sum()
    spread = np.sqrt(variance)
    spread = np.where(spread > LEAST_SPREAD * mean, spread, 1.0)
    return seen._replace(mean=np.append(view.mean, mean), scale=np.append(view.scale, spread))


def _weighted_sum(rows: Rows, of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Σ w·of(X), a block of rows at a time, so that nothing as large as X is made."""
    return np.sum([weight @ of(X) for X, weight in _blocks(rows)], axis=0)


def _blocks(rows: Rows) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """X in float64 and weights."""
    for start in range(0, len(rows.X), BLOCK):
        yield rows.X[start : start + BLOCK].astype(np.float64), rows.weight[start : start + BLOCK]
