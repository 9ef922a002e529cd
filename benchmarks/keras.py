"""What ASTra, GMN and the slope's own learning rate cost in Keras's fit(): time per step beside
BinaryCrossentropy(from_logits=True).

    python benchmarks/keras.py                     every installed backend, each in its own process;
                                                   exits with 1 if a promise is missed
    python benchmarks/keras.py jax                 one backend

The same small model (10 inputs, 32 and 16 units) and the same batches of 512 rows; ours adds the
layer, the loss and the optimizer around Adam. Both models train in turn for half a minute, a
hundred steps at a time, so that whatever else the machine does falls on both; the ratio is the
median over these pairs. Only train_on_batch's step is timed, through fit() on data in memory,
without metrics.
"""

import sys
from pathlib import Path

# ruff: noqa: E402
# This file is called keras, and Python looks beside a script first: without this line `import
# keras` would find the script itself.
sys.path[:] = [
    entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent
]

import importlib.util
import os
import statistics
import subprocess
import time

BACKENDS = ("tensorflow", "jax", "torch")
LIMIT = 1.3
ROWS, BATCH, SECONDS = 51_200, 512, 30


def models():
    import keras

    from astralearn.keras import ASTra, GMNLoss, SlopeRateOptimizer

    def layers():
        return [
            keras.Input((10,)),
            keras.layers.Dense(32, "relu"),
            keras.layers.Dense(16, "relu"),
            keras.layers.Dense(1),
        ]

    plain, ours = keras.Sequential(layers()), keras.Sequential([*layers(), ASTra()])
    plain.compile(
        keras.optimizers.Adam(1e-3), loss=keras.losses.BinaryCrossentropy(from_logits=True)
    )
    ours.compile(SlopeRateOptimizer(keras.optimizers.Adam(1e-3)), loss=GMNLoss())
    return {"BCE": plain, "ASTra + GMN": ours}


def measure() -> int:
    """Prints the time per step of both and their ratio; 1 if it is above the limit."""
    import keras
    import numpy as np

    rng = np.random.default_rng(0)
    y = (rng.random(ROWS) < 0.02).astype("float32")
    x = (rng.normal(size=(ROWS, 10)) + y[:, None]).astype("float32")
    contenders = models()
    for model in contenders.values():  # compiles
        model.fit(x, y, batch_size=BATCH, epochs=1, verbose=0, shuffle=False)
    rounds = {name: [] for name in contenders}
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for name, model in contenders.items():
            start = time.perf_counter()
            model.fit(x, y, batch_size=BATCH, epochs=1, verbose=0, shuffle=False)
            rounds[name].append((time.perf_counter() - start) / (ROWS / BATCH) * 1000)
    ratio = statistics.median(
        ours / plain for plain, ours in zip(rounds["BCE"], rounds["ASTra + GMN"], strict=True)
    )
    times = ", ".join(f"{name} {statistics.median(each):.2f} ms" for name, each in rounds.items())
    print(
        f"{keras.config.backend():12}{times}: {ratio:.2f} (at most {LIMIT}) "
        f"{'MISSED' if ratio > LIMIT else 'held'}",
        flush=True,
    )
    return int(ratio > LIMIT)


def main() -> int:
    if os.environ.get("ASTRALEARN_BENCHMARK") == "inside":
        return measure()
    missed = 0
    for backend in sys.argv[1:] or [name for name in BACKENDS if importlib.util.find_spec(name)]:
        environment = {
            **os.environ,
            "KERAS_BACKEND": backend,
            "ASTRALEARN_BENCHMARK": "inside",
            "TF_CPP_MIN_LOG_LEVEL": "2",
        }
        environment["OMP_NUM_THREADS"] = (
            "1"  # PyTorch would spend its time waiting for a second core that others hold
        )
        missed += subprocess.run(
            [sys.executable, __file__], env=environment, check=False
        ).returncode
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
