"""Small problems with a handful of positives, and a classifier that is fitted to them in a moment."""

import numpy as np

from astralearn import ASTraClassifier


def rare(n=400, positives=6, seed=0, features=3):
    rng = np.random.default_rng(seed)
    y = np.zeros(n, int)
    y[:positives] = 1
    return rng.normal(size=(n, features)) + 2.5 * y[:, None], y


def quick(**options):
    return ASTraClassifier(**{"epochs": 60, "alpha": 2.0, "margin": 0.0, "n_estimators": 2, "random_state": 0, **options})
