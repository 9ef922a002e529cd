"""The paper's Figures 1–4. The only module of astralearn that imports matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"figures need matplotlib ({error}): pip install 'astralearn[report]'", name=error.name
    ) from None

from astralearn.core import astra, astra_complement, astra_dx, rebalance, slope
from astralearn.report.whole_file import whole_file
from astralearn.study.record import MonitoredSeries

THRESHOLDS = (0.5, 0.25, 0.05)
# Okabe and Ito's colours differ for the colour-blind; the dashes differ in black and white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000")
DASHES: tuple[Any, ...] = ("-", "--", "-.", (0, (1, 1)), (0, (6, 1, 1, 1, 1, 1)))
STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "lines.linewidth": 1.8,
    "svg.hashsalt": "astralearn",  # the same figure is the same file
    "savefig.dpi": 200,
}
# An e-ratio of 0 or of a false positive rate of 0 has no logarithm to average.
SMALLEST_RATIO, LARGEST_RATIO = 1e-12, 1e12


def figure_1() -> Figure:
    """The activation and its derivative for τ = 0.5, 0.25 and 0.05."""
    figure, (curve, derivative) = _figure(2, width=7.0)
    x = np.linspace(-3.0, 3.0, 1201)
    for place, tau in enumerate(THRESHOLDS):
        b = float(slope(tau))
        _line(curve, place, x, astra(x, b), f"τ = {tau} (b = {b:.3g})")
        curve.plot([0.0], [tau], "o", color=COLOURS[place], markersize=4)
        _line(derivative, place, x, astra_dx(x, b), f"τ = {tau}")
    curve.set(title="(a) ASTra", xlabel="x", ylabel="ASTra(x, b)", ylim=(-0.02, 1.02))
    derivative.set(
        title="(b) first derivative", xlabel="x", ylabel="d ASTra / dx", ylim=(0.0, None)
    )
    _legend(figure, curve, columns=3)
    return figure


def figure_2() -> Figure:
    """Cross-entropy of ŷ for both targets.

    At τ = 0.25 a band of x > 0 has them in the wrong order.
    """
    figure, panels = _figure(2, width=7.0)
    x = np.linspace(-2.0, 2.0, 1601)
    for panel, letter, tau in zip(panels, "ab", (0.5, 0.25), strict=True):
        b = float(slope(tau))
        _line(panel, 0, x, -np.log(astra_complement(x, b)), "target 0")
        _line(panel, 1, x, -np.log(astra(x, b)), "target 1")
        end = float(np.log(np.expm1(b * np.log(2.0)) / b) / b)
        if end > 1e-9:
            panel.axvspan(0.0, end, color="0.85", label=f"wrong order, 0 < x < {end:.2f}")
        panel.axvline(0.0, color="0.5", linewidth=0.8)
        panel.set(
            title=f"({letter}) τ = {tau}",
            xlabel="x",
            ylabel="BCE of ŷ = ASTra(x, b)",
            ylim=(0.0, 4.0),
            xlim=(-2.0, 2.0),
        )
    _legend(figure, panels[-1], columns=3)
    return figure


def figure_3() -> Figure:
    """z and 1 − z over ŷ: they cross at τ."""
    figure, (panel,) = _figure(1, width=4.5)
    y = np.linspace(0.0, 1.0, 1001)
    for place, tau in enumerate(THRESHOLDS):
        z = rebalance(y, tau)
        _line(panel, place, y, z, f"z, τ = {tau}")
        _line(panel, place, y, 1.0 - z, f"1 − z, τ = {tau}", width=0.9)
        panel.plot([tau], [0.5], "o", color=COLOURS[place], markersize=5)
    panel.set(xlabel="ŷ", ylabel="z(ŷ, τ)", xlim=(0.0, 1.0), ylim=(-0.02, 1.02))
    _legend(figure, panel, columns=3)
    return figure


def figure_4(histories: Mapping[str, Sequence[MonitoredSeries]], problem: str) -> Figure | None:
    """The training rows' e-ratio by epoch on a log axis, a line and a band per method.

    Lines are the mean of its logarithm over folds; bands hold the middle 80 % of folds. None where
    no method kept one.
    """
    curves = {
        method: e_ratio_over_folds(folds)
        for method, folds in histories.items()
        if any("e_ratio" in fold for fold in folds)
    }
    if not curves:
        return None
    figure, (panel,) = _figure(1, width=5.5)
    for place, (method, (epoch, ratio, low, high)) in enumerate(curves.items()):
        panel.fill_between(
            epoch, low, high, color=COLOURS[place % len(COLOURS)], alpha=0.15, linewidth=0
        )
        _line(panel, place, epoch, ratio, method)
    panel.axhline(1.0, color="0.5", linewidth=0.8)
    panel.set(yscale="log", xlabel="epoch", ylabel="e-ratio (FNR / FPR)")
    # A file's name may have dollars in it.
    title = f"{problem}: training rows, mean and middle 80 % of folds"
    panel.set_title(title, parse_math=False, fontsize=10)
    panel.margins(x=0.0)
    _legend(figure, panel, columns=4 if len(curves) < 5 else 3)
    return figure


def e_ratio_over_folds(folds: Sequence[MonitoredSeries]) -> tuple[NDArray[Any], ...]:
    """Epochs, and the e-ratio's geometric mean, tenth and ninetieth percentile."""
    folds = [fold for fold in folds if "e_ratio" in fold]
    epoch = folds[0]["epoch"]
    logs = [
        np.log10(np.clip(np.nan_to_num(fold["e_ratio"], nan=1.0), SMALLEST_RATIO, LARGEST_RATIO))
        for fold in folds
    ]
    aligned = [np.interp(epoch, fold["epoch"], log) for fold, log in zip(folds, logs, strict=True)]
    low, high = np.quantile(aligned, (0.1, 0.9), axis=0)
    return epoch, 10.0 ** np.mean(aligned, axis=0), 10.0**low, 10.0**high


def save(figure: Figure, path: Path) -> list[Path]:
    """As path.png and path.svg, the same bytes for the same figure."""
    written = []
    for ending, dated in ((".png", "Software"), (".svg", "Date")):
        with whole_file(path.with_suffix(ending)) as beside, matplotlib.rc_context(STYLE):
            figure.savefig(beside, metadata={dated: None})
        written.append(path.with_suffix(ending))
    return written


FIXED: dict[str, Callable[[], Figure]] = {
    "figure-1": figure_1,
    "figure-2": figure_2,
    "figure-3": figure_3,
}


def _figure(panels: int, *, width: float) -> tuple[Figure, list[Axes]]:
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, 3.4), layout="constrained")
        return figure, [figure.add_subplot(1, panels, place + 1) for place in range(panels)]


def _legend(figure: Figure, panel: Axes, *, columns: int) -> None:
    """Below the panels, where it hides no curve."""
    legend = figure.legend(
        *panel.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=9,
    )
    # Methods have the names their users gave them, with dollars perhaps.
    for text in legend.get_texts():
        text.set_parse_math(False)


def _line(
    panel: Axes, place: int, x: NDArray[Any], y: NDArray[Any], label: str, width: float = 1.8
) -> None:
    panel.plot(
        x,
        y,
        color=COLOURS[place % len(COLOURS)],
        linestyle=DASHES[place % len(DASHES)],
        linewidth=width,
        label=label,
    )
