"""Time per round with our objectives against the library's built-in one, side by side.

    python benchmarks/boosting.py [--rows 1000000] [--rounds 10] [--turns 5]

All are trained on the same binned data, in turns, on one thread, timed round by round in the
processor time that they use. Training is deterministic, so a round is the same work in every turn,
and its least time over the turns counts: a busy machine does not decide the ratio. The first round,
which also sets up and compiles, is left out. "replayed" is XGBoost with the gradients that an
objective gave before: what a round would take if the objective cost nothing; "unshared" is XGBoost
under the curvature as it is.

Asserts at most 1.3 times the built-in objective. Each objective grows its own trees. So beside the
time stand the time spent in the objective itself, the leaves per round and the rows that its splits
share out, and, as information only, the built-in objective with balanced classes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest import mock

import lightgbm as lgb
import numpy as np
import xgboost as xgb

from astralearn.boosting import (
    ASTraObjective,
    ConfusionObjective,
    LightGBMObjective,
    Objective,
    XGBoostObjective,
    training,
)

LIMIT = 1.3
FEATURES = 20
BUILT_IN, BALANCED = "built-in", "built-in, balanced"
OBJECTIVES: dict[str, Callable[[], Objective]] = {
    "ASTra (BCE)": lambda: ASTraObjective(n_threads=1),
    "GMN": lambda: ConfusionObjective("gmn", n_threads=1),
    "GMN-ASTra": lambda: ConfusionObjective("gmn", activation="astra", n_threads=1),
}


class Rounds(NamedTuple):
    """What one training took.

    seconds, inside: of each round but the first, and those of them inside the objective.
    leaves: of the model.
    shared: rows of one child of every split, which a histogram is built from: LightGBM takes the
        child with fewer rows, XGBoost the one with less curvature.
    """

    seconds: np.ndarray
    inside: np.ndarray
    leaves: int
    shared: int


class Timed:
    """An objective that notes how long each of its calls took."""

    def __init__(self, objective: Callable[..., Any]) -> None:
        self.objective = objective
        self.seconds: list[float] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> Timed:
        return self  # lgb.train copies its parameters

    def __call__(self, *arguments: Any) -> Any:
        begun = time.process_time()
        result = self.objective(*arguments)
        self.seconds.append(time.process_time() - begun)
        return result


class Recorded:
    """An objective that keeps what another one answers."""

    def __init__(self, objective: Callable[..., Any]) -> None:
        self.objective = objective
        self.answers: list[Any] = []

    def __call__(self, *arguments: Any) -> Any:
        self.answers.append(self.objective(*arguments))
        return self.answers[-1]


def data(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, FEATURES)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=rows)
    return X, (signal > np.quantile(signal, 0.99)).astype(np.float32)


def timed(train: Callable[[list[float]], tuple[int, int]], objective: Timed | None) -> Rounds:
    ends: list[float] = []
    leaves, shared = train(ends)
    inside = np.asarray(objective.seconds[1:]) if objective else np.zeros(len(ends) - 1)
    return Rounds(np.diff(ends), inside, leaves, shared)


def lightgbm_trainings(
    X: np.ndarray, y: np.ndarray, rounds: int
) -> dict[str, Callable[[], Rounds]]:
    binned = lgb.Dataset(X, y, params={"verbose": -1}).construct()

    def run(**params: Any) -> Rounds:
        def train(ends: list[float]) -> tuple[int, int]:
            callback = [lambda _: ends.append(time.process_time())]
            booster = lgb.train(
                {"verbose": -1, "num_threads": 1, **params}, binned, 1 + rounds, callbacks=callback
            )
            nodes = booster.trees_to_dataframe()
            count = nodes.set_index("node_index")["count"]
            splits = nodes[nodes["split_feature"].notna()]
            smaller = np.minimum(
                count[splits["left_child"]].to_numpy(), count[splits["right_child"]].to_numpy()
            )
            return len(nodes) - len(splits), int(smaller.sum())

        return timed(train, params["objective"] if isinstance(params["objective"], Timed) else None)

    return {
        BUILT_IN: lambda: run(objective="binary"),
        BALANCED: lambda: run(objective="binary", scale_pos_weight=99.0),
        **{
            name: lambda make=make: run(objective=Timed(LightGBMObjective(make())))
            for name, make in OBJECTIVES.items()
        },
    }


class Ends(xgb.callback.TrainingCallback):
    def __init__(self, ends: list[float]) -> None:
        super().__init__()
        self.ends = ends

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:  # noqa: ARG002 (XGBoost's signature)
        self.ends.append(time.process_time())
        return False


def xgboost_trainings(X: np.ndarray, y: np.ndarray, rounds: int) -> dict[str, Callable[[], Rounds]]:
    binned = xgb.QuantileDMatrix(X, y, nthread=1)

    def run(objective: Timed | None = None, **params: Any) -> Rounds:
        def train(ends: list[float]) -> tuple[int, int]:
            settings = {
                "objective": "binary:logistic",
                "tree_method": "hist",
                "nthread": 1,
                **params,
            }
            booster = xgb.train(settings, binned, 1 + rounds, obj=objective, callbacks=[Ends(ends)])
            return sum(tree.count("leaf=") for tree in booster.get_dump()), shared_out(booster, X)

        return timed(train, objective)

    def start(objective: Objective) -> float:
        """Each starts where its classifier would: at the loss's best constant."""
        return float(1 / (1 + np.exp(-objective.best_constant(y))))

    def ours(make: Callable[[], Objective]) -> Rounds:
        objective = make()
        return run(Timed(XGBoostObjective(objective)), base_score=start(objective))

    def unshared(make: Callable[[], Objective]) -> Rounds:
        with mock.patch.object(training, "SHARED", 0.0):
            return ours(make)

    def replayed(make: Callable[[], Objective]) -> Rounds:
        objective = make()
        begin, recorded = start(objective), Recorded(XGBoostObjective(objective))
        run(Timed(recorded), base_score=begin)
        answers = iter(recorded.answers)
        return run(Timed(lambda *_: next(answers)), base_score=begin)

    return {
        BUILT_IN: run,
        BALANCED: lambda: run(scale_pos_weight=99.0),
        **{name: lambda make=make: ours(make) for name, make in OBJECTIVES.items()},
        **{
            f"{name}, replayed": lambda make=make: replayed(make)
            for name, make in OBJECTIVES.items()
        },
        **{
            f"{name}, unshared": lambda make=make: unshared(make)
            for name, make in OBJECTIVES.items()
        },
    }


