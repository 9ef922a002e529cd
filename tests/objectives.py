"""The boosting objectives by name, and rows for them: what tests of objective and sweep share."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from astralearn.boosting import ASTraObjective, ConfusionObjective

OF_COUNTS = [
    (loss, activation)
    for loss in ("gmn", "f1", "mcc", "balanced_accuracy")
    for activation in ("sigmoid", "astra")
]
OBJECTIVES = {
    "astra": ASTraObjective,
    **{
        f"{loss}-{activation}": functools.partial(ConfusionObjective, loss, activation=activation)
        for loss, activation in OF_COUNTS
    },
}
ALL = pytest.mark.parametrize("make", OBJECTIVES.values(), ids=OBJECTIVES)


def rows(n=80, seed=0, scale=3.0, positives=8):
    """Labels, scores and weights, each of shape (n,)."""
    rng = np.random.default_rng(seed)
    y = np.zeros(n)
    y[rng.choice(n, positives, replace=False)] = 1
    return y, rng.normal(-0.5, scale, n), rng.uniform(0.1, 3, n)
