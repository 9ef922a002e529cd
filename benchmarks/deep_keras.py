"""The recipe for a rare class in Keras, on each backend, beside PyTorch's, on one problem.

    python benchmarks/deep_keras.py run [torch jax …]   # Keras's backends; "pytorch" is no Keras
    python benchmarks/deep_keras.py page                # the table of docs/keras.md

The problem, the draws and the network are those of deep.py: a table of 16 columns, an MLP of three
layers. Weights start alike in distribution, not in value, so that scores agree within noise.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Python looks beside a script first, where torch.py and keras.py are benchmarks of that name.
HERE = str(Path(__file__).parent.resolve())
sys.path[:] = [entry for entry in sys.path if str(Path(entry or ".").resolve()) != HERE] + [HERE]

# ruff: noqa: E402
import argparse
import subprocess

import numpy as np
from scipy.stats import wilcoxon

from deep import judge
from deep_methods import BATCH, HELD_OUT, OURS, POSITIVES, RATE, STEPS, Judged, run
from deep_tasks import WIDTH, Draw, Task, draw
from records import RESULTS, put, read_rows, write_rows

RECORDS = RESULTS / "deep_keras.csv.gz"
COLUMNS = ["backend", "draw", "average_precision", "g_mean"]
PAGE = Path(__file__).parents[1] / "docs" / "keras.md"
TASK, K, DRAWS = Task("penbased", 1, "mlp"), 20, range(10)
PYTORCH = "pytorch"
BACKENDS = (PYTORCH, "torch", "jax", "tensorflow")


def network(columns: int) -> list:
    """The MLP of deep_tasks.py, with PyTorch's start of the weights."""
    import keras

    def dense(units: int, activation: str | None = None) -> keras.layers.Layer:
        uniform = keras.initializers.VarianceScaling(1 / 3, "fan_in", "uniform")
        return keras.layers.Dense(units, activation, kernel_initializer=uniform)

    widths = (64, WIDTH, WIDTH)
    return [keras.Input((columns,)), *(dense(width, "relu") for width in widths), dense(1)]


def in_keras(rows: Draw, seed: int) -> Judged:
    """The recipe as docs/keras.md has it."""
    import keras

    from astralearn.keras import (
        AdjustedCrossentropy,
        SlopeRateOptimizer,
        StratifiedBatches,
        decide,
        rare_head,
        rare_weight_decay,
    )

    keras.utils.set_random_seed(seed)
    x, y = rows.x.numpy(), rows.y.numpy()
    left_out = np.flatnonzero(y == 0)[::HELD_OUT]
    learn = np.setdiff1d(np.arange(len(y)), left_out)
    model = keras.Sequential([*network(x.shape[1]), rare_head(y)])
    inner = keras.optimizers.AdamW(RATE, weight_decay=rare_weight_decay(y))
    model.compile(SlopeRateOptimizer(inner), loss=AdjustedCrossentropy())
    batches = StratifiedBatches(
        x[learn], y[learn, None], batch_size=BATCH, positives_per_batch=POSITIVES, seed=seed
    )
    model.fit(batches, epochs=round(STEPS / len(batches)), verbose=0)
    deciding = np.union1d(left_out, np.flatnonzero(y == 1))
    cut = decide(model, x[deciding], y[deciding], "g_mean", seen=True, prior=float(y.mean()))
    scores = np.asarray(model.predict(rows.x_test.numpy(), batch_size=1_000, verbose=0))
    return Judged(scores.reshape(-1).astype(float), cut.score)


def measure(backend: str) -> None:
    """Run one backend's draws, which its own process has been set to, and keep them."""
    import torch

    torch.set_num_threads(1)
    found = []
    for number in DRAWS:
        data = draw(TASK, K, number)
        judged = run(OURS, TASK, data, number) if backend == PYTORCH else in_keras(data, number)
        scores = judge(judged, data, K)
        texts = {name: f"{scores[name]:.4g}" for name in COLUMNS[2:]}
        found.append({"backend": backend, "draw": str(number), **texts})
        print(backend, number, texts, flush=True)
    rows = [row for row in read_rows(RECORDS) if row["backend"] != backend] + found
    rows.sort(key=lambda row: (BACKENDS.index(row["backend"]), int(row["draw"])))
    write_rows(RECORDS, COLUMNS, rows)


def table() -> str:
    """Per backend: mean and standard deviation over the draws, and the difference from PyTorch."""
    lines = [
        "| RareHead's recipe | average precision | − PyTorch's (p) | G-Mean | − PyTorch's (p) |",
        "|---|---:|---:|---:|---:|",
    ]
    of_backend: dict[str, list[dict[str, str]]] = {}
    for row in sorted(read_rows(RECORDS), key=lambda row: int(row["draw"])):
        of_backend.setdefault(row["backend"], []).append(row)
    for backend in (each for each in BACKENDS if each in of_backend):
        cells = ["PyTorch itself" if backend == PYTORCH else f"Keras on {backend}"]
        for score in COLUMNS[2:]:
            found, base = (
                np.array([float(row[score]) for row in of_backend[each]])
                for each in (backend, PYTORCH)
            )
            cells.append(f"{found.mean():.3f} ± {found.std(ddof=1):.3f}")
            gaps = found - base
            p = wilcoxon(gaps).pvalue if gaps.any() else 1.0
            cells.append("" if backend == PYTORCH else f"{gaps.mean():+.3f} ({p:.2g})")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "measure", "page"))
    parser.add_argument("backends", nargs="*", default=list(BACKENDS))
    arguments = parser.parse_args()
    if arguments.what == "page":
        put(PAGE, "benchmarks/deep_keras.py page", table())
        return 0
    failed = 0
    for backend in arguments.backends:
        if arguments.what == "measure":
            measure(backend)
            continue
        environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "2"}
        if backend == PYTORCH:
            environment.pop("KERAS_BACKEND")
        command = [sys.executable, __file__, "measure", backend]
        failed += subprocess.run(command, env=environment, check=False).returncode != 0
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