def shared_out(booster: xgb.Booster, X: np.ndarray) -> int:
    """Rows shared out by XGBoost's trees, which keep no counts: a tenth counted, times ten."""
    leaves = booster.predict(xgb.DMatrix(X[::10]), pred_leaf=True).astype(int)
    total = 0
    for tree, nodes in booster.trees_to_dataframe().groupby("Tree"):
        count = np.bincount(leaves[:, tree], minlength=int(nodes["Node"].max()) + 1)
        curvature = nodes.set_index("ID")["Cover"]
        splits = nodes[nodes["Feature"] != "Leaf"].sort_values("Node", ascending=False)
        for node, yes, no in splits[["Node", "Yes", "No"]].itertuples(index=False):
            children = {child: count[int(child.split("-")[1])] for child in (yes, no)}
            count[node] = sum(children.values())
            total += children[no if curvature[no] < curvature[yes] else yes]
    return 10 * int(total)


def least(turns: list[Rounds]) -> tuple[float, float, float, float]:
    """Per round: milliseconds, those inside the objective, leaves, millions of rows shared out."""
    seconds, inside = (
        np.min([getattr(turn, name) for turn in turns], axis=0).mean()
        for name in ("seconds", "inside")
    )
    rounds = 1 + len(turns[0].seconds)
    return (
        1e3 * float(seconds),
        1e3 * float(inside),
        turns[0].leaves / rounds,
        1e-6 * turns[0].shared / rounds,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--library", choices=("LightGBM", "XGBoost"), default=None)
    asked = parser.parse_args()
    X, y = data(asked.rows)
    print(
        f"{asked.rows:,} rows x {FEATURES} features, {int(y.sum()):,} positives, "
        f"{asked.rounds} rounds, best of {asked.turns} turns"
    )
    too_slow = []
    for library, prepare in (("LightGBM", lightgbm_trainings), ("XGBoost", xgboost_trainings)):
        if asked.library not in (None, library):
            continue
        trainings = prepare(X, y, asked.rounds)
        turns: dict[str, list[Rounds]] = {name: [] for name in trainings}
        for _ in range(asked.turns):
            for name, train in trainings.items():
                turns[name].append(train())
        built_in = least(turns[BUILT_IN])[0]
        print(
            f"\n{library:22} {'ms per round':>12} {'ratio':>6} {'in objective':>13} "
            f"{'leaves':>8} {'rows shared out':>16}"
        )
        for name, of in turns.items():
            ms, inside, leaves, shared = least(of)
            own = f"{inside:.1f}" if name in OBJECTIVES else ""
            print(
                f"{name:22} {ms:12.1f} {ms / built_in:6.2f} {own:>13} "
                f"{leaves:8.1f} {shared:14.2f} M",
                flush=True,
            )
            if name in OBJECTIVES and ms > LIMIT * built_in:
                too_slow.append(f"{library} {name}: {ms / built_in:.2f}")
    assert not too_slow, f"slower than {LIMIT} times the built-in objective: {', '.join(too_slow)}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
