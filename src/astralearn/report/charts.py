"""Lines and bands as places on a chart: what a template draws as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

# In units of the drawing: its size, and the area inside the axes.
WIDTH, HEIGHT = 460.0, 270.0
LEFT, RIGHT, TOP, BOTTOM = 54.0, 448.0, 12.0, 226.0
MOST_POINTS = 250
MOST_TICKS = 6


class Series(NamedTuple):
    """A line, and where it has one the band around it.

    x, y: (points,).
    band: (2, points), its lower and upper end; None without.
    """

    x: np.ndarray
    y: np.ndarray
    band: np.ndarray | None = None


@dataclass(frozen=True)
class Axis:
    """From numbers to places.

    low, high: what the ends stand for, low < high.
    is_log: whether equal ratios are equally far apart; then low > 0.
    """

    low: float
    high: float
    is_log: bool = False

    def share(self, values: np.ndarray | float) -> np.ndarray:
        """How far along the axis values lie, in [0, 1]; those beyond its ends at these."""
        kept = np.clip(np.asarray(values, dtype=float), self.low, self.high)
        if self.is_log:
            return np.log(kept / self.low) / math.log(self.high / self.low)
        return (kept - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Round numbers along it, at most six.

        >>> Axis(0.0, 1.0).ticks(), Axis(0.5, 2000.0, is_log=True).ticks()
        ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [1.0, 10.0, 100.0, 1000.0])
        """
        if self.is_log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            every = max(1, math.ceil((last - first + 1) / MOST_TICKS))
            return [10.0**power for power in range(first, last + 1, every)]
        rough = (self.high - self.low) / (MOST_TICKS - 1)
        power = 10.0 ** math.floor(math.log10(rough) + 1e-9)
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(place * step, 12) for place in range(first, last + 1)]


class Drawn(NamedTuple):
    """A series as SVG takes it: "x,y …", and its band's outline or ""."""

    name: str
    points: str
    outline: str


@dataclass(frozen=True)
class Chart:
    """Lines on common axes.

    lines: in the order of their colours.
    x_ticks, y_ticks: (place, text).
    """

    title: str
    x_label: str
    lines: list[Drawn]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]


def chart(
    title: str, series: Mapping[str, Series], *, x: Axis, y: Axis, x_label: str = ""
) -> Chart:
    """Lay out series by name on the given axes."""
    lines = []
    for name, of_name in series.items():
        kept = _thinned(len(of_name.x))
        across = LEFT + (RIGHT - LEFT) * x.share(of_name.x[kept])
        outline = ""
        if of_name.band is not None:
            low, high = (_joined(across, _height(y, end[kept])) for end in of_name.band)
            outline = f"{low} {' '.join(reversed(high.split()))}"
        lines.append(Drawn(name, _joined(across, _height(y, of_name.y[kept])), outline))
    x_ticks = [(_place(LEFT + (RIGHT - LEFT) * x.share(at)), number(at)) for at in x.ticks()]
    y_ticks = [(_place(_height(y, np.asarray(at))), number(at)) for at in y.ticks()]
    return Chart(title, x_label, lines, x_ticks, y_ticks)


def around(values: Sequence[np.ndarray], *, is_log: bool = False) -> Axis:
    """An axis that holds all finite values; above 0 where it is logarithmic."""
    every = np.concatenate([np.ravel(some) for some in values])
    every = every[np.isfinite(every) & ((every > 0) | (not is_log))]
    low, high = (float(every.min()), float(every.max())) if len(every) else (1.0, 1.0)
    if is_log:
        low, high = 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))
        return Axis(low, high if high > low else 10.0 * low, is_log=True)
    return Axis(low, high) if high > low else Axis(low - 0.5, high + 0.5)


def number(value: float) -> str:
    """A number in three digits, with commas.

    >>> number(0.001), number(1234567.0), number(12.5), number(1e-7)
    ('0.001', '1,234,567', '12.5', '1e-07')
    """
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


def _height(axis: Axis, values: np.ndarray) -> np.ndarray:
    return BOTTOM - (BOTTOM - TOP) * axis.share(values)


def _joined(across: np.ndarray, heights: np.ndarray) -> str:
    pairs = zip(across, np.broadcast_to(heights, across.shape), strict=True)
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs if np.isfinite(y))


def _place(value: np.ndarray | float) -> float:
    return round(float(value), 1)


def _thinned(points: int) -> np.ndarray:
    """Which of so many points are drawn, the first and the last among them."""
    return np.unique(np.linspace(0, points - 1, min(points, MOST_POINTS)).round().astype(int))
