"""Synthetic tasks whose best possible ordering of the rows is known.

Each class is a distribution with a density, so the best score of a row is the log-ratio of the
two densities (Neyman and Pearson): no method orders rows better on average, and what a method
reaches can be read as a share of what is attainable.

>>> task = TASKS["gauss-shift"]
>>> X, y = task.table()
>>> X.shape, int(y.sum())
((41000, 10), 1000)
>>> best = task.best_order(X)
>>> bool(best[y == 1].mean() > best[y == 0].mean())
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from astralearn.datasets.distributions import (
    Beside,
    Board,
    Counts,
    Distribution,
    Floats,
    Levels,
    Mixture,
    Normal,
    Ring,
    StudentT,
)

SEED = 20_26
POSITIVES, NEGATIVES = 1_000, 40_000


@dataclass(frozen=True)
class Task:
    """A synthetic problem: how each class is distributed, and its number of rows.

    categories: the columns that hold categories; they are given as text, and X as a data frame.
    """

    name: str
    described: str
    majority: Distribution
    minority: Distribution
    categories: tuple[int, ...] = ()
    positives: int = POSITIVES
    negatives: int = NEGATIVES

    def table(self) -> tuple[Any, NDArray[np.int8]]:
        """X and y, positives first; the same in every call."""
        random = np.random.default_rng([SEED, *self.name.encode()])
        drawn = [
            self.minority.rows(random, self.positives),
            self.majority.rows(random, self.negatives),
        ]
        y = np.repeat(np.array([1, 0], dtype=np.int8), [self.positives, self.negatives])
        return self._shown(np.concatenate(drawn)), y

    def best_order(self, X: Any) -> Floats:
        """The log-ratio of the two densities at each row: the best score there is."""
        numbers = self._numbers(X)
        return self.minority.log_density(numbers) - self.majority.log_density(numbers)

    def _shown(self, numbers: Floats) -> Any:
        if not self.categories:
            return numbers
        frame = pd.DataFrame(numbers, columns=[f"x{i}" for i in range(numbers.shape[1])])
        for i in self.categories:
            frame[f"x{i}"] = frame[f"x{i}"].map(lambda level: f"level {int(level)}")
        return frame

    def _numbers(self, X: Any) -> Floats:
        if not self.categories:
            return np.asarray(X, dtype=float)
        columns = [
            X[f"x{i}"].str.removeprefix("level ") if i in self.categories else X[f"x{i}"]
            for i in range(X.shape[1])
        ]
        return np.column_stack([column.to_numpy(dtype=float) for column in columns])


def _spherical(*mean: float, spread: float = 1.0) -> Normal:
    return Normal(np.array(mean), spread**2 * np.eye(len(mean)))


def _noise(width: int) -> Normal:
    return _spherical(*[0.0] * width)


def _equally(parts: Sequence[Distribution]) -> Mixture:
    return Mixture(parts, [1 / len(parts)] * len(parts))


def _gauss_shift() -> tuple[Distribution, Distribution]:
    return _noise(10), _spherical(*[0.8] * 10)


def _gauss_broad() -> tuple[Distribution, Distribution]:
    return _noise(6), _spherical(*[0.0] * 6, spread=2.2)


def _gauss_inside() -> tuple[Distribution, Distribution]:
    return _noise(5), _spherical(*[0.7] * 5, spread=0.3)


def _ring() -> tuple[Distribution, Distribution]:
    return Beside([_noise(2), _noise(6)]), Beside([Ring(3.2, 0.15), _noise(6)])


def _chessboard() -> tuple[Distribution, Distribution]:
    return Beside([Board(4, 0.002), _noise(2)]), Beside([Board(4, 0.998), _noise(2)])


def _opposite_signs() -> tuple[Distribution, Distribution]:
    same = _equally([_spherical(2.0, 2.0), _spherical(-2.0, -2.0)])
    opposite = _equally([_spherical(2.0, -2.0), _spherical(-2.0, 2.0)])
    return Beside([same, _noise(8)]), Beside([opposite, _noise(8)])


def _clusters(positive: int) -> tuple[Distribution, Distribution]:
    """Thirty clusters in eight columns, of which the last few are the positives."""
    random = np.random.default_rng([SEED, positive])
    parts = [_spherical(*center, spread=0.6) for center in random.normal(0, 2, (30, 8))]
    return _equally(parts[:-positive]), _equally(parts[-positive:])


def _needle() -> tuple[Distribution, Distribution]:
    return _noise(200), Beside([_spherical(3.5), _noise(199)])


def _heavy_tails() -> tuple[Distribution, Distribution]:
    return StudentT(0.0, 1.0, 2.0, 6), StudentT(2.0, 1.0, 2.0, 6)


def _far_out() -> tuple[Distribution, Distribution]:
    """Some positives far out in a direction in which a few negatives lie too."""
    bulk, far = StudentT(0.0, 1.0, 3.0, 3), _spherical(8.0, 8.0, 4.0, spread=3.0)
    near = _spherical(2.5, -2.5, 0.0, spread=0.4)
    return Mixture([bulk, far], [0.999, 0.001]), Mixture([near, far], [0.6, 0.4])


def _broken_correlation() -> tuple[Distribution, Distribution]:
    """Columns that go together in the majority, and do not in the positives."""
    together = np.full((8, 8), 0.9) + 0.1 * np.eye(8)
    return Normal(np.zeros(8), together), _noise(8)


def _counts() -> tuple[Distribution, Distribution]:
    means = np.array([0.1, 0.2, 0.3, 0.5, 0.5, 1.0, 1.0, 2.0, 3.0, 5.0])
    raised = means * np.array([6.0, 1.0, 4.0, 1.0, 3.0, 1.0, 1.0, 2.0, 1.0, 1.0])
    return Counts(means), Counts(raised)


def _categories() -> tuple[Distribution, Distribution]:
    """Ten columns of four to twelve levels; in five the positives' shares differ."""
    random = np.random.default_rng(SEED)
    shares = [random.dirichlet(np.full(levels, 0.8)) for levels in [4, 5, 6, 8, 12] * 2]
    others = [random.dirichlet(np.full(levels, 0.8)) for levels in [4, 5, 6, 8, 12]]
    usual = [Levels(_never_zero(share)) for share in shares]
    unusual = [Levels(_never_zero(share)) for share in others]
    return Beside(usual), Beside([*unusual, *usual[5:]])


