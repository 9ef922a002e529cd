"""Networks that train on every row, in processes beside Dask's workers.

Each worker writes its share of the rows to its disk and starts one process (`dask.process`), which
trains with those of the others under `jax.distributed`. A worker's own JAX, if it has any, is left
alone, and a process that fails takes no worker with it. The client asks after all of them once in a
while; a process that nobody asks after ends.
"""

from __future__ import annotations

import contextlib
import pickle
import shutil
import socket
import subprocess
import sys
import time
import uuid
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import dask
import distributed
import numpy as np

from astralearn.classifier.left_whole import left_whole
from astralearn.classifier.shard_fit import End, Spread
from astralearn.classifier.shards import Piece, whole_piece
from astralearn.dask.partitions import Partitions
from astralearn.dask.process import ERROR, JOB, LOG, RESULT, Files, Job

if TYPE_CHECKING:
    from astralearn.dask.estimator import DaskASTraClassifier

ASK_EVERY = 0.5  # seconds
# The processes of the workers here, by fit and worker.
_running: dict[tuple[str, str], subprocess.Popen[bytes]] = {}


class WorkerLostError(RuntimeError):
    """A worker, or its process, ended during a fit."""


class Share(NamedTuple):
    """What one worker trains on.

    partitions: their numbers.
    starts: the row at which each of them begins.
    """

    worker: str
    partitions: list[int]
    starts: list[int]
    n_rows: int


def fit_in_workers(
    model: DaskASTraClassifier, spread: Spread[Partitions], validation: Sequence[Any] | None
) -> End:
    """Fit networks to the rows of all partitions where they are.

    validation: as for `ASTraClassifier.fit`.
    """
    client = _client()
    with left_whole(model):
        # All that can be refused is refused before a process starts.
        spread.settled(model, is_settled=bool(model.warm_start and model._earlier()))
        fit = f"astralearn-{uuid.uuid4().hex}"
        shares = dealt(spread, sorted(client.nthreads()))
        try:
            _write_rows(client, spread, shares, fit)
            _start(client, model, spread, shares, validation, fit)
            fitted, said = pickle.loads(_ended(client, shares, fit))
        finally:
            _cleaned_up(client, shares, fit)
        model.__dict__.update(fitted.__dict__)
    for message, category in said:
        warnings.warn(message, category, stacklevel=4)
    return False, ""


