"""From left-out evidence to a cut for an aim, and what to expect of it.

The majority's rows are many, so the false alarm rate at a cut of the evidence is known well. The
positives' evidence is known at k rows. Their distribution is drawn many times, by a Bayesian
bootstrap: Dirichlet weights over the k rows, each smeared by a heavy-tailed kernel, and over an
exponential distribution that counts for half a row, its mean drawn too. Every draw is a possible
world with a recall and a false alarm rate at every cut. The cut maximises what an aim expects over
the worlds, and an interval holds the middle 90 % of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, gammaincinv, logit, stdtr

from astralearn.core.elementary import TINY

WORLDS = 400
PRIOR_ROWS = 0.5  # rows that the exponential distribution counts for
PRIOR_EVIDENCE, PRIOR_EVIDENCE_ROWS = 3.0, 5.0  # the mean evidence of positives before any is seen
# The kernel, Student's t in the logarithm of evidence: its width up to SMEAR_ROWS rows, beyond
# which it shrinks as their number to the power −⅓.
SMEAR, SMEAR_ROWS, DEGREES = 0.15, 30.0, 3.0
# By how much k left-out positives understate new ones, in the logarithm of evidence: this / k.
LIFT = 0.4
# The variance of recall's logit beyond what the k rows tell: this, and this divided by k.
RECALL_DOUBT, RECALL_DOUBT_OF_ONE = 0.35, 12.0
# The deviation of the logarithm of false alarms beyond what counts tell: this at any cut, and this
# besides, growing with the square of the evidence, from the evidence DEEP on.
ALARM_DOUBT, DEEP_ALARM_DOUBT, DEEP = 0.08, 0.7, 8.0
CUTS = 250
MOST_POSITIVES = 200  # that are kept apart; of more, quantiles
INTERVAL = 0.9
LEAST_RATE = 1e-9


@dataclass(frozen=True)
class LeftOut:
    """Evidence of rows by learners that did not see them: what decisions rest on.

    positives: (k,), the evidence of positives, rising.
    weight: (k,), how many rows each stands for.
    cuts: (c,), the cuts that are looked at, rising.
    alarms: (c,), how many majority rows have at least that evidence.
    majority: how many majority rows there are.
    prior: the positives' share of all rows, in (0, 1).
    """

    positives: np.ndarray
    weight: np.ndarray
    cuts: np.ndarray
    alarms: np.ndarray
    majority: float
    prior: float


def left_out(
    *,
    positives: np.ndarray,
    positive_weight: np.ndarray,
    majority: np.ndarray,
    majority_weight: np.ndarray,
    prior: float,
) -> LeftOut:
    """Sum up the evidence of left-out rows of either class.

    positives, majority: (k,) and (n,), evidence ≥ 0.
    positive_weight, majority_weight: how many rows each stands for.
    prior: the positives' share of all training rows.
    """
    order = np.argsort(positives, kind="stable")
    some, weight = _few(positives[order], positive_weight[order])
    order = np.argsort(majority, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(majority_weight[order])])
    total = float(below[-1])
    top = 1.0 + max(np.log(total), float(majority.max()), float(some.max(initial=0.0)))
    known = np.log(max(total, 2.0))
    cuts = np.concatenate(
        [np.linspace(0.02, known, CUTS - CUTS // 5), np.linspace(known, top, CUTS // 5 + 1)[1:]]
    )
    alarms = total - below[np.searchsorted(majority[order], cuts, side="left")]
    return LeftOut(some, weight, cuts, np.maximum(alarms, 0.0), total, prior)


def _few(values: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted values in MOST_POSITIVES groups at most, each at its mean."""
    if len(values) <= MOST_POSITIVES:
        return values, weight
    groups = np.array_split(np.arange(len(values)), MOST_POSITIVES)
    means = [np.average(values[group], weights=weight[group]) for group in groups]
    return np.asarray(means), np.asarray([weight[group].sum() for group in groups])


def usual_mean(evidence: np.ndarray, weight: np.ndarray) -> float:
    """The mean evidence of positives, drawn towards what it usually is.

    >>> usual_mean(np.asarray([8.0, 6.0, 7.0, 9.0, 5.0]), np.ones(5))
    5.0
    """
    rows = PRIOR_EVIDENCE_ROWS + float(weight.sum())
    return (PRIOR_EVIDENCE_ROWS * PRIOR_EVIDENCE + float(weight @ evidence)) / rows