def _never_zero(shares: Floats, least: float = 0.01) -> Floats:
    raised = shares + least
    return raised / raised.sum()


def _mixed() -> tuple[Distribution, Distribution]:
    """The level of the first column says where the numbers of the majority lie.

    The positives have the same levels and the same numbers, in pairs the majority avoids.
    """
    levels = [Levels(_never_zero(np.eye(4)[i], 0.0005)) for i in range(4)]
    places = [_spherical(*(3 * np.eye(4)[i]), spread=0.6) for i in range(4)]
    paired = [Beside([levels[i], places[i]]) for i in range(4)]
    crossed = [Beside([levels[i], places[(i + 1) % 4]]) for i in range(4)]
    noise = Beside([Levels(np.full(6, 1 / 6)), _noise(3)])
    return Beside([_equally(paired), noise]), Beside([_equally(crossed), noise])


Classes = Callable[[], tuple[Distribution, Distribution]]


def _task(name: str, described: str, classes: Classes, **options: Any) -> Task:
    majority, minority = classes()
    return Task(name, described, majority, minority, **options)


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        _task("gauss-shift", "a shifted Gaussian", _gauss_shift),
        _task("gauss-broad", "a broader Gaussian about the same mean", _gauss_broad),
        _task("gauss-inside", "a tight Gaussian inside the majority", _gauss_inside),
        _task("ring", "a ring around the majority, and six columns of noise", _ring),
        _task("chessboard", "the dark squares of a board, a few rows astray", _chessboard),
        _task("opposite-signs", "two columns with opposite signs", _opposite_signs),
        _task("one-cluster", "one cluster of thirty", lambda: _clusters(1)),
        _task("four-clusters", "four clusters of thirty", lambda: _clusters(4)),
        _task("needle", "one informative column of 200", _needle, negatives=20_000),
        _task("heavy-tails", "shifted, with tails of two degrees of freedom", _heavy_tails),
        _task("far-out", "near the majority or far out, where a few of it lie", _far_out),
        _task("broken-correlation", "columns that no longer go together", _broken_correlation),
        _task("counts", "counts, four of ten raised", _counts),
        _task("categories", "levels in other shares", _categories, categories=tuple(range(10))),
        _task("mixed", "levels and numbers in pairs that are unusual", _mixed, categories=(0, 5)),
    )
}
