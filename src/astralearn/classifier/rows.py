"""From a user's rows to folds: merged, held out, scaled. NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from astralearn.engine.network import BLOCK
from astralearn.engine.reproducible import cholesky, tiled_product
from astralearn.engine.rows import Fold, RowCosts, Rows
from astralearn.engine.view import FAR, View

if TYPE_CHECKING:
    from astralearn.classifier.shards import Shards

# Rows of both classes, or else of the rarer, that are sorted to find equal ones: sorting more
# costs more than it saves.
MERGED_UP_TO = 100_000
LEAST_VARIANCE = 1e-6  # of a scaled feature in the majority, for which it is taken at least
LEAST_SPREAD = 1e-6  # of the distances, in multiples of their mean: less is rounding
HUGE = 1e100  # features beyond it, or below its inverse, are squared in a unit of their own
# Of many rows, a mean is one of so many steps in a standard deviation, a deviation one in its power
# of two, and a covariance one in the typical variance.
MEAN_STEPS, SCALE_STEPS, COVARIANCE_STEPS = 2.0**20, 2.0**26, 2.0**32
# With more, the majority's covariance costs more than the training and means little.
MOST_FEATURES = 1_000


class ViewOptions(NamedTuple):
    """What a view is asked for: the classifier's parameters of these names."""

    standardize: bool
    clip: float | None
    distance: bool


class Part(NamedTuple):
    """The rows of one split among many.

    train, held_out: their numbers; None where nothing is held out yet.
    seed: of what is held out by `fraction` then.
    inverted: whether the other class is this part's minority.
    costs: of mistakes on its rows.
    """

    train: np.ndarray
    held_out: np.ndarray | None
    seed: int
    inverted: bool
    costs: RowCosts


def make_fold(
    rows: Rows,
    held_out: Rows | None,
    options: ViewOptions,
    *,
    fraction: float,
    seed: int,
    costs: RowCosts,
    view: View | None = None,
) -> Fold:
    """The fold of all rows, merged.

    held_out: given rows; None takes the fraction away from the others.
    view: one that networks know already; None: what the training rows ask for.
    """
    rows = merged(replace(rows, weight=as_counts(rows.weight)))
    if held_out is not None:
        held_out = merged(held_out)
    elif fraction > 0:
        away = chosen_to_hold_out(rows, fraction, seed)
        rows, held_out = rows.take(~away), rows.take(away)
    return Fold(rows, view or view_of(rows, options), held_out, costs)


def make_folds(
    rows: Rows, parts: Sequence[Part], options: ViewOptions, *, fraction: float
) -> list[Fold]:
    """What `make_fold` would make of each part's rows.

    As weights over one matrix of distinct rows that all parts share.
    """
    distinct, place = distinct_rows(rows)
    positive = {False: distinct.positive, True: ~distinct.positive}

    def weighed(part: Part, weight: np.ndarray) -> Rows:
        return Rows(distinct.X, positive[part.inverted], weight)

    def weight_of(numbers: np.ndarray) -> np.ndarray:
        weight = as_counts(rows.weight[numbers])
        return np.bincount(place[numbers], weight, minlength=len(distinct.X))

    folds = []
    for part in parts:
        train, held_out = weighed(part, weight_of(part.train)), None
        if part.held_out is not None:
            held_out = weighed(part, weight_of(part.held_out))
        elif fraction > 0:
            away = chosen_to_hold_out(train, fraction, part.seed)
            held_out = weighed(part, np.where(away, train.weight, 0.0))
            train = weighed(part, np.where(away, 0.0, train.weight))
        view = view_of(train.take(train.weight > 0), options)
        folds.append(Fold(train, view, held_out, part.costs))
    return folds


def as_counts(weight: np.ndarray) -> np.ndarray:
    """Weights as numbers of rows: see `count_factor`.

    >>> as_counts(np.asarray([0.25, 0.75, 0.0])), as_counts(np.asarray([2.0, 1.0, 0.0]))
    (array([0.5, 1.5, 0. ]), array([2., 1., 0.]))
    """
    factor = count_factor(int(np.count_nonzero(weight)), float(weight.sum()))
    return weight if factor == 1.0 else weight * factor


def count_factor(n_rows: int, total: float) -> float:
    """The factor that makes weights numbers of rows.

    n_rows: the rows with weight.
    total: the sum of their weights.

    A weight is a number of repetitions. Weights that add up to less than there are rows cannot
    be: they are shares, of which only the ratios matter, and are scaled to a mean of 1.
    """
    return n_rows / total if 0.0 < total < n_rows else 1.0


