"""How fast the slope may learn (Eq. 10)."""

from __future__ import annotations

from typing import Any

from astralearn.core.elementary import at_least
from astralearn.core.inputs import Array, ArrayLike, as_arrays, check


def slope_rate(
    rate: ArrayLike,
    e_ratio: ArrayLike,
    *,
    minimum: float = 0.01,
    maximum: float = 0.5,
    growth: float = 1.1,
    decay: float = 0.99,
    xp: Any = None,
) -> Array:
    """The next learning rate η_b of the slope, faster while positives are harder.

        η_b ← min(growth · η_b, maximum) if e-ratio > 1,
              max(decay · η_b, minimum) if e-ratio < 1, else η_b                        (Eq. 10)

    rate: η_b > 0, any shape; the paper starts at `minimum`.
    e_ratio: FNR/FPR on the training rows (Eq. 11), broadcast.

    >>> [round(float(slope_rate(0.02, e_ratio=e)), 4) for e in (3.0, 1.0, 0.3)]
    [0.022, 0.02, 0.0198]
    """
    if xp is None:
        xp, rate, e_ratio = as_arrays(rate=rate, e_ratio=e_ratio)
        check(xp, "rate", rate, xp.isfinite(rate) & (rate > 0), "finite and above 0")
        check(xp, "e_ratio", e_ratio, e_ratio >= 0, "at least 0")
        _check_bounds(minimum, maximum, growth, decay)
    faster, slower = growth * rate, decay * rate
    faster = xp.where(faster > maximum, maximum, faster)
    slower = at_least(slower, minimum, xp)
    return xp.where(
        e_ratio > 1, faster, xp.where(e_ratio < 1, slower, rate + xp.zeros_like(e_ratio))
    )


def _check_bounds(minimum: float, maximum: float, growth: float, decay: float) -> None:
    if not 0 < minimum <= maximum:
        raise ValueError(
            f"minimum and maximum must satisfy 0 < minimum <= maximum; "
            f"found {minimum} and {maximum}"
        )
    if not growth >= 1:
        raise ValueError(f"growth must be at least 1; found {growth}")
    if not 0 < decay <= 1:
        raise ValueError(f"decay must be in (0, 1]; found {decay}")
