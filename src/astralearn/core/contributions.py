"""What one example of a known class contributes to a loss and its gradient: the inner loop of training, in as few operations as possible.

Let m be the logit of being wrong: g for a negative, −g for a positive. Every loss of this library needs of an example only
wrong = σ(m), ln right = ln σ(−m), and the pulls wrong·∂m/∂x and wrong·∂m/∂b: the pulls are the gradient of BCE, and right times the
pulls is the gradient of the soft counts. Arrays only, unchecked. Finite for finite x and b up to 1e6, but for ln right of a positive,
which is about b·x and finite as long as that is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from astralearn.core.curve import SMALLEST_ODDS
from astralearn.core.elementary import sigmoid, softplus
from astralearn.core.inputs import Array


class Contribution(NamedTuple):
    """All shaped as the logits; `pull_b` is None for the plain sigmoid, which has no slope."""

    wrong: Array
    log_right: Array
    pull_x: Array
    pull_b: Array


def of_plain_logits(x: Array, xp: Any, *, positive: bool) -> Contribution:
    """With the plain sigmoid: g = x."""
    sign = -1.0 if positive else 1.0
    wrong = sigmoid(sign * x, xp)
    return Contribution(wrong, -softplus(sign * x, xp), sign * wrong, None)


def of_negatives(x: Array, b: Array, xp: Any) -> Contribution:
    """With ASTra, for negatives: two exponentials, two logarithms and one division, for they are many.

    With o = e^{s₀} − 1, the odds of τ, and D = 1/(ŷ + (1−ŷ)o):  z = ŷD,  1−z = (1−ŷ)oD,  z ∂g/∂x = σD,
    z ∂g/∂b = D[σ(x + 1/b) − s]/b − z(∂s₀/∂b)/τ. Nothing is divided by ŷ, so nothing is 0/0 however small ŷ is.
    """
    odds0, at_zero = _at_zero(b, xp)
    p, s = _odds_and_s(x, b, xp, lambda p: xp.log(1.0 + p))
    rest = xp.exp(-s)
    y_hat = 1.0 - rest
    weighed = y_hat + rest * odds0
    both = 1.0 / (weighed * (1.0 + p))
    share = both * (1.0 + p)
    pull_x = p * both
    wrong = y_hat * share
    pull_b = (pull_x * (x + 1.0 / b) - share * s) / b - wrong * at_zero
    return Contribution(wrong, xp.log(odds0) - s - xp.log(weighed), pull_x, pull_b)


def of_positives(x: Array, b: Array, xp: Any) -> Contribution:
    """With ASTra, for positives: exact however far below 0 they are, for there they matter most.

    As for negatives, with 1−z for z and −g for g. Here ŷ is a divisor; once b e^{bx} is below SMALLEST_ODDS the ratios
    σ/ŷ and (∂s/∂b)/ŷ are replaced by their limits b and x, and ln ŷ by bx.
    """
    odds0, at_zero = _at_zero(b, xp)
    p, s = _odds_and_s(x, b, xp, xp.log1p)
    lost = p < SMALLEST_ODDS
    y_hat = xp.where(lost, 1.0, -xp.expm1(-s))
    rest = xp.exp(-s)
    weighed = xp.where(lost, 0.0, y_hat) + rest * odds0
    wrong = rest * odds0 / weighed
    sigma = p / (1.0 + p)
    dx = xp.where(lost, b, sigma / y_hat)
    db = xp.where(lost, x, (sigma * (x + 1.0 / b) - s) / (b * y_hat)) - at_zero
    return Contribution(
        wrong, xp.where(lost, b * x, xp.log(y_hat)) - xp.log(weighed), -wrong * dx, -wrong * db
    )


def _at_zero(b: Array, xp: Any) -> tuple[Array, Array]:
    """e^{s₀} − 1 and (∂s₀/∂b)/τ."""
    s0 = xp.log1p(b) / b
    odds0 = xp.expm1(s0)
    return odds0, (1.0 / (1.0 + b) - s0) * (1.0 + odds0) / (b * odds0)


def _odds_and_s(
    x: Array, b: Array, xp: Any, log1p: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """p = b e^{bx} and s = ln(1 + p)/b. p stops at bx = 60, where σ is 1 to rounding; e^{bx} would leave float32 at 88."""
    bx = b * x
    steep = bx > 60
    p = b * xp.exp(xp.where(steep, 60.0, bx))
    return p, xp.where(steep, x + xp.log(b) / b, log1p(p) / b)
