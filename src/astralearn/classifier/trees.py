"""Extremely randomised trees, each judging the rows that it did not see.

A tree draws as many positives as there are and a share of the majority, with replacement, both
classes at equal weight. Its leaves vote with the positives' share of their weight, drawn towards ½
by one majority row's worth of each class: a leaf of many rows says more than a leaf of one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from astralearn.model_file import tree_from_state, tree_state

TREES = 200
ROWS_PER_TREE = 2_000  # of a class in one tree
FEATURES_PER_NODE = 64  # that one node chooses from


@dataclass(frozen=True)
class Forest:
    """Trees and what their leaves vote.

    trees: scikit-learn's, as it keeps them inside its classifiers.
    votes: (nodes,) for each tree, in (0, 1).
    """

    trees: list[Any]
    votes: list[np.ndarray]

    def __getstate__(self) -> dict[str, Any]:
        # As plain values: what scikit-learn pickles differs between copies of one tree.
        return {"trees": [tree_state(tree) for tree in self.trees], "votes": self.votes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        trees = [tree_from_state(tree) for tree in state["trees"]]
        self.__dict__.update(trees=trees, votes=state["votes"])

    def score(self, u: np.ndarray) -> np.ndarray:
        """The trees' mean vote, (rows,). u: (rows, features), float32."""
        # Compiled code that trusts both: a feature that u lacks would be foreign memory.
        known = {tree.n_features for tree in self.trees}
        if known != {u.shape[1]}:
            raise ValueError(f"trees of {sorted(known)} features cannot judge {u.shape[1]}")
        total = np.zeros(len(u))
        for tree, votes in zip(self.trees, self.votes, strict=True):
            total += votes[tree.apply(u)]
        return total / len(self.trees)


class Bootstrap(NamedTuple):
    """What trees draw from: one class's row numbers and cumulative weight."""

    rows: np.ndarray
    cumulative: np.ndarray

    @property
    def size(self) -> int:
        return min(len(self.rows), ROWS_PER_TREE)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        at = rng.random(self.size) * self.cumulative[-1]
        return self.rows[np.searchsorted(self.cumulative, at, side="right")]


def grow_forest(
    u: np.ndarray, positive: np.ndarray, weight: np.ndarray, *, seed: int, n_jobs: int
) -> tuple[Forest, np.ndarray]:
    """Grow the trees; return them and the rows' out-of-bag scores.

    A positive that all trees saw has NaN. A majority row that all saw, one of a very few, has the
    score of these: without any, there is nothing to compare positives with.

    u: (rows, features), float32.
    positive: (rows,), bool.
    weight: (rows,), > 0: how many rows each stands for.
    """
    classes = [np.flatnonzero(positive == label) for label in (False, True)]
    bootstraps = [Bootstrap(rows, np.cumsum(weight[rows])) for rows in classes]

    def grown(k: int) -> tuple[Any, np.ndarray, np.ndarray]:
        return _grow(u, positive, bootstraps, np.random.default_rng([seed, k]))

    forest = Forest([], [])
    total, count = np.zeros(len(u)), np.zeros(len(u))
    with ThreadPoolExecutor(n_jobs) as pool:
        for tree, votes, seen in pool.map(grown, range(TREES)):
            out = np.ones(len(u), bool)
            out[seen] = False
            total[out] += votes[tree.apply(u[out])]
            count[out] += 1
            forest.trees.append(tree)
            forest.votes.append(votes)
    seen_by_all = (count == 0) & ~positive
    total[seen_by_all], count[seen_by_all] = forest.score(u[seen_by_all]), 1
    with np.errstate(invalid="ignore"):
        return forest, total / count


def _grow(
    u: np.ndarray, positive: np.ndarray, bootstraps: list[Bootstrap], rng: np.random.Generator
) -> tuple[Any, np.ndarray, np.ndarray]:
    """One tree, its nodes' votes, and the rows that it saw."""
    from sklearn.tree import ExtraTreeClassifier

    drawn = [bootstrap.draw(rng) for bootstrap in bootstraps]
    rows = np.concatenate(drawn)
    shares = np.repeat([0.5 / len(of_class) for of_class in drawn], [len(d) for d in drawn])
    tree = ExtraTreeClassifier(
        max_features=min(u.shape[1], FEATURES_PER_NODE), random_state=int(rng.integers(2**31))
    )
    tree.fit(u[rows], positive[rows], sample_weight=shares, check_input=False)
    tree = tree.tree_
    if tree.n_classes[0] == 1:
        return tree, np.full(tree.node_count, 0.5), rows
    weights = tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None]
    one_row = 0.5 / len(drawn[0])
    votes = (weights[:, 1] + one_row) / (weights.sum(axis=1) + 2 * one_row)
    return tree, votes, rows
