"""The slope between rounds: one gradient step of β, at the rate of Eq. 10."""

from __future__ import annotations

import math

import numpy as np

from astralearn.core import (
    raw_from_slope,
    rebalanced_logit,
    slope_from_raw,
    slope_from_raw_dbeta,
    slope_rate,
)
from astralearn.core.curve import LARGEST_SLOPE, starting_slope


class SlopeLearner:
    """The slope b and how it came about. A step beyond LARGEST_SLOPE stops there.

    tau_init: threshold in [1e-5, 0.5] that b starts from.
    learnable: False keeps b there.
    minimum, maximum: bounds of the rate η_b.

    slope: b.
    path: b before the first step, then after each.
    rates: η_b for the step that follows each of these.

    >>> learner = SlopeLearner(0.25, learnable=True, minimum=0.01, maximum=0.5)
    >>> learner.step(loss_db=-2.0, e_ratio=3.0)
    >>> [round(b, 3) for b in learner.path], [round(rate, 4) for rate in learner.rates]
    ([7.396, 7.416], [0.01, 0.011])
    """

    def __init__(self, tau_init: float, *, learnable: bool, minimum: float, maximum: float) -> None:
        if not 0 < minimum <= maximum:
            raise ValueError(
                "slope_rate_min and slope_rate_max must satisfy 0 < min <= max; found "
                f"{minimum} and {maximum}"
            )
        self.slope = starting_slope(tau_init)
        self.beta = float(raw_from_slope(self.slope))
        self.learnable = learnable
        self.minimum = minimum
        self.maximum = maximum
        self.rates = [minimum]
        self.path = [self.slope]

    @property
    def rate(self) -> float:
        """η_b for the next step."""
        return self.rates[-1]

    def continue_from(self, path: list[float], rates: list[float]) -> None:
        """Go on from the end of an earlier path, at its rate within these bounds."""
        self.path = list(path)
        self.rates = [*rates[:-1], min(max(rates[-1], self.minimum), self.maximum)]
        self.slope = self.path[-1]
        self.beta = float(raw_from_slope(self.slope))

    def continue_after(self, rounds: int) -> None:
        """Go on after rounds that carry no slope, as if the path's first b were theirs."""
        unknown = rounds + 1 - len(self.path)
        self.path = [*self.path[:1] * unknown, *self.path][-rounds - 1 :]
        self.rates = [*self.rates[:1] * unknown, *self.rates][-rounds - 1 :]

    def forget_after(self, rounds: int) -> None:
        """Keep so many rounds, then the current b: steps between belong to no tree."""
        self.path[rounds:] = [self.slope]
        self.rates[rounds:] = [self.rate]

    def step(self, loss_db: float, e_ratio: float) -> None:
        """β ← β − η_b ∂J/∂β, then η_b by Eq. 10; a fixed slope is only recorded."""
        if self.learnable:
            beta = self.beta - self.rate * loss_db * float(slope_from_raw_dbeta(self.beta, xp=np))
            if math.isfinite(beta):
                self.beta = min(beta, LARGEST_SLOPE - 2.0)
            self.slope = float(slope_from_raw(self.beta, xp=np))
            rate = slope_rate(
                self.rate, np.float64(e_ratio), minimum=self.minimum, maximum=self.maximum, xp=np
            )
        self.rates.append(float(rate) if self.learnable else self.rate)
        self.path.append(self.slope)


def inverse_warp(g: float, slope: float) -> float:
    """The x with g(x, b) = g, by bisection: g rises with a slope between 1 and b.

    >>> round(inverse_warp(float(rebalanced_logit(-0.7, 7.396)), 7.396), 12)
    -0.7
    """
    low, high = (g, g / slope) if g < 0 else (0.0, g)
    for _ in range(100):
        middle = 0.5 * (low + high)
        if float(rebalanced_logit(np.float64(middle), slope, xp=np)) < g:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