def dealt(spread: Spread[Partitions], workers: Sequence[str]) -> list[Share]:
    """Runs of partitions, about as many rows for each worker, always dealt alike."""
    rows = [int(one.sums.rows.sum()) for one in spread.described]
    middles = np.cumsum(rows) - np.asarray(rows) / 2
    owner = np.minimum(middles * len(workers) // sum(rows), len(workers) - 1).astype(int)
    shares = []
    for number, worker in enumerate(workers):
        partitions = [i for i in np.flatnonzero(owner == number).tolist() if rows[i]]
        of_each = [rows[i] for i in partitions]
        starts = [sum(of_each[:k]) for k in range(len(of_each))]
        if partitions:
            shares.append(Share(worker, partitions, starts, sum(of_each)))
    return shares


def _client() -> Any:
    try:
        return distributed.get_client()
    except ValueError:
        raise ValueError(
            "committee=False trains on every row, in the workers of a cluster: start one with "
            "dask.distributed.Client() first, or use ASTraClassifier for a table in memory"
        ) from None


def _write_rows(client: Any, spread: Spread[Partitions], shares: Sequence[Share], fit: str) -> None:
    """Every partition's rows into the files of the worker that trains on them."""
    write = dask.delayed(_write, pure=False, traverse=False)
    futures = []
    for share in shares:
        tasks = [
            write(spread.pieces.piece(partition), fit, start, spread.sums.labels, spread.dtype)
            for partition, start in zip(share.partitions, share.starts, strict=True)
        ]
        futures += client.compute(tasks, workers=[share.worker], allow_other_workers=False)
    while any(future.status == "pending" for future in futures):
        _check_workers(client, shares)
        time.sleep(ASK_EVERY / 10)
    client.gather(futures)


def _start(
    client: Any,
    model: DaskASTraClassifier,
    spread: Spread[Partitions],
    shares: Sequence[Share],
    validation: Any,
    fit: str,
) -> None:
    first, threads = shares[0].worker, client.nthreads()
    port = client.run(_free_port, workers=[first])[first]
    for number, share in enumerate(shares):
        job = Job(
            model=model.local(),
            n_rows=share.n_rows,
            n_features=spread.described[0].n_features,
            dtype=spread.dtype,
            labels=spread.sums.labels,
            names=spread.described[0].names,
            validation=validation,
            coordinator=f"{urlsplit(first).hostname or '127.0.0.1'}:{port}",
            number=number,
            n_processes=len(shares),
            devices=threads.get(share.worker, 1),
        )
        client.run(_launch, pickle.dumps(job), fit, workers=[share.worker])


def _ended(client: Any, shares: Sequence[Share], fit: str) -> bytes:
    """What the first process leaves when all have ended."""
    workers = [share.worker for share in shares]
    while True:
        _check_workers(client, shares)
        found = client.run(_ask, fit, workers=workers, on_error="return")
        failed = {worker: how for worker, how in found.items() if isinstance(how, Failure)}
        # Processes that lost another one fail too; the one that says nothing of it came first.
        for worker, how in sorted(failed.items(), key=lambda pair: pair[1].is_echo):
            if how.kind == "ValueError":
                raise ValueError(how.message)
            raise WorkerLostError(
                f"the training process of worker {worker} ended ({how.kind}: {how.message}); the "
                "classifier is as it was before. Fit again, with fewer rows on each worker if "
                "memory ran out."
            )
        if all(how is None for how in found.values()):
            return bytes(client.run(_result, fit, workers=workers[:1])[workers[0]])
        time.sleep(ASK_EVERY)


def _check_workers(client: Any, shares: Sequence[Share]) -> None:
    there = client.nthreads()
    for share in shares:
        if share.worker not in there:
            raise WorkerLostError(
                f"worker {share.worker} was lost during fit, with {share.n_rows} rows; the "
                "classifier is as it was before. Fit again, with fewer rows on each worker if "
                "memory ran out."
            )


def _cleaned_up(client: Any, shares: Sequence[Share], fit: str) -> None:
    there = client.nthreads()
    workers = [share.worker for share in shares if share.worker in there]
    if workers:
        client.run(_stop, fit, workers=workers, on_error="ignore")


class Failure(NamedTuple):
    """How a process failed: by an exception of this kind, or by a signal."""

    kind: str
    message: str

    @property
    def is_echo(self) -> bool:
        """Whether it only tells that another one failed."""
        return self.kind == "JaxRuntimeError"


# What follows runs in the workers; Dask fills in `dask_worker`.


def _folder(worker: Any, fit: str) -> Path:
    return Path(worker.local_directory) / fit


def _write(piece: Piece, fit: str, start: int, labels: np.ndarray, dtype: np.dtype[Any]) -> None:
    X, y, weight = whole_piece(piece)
    codes = np.zeros(len(y), np.uint8)
    for code, label in enumerate(labels.tolist()):
        codes[np.asarray(y == label)] = code
    folder = _folder(distributed.get_worker(), fit)
    Files(folder).write(start, X.astype(dtype, copy=False), codes, weight)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("", 0))
        return int(one.getsockname()[1])


def _launch(job: bytes, fit: str, dask_worker: Any) -> None:
    folder = _folder(dask_worker, fit)
    (folder / JOB).write_bytes(job)
    with (folder / LOG).open("wb") as log:
        _running[fit, dask_worker.address] = subprocess.Popen(
            [sys.executable, "-m", "astralearn.dask.process", str(folder)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
        )


def _ask(fit: str, dask_worker: Any) -> str | Failure | None:
    """How a process does: it runs, it failed, or it ended well, None."""
    process, folder = _running[fit, dask_worker.address], _folder(dask_worker, fit)
    code = process.poll()
    if code is None:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b".")
            process.stdin.flush()
        return "runs"
    if code == 0:
        return None
    if (folder / ERROR).exists():
        return Failure(*pickle.loads((folder / ERROR).read_bytes()))
    last = (folder / LOG).read_text(errors="replace").strip().splitlines()[-1:]
    return Failure(f"exit code {code}", *(last or ["it said nothing"]))


def _result(fit: str, dask_worker: Any) -> bytes:
    return (_folder(dask_worker, fit) / RESULT).read_bytes()


def _stop(fit: str, dask_worker: Any) -> None:
    process = _running.pop((fit, dask_worker.address), None)
    if process is not None:
        # JAX does not let a process end on SIGTERM.
        process.kill()
        process.wait()
    shutil.rmtree(_folder(dask_worker, fit), ignore_errors=True)