class Worlds(NamedTuple):
    """Possible recalls and false alarm rates at every cut.

    cuts: (c,).
    recall, false_alarms: (worlds, c).
    prior: the positives' share of all rows.
    """

    cuts: np.ndarray
    recall: np.ndarray
    false_alarms: np.ndarray
    prior: float

    def scores(self) -> dict[str, np.ndarray]:
        """Every score in every world at every cut, (worlds, c), by name."""
        r, f, p = self.recall, self.false_alarms, self.prior
        hits, alarms = p * r, (1.0 - p) * f
        flagged = hits + alarms
        spread = np.sqrt(p * (1.0 - p) / np.maximum(flagged * (1.0 - flagged), TINY))
        return {
            "recall": r,
            "false_alarms": f,
            "precision": hits / np.maximum(flagged, TINY),
            "g_mean": np.sqrt(r * (1.0 - f)),
            "mcc": (r - f) * spread,
            "f1": 2.0 * hits / (p + flagged),
        }


def possible_worlds(seen: LeftOut, *, seed: int = 0) -> Worlds:
    """Draw what the rates may be, given what was left out."""
    rng = np.random.default_rng(seed)
    cuts = seen.cuts
    k = float(seen.weight.sum())
    places = np.log(np.maximum(seen.positives, 1e-3)) + LIFT / max(k, 1.0)
    smear = SMEAR * min(1.0, SMEAR_ROWS / max(k, 1.0)) ** (1.0 / 3.0)
    above = stdtr(DEGREES, (places[:, None] - np.log(cuts)) / smear)
    rows = PRIOR_EVIDENCE_ROWS + k
    mean = usual_mean(seen.positives, seen.weight) * rows / rng.gamma(rows, size=(WORLDS, 1))
    shares = rng.gamma(np.append(seen.weight, PRIOR_ROWS), size=(WORLDS, len(seen.weight) + 1))
    shares /= shares.sum(axis=1, keepdims=True)
    recall = shares[:, :-1] @ above + shares[:, -1:] * np.exp(-cuts / mean)
    recall = np.clip(recall, LEAST_RATE, 1.0 - LEAST_RATE)
    doubt = np.sqrt(RECALL_DOUBT + RECALL_DOUBT_OF_ONE / max(k, 1.0))
    recall = expit(logit(recall) + doubt * rng.standard_normal((WORLDS, 1)))
    # One draw for each world serves all cuts, so that no world's curve is ragged.
    expected = np.maximum(seen.alarms, seen.majority * np.exp(-cuts)) + 0.5
    rates = gammaincinv(expected, rng.random((WORLDS, 1))) / (seen.majority + 1.0)
    doubt = ALARM_DOUBT + DEEP_ALARM_DOUBT * np.minimum(cuts / DEEP, 1.0) ** 2
    rates *= np.exp(doubt * rng.standard_normal((WORLDS, 1)))
    return Worlds(cuts, recall, np.minimum(rates, 1.0), seen.prior)


def cut_for(
    decision: Any, worlds: Worlds, *, positive: Any, negative: Any, positive_share: float = 0.5
) -> float:
    """The evidence from which on rows are flagged.

    decision: one that `check_decision` takes.
    positive, negative: the labels, by which costs are named.
    positive_share: a of the G-Mean TPRᵃ TNR¹⁻ᵃ.
    """
    if decision == "g_mean":
        spared = np.maximum(1.0 - worlds.false_alarms, LEAST_RATE)
        weighed = worlds.recall**positive_share * spared ** (1.0 - positive_share)
        return float(worlds.cuts[np.argmax(weighed.mean(axis=0))])
    if isinstance(decision, str):
        return float(worlds.cuts[np.argmax(worlds.scores()[decision].mean(axis=0))])
    ((kind, value),) = decision.items()
    if kind == "cost":
        value = Costs(of_miss=value[positive], of_alarm=value[negative])
    return float(worlds.cuts[_DEMANDS[kind](worlds, value)])


class Costs(NamedTuple):
    """What a missed positive and a false alarm cost."""

    of_miss: float
    of_alarm: float


def _least_cost(worlds: Worlds, costs: Costs) -> int:
    missed = worlds.prior * (1.0 - worlds.recall.mean(axis=0))
    alarms = (1.0 - worlds.prior) * worlds.false_alarms.mean(axis=0)
    return int(np.argmin(costs.of_miss * missed + costs.of_alarm * alarms))


def _few_alerts(worlds: Worlds, share: float) -> int:
    flagged = worlds.prior * worlds.recall + (1.0 - worlds.prior) * worlds.false_alarms
    few = np.flatnonzero(flagged.mean(axis=0) <= share)
    return int(few[0]) if len(few) else len(worlds.cuts) - 1


def _enough_recall(worlds: Worlds, least: float) -> int:
    enough = np.flatnonzero(worlds.recall.mean(axis=0) >= least)
    return int(enough[-1]) if len(enough) else 0


