"""Distributions with known densities, of which the generator's classes are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Distribution(Protocol):
    """Rows of one class: a block of `width` columns."""

    @property
    def width(self) -> int: ...

    def rows(self, random: np.random.Generator, count: int) -> Floats:
        """Independent rows, of shape (count, width)."""
        ...

    def log_density(self, X: Floats) -> Floats:
        """Natural logarithm of the density at each row."""
        ...


@dataclass(frozen=True, eq=False)
class Normal:
    """Gaussian with this mean and covariance."""

    mean: Floats
    covariance: Floats

    @property
    def width(self) -> int:
        return len(self.mean)

    def rows(self, random: np.random.Generator, count: int) -> Floats:
        root = np.linalg.cholesky(self.covariance)
        return self.mean + random.standard_normal((count, self.width)) @ root.T

    def log_density(self, X: Floats) -> Floats:
        root = np.linalg.cholesky(self.covariance)
        whitened = np.linalg.solve(root, (X - self.mean).T)
        log_volume = np.log(np.diag(root)).sum() + self.width * np.log(2 * np.pi) / 2
        return -(whitened**2).sum(axis=0) / 2 - log_volume


@dataclass(frozen=True)
class StudentT:
    """Independent columns of Student's t, each about `center`, in units of `scale`."""

    center: float
    scale: float
    freedom: float
    width: int

    def rows(self, random: np.random.Generator, count: int) -> Floats:
        return self.center + self.scale * random.standard_t(self.freedom, (count, self.width))

    def log_density(self, X: Floats) -> Floats:
        from scipy.stats import t

        columns = t.logpdf(X, self.freedom, loc=self.center, scale=self.scale)
        return np.asarray(columns.sum(axis=1))


@dataclass(frozen=True)
class Ring:
    """Two columns: any direction, at a distance of about `radius` from the origin."""

    radius: float
    spread: float
    width: int = 2

    def rows(self, random: np.random.Generator, count: int) -> Floats:
        angle = random.uniform(0, 2 * np.pi, count)
        distance = np.abs(random.normal(self.radius, self.spread, count))
        return distance[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

    def log_density(self, X: Floats) -> Floats:
        from scipy.stats import norm

        distance = np.hypot(X[:, 0], X[:, 1])
        # The absolute value folds what lies below zero onto the distances above it.
        folded = np.logaddexp(
            norm.logpdf(distance, self.radius, self.spread),
            norm.logpdf(-distance, self.radius, self.spread),
        )
        return np.asarray(folded - np.log(2 * np.pi * distance))


@dataclass(frozen=True)
class Board:
    """Two columns, a chessboard: a share `dark` of the rows lies on dark squares."""

    squares: int
    dark: float
    width: int = 2

    def rows(self, random: np.random.Generator, count: int) -> Floats:
        across = random.integers(self.squares, size=count)
        # Half of the squares of any column are dark, when their number is even.
        pairs = random.integers(self.squares // 2, size=count)
        is_dark = random.random(count) < self.dark
        along = 2 * pairs + (across + is_dark) % 2
        return np.column_stack([across, along]) + random.random((count, 2))

    def log_density(self, X: Floats) -> Floats:
        corners = np.floor(X)
        is_dark = (corners.sum(axis=1) % 2).astype(bool)
        density = np.where(is_dark, self.dark, 1 - self.dark) * 2 / self.squares**2
        inside = ((corners >= 0) & (corners < self.squares)).all(axis=1)
        with np.errstate(divide="ignore"):
            return np.log(np.where(inside, density, 0.0))


@dataclass(frozen=True, eq=False)
class Levels:
    """One column of categories, as whole numbers from 0 on, with these probabilities."""

    probabilities: Floats
    width: int = 1

    def rows(self, random: np.random.Generator, count: int) -> Floats:
        drawn = random.choice(len(self.probabilities), size=count, p=self.probabilities)
        return drawn[:, None].astype(float)

    def log_density(self, X: Floats) -> Floats:
        return np.log(self.probabilities)[X[:, 0].astype(int)]


@dataclass(frozen=True, eq=False)
class Counts:
    """Independent Poisson columns with these means."""

    means: Floats

    @property
    def width(self) -> int:
        return len(self.means)

    def rows(self, random: np.random.Generator, count: int) -> Floats:
        return random.poisson(self.means, (count, self.width)).astype(float)

    def log_density(self, X: Floats) -> Floats:
        from scipy.stats import poisson

        return np.asarray(poisson.logpmf(X, self.means).sum(axis=1))


@dataclass(frozen=True)
class Mixture:
    """Rows of one part or another, in these shares."""

    parts: Sequence[Distribution]
    shares: Sequence[float]

    @property
    def width(self) -> int:
        return self.parts[0].width

    def rows(self, random: np.random.Generator, count: int) -> Floats:
        sizes = random.multinomial(count, self.shares)
        drawn = [part.rows(random, int(size)) for part, size in zip(self.parts, sizes, strict=True)]
        return random.permutation(np.concatenate(drawn))

    def log_density(self, X: Floats) -> Floats:
        logs = [
            np.log(share) + part.log_density(X)
            for part, share in zip(self.parts, self.shares, strict=True)
        ]
        return np.asarray(np.logaddexp.reduce(logs))


@dataclass(frozen=True)
class Beside:
    """Independent blocks of columns, side by side."""

    blocks: Sequence[Distribution]

    @property
    def width(self) -> int:
        return sum(block.width for block in self.blocks)

    def rows(self, random: np.random.Generator, count: int) -> Floats:
        return np.column_stack([block.rows(random, count) for block in self.blocks])

    def log_density(self, X: Floats) -> Floats:
        ends = np.cumsum([block.width for block in self.blocks])[:-1]
        columns = np.split(X, ends, axis=1)
        return np.asarray(
            sum(block.log_density(x) for block, x in zip(self.blocks, columns, strict=True))
        )
