"""A benchmark's records as one page: ranks, problems, curves, times, settings.

The page is a single HTML file that asks nothing of the network. It reads without JavaScript, which
only chooses what is shown; it follows the reader's light or dark colours.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from astralearn.datasets.rarebench import PROBLEMS
from astralearn.report.tables import BOLD, Cell, Table
from astralearn.study.draw_record import DRAW_SCORES, DrawRecord
from astralearn.study.draw_unit import BEST
from astralearn.study.ranking import Ranked, ScoreTable, ranking, score_table

TEMPLATE = "leaderboard.html"
# Of a chart, in units of its own: the area inside the axes.
LEFT, RIGHT, TOP, BOTTOM = 46.0, 470.0, 14.0, 250.0
# Least distance between two names beside a chart.
NAME_HEIGHT = 15.0


@dataclass(frozen=True)
class Panel:
    """What the page shows for one score and one k; "all" for all of them."""

    score: str
    name: str
    k: str
    ranking: list[Ranked]
    table: ScoreTable
    failures: Mapping[tuple[str, int, str], int]

    @property
    def span(self) -> float:
        """The worst rank there can be."""
        return max(len(self.ranking), 2)

    def heat(self) -> list[dict[str, Any]]:
        """A row for each case: every method's score, coloured by its place."""
        order = [self.table.methods.index(ranked.method) for ranked in self.ranking]
        rows = []
        for problem, k, values in zip(
            self.table.problems, self.table.ks, self.table.values, strict=True
        ):
            low, high = float(values.min()), float(values.max())
            cells = [
                {
                    "text": f"{values[i]:.3f}",
                    "share": round((values[i] - low) / (high - low), 2) if high > low else 0.5,
                    "best": values[i] == high,
                    "failed": self.failures.get((problem, k, self.table.methods[i]), 0),
                }
                for i in order
            ]
            rows.append({"problem": problem, "k": k, "kind": kind_of(problem), "cells": cells})
        return rows


def kind_of(problem: str) -> str:
    """Whether a problem is real and open, as words that a reader can search for."""
    if problem not in PROBLEMS:
        return "of your own"
    entry = PROBLEMS[problem]
    return f"{'real' if entry.is_real else 'synthetic'}, {'sealed' if entry.is_sealed else 'open'}"


def rank_table(records: Sequence[DrawRecord], score: str = "average_precision") -> Table:
    """A row per method, the best mean rank of `score` first."""
    tables = {name: score_table(records, name) for name in DRAW_SCORES}
    first = ranking(tables[score])
    means = {name: {r.method: r.mean for r in ranking(table)} for name, table in tables.items()}
    failed = Counter(record.method for record in records if record.error)
    rows: list[list[Cell | str]] = []
    for ranked in first:
        marked = ranked.method + (" †" if failed[ranked.method] else "")
        low, high = ranked.rank_interval
        row: list[Cell | str] = [marked, f"{ranked.mean_rank:.1f} ({low:.1f}–{high:.1f})"]
        for name in DRAW_SCORES:
            mean = means[name][ranked.method]
            row.append(Cell(f"{mean:.3f}", bold=mean == max(means[name].values())))
        rows.append([*row, f"{ranked.wins}/{ranked.losses}"])
    notes = [
        f"{BOLD} highest mean. Rank: mean rank of {DRAW_SCORES[score]}, with a 95% interval over "
        "problems. AP and MCC are at the prevalence learned from.",
        what_n_is(tables[score], records),
        *[f"† {name} failed on {count} draws, which score zero." for name, count in failed.items()],
    ]
    columns = ("method", "rank", *DRAW_SCORES.values(), "wins/losses")
    return Table(f"RareBench by {DRAW_SCORES[score]}", columns, rows, notes=notes)


def what_n_is(table: ScoreTable, records: Sequence[DrawRecord]) -> str:
    """How many independent things the statistics rest on, in a sentence."""
    draws = len({record.draw for record in records})
    return (
        f"n is {len(set(table.problems))} problems; {len(table.problems)} cases of a problem and "
        f"a k, each the mean of {draws} draws. Wins and losses are cases, against the first."
    )


