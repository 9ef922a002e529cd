"""HD-Ensemble, rebuilt from its paper: hard negatives and varied positives.

Chen et al., "HD-Ensemble: hybrid data-level ensemble", Information Sciences 2021, train decision
trees one after the other. Each round undersamples the majority by margin, keeping what the
ensemble so far finds hard, and oversamples the minority so that rounds differ. Their code is not
public. Ours are these details: negatives are drawn without replacement with a probability that
falls with their margin, half of them at random so that no round sees outliers only; positives are
repeated with Gaussian noise of a twentieth of each feature's standard deviation; a round has four
negatives to each positive, and at least 100; there are 50 trees of at most 16 leaves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

NOISE = 0.05
RANDOM_SHARE = 0.5
LEAVES = 16


class HDEnsembleClassifier(ClassifierMixin, BaseEstimator):
    """Trees on hard negatives and varied positives, each round on other ones.

    n_estimators: how many trees.
    negatives_per_positive: how many negatives a round keeps for each positive.
    fewest_negatives: how many it keeps at least.
    random_state: seed of the draws and of the trees.
    """

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        negatives_per_positive: float = 4.0,
        fewest_negatives: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.negatives_per_positive = negatives_per_positive
        self.fewest_negatives = fewest_negatives
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> HDEnsembleClassifier:
        """Fit a tree to each round; the rarer class is the positive one."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, counts = np.unique(y, return_counts=True)
        if len(self.classes_) != 2:
            raise ValueError(f"y must have two classes; found {len(self.classes_)}")
        is_rare = y == self.classes_[np.argmin(counts)]
        self._is_last_rare = bool(np.argmin(counts) == 1)
        random = check_random_state(self.random_state)
        rare, common = X[is_rare], X[~is_rare]
        size = int(max(self.negatives_per_positive * len(rare), self.fewest_negatives))
        size = min(size, len(common))
        self.trees_: list[DecisionTreeClassifier] = []
        votes = np.zeros(len(common))
        for _ in range(self.n_estimators):
            kept = self._kept(votes, size, random)
            varied = self._varied(rare, size, X.std(axis=0), random)
            rows = np.concatenate([varied, common[kept]])
            labels = np.repeat([1, 0], [len(varied), len(kept)])
            tree = DecisionTreeClassifier(
                max_leaf_nodes=LEAVES, max_features="sqrt", random_state=random.randint(2**31)
            )
            self.trees_.append(tree.fit(rows, labels))
            votes += tree.predict_proba(common)[:, 1]
        return self

    def _kept(
        self, votes: NDArray[np.float64], size: int, random: np.random.RandomState
    ) -> NDArray[np.intp]:
        """Negatives of a round: some at random, the others those of small margin."""
        rounds = max(len(self.trees_), 1)
        at_random = random.permutation(len(votes))[: int(size * RANDOM_SHARE)]
        # The margin of a negative is how much of the vote is for its class, beyond the other's.
        hardness = votes / rounds + 1e-3
        hardness[at_random] = 0.0
        wanted = min(size - len(at_random), int((hardness > 0).sum()))
        if not wanted:
            return np.asarray(at_random)
        hard = random.choice(len(votes), wanted, replace=False, p=hardness / hardness.sum())
        return np.concatenate([at_random, hard])

    def _varied(
        self,
        rare: NDArray[np.float64],
        size: int,
        spread: NDArray[np.float64],
        random: np.random.RandomState,
    ) -> NDArray[np.float64]:
        """Every positive, and noisy copies of them until there are as many as negatives."""
        extra = rare[random.randint(len(rare), size=max(size - len(rare), 0))]
        noisy = extra + NOISE * spread * random.standard_normal(extra.shape)
        return np.concatenate([rare, noisy])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Mean over the trees of what their leaves hold; columns as in `classes_`."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        rare = np.mean([tree.predict_proba(X)[:, 1] for tree in self.trees_], axis=0)
        return np.column_stack([1 - rare, rare] if self._is_last_rare else [rare, 1 - rare])

    def predict(self, X: Any) -> NDArray[Any]:
        """The rarer class where its mean is above ½."""
        is_rare = self.predict_proba(X)[:, int(self._is_last_rare)] > 0.5
        return np.asarray(self.classes_[(is_rare == self._is_last_rare).astype(int)])
