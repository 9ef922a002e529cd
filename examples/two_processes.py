"""One fit over the rows of two processes, started without Dask.

On a cluster the launcher starts the processes: under SLURM, Open MPI, Kubernetes and on TPU pods
`jax.distributed.initialize()` finds the others by itself. Here this script starts itself twice.

    python examples/two_processes.py
"""

import socket
import subprocess
import sys

import jax
import numpy as np
from jax.experimental.multihost_utils import process_allgather

from astralearn import ASTraClassifier

N_PROCESSES = 2


def rows_of(number: int) -> tuple[np.ndarray, np.ndarray]:
    """What a process would read from its own files: here all positives are with the first."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(60_000, 4))
    y = np.zeros(len(X), int)
    if number == 0:
        y[:50] = 1
        X[:50] += 2
    return X, y


def main(number: int, meeting_point: str) -> None:
    jax.config.update("jax_platforms", "cpu")
    jax.distributed.initialize(meeting_point, N_PROCESSES, number)

    # The same call in every process, each with its own rows. `committee=False` trains networks on
    # every row; the default draws its pool of rows from all processes.
    settings = {"committee": False, "n_estimators": 2, "epochs": 100, "learning_rate": 0.001}
    model = ASTraClassifier(random_state=0, **settings).fit(*rows_of(number))

    everyone = process_allgather(model.coefs_)
    if number == 0:
        are_the_same = bool((everyone == everyone[0]).all())
        print(
            f"{N_PROCESSES} processes, {N_PROCESSES * 60_000} rows, the same networks in both: "
            f"{are_the_same}"
        )
        compare(model, settings)


def compare(model: ASTraClassifier, settings: dict) -> None:
    """With the fit of all rows in one place."""
    from astralearn.classifier.processes import alone

    parts = [rows_of(number) for number in range(N_PROCESSES)]
    X, y = (np.concatenate(of_all) for of_all in zip(*parts, strict=True))
    with alone():
        one = ASTraClassifier(random_state=0, **settings).fit(X, y)
    print(f"the networks of one process: {bool((model.coefs_ == one.coefs_).all())}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(int(sys.argv[1]), sys.argv[2])
    else:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            meeting_point = f"127.0.0.1:{free.getsockname()[1]}"
        script = [sys.executable, __file__]
        processes = [
            subprocess.Popen([*script, str(number), meeting_point]) for number in range(N_PROCESSES)
        ]
        sys.exit(max(process.wait() for process in processes))