def chosen_to_hold_out(rows: Rows, fraction: float, seed: int) -> np.ndarray:
    """Which rows to hold out: the fraction of each class's distinct rows, (rows,).

    At least one is held out and one is left. Copies stand on one side, also those that `merged`
    leaves apart among many rows.
    """
    rng = np.random.default_rng(seed)
    away = np.zeros(len(rows.positive), bool)
    for positive in (True, False):
        members = rows.of_class(positive)
        if len(rows.X) > MERGED_UP_TO:
            _, kind = np.unique(_fingerprints(rows.X, members), return_inverse=True)
        else:
            kind = np.arange(len(members))
        n_kinds = int(kind.max()) + 1
        if positive and n_kinds < 2:
            raise ValueError(
                f"validation_fraction={fraction} needs at least two distinct rows of the minority "
                f"class, one to train and one to validate on; found {n_kinds}. Set "
                "validation_fraction=0 to train on every row."
            )
        n = min(n_kinds - 1, max(1, round(fraction * n_kinds)))
        is_away = np.zeros(n_kinds, bool)
        is_away[rng.permutation(n_kinds)[:n]] = True
        away[members[is_away[kind]]] = True
    return away


def _fingerprints(X: np.ndarray, members: np.ndarray) -> np.ndarray:
    """64 bits for each of these rows, the same for equal rows and hardly for others."""
    factors = np.random.default_rng(0).integers(1 << 63, size=X.shape[1], dtype=np.uint64)
    found = np.empty(len(members), np.uint64)
    for start in range(0, len(members), BLOCK):
        # Adding 0 makes −0 the 0 that it equals.
        block = X[members[start : start + BLOCK]].astype(np.float64) + 0.0
        bits = block.view(np.uint64)
        bits = (bits ^ (bits >> np.uint64(32))) * (2 * factors + np.uint64(1))
        found[start : start + BLOCK] = np.bitwise_xor.reduce(bits ^ (bits >> np.uint64(29)), axis=1)
    return found


def merged(rows: Rows) -> Rows:
    """Equal rows of one class as one row with their weights added, in a fixed order.

    The loss is the same, and so, to the bit, is what a weight of 2 and a row given twice lead to,
    or the same rows in another order. Rows without weight are left out. Of many rows,
    `distinct_rows` merges less. Which class is the rarer was settled before, by rows: there a
    weight is no repetition.
    """
    return distinct_rows(rows if np.all(rows.weight > 0) else rows.take(rows.weight > 0))[0]


def distinct_rows(rows: Rows) -> tuple[Rows, np.ndarray]:
    """The rows merged, and where each went; of many, only the rarer class's."""
    if len(rows.X) > MERGED_UP_TO:
        return _with_the_rarer_class_merged(rows)
    labelled = np.column_stack([rows.positive, rows.X])
    distinct, place = np.unique(labelled, axis=0, return_inverse=True)
    X = np.ascontiguousarray(distinct[:, 1:]).astype(rows.X.dtype)
    return Rows(X, distinct[:, 0] > 0, np.bincount(place.ravel(), rows.weight)), place.ravel()


def _with_the_rarer_class_merged(rows: Rows) -> tuple[Rows, np.ndarray]:
    """All weight of equal rows of the rarer class on the first of them.

    X is not copied. Of a handful of positives no copy may be left out by a trial that trains on
    another. With many rows of both classes, as they are.
    """
    place = np.arange(len(rows.X))
    members = np.flatnonzero(rows.positive == (2 * rows.positive.sum() <= len(rows.X)))
    if len(members) > MERGED_UP_TO:
        return rows, place
    first = first_of_equals(rows.X[members])
    if np.all(first == np.arange(len(members))):
        return rows, place  # and no second array of weights
    place[members] = members[first]
    return Rows(rows.X, rows.positive, np.bincount(place, rows.weight, minlength=len(place))), place


def first_of_equals(X: np.ndarray) -> np.ndarray:
    """For each row the number of the first that equals it, (rows,)."""
    _, first, of = np.unique(X, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[of.ravel()])


def view_of(rows: Rows | Shards, options: ViewOptions) -> View:
    """How a network that trains on these rows sees them."""
    view = View(np.zeros(rows.n_features), np.ones(rows.n_features))
    if options.standardize:
        view = scaled(rows, FAR if options.clip is None else min(options.clip, FAR))
    wide = rows.n_features > MOST_FEATURES
    return with_distance(view, rows) if options.distance and not wide else view


def scaled(rows: Rows | Shards, limit: float) -> View:
    """Weighted mean and standard deviation of each feature, in float64.

    A feature that does not vary but by rounding has its value and 1.
    """
    low, high = rows.extent
    largest = np.maximum(np.abs(low), np.abs(high))
    is_extreme = (largest > HUGE) | (largest < 1 / HUGE) & (largest > 0)
    unit = np.where(is_extreme, largest, 1.0)

    def look(some: Rows) -> Moments:
        return Moments.of(some, lambda X: X / unit, len(unit))

    moments = rows.merged(look, Moments.plus)
    scale = np.sqrt(moments.about / moments.weight)
    mean, scale = (values * unit for values in _settled(moments.mean, scale, rows))
    varies = (high / 2 - low / 2 > 2 * np.finfo(rows.dtype).eps * largest) & (scale > 0)
    mean = np.where(varies, mean, low)
    return View(mean, np.where(varies, scale, 1.0), limit=limit)