def _enough_precision(worlds: Worlds, least: float) -> int:
    precision = worlds.scores()["precision"].mean(axis=0)
    enough = np.flatnonzero(precision >= least)
    return int(enough[0]) if len(enough) else int(np.argmax(precision))


# The cut of a demand, by its place among the cuts.
_DEMANDS: dict[str, Callable[[Worlds, Any], int]] = {
    "cost": _least_cost,
    "alerts": _few_alerts,
    "recall": _enough_recall,
    "precision": _enough_precision,
}
AIMS = ("g_mean", "mcc", "f1")


def check_decision(decision: Any, labels: list[Any]) -> None:
    """Refuse what is no decision.

    decision: "g_mean", "mcc" or "f1", or a dict of one demand.
    labels: both labels, which costs must name.
    """
    if isinstance(decision, str) and decision in AIMS:
        return
    if not isinstance(decision, Mapping) or len(decision) != 1 or {*decision} - {*_DEMANDS}:
        raise ValueError(
            f"decision must be one of {', '.join(map(repr, AIMS))}, or a dict with one of the keys "
            f"{', '.join(map(repr, _DEMANDS))}; found {decision!r:.80}"
        )
    ((kind, value),) = decision.items()
    if kind != "cost":
        if not is_cost(value) or not 0 < float(value) < 1:
            raise ValueError(f"decision={{{kind!r}: …}} must be in (0, 1); found {value!r:.80}")
        return
    if not isinstance(value, Mapping) or {*value} != {*labels}:
        raise ValueError(
            f"decision={{'cost': …}} must name the cost of a mistake on a row of each label, "
            f"{labels[0]!r} and {labels[1]!r}; found {value!r:.80}"
        )
    if not all(map(is_cost, value.values())) or not any(value.values()):
        raise ValueError(
            f"decision={{'cost': …}} must be finite, at least 0 and above 0 somewhere; found "
            f"{value!r}"
        )


def is_cost(value: Any) -> bool:
    """Whether it is a finite number of at least 0.

    >>> is_cost(0), is_cost(-1), is_cost("1"), is_cost(10**400)
    (True, False, False, False)
    """
    try:
        return isinstance(value, Real) and 0 <= float(value) < np.inf
    except OverflowError:
        return False


class Expected(NamedTuple):
    """A score as it is expected on new rows, with the ends of its 90 % interval.

    >>> print(Expected(0.9, 0.72, 0.985))
    0.9 (0.72 to 0.985)
    """

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True)
class Expectations:
    """What to expect on new rows of the same kind, at this cut and every other.

    recall, precision, g_mean, mcc, f1: `Expected`, in [0, 1] but the MCC.
    false_alarms: `Expected`, per 1,000 majority rows.
    positives: how many training positives this rests on, 0 where there is one, never left out.
    curve: the same along the cuts: {"cut": (c,), "recall": (3, c), …}, mean and ends of each.

    >>> from astralearn.classifier.model_cut import cut_scores
    >>> scores = np.r_[np.linspace(-3, 1, 500), np.linspace(0, 2, 10)]
    >>> found = cut_scores(scores, np.repeat([0, 1], [500, 10]), "g_mean").expectations
    >>> found.positives, found.recall.low < found.recall.mean < found.recall.high
    (10.0, True)
    >>> sorted(found.curve)
    ['cut', 'f1', 'false_alarms', 'g_mean', 'mcc', 'precision', 'recall']
    """

    recall: Expected
    false_alarms: Expected
    precision: Expected
    g_mean: Expected
    mcc: Expected
    f1: Expected
    positives: float
    curve: dict[str, np.ndarray]

    def __str__(self) -> str:
        # One positive cannot be left out and learned from.
        known = f"{self.positives:g} training" if self.positives else "no left-out"
        return (
            f"On new rows, from {known} positives (90 % intervals):\n"
            f"  recall                  {self.recall}\n"
            f"  false alarms per 1,000  {self.false_alarms}\n"
            f"  precision               {self.precision}"
        )


def expectations(worlds: Worlds, cut: float, *, positives: float) -> Expectations:
    """Sum up the worlds, at one cut and along all of them."""
    ends = (1.0 - INTERVAL) / 2.0
    curve, at_cut = {"cut": worlds.cuts}, {}
    for name, values in worlds.scores().items():
        unit = 1_000.0 if name == "false_alarms" else 1.0
        low, high = np.quantile(values, [ends, 1.0 - ends], axis=0)
        curve[name] = unit * np.stack([values.mean(axis=0), low, high])
        found = (float(np.interp(cut, worlds.cuts, along)) for along in curve[name])
        at_cut[name] = Expected(*found)
    return Expectations(**at_cut, positives=positives, curve=curve)