def leaderboard_page(
    records: Sequence[DrawRecord],
    *,
    settings: Mapping[str, str],
    versions: Mapping[str, str],
    command: str,
) -> str:
    """Return the page as HTML.

    settings: of each method, as `Method.described` says them. versions: of packages.
    """
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("astralearn.report"), autoescape=True, trim_blocks=True
    )
    ks = sorted({record.k for record in records})
    failures = Counter((r.problem, r.k, r.method) for r in records if r.error)
    panels = []
    for score, name in DRAW_SCORES.items():
        for k in ([None] if len(ks) > 1 else []) + [*ks]:
            table = score_table(records, score, k)
            shown = "all" if k is None else str(k)
            panels.append(Panel(score, name, shown, ranking(table), table, failures))
    methods = [ranked.method for ranked in panels[0].ranking] if panels else []
    return environment.get_template(TEMPLATE).render(
        command=command,
        panels=panels,
        scores=DRAW_SCORES,
        ks=[str(k) for k in ks],
        said=what_n_is(panels[0].table, records) if panels else "There are no records.",
        charts=[chart for score in DRAW_SCORES for chart in _charts(records, score, methods)],
        colours={method: place for place, method in enumerate(methods)},
        shares=_shares(records, methods),
        errors=Counter((r.method, r.error) for r in records if r.error).most_common(),
        settings=settings,
        versions=versions,
    )


def _charts(
    records: Sequence[DrawRecord], score: str, methods: Sequence[str]
) -> list[dict[str, Any]]:
    """The score against k, where there are several, and against the time of a fit."""
    ks = sorted({record.k for record in records})
    means = {k: _means(score_table(records, score, k)) for k in ks}
    curves = {
        method: [(float(k), means[k][method]) for k in ks if method in means[k]]
        for method in methods
    }
    every = _means(score_table(records, score))
    taken = {
        method: [r.fit_seconds for r in records if r.method == method and not r.error]
        for method in methods
    }
    times = {
        method: [(max(float(np.mean(taken[method])), 1e-3), every[method])]
        for method in methods
        if taken[method] and method in every
    }
    name = DRAW_SCORES[score]
    charts = [_chart(f"{name} and the seconds of a fit", score, times, "seconds of a fit")]
    if len(ks) > 1:
        title = f"{name} and the number of positives"
        charts.insert(0, _chart(title, score, curves, "positives learned from"))
    return charts


def _means(table: ScoreTable) -> dict[str, float]:
    if not len(table.values):
        return {}
    return dict(zip(table.methods, table.values.mean(axis=0).tolist(), strict=True))


def _chart(
    title: str, score: str, series: Mapping[str, list[tuple[float, float]]], label: str
) -> dict[str, Any]:
    """Points in the chart's own units, x logarithmic, names apart."""
    points = [point for line in series.values() for point in line]
    if not points:
        return {"title": title, "score": score, "lines": [], "label": label, "x": [], "y": []}
    lows, highs = np.min(points, axis=0), np.max(points, axis=0)
    left, right = math.log(lows[0] * 0.9), math.log(highs[0] * 1.1)
    margin = max((highs[1] - lows[1]) * 0.06, 0.01)
    low, high = lows[1] - margin, highs[1] + margin

    def place(point: tuple[float, float]) -> tuple[float, float]:
        across = (math.log(point[0]) - left) / (right - left)
        up = (point[1] - low) / (high - low)
        return round(LEFT + across * (RIGHT - LEFT), 1), round(BOTTOM - up * (BOTTOM - TOP), 1)

    lines: list[dict[str, Any]] = [
        {"name": name, "points": [place(point) for point in line]}
        for name, line in series.items()
        if line
    ]
    for line, height in zip(lines, _apart([line["points"][-1][1] for line in lines]), strict=True):
        line["height"] = height
    ticks = sorted({x for x, _ in points}) if len(points) > len(lines) else _decades(points)
    steps = np.linspace(low + margin, high - margin, 4)
    return {
        "title": title,
        "score": score,
        "label": label,
        "lines": lines,
        "x": [(place((x, low))[0], f"{x:g}") for x in ticks],
        "y": [(place((lows[0], y))[1], f"{y:.2f}") for y in steps],
    }


def _decades(points: Sequence[tuple[float, float]]) -> list[float]:
    seconds = [x for x, _ in points]
    first, last = math.ceil(math.log10(min(seconds))), math.floor(math.log10(max(seconds)))
    return [10.0**power for power in range(first, last + 1)]


def _apart(heights: Sequence[float]) -> list[float]:
    """Heights of the names, moved apart where two would overlap."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    moved = list(heights)
    for before, after in itertools.pairwise(order):
        moved[after] = max(moved[after], moved[before] + NAME_HEIGHT)
    excess = max(0.0, moved[order[-1]] - BOTTOM)
    return [round(height - excess, 1) for height in moved]


def _shares(records: Sequence[DrawRecord], methods: Sequence[str]) -> list[tuple[str, str]]:
    """Mean share of the attainable AP on synthetic problems, the best first."""
    best = {r.case: r.average_precision for r in records if r.method == BEST}
    found = {
        method: [
            r.average_precision / best[r.case]
            for r in records
            if r.method == method and best.get(r.case, 0) > 0
        ]
        for method in methods
    }
    means = {method: float(np.mean(shares)) for method, shares in found.items() if shares}
    return [(name, f"{100 * means[name]:.0f} %") for name in sorted(means, key=lambda m: -means[m])]
