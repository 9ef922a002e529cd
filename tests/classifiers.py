"""Cheap classifiers that stand in for real ones in tests of the study and the command line."""

import time

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from astralearn.paper_network import Decided


class Nearest(ClassifierMixin, BaseEstimator):
    """Says 1 where a row is nearer to the positives' mean; `noise` moves the decision by the seed,
    so that seeds show.
    """

    def __init__(self, noise=0.0, seconds=0.0, random_state=None):
        self.noise = noise
        self.seconds = seconds
        self.random_state = random_state

    def fit(self, X, y):
        time.sleep(self.seconds)
        self.classes_ = np.array([0, 1])
        self.centres_ = np.array([X[y == label].mean(axis=0) for label in (0, 1)])
        self.shift_ = self.noise * np.random.default_rng(self.random_state).normal()
        self.rows_ = len(X)
        return self

    def decision_function(self, X):
        far, near = (np.linalg.norm(X - centre, axis=1) for centre in self.centres_)
        return far - near + self.shift_

    def predict(self, X):
        return (self.decision_function(X) > 0).astype(int)


class Stacked(Nearest):
    """The same with fit_many and a history, as ASTraClassifier has; `calls` counts how often a
    stack was trained.
    """

    calls = 0

    def fit_many(self, X, y, splits, sample_weight=None):
        Stacked.calls += 1
        models = []
        for number, split in enumerate(splits):
            model = type(self)(self.noise, self.seconds, (self.random_state or 0) + number).fit(
                X[split[0]], y[split[0]]
            )
            epochs = np.arange(1, 1001)
            model.history_ = {
                "epoch": epochs,
                "e_ratio": 1000.0 / epochs + model.shift_,
                "other": np.zeros(3),
            }
            model.roles_ = [len(rows) for rows in split]
            models.append(model)
        return models


class Raising(Nearest):
    """Raises on every other fold, told by the sum of its labels' positions."""

    def fit(self, X, y):
        if len(X) % 2:
            raise ValueError(
                "BaseClassifier in ensemble is worse than random,\n  ensemble cannot be fit."
            )
        return super().fit(X, y)


class CheapNetwork(BaseEstimator):
    """What `PaperNetwork` is to the paper's study: decisions of few epochs from each start."""

    def __init__(self, starts=1):
        self.starts = starts

    def fit_many(self, X, y, splits, *, random_states):
        return [
            _CheapStarts(
                [
                    Nearest(1.0, 0.0, seed + start).fit(X[train], y[train])
                    for start in range(self.starts)
                ]
            )
            for (train, _, _), seed in zip(splits, random_states, strict=True)
        ]


class _CheapStarts:
    def __init__(self, models):
        self.models = models

    def decisions(self, X):
        return [self._decided(model.decision_function(X)) for model in self.models]

    def _decided(self, scores):
        looks = np.stack([scores > 1.0, scores > 0.5, scores > 0.0])
        history = {"epoch": np.array([1, 500, 1000]), "e_ratio": np.array([10.0, 1.0, 0.1])}
        return Decided(looks[1], looks[2], looks, chosen_epoch=500, history=history)