def with_distance(view: View, rows: Rows | Shards) -> View:
    """The view with the distance from the majority as one more input.

    It is scaled like the others. The majority's covariance is drawn a little towards a multiple of
    the identity, by (features + 1)/(rows + features + 1), so that it can be inverted whatever the
    rows are.
    """
    p = view.n_inputs

    def majority(some: Rows) -> Moments:
        of_majority = np.where(some.positive, 0.0, some.weight)
        weighed = Rows(some.X, some.positive, of_majority)
        return Moments.of(weighed, lambda X: view.inputs(X).T, p, crossed=True)

    moments = rows.merged(majority, Moments.plus)
    covariance = moments.about / moments.weight
    shrink = (p + 1) / (rows.n_negatives + p + 1)
    typical = max(np.trace(covariance) / p, LEAST_VARIANCE)
    covariance = (1 - shrink) * covariance + shrink * typical * np.eye(p)
    centre, _ = _settled(moments.mean, np.ones(p), rows)
    if rows.n_rows > MERGED_UP_TO:
        power_of_two = np.ldexp(1.0, np.frexp(typical)[1])
        covariance = _to_steps(covariance, power_of_two / COVARIANCE_STEPS)
    root = solve_triangular(cholesky(covariance), np.eye(p), lower=True).T
    seen = View(np.append(view.mean, 0.0), np.append(view.scale, 1.0), centre, root, view.limit)
    distances = rows.merged(
        lambda some: Moments.of(some, lambda X: seen.inputs(X)[-1:].T, 1), Moments.plus
    )
    spread = np.sqrt(distances.about / distances.weight)
    mean, spread = _settled(distances.mean, spread, rows)
    spread = np.where(spread > LEAST_SPREAD * mean, spread, 1.0)
    return seen._replace(mean=np.append(view.mean, mean), scale=np.append(view.scale, spread))


def _settled(
    mean: np.ndarray, scale: np.ndarray, rows: Rows | Shards
) -> tuple[np.ndarray, np.ndarray]:
    """Means and deviations of many rows, in steps that rounding does not reach.

    Rows in several places are added in another order than in one. Of few rows, as they are: those
    are always brought to one place.
    """
    if rows.n_rows <= MERGED_UP_TO:
        return mean, scale
    mantissa, exponent = np.frexp(scale)
    scale = np.ldexp(_to_steps(mantissa, 1 / SCALE_STEPS), exponent)
    step = np.where(scale > 0, scale, 1.0) / MEAN_STEPS
    return _to_steps(mean, step), scale


def _to_steps(values: np.ndarray, step: np.ndarray | float) -> np.ndarray:
    return np.asarray(np.round(values / step) * step)


class Moments(NamedTuple):
    """What rows add up to: their weight, their mean and the squares about it.

    weight: Σw.
    mean: (p,).
    about: Σ w (x − mean)², (p,); or crossed, Σ w (x − mean)(x − mean)ᵀ, (p, p).
    """

    weight: float
    mean: np.ndarray
    about: np.ndarray

    @classmethod
    def of(
        cls, rows: Rows, of: Callable[[np.ndarray], np.ndarray], p: int, *, crossed: bool = False
    ) -> Moments:
        """Those of of(X), (rows, p), a block at a time: nothing as large as X is made."""
        found = cls(0.0, np.zeros(p), np.zeros((p, p) if crossed else p))
        for X, weight in _blocks(rows):
            total = float(weight.sum())
            if total > 0:
                values = of(X)
                mean = tiled_product(weight[None], values)[0] / total
                apart = values - mean
                about = (
                    tiled_product((weight[:, None] * apart).T, apart)
                    if crossed
                    else tiled_product(weight[None], np.square(apart))[0]
                )
                found = found.plus(cls(total, mean, about))
        return found

    def plus(self, other: Moments) -> Moments:
        """Those of both sets of rows together."""
        if self.weight == 0 or other.weight == 0:
            return other if self.weight == 0 else self
        weight = self.weight + other.weight
        share, gap = other.weight / weight, other.mean - self.mean
        between = np.square(gap) if self.about.ndim == 1 else np.outer(gap, gap)
        about = self.about + other.about + self.weight * share * between
        return Moments(weight, self.mean + share * gap, about)


def _blocks(rows: Rows) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """X in float64 and weights."""
    for start in range(0, len(rows.X), BLOCK):
        yield rows.X[start : start + BLOCK].astype(np.float64), rows.weight[start : start + BLOCK]
