"""How long `astralearn reproduce` takes, from a part of it, and how long an idiomatic PyTorch loop would take for the same epochs.

`reproduce` trains stacks of folds, one on each core. Here each problem and method trains as many at once, for few epochs, compiled as
thoroughly as if for all of them. The difference between two numbers of epochs is the time of an epoch; what else a fit takes, compiling
included, is counted once for each stack. The PyTorch loop of benchmarks/engine.py runs on rows of each problem's size.

    python benchmarks/reproduce.py        (needs the data: see `astralearn data list`)
"""

from __future__ import annotations

import sys
import time

sys.path.append(
    sys.path.pop(0)
)  # benchmarks/torch.py lies beside this script; looked for last, it does not hide PyTorch
import joblib
import numpy as np

from astralearn import datasets
from astralearn.engine import epoch, training
from astralearn.methods import paper_ladder
from astralearn.study.method import Method
from astralearn.study.paper import PROTOCOL
from astralearn.study.splits import Split, make_splits
from engine import torch_epochs

FEW, MORE = 100, 700  # epochs
PROMISED = 15  # minutes


def seconds(problem: datasets.Problem, method: Method, splits: list[Split], epochs: int) -> float:
    model = method.estimator.set_params(epochs=epochs, burn_in=epochs // 10, random_state=0)
    started = time.perf_counter()
    model.fit_many(
        np.asarray(problem.X, float), problem.y, [(s.train, s.validation, s.test) for s in splits]
    )
    return time.perf_counter() - started


def main() -> None:
    training.LONG = epoch.LONG = 0  # compile as for many epochs
    cores, folds = joblib.cpu_count(), PROTOCOL.folds * PROTOCOL.repetitions
    ours = theirs = 0.0
    print(f"{folds} folds × {PROTOCOL.epochs:,} epochs, {cores} cores; ms per network and epoch")
    for problem in map(datasets.load, PROTOCOL.problems):
        splits = make_splits(
            problem, folds=PROTOCOL.folds, repetitions=PROTOCOL.repetitions, seed=0
        )[: training.GROUP * cores]
        train, validation = len(splits[0].train), len(splits[0].validation)
        torch_epoch = torch_epochs(
            50,
            sizes=(train, validation),
            features=problem.features,
            hidden=-(-(problem.features + 1) // 2),
        )
        for method in paper_ladder(PROTOCOL):
            first, few, more = (
                seconds(problem, method, splits, epochs) for epochs in (FEW, FEW, MORE)
            )
            per_epoch = (more - few) / (MORE - FEW) / len(splits)
            beside = first - FEW * per_epoch * len(splits)
            speeds = f"PyTorch {torch_epoch * 1e3:.2f}, ours {per_epoch * 1e3:.3f}, beside epochs {beside:.1f} s"
            print(f"{problem.name:10} {method.name:10} {speeds}", flush=True)
            ours += per_epoch * folds * PROTOCOL.epochs + beside
            theirs += torch_epoch * folds * PROTOCOL.epochs
    print(
        f"astralearn reproduce: about {ours / 60:.1f} min; the PyTorch loop {theirs / 3600:.1f} h, {theirs / ours:.0f} times as long"
    )
    assert ours <= PROMISED * 60, f"promised: at most {PROMISED} minutes"


if __name__ == "__main__":
    main()
