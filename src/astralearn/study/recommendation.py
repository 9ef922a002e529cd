"""The paper's advice in words: the least intervention that is not beaten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from astralearn.study.paper import PAPER_METHODS
from astralearn.study.record import Record
from astralearn.study.scores import PAPER_SCORES
from astralearn.study.significance import Challenger, challengers

#: The paper's methods from no intervention to both, then the default around them.
LADDER = (*PAPER_METHODS, "ASTraClassifier")

RecordsByMethod = Mapping[str, Sequence[Record]]


class Recommendation(NamedTuple):
    """The rung to take, and why: sentences for a person.

    >>> print(Recommendation("GMN", ("Use GMN.", "BCE found none of the positives.")))
    Use GMN. BCE found none of the positives.
    """

    method: str
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.sentences)


def recommend(
    methods: RecordsByMethod, *, ladder: Sequence[str] = LADDER, many: bool = True
) -> Recommendation | None:
    """The first rung that no other rung beats on G-Mean or MCC.

    Where each is beaten on one of them, the rung with the best G-Mean. None where no rung was run.
    A rung that found no positive at all is never chosen over one that found some: few positives
    may not prove it worse, but "if all of the small number of positive instances are predicted
    wrongly, the model is effectively useless" (the paper, section 2.1).

    methods: a problem's records by method. Those off the ladder do not decide, but are named where
        they beat the rung.
    ladder: names from the least to the most intervention.
    many: whether p-values are corrected by Holm.

    >>> made = {"BCE": [(0, 2), (1, 1)], "GMN": [(2, 0), (2, 0)]}
    >>> methods = {
    ...     name: [
    ...         Record("cards", name, 0, fold, 80, 15, 3, fn, tp, None, 0.1)
    ...         for fold, (tp, fn) in enumerate(folds)
    ...     ]
    ...     for name, folds in made.items()
    ... }
    >>> recommend(methods).method
    'BCE'
    """
    rungs = {name: methods[name] for name in ladder if name in methods}
    if not rungs:
        return None
    on = {
        name: {score: challengers(rungs, name, score, many=many) for score in PAPER_SCORES}
        for name in rungs
    }
    found_some = [name for name, records in rungs.items() if any(r.tp for r in records)]
    useful = found_some or list(rungs)
    unbeaten = [name for name in useful if not any(map(_winner, on[name].values()))]
    chosen = unbeaten[0] if unbeaten else next(name for name in rungs if not on[name]["g_mean"])
    return Recommendation(
        chosen,
        (
            _advice(chosen, rungs, bool(unbeaten)),
            *_below(chosen, on, useful),
            *_ties(on[chosen]),
            *_rivals(chosen, methods, rungs, many),
        ),
    )


def what_n_is(methods: RecordsByMethod) -> str:
    """How many folds and positives stand behind the numbers.

    >>> records = [Record("cards", "BCE", 0, fold, 80, 15, 3, 0, 2, None, 0.1) for fold in range(5)]
    >>> what_n_is({"BCE": records}).partition(",")[0]
    'n = 5 test folds per method (1 × 5)'
    """
    records = next(iter(methods.values()))
    repetitions = len({record.repetition for record in records})
    tested = sum(record.tp + record.fn for record in records)
    return (
        f"n = {len(records)} test folds per method ({repetitions} × "
        f"{len(records) // repetitions}), which test {tested} positives in all; "
        "folds share training rows, so p-values are from the corrected resampled t-test."
    )


def _advice(chosen: str, rungs: Mapping[str, object], is_unbeaten: bool) -> str:
    if len(rungs) == 1:
        return f"{chosen} is the only rung of the ladder that was run."
    if not is_unbeaten:
        return (
            "Every rung of the ladder is beaten on G-Mean or MCC by another; "
            f"{chosen} has the best G-Mean."
        )
    return (
        f"{chosen} is the least intervention on the ladder {' → '.join(rungs)} "
        "that no other rung beats."
    )


def _winner(found: Sequence[Challenger]) -> Challenger | None:
    """The one with the best mean among those that win; None where none does."""
    winners = (other for other in found if other.beats)
    return max(winners, key=lambda other: other.mean, default=None)


def _below(
    chosen: str, on: Mapping[str, Mapping[str, Sequence[Challenger]]], useful: Sequence[str]
) -> list[str]:
    """Why each lower rung is not enough."""
    said = []
    for name in list(on)[: list(on).index(chosen)]:
        if name not in useful:
            said.append(f"{name} found none of the positives.")
            continue
        beaten = [
            _beaten_by(score, winner)
            for score, found in on[name].items()
            if (winner := _winner(found))
        ]
        if beaten:
            said.append(f"{name} is beaten {' and '.join(beaten)}.")
    return said


def _beaten_by(score: str, winner: Challenger) -> str:
    return (
        f"on {PAPER_SCORES[score]} by {winner.method} ({winner.mean - winner.ahead:.3f} against "
        f"{winner.mean:.3f}, {shown_p(winner.p_value)})"
    )


def _ties(on: Mapping[str, Sequence[Challenger]]) -> list[str]:
    """Rungs with a better mean that are not proven better.

    Few positives prove little, and a tie must not read as equality.
    """
    said = []
    for score, found in on.items():
        best = max(found, key=lambda other: other.mean, default=None)
        if best and best.ahead >= 0.005 and not _winner(found):
            said.append(
                f"{best.method} has a better {PAPER_SCORES[score]}, {best.mean:.3f} against "
                f"{best.mean - best.ahead:.3f}, which is not proven at n = {best.n} "
                f"({shown_p(best.p_value)})."
            )
    return said


def _rivals(
    chosen: str, methods: RecordsByMethod, rungs: Mapping[str, object], many: bool
) -> list[str]:
    """Methods off the ladder that beat the chosen rung.

    They are named so that the advice is not taken for more than it is.
    """
    rivals = {name: records for name, records in methods.items() if name not in rungs}
    if not rivals:
        return []
    said = []
    for score, shown in PAPER_SCORES.items():
        winner = _winner(challengers({chosen: methods[chosen], **rivals}, chosen, score, many=many))
        if winner:
            said.append(
                f"Off the ladder, {winner.method} does better on {shown} "
                f"({winner.mean:.3f}, {shown_p(winner.p_value)})."
            )
    return said or [f"No rival that was run does significantly better than {chosen}."]


def shown_p(p_value: float) -> str:
    """p = 0.031, or p < 0.001."""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
