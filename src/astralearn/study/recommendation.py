"""The paper's advice in words: the least intervention that is not beaten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from astralearn.study.record import Record
from astralearn.study.scores import SCORES
from astralearn.study.significance import Challenger, challengers

LADDER = (
    "BCE",
    "GMN",
    "BCE-ASTra",
    "GMN-ASTra",
    "ASTraClassifier",
)  # from no intervention to both, then the default around them
NAMES = {"g_mean": "G-Mean", "mcc": "MCC"}


class Recommendation(NamedTuple):
    """The rung to take, and why: sentences for a person."""

    method: str
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.sentences)


def recommend(
    methods: Mapping[str, Sequence[Record]], *, ladder: Sequence[str] = LADDER, many: bool = True
) -> Recommendation | None:
    """The first rung that no other rung beats on G-Mean or MCC; where each is beaten on one of them, the rung with the best G-Mean.

    A rung that found no positive at all is never chosen over one that found some: few positives may not prove it worse, but "if all of
    the small number of positive instances are predicted wrongly, the model is effectively useless" (the paper, section 2.1).
    methods: a problem's records by method. Methods off the ladder do not decide, but are named where they beat the rung.
    None where no rung was run.
    """
    rungs = {name: methods[name] for name in ladder if name in methods}
    if not rungs:
        return None
    on = {
        name: {score: challengers(rungs, name, score, many=many) for score in SCORES}
        for name in rungs
    }
    useful = [
        name for name, records in rungs.items() if any(record.tp for record in records)
    ] or list(rungs)
    unbeaten = [name for name in useful if not any(_winner(on[name][score]) for score in SCORES)]
    chosen = unbeaten[0] if unbeaten else next(name for name in rungs if not on[name]["g_mean"])
    reasons = [
        *_below(chosen, on, useful),
        *_ties(on[chosen]),
        *_rivals(chosen, methods, rungs, many),
    ]
    return Recommendation(chosen, (_advice(chosen, rungs, bool(unbeaten)), *reasons))


def what_n_is(methods: Mapping[str, Sequence[Record]]) -> str:
    """How many folds and positives stand behind the numbers."""
    records = next(iter(methods.values()))
    repetitions = len({record.repetition for record in records})
    tested = sum(record.tp + record.fn for record in records)
    return (
        f"n = {len(records)} test folds per method ({repetitions} × {len(records) // repetitions}), which test {tested} positives in all; "
        "folds share training rows, so p-values are from the corrected resampled t-test."
    )


def _advice(chosen: str, rungs: Mapping[str, object], is_unbeaten: bool) -> str:
    if len(rungs) == 1:
        return f"{chosen} is the only rung of the ladder that was run."
    if not is_unbeaten:
        return f"Use {chosen}: every rung is beaten on G-Mean or MCC by another, and this one has the best G-Mean."
    return f"Use {chosen}: the least intervention on the ladder {' → '.join(rungs)} that no other rung beats."


def _winner(found: Sequence[Challenger]) -> Challenger | None:
    """The one with the best mean among those that beat the method in question; None where none does."""
    return max(
        (other for other in found if other.beats), key=lambda other: other.mean, default=None
    )


def _below(
    chosen: str, on: Mapping[str, Mapping[str, Sequence[Challenger]]], useful: Sequence[str]
) -> list[str]:
    """Why each lower rung is not enough."""
    said = []
    for name in list(on)[: list(on).index(chosen)]:
        if name not in useful:
            said.append(f"{name} found none of the positives.")
            continue
        beaten = [(score, winner) for score in SCORES if (winner := _winner(on[name][score]))]
        if beaten:
            said.append(
                f"{name} is beaten "
                + " and ".join(_beaten_by(score, winner) for score, winner in beaten)
                + "."
            )
    return said


def _beaten_by(score: str, winner: Challenger) -> str:
    return f"on {NAMES[score]} by {winner.method} ({winner.mean - winner.ahead:.3f} against {winner.mean:.3f}, {shown_p(winner.p_value)})"


def _ties(on: Mapping[str, Sequence[Challenger]]) -> list[str]:
    """A rung with a better mean that is not proven better: few positives prove little, and a tie must not read as equality."""
    said = []
    for score in SCORES:
        best = max(on[score], key=lambda other: other.mean, default=None)
        if best and best.ahead >= 0.005 and not _winner(on[score]):
            better = f"{best.method} has a better {NAMES[score]}, {best.mean:.3f} against {best.mean - best.ahead:.3f}"
            said.append(f"{better}, which is not proven at n = {best.n} ({shown_p(best.p_value)}).")
    return said


def _rivals(
    chosen: str, methods: Mapping[str, Sequence[Record]], rungs: Mapping[str, object], many: bool
) -> list[str]:
    """Methods off the ladder that beat the chosen rung, so that the advice is not taken for more than it is."""
    rivals = {name: records for name, records in methods.items() if name not in rungs}
    if not rivals:
        return []
    said = []
    for score in SCORES:
        winner = _winner(challengers({chosen: methods[chosen], **rivals}, chosen, score, many=many))
        if winner:
            said.append(
                f"Off the ladder, {winner.method} does better on {NAMES[score]} ({winner.mean:.3f}, {shown_p(winner.p_value)})."
            )
    return said or [f"No rival that was run does significantly better than {chosen}."]


def shown_p(p_value: float) -> str:
    """p = 0.031, or p < 0.001."""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
