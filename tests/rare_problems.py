"""Small problems with a handful of positives, and a classifier that is fitted in a moment."""

import numpy as np

from astralearn import ASTraClassifier


def rare(n=400, positives=6, seed=0, features=3):
    rng = np.random.default_rng(seed)
    y = np.zeros(n, int)
    y[:positives] = 1
    return rng.normal(size=(n, features)) + 2.5 * y[:, None], y


def quick(**options):
    """A classifier of networks alone."""
    settings = {"committee": False, "epochs": 60, "n_estimators": 2, "random_state": 0}
    return ASTraClassifier(**{**settings, **options})


def quick_committee(**options):
    """A small committee; a test that wants it smaller makes `trees.TREES` fewer."""
    return quick(**{"committee": True, "n_estimators": 5, **options})


def overlapping(seed=1):
    """Eight features, each of which says a little: what wants much L2."""
    rng = np.random.default_rng(seed)
    y = np.r_[np.ones(20, int), np.zeros(580, int)]
    return rng.normal(size=(600, 8)) + 0.4 * y[:, None], y


def apart(n=600, positives=20):
    """Classes with a wide gap between them."""
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(positives, int), np.zeros(n - positives, int)]
    return rng.normal(size=(n, 4)) + 8 * y[:, None], y
