"""Members of the committee that its user brings: any scikit-learn classifier.

A guest sees rows as trees do, learns from at most 2,000 of a class, and has the say that its
left-out scores earn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from astralearn.classifier.crossed import cross_scored

ROWS_PER_GUEST = 2_000  # of a class
OWN = ("networks", "trees", "neighbours", "linear")


@dataclass(frozen=True)
class Guest:
    """A classifier of someone else's, fitted on labels 0 and 1."""

    model: Any

    def score(self, u: np.ndarray) -> np.ndarray:
        """Its decision function, or the logit of its probability, (rows,), float64."""
        if hasattr(self.model, "decision_function"):
            return np.array(self.model.decision_function(u), np.float64).reshape(-1)
        share = np.asarray(self.model.predict_proba(u), np.float64)[:, 1]
        least = np.finfo(np.float32).tiny
        return np.asarray(logit(np.clip(share, least, 1.0 - np.finfo(np.float64).epsneg)))


def check_guests(members: Mapping[str, Any] | None) -> None:
    """Refuse what cannot join a committee, by name."""
    for name, model in (members or {}).items():
        if not isinstance(name, str) or name in OWN:
            raise ValueError(f"members must have names other than {', '.join(OWN)}; found {name!r}")
        scores = hasattr(model, "decision_function") or hasattr(model, "predict_proba")
        if isinstance(model, type) or not hasattr(model, "fit") or not scores:
            raise TypeError(
                f"members[{name!r}] must be a classifier with fit, and decision_function or "
                f"predict_proba; found {model!r:.80}"
            )


def fit_guest(
    name: str, model: Any, u: np.ndarray, positive: np.ndarray, weight: np.ndarray, *, seed: int
) -> tuple[Guest, np.ndarray]:
    """Fit a guest; return it and scores by clones that did not see the rows.

    model: an unfitted classifier; it is cloned, and every `random_state` in it is the seed.
    Other arguments as in `trees.grow_forest`.
    """
    rng = np.random.default_rng([seed, ROWS_PER_GUEST])
    try:
        guest, scores = cross_scored(
            lambda classes: _fit(seeded(model, seed), u, positive, weight, classes, rng),
            u,
            positive,
            rng,
        )
    except Exception as error:
        error.add_note(f"This was members[{name!r}] of ASTraClassifier.")
        raise
    if np.isinf(scores).any() or np.isnan(scores[~positive]).any():
        raise ValueError(f"members[{name!r}] scores rows with numbers that are not finite")
    return guest, scores


def seeded(estimator: Any, seed: int) -> Any:
    """A clone in which every `random_state`, however deep, is the seed."""
    copy = clone(estimator)
    names = [name for name in copy.get_params(deep=True) if name.rsplit("__")[-1] == "random_state"]
    return copy.set_params(**dict.fromkeys(names, seed)) if names else copy


def _fit(
    model: Any,
    u: np.ndarray,
    positive: np.ndarray,
    weight: np.ndarray,
    classes: list[np.ndarray],
    rng: np.random.Generator,
) -> Guest:
    """The guest of some rows, drawn by their weight where it takes none."""
    weighs = has_fit_parameter(model, "sample_weight")
    drawn = [_drawn(rows, weight[rows], weighs, rng) for rows in classes]
    rows = np.concatenate(drawn)
    given = {"sample_weight": weight[rows]} if weighs else {}
    return Guest(model.fit(u[rows], positive[rows].astype(int), **given))


def _drawn(
    rows: np.ndarray, weight: np.ndarray, weighs: bool, rng: np.random.Generator
) -> np.ndarray:
    most = min(len(rows), ROWS_PER_GUEST)
    if weighs or (weight == weight[0]).all():
        return rows if most == len(rows) else np.sort(rng.choice(rows, most, replace=False))
    return np.sort(rng.choice(rows, most, p=weight / weight.sum()))
