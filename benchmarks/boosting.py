"""Time per round with our objectives against the library's built-in binary objective, side by side in one run.

    python benchmarks/boosting.py [--rows 1000000] [--rounds 10]

All are trained on the same binned data, in turns, on one thread, timed by the processor time that they use, and the best turn counts: so
a busy machine does not decide the ratio. Asserts the promise of docs/boosting.md: at most 1.3 times the built-in objective.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import lightgbm as lgb
import numpy as np
import xgboost as xgb

from astralearn.boosting import ASTraObjective, ConfusionObjective, LightGBMObjective, XGBoostObjective

LIMIT = 1.3
FEATURES = 20
OBJECTIVES = {
    "ASTra (BCE)": lambda: ASTraObjective(n_threads=1),
    "GMN": lambda: ConfusionObjective("gmn", n_threads=1),
    "GMN-ASTra": lambda: ConfusionObjective("gmn", activation="astra", n_threads=1),
}


def data(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """A tenth is positive: with fewer, the built-in objective grows one-sided trees that are cheap, and trees, not objectives, are timed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, FEATURES)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=rows)
    return X, (signal > np.quantile(signal, 0.9)).astype(np.float32)


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
    return {"built-in": with_objective("binary"), **ours}


def xgboost_trainings(X: np.ndarray, y: np.ndarray) -> dict[str, Callable[[int], object]]:
    binned = xgb.QuantileDMatrix(X, y, nthread=1)
    params = {"objective": "binary:logistic", "tree_method": "hist", "nthread": 1}

    def ours(make: Callable[[], object]) -> Callable[[int], object]:
        return lambda rounds: xgb.train({**params, "base_score": 0.5}, binned, rounds, obj=XGBoostObjective(make()))

    return {"built-in": lambda rounds: xgb.train(params, binned, rounds), **{name: ours(make) for name, make in OBJECTIVES.items()}}


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
        print(f"\n{library:12} {'ms per round':>14} {'ratio':>7}")
        for name, duration in best.items():
            ratio = duration / best["built-in"]
            print(f"{name:12} {duration * 1e3:14.1f} {ratio:7.2f}")
            if ratio > LIMIT:
                too_slow.append(f"{library} {name}: {ratio:.2f}")
    assert not too_slow, f"slower than {LIMIT} times the built-in objective: {', '.join(too_slow)}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
