"""How long `astralearn reproduce` takes, from a part of it, and how long an idiomatic PyTorch loop would take for the same epochs.

Each problem and method trains two folds per core for half of the epochs, which are compiled as thoroughly as all of them; times grow in
proportion to folds and epochs, except for compiling, which is measured apart and counted once for each process, problem and method. The
PyTorch loop of benchmarks/engine.py runs on rows of each problem's size.

    python benchmarks/reproduce.py        (needs the data: see `astralearn data list`)
"""

from __future__ import annotations

import sys
import time

sys.path.append(sys.path.pop(0))  # benchmarks/torch.py lies beside this script; looked for last, it does not hide PyTorch
import joblib
import numpy as np

from astralearn import datasets
from astralearn.methods import paper_ladder
from astralearn.study.method import Method
from astralearn.study.paper import PROTOCOL
from astralearn.study.splits import Split, make_splits
from engine import torch_epochs

PART = 2
PROMISED = 15  # minutes


def seconds(problem: datasets.Problem, method: Method, splits: list[Split], epochs: int) -> float:
    model = method.estimator.set_params(epochs=epochs, burn_in=epochs // 10, random_state=0)
    started = time.perf_counter()
    model.fit_many(np.asarray(problem.X, float), problem.y, [(s.train, s.validation, s.test) for s in splits])
    return time.perf_counter() - started


def main() -> None:
    cores, folds = joblib.cpu_count(), PROTOCOL.folds * PROTOCOL.repetitions
    short = PROTOCOL.epochs // PART
    ours = theirs = 0.0
    print(f"{folds} folds × {PROTOCOL.epochs:,} epochs, {cores} cores; ms per network and epoch")
    for problem in map(datasets.load, PROTOCOL.problems):
        splits = make_splits(problem, folds=PROTOCOL.folds, repetitions=1, seed=0)[: 2 * cores]
        train, validation = len(splits[0].train), len(splits[0].validation)
        torch_epoch = torch_epochs(50, sizes=(train, validation), features=problem.features, hidden=-(-(problem.features + 1) // 2))
        for method in paper_ladder(PROTOCOL):
            first, again = (seconds(problem, method, splits, short) for _ in range(2))
            epoch = again / len(splits) / short
            speeds = f"PyTorch {torch_epoch * 1e3:.2f}, ours {epoch * 1e3:.3f}"
            print(f"{problem.name:10} {method.name:10} {speeds}, compiling {first - again:.1f} s", flush=True)
            ours += epoch * folds * PROTOCOL.epochs + 2 * max(0.0, first - again)
            theirs += torch_epoch * folds * PROTOCOL.epochs
    print(f"astralearn reproduce: about {ours / 60:.1f} min; the PyTorch loop {theirs / 3600:.1f} h, {theirs / ours:.0f} times as long")
    assert ours <= PROMISED * 60, f"promised: at most {PROMISED} minutes"


if __name__ == "__main__":
    main()
