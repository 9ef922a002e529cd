"""Time per round with our objectives against the library's built-in binary objective, side by side in one run.

    python benchmarks/boosting.py [--rows 1000000] [--rounds 10]

All are trained on the same binned data, in turns, on one thread, timed by the processor time that they use, and the best turn counts: so
a busy machine does not decide the ratio. Asserts at most 1.3 times the built-in objective. GMN weighs both classes alike and grows trees
whose splits share out more rows than those of a built-in objective that sees 1 % of positives: it is held to the built-in objective
with `scale_pos_weight`, which grows the same kind of trees. Both ratios are printed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import lightgbm as lgb
import numpy as np
import xgboost as xgb

from astralearn.boosting import ASTraObjective, ConfusionObjective, LightGBMObjective, Objective, XGBoostObjective
from astralearn.boosting.start import start_score

LIMIT = 1.3
FEATURES = 20
BUILT_IN, BALANCED = "built-in", "built-in, balanced"
HELD_TO = {"ASTra (BCE)": BUILT_IN, "GMN": BALANCED, "GMN-ASTra": BALANCED}
OBJECTIVES = {
    "ASTra (BCE)": lambda: ASTraObjective(n_threads=1),
    "GMN": lambda: ConfusionObjective("gmn", n_threads=1),
    "GMN-ASTra": lambda: ConfusionObjective("gmn", activation="astra", n_threads=1),
}


def data(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, FEATURES)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=rows)
    return X, (signal > np.quantile(signal, 0.99)).astype(np.float32)


def seconds(train: Callable[[int], object], rounds: int) -> float:
    """Per round, without what is done once: the difference between a short training and a longer one."""
    begun = time.process_time()
    train(1)
    short = time.process_time()
    train(1 + rounds)
    return (time.process_time() - short - (short - begun)) / rounds


def lightgbm_trainings(X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[int], object]]:
    binned = lgb.Dataset(X, y, params={"verbose": -1}).construct()

    def with_objective(objective: object) -> Callable[[int], object]:
        return lambda rounds: lgb.train({"verbose": -1, "num_threads": 1, "objective": objective}, binned, rounds)

    ours = {name: with_objective(LightGBMObjective(make())) for name, make in OBJECTIVES.items()}
    balanced = {"verbose": -1, "num_threads": 1, "objective": "binary", "scale_pos_weight": 99.0}
    return {BUILT_IN: with_objective("binary"), BALANCED: lambda rounds: lgb.train(balanced, binned, rounds), **ours}


def xgboost_trainings(X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[int], object]]:
    binned = xgb.QuantileDMatrix(X, y, nthread=1)
    params = {"objective": "binary:logistic", "tree_method": "hist", "nthread": 1}

    def ours(make: Callable[[], Objective]) -> Callable[[int], object]:
        # Each starts where its classifier would: the loss's best constant.
        objective = make()
        start = {"base_score": float(1 / (1 + np.exp(-start_score(objective.loss, y, None, objective.slope))))}
        return lambda rounds: xgb.train({**params, **start}, binned, rounds, obj=XGBoostObjective(make()))

    built_in = {BUILT_IN: params, BALANCED: {**params, "scale_pos_weight": 99.0}}
    baselines = {name: lambda rounds, p=p: xgb.train(p, binned, rounds) for name, p in built_in.items()}
    return {**baselines, **{name: ours(make) for name, make in OBJECTIVES.items()}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--turns", type=int, default=4)
    asked = parser.parse_args()
    X, y = data(asked.rows)
    print(f"{asked.rows:,} rows x {FEATURES} features, {int(y.sum()):,} positives, best of {asked.turns} turns of {asked.rounds} rounds")
    too_slow = []
    for library, trainings in (("LightGBM", lightgbm_trainings(X, y)), ("XGBoost", xgboost_trainings(X, y))):
        best = dict.fromkeys(trainings, np.inf)
        for _ in range(asked.turns):
            for name, train in trainings.items():
                best[name] = min(best[name], seconds(train, asked.rounds))
        print(f"\n{library:20} {'ms per round':>14} {'to built-in':>12} {'to balanced':>12}")
        for name, duration in best.items():
            print(f"{name:20} {duration * 1e3:14.1f} {duration / best[BUILT_IN]:12.2f} {duration / best[BALANCED]:12.2f}", flush=True)
            ratio = duration / best[HELD_TO.get(name, name)]
            if ratio > LIMIT:
                too_slow.append(f"{library} {name}: {ratio:.2f}")
    assert not too_slow, f"slower than {LIMIT} times the built-in objective: {', '.join(too_slow)}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
