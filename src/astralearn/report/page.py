"""report.html: one file for whoever decides, of a comparison or of a model.

It asks nothing of the network and reads without JavaScript, which only moves the slider of the
decision explorer. Every number is computed here; the page's script shows them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from astralearn.classifier.decision import Expectations
from astralearn.report.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    Chart,
    Series,
    around,
    chart,
    number,
)
from astralearn.study.answer import PER, Answer
from astralearn.study.record import MonitoredSeries

TEMPLATE = "report.html"
# Cuts that the table has which stands in for the slider, where there is no JavaScript.
LISTED_CUTS = 12
MOST_LISTED, MOST_DRAWN = 15, 400
# What a score is, for readers who have not met it; recall and precision are said where they stand.
MEANINGS = {
    "G-Mean": "G-Mean is √(positives found × others left alone), as shares: 1 is perfect. ",
    "MCC": "MCC is the correlation of flags and truth: 1 is perfect, 0 is chance. ",
    "F1": "F1 is the harmonic mean of recall and precision: 1 is perfect. ",
}
# Monitored while training, by the name of the series: what a reader calls it, whether logarithmic.
MONITORED = {
    "threshold": ("threshold τ", False),
    "e_ratio": ("e-ratio, soft FNR / soft FPR", True),
    "fnr": ("soft FNR", False),
}


class Placed(NamedTuple):
    """A known positive that the method had not seen when it ranked it.

    row: its number in the table, the first being 1; None where that is not known.
    share_above: the share of other rows that rank higher.
    found: the share of tests in which it was found.
    """

    row: int | None
    share_above: float
    found: float


class Explained(NamedTuple):
    """A flagged row and why.

    row: its number in the table, the first being 1.
    risk: the probability that it is positive.
    is_positive: whether it is known to be; None where no label is.
    reasons: in words.
    nearest: the rows of the nearest known positives, nearest first.
    """

    row: int
    risk: float
    is_positive: bool | None
    reasons: str
    nearest: tuple[int, ...]

    @property
    def percent(self) -> str:
        """The risk in percent, for a reader."""
        return _percent(self.risk)


@dataclass(frozen=True)
class Explorer:
    """What to expect at every cut.

    of: the method or model whose cuts they are.
    expected: at the cut in use and along all of them.
    cut: the one in use.
    prior: the positives' share of all rows.
    """

    of: str
    expected: Expectations
    cut: float
    prior: float

    @property
    def start(self) -> int:
        """The place of the cut in use among all."""
        return int(np.argmin(np.abs(self.expected.curve["cut"] - self.cut)))

    def missed(self) -> np.ndarray:
        """Positives missed of 1,000 rows at every cut, (cuts,)."""
        return PER * self.prior * (1.0 - self.expected.curve["recall"][0])

    def alarms(self) -> np.ndarray:
        """False alarms among 1,000 rows at every cut, (cuts,)."""
        return (1.0 - self.prior) * self.expected.curve["false_alarms"][0]

    def flagged(self) -> np.ndarray:
        """Rows flagged of 1,000 at every cut, (cuts,)."""
        return PER * self.prior * self.expected.curve["recall"][0] + self.alarms()

    def shown(self) -> list[dict[str, Any]]:
        """What is shown at every cut, and the two numbers that costs multiply."""
        recall, precision = (self.expected.curve[name] for name in ("recall", "precision"))
        across = LEFT + (RIGHT - LEFT) * self._axis().share(self.expected.curve["cut"])
        return [
            {
                "x": round(float(across[place]), 1),
                "flagged": number(flagged),
                "recall": _interval(recall[:, place]),
                "precision": _interval(precision[:, place]),
                "missed": float(f"{missed:.6g}"),
                "alarms": float(f"{alarms:.6g}"),
            }
            for place, (flagged, missed, alarms) in enumerate(
                zip(self.flagged(), self.missed(), self.alarms(), strict=True)
            )
        ]

    def listed(self) -> list[int]:
        """Some cuts, the one in use among them, for a table."""
        last = len(self.expected.curve["cut"]) - 1
        return sorted({*np.linspace(0, last, LISTED_CUTS).round().astype(int), self.start})

    def _axis(self) -> Axis:
        cuts = self.expected.curve["cut"]
        return Axis(float(cuts[0]), float(cuts[-1]))

    def chart(self) -> Chart:
        """Recall and precision along the cuts, over the rows flagged."""
        cuts, flagged = self.expected.curve["cut"], self.flagged()
        along = {
            name: Series(cuts, self.expected.curve[name][0], self.expected.curve[name][1:])
            for name in ("recall", "precision")
        }
        axis = self._axis()
        drawn = chart("", along, x=axis, y=Axis(0.0, 1.0))
        # More rows are flagged the lower the cut: flagged falls along the axis.
        marks = [
            (round(LEFT + (RIGHT - LEFT) * float(axis.share(at)), 1), number(rows))
            for rows in around([flagged], is_log=True).ticks()
            if flagged[-1] <= rows <= flagged[0]
            for at in [np.interp(-rows, -flagged, cuts)]
        ]
        return Chart("", f"rows flagged of {PER:,.0f}", drawn.lines, marks, drawn.y_ticks)


def _interval(values: np.ndarray) -> str:
    mean, low, high = map(_percent, values)
    return f"{mean}% ({low} to {high})"


def _percent(share: float) -> str:
    """Whole percents, or two digits of few.

    >>> _percent(0.999), _percent(0.0123)
    ('100', '1.2')
    """
    return f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.2g}"


@dataclass(frozen=True)
class ReportPage:
    """What report.html shows, in its order; what is empty is left out.

    title: of the page.
    verdict: sentences.
    lines: (what they are for, lines of code), with which to go on.
    answer: the methods for the decision.
    explorer: of the recommended method.
    positives: the known ones, as the recommended method ranks them.
    negatives: how many other rows there are.
    curves: what to expect of methods by name, for precision–recall.
    training: what was monitored, by method.
    explained: some flagged rows.
    explained_by: what flagged them, in words.
    ladder: sentences on the least intervention.
    notes: on the data.
    facts: (name, value): the file, the seed and so on.
    command: that makes the page again.
    versions: by package.
    """

    title: str
    verdict: Sequence[str]
    lines: Sequence[tuple[str, str]] = ()
    answer: Answer | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    explorer: Explorer | None = None
    positives: Sequence[Placed] = ()
    negatives: int = 0
    curves: Mapping[str, Expectations] = field(default_factory=dict)
    training: Mapping[str, Sequence[MonitoredSeries]] = field(default_factory=dict)
    explained: Sequence[Explained] = ()
    explained_by: str = ""
    ladder: Sequence[str] = ()
    notes: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    def html(self) -> str:
        """The page."""
        return rendered(
            TEMPLATE,
            page=self,
            explorer=self.explorer,
            cuts=self.explorer.shown() if self.explorer else [],
            data=_as_data(self.explorer.shown() if self.explorer else []),
            dots=self._dots(),
            meaning=MEANINGS.get(self.answer.aim, "") if self.answer else "",
            strip=self._strip(),
            worst=self._worst(),
            precision_recall=self._precision_recall(),
            monitored=self._monitored(),
            has_known=any(one.is_positive is not None for one in self.explained),
            has_nearest=any(one.nearest for one in self.explained),
            size={"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": RIGHT, "top": TOP,
                  "bottom": BOTTOM},
        )  # fmt: skip

    def _dots(self) -> list[dict[str, Any]]:
        """Where each method's score and its interval lie, in percent of the track."""
        if self.answer is None:
            return []
        ends = [(one.score.low, one.score.high) for one in self.answer.judged]
        axis = Axis(min(0.0, *(low for low, _ in ends)), 1.0)
        if self.answer.is_cost:
            axis = around([np.asarray(ends)])
        dots = []
        for one in self.answer.judged:
            mean, low, high = (100 * float(axis.share(value)) for value in one.score)
            dots.append({
                "judged": one, "mean": f"{mean:.1f}", "low": f"{low:.1f}",
                "span": f"{max(high - low, 0.5):.1f}", "seconds": self.seconds.get(one.method),
                "text": f"{number(one.score.mean)} ({one.score.low:.2g}–{one.score.high:.2g})",
            })  # fmt: skip
        return dots

    def _strip(self) -> dict[str, Any]:
        """Where the known positives lie along the ranking, as places of marks."""
        if not self.positives:
            return {}
        axis = Axis(min(0.5 / (self.negatives + 1.0), 0.1), 1.0, is_log=True)
        columns: dict[int, int] = {}
        marks: list[dict[str, Any]] = []
        for placed in sorted(self.positives, key=lambda one: one.share_above)[:MOST_DRAWN]:
            x = LEFT + (RIGHT - LEFT) * float(axis.share(placed.share_above))
            column = int(x // 9)
            columns[column] = columns.get(column, -1) + 1
            marks.append({"x": round(x, 1), "level": columns[column], "placed": placed})
        top = max(mark["level"] for mark in marks)
        gap = min(11.0, 120.0 / max(top, 1))
        for mark in marks:
            mark["y"] = round(top * gap + 14.0 - mark["level"] * gap, 1)
        ticks = [
            (round(LEFT + (RIGHT - LEFT) * float(axis.share(at)), 1), f"{100 * at:g}%")
            for at in axis.ticks()
        ]
        return {"marks": marks, "ticks": ticks, "height": round(top * gap + 24.0, 1)}

    def _worst(self) -> list[Placed]:
        """The positives ranked lowest, whose rows a reader can look up."""
        known = [placed for placed in self.positives if placed.row is not None]
        return sorted(known, key=lambda placed: -placed.share_above)[:MOST_LISTED]

    def _precision_recall(self) -> Chart | None:
        if not self.curves:
            return None
        along = {}
        for place, (name, expected) in enumerate(self.curves.items()):
            recall, precision = expected.curve["recall"], expected.curve["precision"]
            along[name] = Series(recall[0], precision[0], precision[1:] if place == 0 else None)
        return chart("", along, x=Axis(0.0, 1.0), y=Axis(0.0, 1.0), x_label="recall")

    def _monitored(self) -> list[Chart]:
        """A chart for each of the series that training shows."""
        charts = []
        for name, (title, is_log) in MONITORED.items():
            lines = {
                method: mean_series(folds, name, is_log=is_log)
                for method, folds in self.training.items()
                if any(name in fold for fold in folds)
            }
            if not lines:
                continue
            y = around([line.y for line in lines.values()], is_log=is_log)
            y = y if is_log else Axis(min(0.0, y.low), y.high)
            x = around([line.x for line in lines.values()])
            charts.append(chart(title, lines, x=x, y=y, x_label="epoch"))
        return charts


def rendered(template: str, **values: Any) -> str:
    """A page of the report's templates; a value that one lacks is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("astralearn.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment.get_template(template).render(values)


def mean_series(folds: Sequence[MonitoredSeries], name: str, *, is_log: bool) -> Series:
    """The mean of a monitored series over folds, of its logarithm where that is shown."""
    monitored = [fold for fold in folds if name in fold]
    epoch = np.asarray(monitored[0]["epoch"], dtype=float)
    lines = []
    for fold in monitored:
        values = np.asarray(fold[name], dtype=float)
        values = np.log(np.clip(np.nan_to_num(values, nan=1.0), 1e-6, 1e6)) if is_log else values
        lines.append(np.interp(epoch, fold["epoch"], values))
    mean = np.mean(lines, axis=0)
    return Series(epoch, np.exp(mean) if is_log else mean)


def _as_data(value: Any) -> Any:
    """JSON that no reader of HTML takes for an end of its element."""
    from markupsafe import Markup

    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)
