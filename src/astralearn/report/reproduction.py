"""The paper's Tables 1 and 2 beside ours, and what their differences mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from astralearn.datasets.problem import Problem
from astralearn.report.comparison import failures
from astralearn.report.tables import BOLD, Cell, Table
from astralearn.study import by_method, recommend, standings, summarise
from astralearn.study.agreement import Agreement, Estimate, agreement, by_draw, of_draws, spread
from astralearn.study.paper import (
    DRAWS,
    PAPER_METHODS,
    RIVALS,
    TABLE_1,
    TABLE_2,
    TRIALS,
    PublishedData,
)
from astralearn.study.recommendation import shown_p
from astralearn.study.record import StartRecord
from astralearn.study.scores import PAPER_SCORES
from astralearn.study.significance import Challenger, challengers

Records = Sequence[StartRecord]
LEAST_GAP = 0.005  # between mean differences, for one rule to be called better
# How the epoch is chosen: the rule's name → the records with its counts.
RULES: dict[str, Callable[[Records], list[StartRecord]]] = {
    "the paper's rule": list,
    "the last epoch": lambda records: [record.at_last_epoch() for record in records],
}


class Compared(NamedTuple):
    """A cell of Table 2 under one rule."""

    problem: str
    method: str
    score: str
    found: Agreement


def data_table(problems: Sequence[Problem]) -> Table:
    """Table 1: what was loaded beside what the paper prints.

    >>> data_table([]).columns
    ['problem', 'IR', 'n_x', 'm_tot', 'm_1', 'paper']
    """
    rows = []
    for problem in problems:
        paper = TABLE_1[problem.name]
        ours, printed = _sizes(problem), _sizes(paper)
        agreement = "equal" if ours == printed else "differs: " + ", ".join(printed)
        rows.append([problem.name, *ours, agreement])
    return Table("Table 1: the problems", ["problem", "IR", "n_x", "m_tot", "m_1", "paper"], rows)


def _sizes(of: Problem | PublishedData) -> list[str]:
    return [f"{of.imbalance_ratio:.2f}", str(of.features), str(of.rows), str(of.positives)]


def compared_cells(records: Records, rule: str) -> list[Compared]:
    """Every published cell that the records have, under a rule of RULES."""
    under = RULES[rule](records)
    return [
        Compared(problem, method, score, agreement(methods[method], of_score[method], score))
        for problem in _problems(records)
        for methods in [by_method(under, problem)]
        for score, of_score in TABLE_2[problem].items()
        for method in PAPER_METHODS
        if method in methods
    ]


def results_table(records: Records, rule: str) -> Table:
    """Table 2 under a rule: our means and the published ones, with 95% intervals.

    ✓ where their difference may be luck. Bold: winners and ties among ours, marked as the paper
    marks them (p ≤ 0.05 against the best, without Holm).

    >>> made = {"BCE": 1, "GMN": 2}
    >>> records = [
    ...     StartRecord("skin-588", name, draw, fold, 80, 15, 3, 2 - tp, tp, None, 0.1)
    ...     for name, tp in made.items()
    ...     for draw in (0, 1)
    ...     for fold in (0, 1)
    ... ]
    >>> [row[1] for row in results_table(records, "the last epoch").rows]
    ['BCE', 'GMN']
    """
    under = RULES[rule](records)
    cells = {(c.problem, c.method, c.score): c.found for c in compared_cells(records, rule)}
    rows: list[list[Cell | str]] = []
    for problem in _problems(records):
        methods = by_method(under, problem)
        wins = {score: standings(methods, score, many=False) for score in PAPER_SCORES}
        for method in [name for name in (*PAPER_METHODS, *RIVALS) if name in methods]:
            failed = any(record.error for record in methods[method])
            row: list[Cell | str] = [problem, f"{method} †" if failed else method]
            for score in PAPER_SCORES:
                ours = of_draws(by_draw(methods[method], score))
                found = cells.get((problem, method, score))
                theirs = "–" if found is None else f"{shown(found.theirs)} {_mark(found)}"
                row += [Cell(shown(ours), wins[score][method].wins), theirs]
            rows.append(row)
    scores = [name for label in PAPER_SCORES.values() for name in (label, f"paper {label}")]
    return Table(
        f"Table 2 by {rule}, beside the paper's",
        ["problem", "method", *scores],
        rows,
        notes=_notes(under, [*cells.values()]),
        left=2,
        sections=True,
    )


def bounds_table(records: Records) -> Table:
    """The cells that differ under some rule, with what any epoch can give."""
    of_rules = [compared_cells(records, rule) for rule in RULES]
    rows = []
    for of_cell in zip(*of_rules, strict=True):
        if all(cell.found.agrees for cell in of_cell):
            continue
        problem, method, score, found = of_cell[0]
        ours = [f"{cell.found.ours.mean:.3f} {_mark(cell.found)}" for cell in of_cell]
        reach = f"{found.lowest:.3f}–{found.highest:.3f}"
        meaning = reading([cell.found for cell in of_cell])
        label, theirs = PAPER_SCORES[score], f"{found.theirs.mean:.3f}"
        rows.append([problem, method, label, theirs, *ours, reach, meaning])
    columns = ["problem", "method", "score", "paper", "rule", "last", "worst–best epoch", "reading"]
    note = (
        "worst–best epoch: means over folds and starts of the epoch that is worst after the "
        "burn-in, and best of all, on the test rows themselves: no choice of the epoch gives less "
        "or more. Looked at: 200 epochs, evenly spaced, and those of both rules."
    )
    return Table("Cells that differ, and their bounds", columns, rows, notes=[note], left=3)


def reading(found: Sequence[Agreement]) -> str:
    """What a cell means, under both rules."""
    paper, last = found
    if last.agrees:
        return "agrees by the last epoch"
    if paper.agrees:
        return "agrees by the paper's rule"
    if paper.is_within_reach:
        return "another choice of the epoch gives it"
    return "no epoch reaches it" if paper.theirs.mean > paper.highest else "every epoch is better"


def spread_table(records: Records) -> Table:
    """How far scores move from start to start on one fold, and from draw to draw."""
    rows = []
    for problem in _problems(records):
        methods = by_method(records, problem)
        for method in [name for name in PAPER_METHODS if name in methods]:
            of_scores = [spread(methods[method], score) for score in PAPER_SCORES]
            rows.append(
                [problem, method, *(f"{sd:.3f}" for of_score in of_scores for sd in of_score)]
            )
    columns = [f"{name}, {of}" for name in PAPER_SCORES.values() for of in ("starts", "draws")]
    note = (
        "Standard deviations by the paper's rule. starts: over initial weights on one fold. draws: "
        "of the means of the repetitions' five folds."
    )
    return Table(
        "Spread from start to start and from draw to draw",
        ["problem", "method", *columns],
        rows,
        notes=[note],
        left=2,
        sections=True,
    )


def verdict(records: Records) -> list[str]:
    """How many cells agree under each rule, and which rule agrees better."""
    counts, gaps = {}, {}
    for rule in RULES:
        cells = compared_cells(records, rule)
        counts[rule] = sum(cell.found.agrees for cell in cells)
        off = [abs(cell.found.ours.mean - cell.found.theirs.mean) for cell in cells]
        gaps[rule] = sum(off) / max(len(off), 1)
    said = [
        f"By {rule} {counts[rule]} of {len(cells)} cells agree with the paper "
        f"(means differ by {gaps[rule]:.3f} on average)."
        for rule in RULES
    ]
    first, second = sorted(RULES, key=lambda rule: (-counts[rule], gaps[rule]))
    if counts[first] == counts[second] and gaps[second] - gaps[first] < LEAST_GAP:
        return [*said, "Neither agrees better."]
    return [*said, f"{first[0].upper()}{first[1:]} agrees better."]


def recommendations(records: Records) -> list[str]:
    """For each problem the rung of the ladder our records recommend, in words.

    >>> made = {"BCE": 1, "GMN": 2}
    >>> records = [
    ...     StartRecord("skin-588", name, draw, fold, 80, 15, 3, 2 - tp, tp, None, 0.1)
    ...     for name, tp in made.items()
    ...     for draw in (0, 1)
    ...     for fold in (0, 1)
    ... ]
    >>> recommendations(records)[0][:16]
    'skin-588: GMN is'
    """
    said = []
    for problem in _problems(records):
        methods = by_method(records, problem)
        ladder = {name: methods[name] for name in PAPER_METHODS if name in methods}
        advice = recommend(ladder, many=False)
        if advice:
            said.append(f"{problem}: {advice}")
    return said


# What the paper says of rivals: problem, rival, our methods, and its sentence on their G-Mean.
SAID = (
    (
        "skin-588",
        RIVALS[0],
        ("GMN", "BCE-ASTra", "GMN-ASTra"),
        "GMN and both ASTra networks cannot be told from RUSBoost",
    ),
    ("cod-763", RIVALS[0], ("BCE-ASTra", "GMN-ASTra"), "both ASTra networks beat RUSBoost"),
    ("ijcnn-971", RIVALS[1], ("BCE-ASTra", "GMN-ASTra"), "both ASTra networks beat HD-Ensemble"),
)


def rival_sentences(records: Records) -> list[str]:
    """What the paper says of rivals in words, beside what our folds say, by G-Mean."""
    said = []
    for problem, rival, names, sentence in SAID:
        methods = by_method(records, problem)
        if rival not in methods or any(name not in methods for name in names):
            continue
        found = [_against(methods, name, rival) for name in names]
        said.append(f"{problem}: the paper says that {sentence}. Here {'; '.join(found)}.")
    return said


def _against(methods: dict[str, list[StartRecord]], name: str, rival: str) -> str:
    pair = {name: methods[name], rival: methods[rival]}
    ours, theirs = (summarise(records).g_mean for records in pair.values())
    ahead, behind = (name, rival) if ours >= theirs else (rival, name)
    found: list[Challenger] = challengers(pair, behind, "g_mean", many=False)
    p = shown_p(found[0].p_value if found else 1.0)
    verb = "beats" if found and found[0].beats else "cannot be told from"
    means = {name: ours, rival: theirs}
    return f"{ahead} ({means[ahead]:.3f}) {verb} {behind} ({means[behind]:.3f}, {p})"


def shown(estimate: Estimate) -> str:
    """A mean and the half of its 95% interval: 0.760 ±0.24."""
    return f"{estimate.mean:.3f} ±{estimate.mean - estimate.interval.low:.2f}"


def _mark(found: Agreement) -> str:
    return "✓" if found.agrees else "✗"


def _problems(records: Records) -> list[str]:
    """In the order of Table 2."""
    present = {record.problem for record in records}
    return [name for name in TABLE_2 if name in present]


def _notes(records: Records, found: Sequence[Agreement]) -> list[str]:
    draws, folds, starts = (
        len({getattr(record, name) for record in records})
        for name in ("repetition", "fold", "start")
    )
    summaries = [
        summarise(rows)
        for problem in _problems(records)
        for rows in by_method(records, problem).values()
    ]
    return [
        f"{sum(one.agrees for one in found)} of {len(found)} means agree (✓): Welch's test of the "
        f"difference, p > 0.05. Ours: n = {draws} draws of {folds} folds × {starts} starts. "
        f"Published: taken as n = {DRAWS} draws of 5 folds, since the printed deviations are those "
        f"of {TRIALS} yes-or-no trials. ±: half of the 95% interval, by draws, since folds share a "
        "draw; the published deviation is widened as our draws say.",
        f"{BOLD} best, or not distinguishable from it (corrected resampled t-test, p > 0.05). "
        "Rivals learn from four folds, networks from three.",
        *(f"{one.problem}: {said}" for one in summaries for said in failures([one])),
    ]
