"""One of the processes that train together, beside a Dask worker.

`python -m astralearn.dask.process <folder>`: the folder holds a job and the rows. The first process
leaves the fitted classifier there; one that fails leaves its error. Standard input is its leash:
where that ends, or nothing comes for PATIENCE seconds, so does the process, whatever it does.
"""

from __future__ import annotations

import os
import pickle
import select
import sys
import threading
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

JOB, ERROR, RESULT, LOG = "job", "error", "result", "log"
PATIENCE = 60.0
START = 120  # seconds for all processes to meet
HEARTBEAT = 20  # seconds without one after which a machine is lost


class Job(NamedTuple):
    """What a process does.

    labels: that codes stand for.
    names: of the features, or None.
    coordinator: where the processes meet.
    number: of this process, of `n_processes`.
    devices: how many cores it takes.
    """

    model: Any
    n_rows: int
    n_features: int
    dtype: np.dtype[Any]
    labels: np.ndarray
    names: tuple[str, ...] | None
    validation: Any
    coordinator: str
    number: int
    n_processes: int
    devices: int


class Files(NamedTuple):
    """The rows of one process on its disk."""

    folder: Path

    def write(self, start: int, X: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> None:
        """Rows from the `start`-th on; several may write at once."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, rows in (("X", X), ("codes", codes), ("weight", weight)):
            file = os.open(self.folder / name, os.O_CREAT | os.O_WRONLY)
            with os.fdopen(file, "wb") as out:
                out.seek(start * rows[:1].nbytes)
                out.write(np.ascontiguousarray(rows).data)

    def read(self, job: Job) -> tuple[Any, np.ndarray, np.ndarray]:
        """X, which stays on the disk as far as memory is short, y and weights."""
        shape = (job.n_rows, job.n_features)
        X: Any = np.memmap(self.folder / "X", job.dtype, "r", shape=shape)
        if job.names is not None:
            import pandas as pd

            X = pd.DataFrame(X, columns=list(job.names), copy=False)
        y = job.labels[np.fromfile(self.folder / "codes", np.uint8)]
        return X, y, np.fromfile(self.folder / "weight", np.float64)


def run(folder: Path, job: Job) -> None:
    """Train with the others; the first process writes what came out."""
    import jax

    # XLA's threads are those of all cores otherwise, and those of other workers' processes as well.
    os.environ["NPROC"] = str(job.devices)
    if not os.environ.get("JAX_PLATFORMS"):
        jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.config.update("jax_num_cpu_devices", job.devices)
    jax.distributed.initialize(
        job.coordinator,
        job.n_processes,
        job.number,
        initialization_timeout=START,
        heartbeat_timeout_seconds=HEARTBEAT,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        job.model.fit(*Files(folder).read(job), job.validation)
    if job.number == 0:
        said = [(str(one.message), one.category) for one in caught if _is_ours(one)]
        _leave(folder / RESULT, (job.model, said))


def _is_ours(warning: warnings.WarningMessage) -> bool:
    return issubclass(warning.category, UserWarning) and "astralearn" in warning.filename


def _leave(path: Path, value: Any) -> None:
    """A file that is there only when it is whole."""
    beside = path.with_suffix(".part")
    beside.write_bytes(pickle.dumps(value))
    beside.rename(path)


def _on_a_leash() -> None:
    while select.select([sys.stdin], [], [], PATIENCE)[0] and os.read(0, 1024):
        pass
    os._exit(1)


def main() -> None:
    folder = Path(sys.argv[1])
    threading.Thread(target=_on_a_leash, daemon=True).start()
    try:
        run(folder, pickle.loads((folder / JOB).read_bytes()))
    except BaseException as error:
        _leave(folder / ERROR, (type(error).__name__, str(error)))
        os._exit(1)
    # JAX would wait for the others to end, which the client sees to.
    os._exit(0)


if __name__ == "__main__":
    main()
