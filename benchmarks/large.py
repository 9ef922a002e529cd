"""A table larger than memory: 12 GB of Parquet, by two workers of 2 GB and by blocks.

    python benchmarks/large.py write --folder DIR     # the table, 75 million rows of 20 features
    python benchmarks/large.py workers --folder DIR   # DaskASTraClassifier, 2 GB a worker
    python benchmarks/large.py blocks --folder DIR    # astralearn fit, one process
    python benchmarks/large.py page                   # its part of docs/speed.md

`--rows` makes another table, of that many.
Kept in results/large.csv: seconds, CPU seconds of all processes, and the peak memory of each kind
of process, in MB. Asserts that no worker passes its limit, and that no other process needs more.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from records import RESULTS, put, stamp

TABLE = RESULTS / "large.csv"
COLUMNS = ("how", "rows", "bytes", "seconds", "cpu", "workers_mb", "process_mb", "recall")
ROWS, BLOCK, FEATURES = 75_000_000, 250_000, 20
LIMIT_MB = 2000
LOOK_EVERY = 0.2  # seconds


def write(path: Path, rows: int) -> None:
    """The table, one row group after the other; ten positives in a million rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(f"x{k}", pa.float64()) for k in range(FEATURES)] + [("y", pa.int8())])
    beside = path.with_suffix(".part")
    with pq.ParquetWriter(beside, schema, compression="none", use_dictionary=False) as writer:
        for number in range(rows // BLOCK):
            y = np.zeros(BLOCK, np.int8)
            y[: 2 + number % 2] = 1
            X = np.random.default_rng(number).standard_normal((FEATURES, BLOCK)) + 1.5 * y
            writer.write_table(pa.table([*X, y], schema=schema), row_group_size=BLOCK)
    beside.rename(path)


@contextmanager
def watched(peaks: dict[int, float]) -> Iterator[None]:
    """Keep the peak memory in MB of this process and of all below it, by number."""
    import psutil

    here, ended = psutil.Process(), threading.Event()

    def look() -> None:
        while not ended.wait(LOOK_EVERY):
            for pid in (here.pid, *(one.pid for one in here.children(recursive=True))):
                try:
                    status = Path(f"/proc/{pid}/status").read_text()
                except OSError:
                    continue  # It ended meanwhile.
                if "VmHWM:" in status:
                    peaks[pid] = float(status.split("VmHWM:")[1].split()[0]) / 1000

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def by_workers(path: Path, rows: int) -> None:
    """The default, with the table in the partitions of two workers."""
    import dask.dataframe as dd
    import distributed

    from astralearn.dask import DaskASTraClassifier

    options = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": f"{LIMIT_MB}MB"}
    peaks: dict[int, float] = {}
    start = time.perf_counter()
    with (
        distributed.LocalCluster(**options, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        watched(peaks),
    ):
        pids = client.run(os.getpid).values()
        table = dd.read_parquet(path)
        features = table[[name for name in table.columns if name != "y"]]
        model = DaskASTraClassifier(random_state=0).fit(features, table["y"])
        assert sorted(pids) == sorted(client.run(os.getpid).values()), "a worker was restarted"
    keep(
        how="two workers",
        rows=rows,
        bytes=path.stat().st_size,
        seconds=time.perf_counter() - start,
        cpu=cpu_seconds(),
        workers_mb=max(peaks[pid] for pid in pids),
        process_mb=peaks[os.getpid()],
        recall=model.expectations_.recall.mean,
    )


def by_blocks(path: Path, rows: int) -> None:
    """What `astralearn fit` does; it chooses blocks by itself."""
    from astralearn.fit_score import fit_table

    peaks: dict[int, float] = {}
    start = time.perf_counter()
    with watched(peaks):
        fitted = fit_table(path, "y")
    print("\n".join(fitted.notes))
    assert "read in blocks" in fitted.notes[0]
    keep(
        how="blocks",
        rows=rows,
        bytes=path.stat().st_size,
        seconds=time.perf_counter() - start,
        cpu=cpu_seconds(),
        process_mb=peaks[os.getpid()],
        recall=fitted.model.expectations_.recall.mean,
    )


def cpu_seconds() -> float:
    """Of this process and of those below it that have ended."""
    return sum(os.times()[:4])


def kept() -> list[dict[str, str]]:
    """The results so far."""
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def keep(**row: object) -> None:
    """Put a row into the results, in place of an earlier one of the same kind."""
    shown = dict.fromkeys(COLUMNS, "") | {
        name: f"{value:.4g}" if isinstance(value, float) else str(value)
        for name, value in row.items()
    }
    rows = [one for one in kept() if one["how"] != shown["how"]] + [shown]
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    stamp(TABLE.name)
    print(shown, flush=True)
    peaks = [float(shown[name]) for name in ("workers_mb", "process_mb") if shown[name]]
    assert max(peaks) <= LIMIT_MB, peaks


def page() -> None:
    """Write the lines of docs/speed.md."""
    rows = {row["how"]: row for row in kept()}
    names = {
        "two workers": '`DaskASTraClassifier`, two workers with `memory_limit="2GB"`',
        "blocks": "`astralearn fit`, in blocks",
    }
    lines = [
        f"The default on Parquet of {FEATURES} features"
        " ([records](../benchmarks/results/large.csv)):",
        "",
        "| | Rows | Size | CPU minutes | Peak of a worker | Peak of the process that fits |",
        "|---|---:|---:|---:|---:|---:|",
        *(
            f"| {name} | {int(rows[how]['rows']):,} | {int(rows[how]['bytes']) / 1e9:.2g} GB"
            f" | {float(rows[how]['cpu']) / 60:.1f} | {gigabytes(rows[how]['workers_mb'])}"
            f" | {gigabytes(rows[how]['process_mb'])} |"
            for how, name in names.items()
            if how in rows
        ),
    ]
    put(Path(__file__).parent.parent / "docs" / "speed.md", "large.py", "\n".join(lines))


def gigabytes(megabytes: str) -> str:
    return f"{float(megabytes) / 1000:.1f} GB" if megabytes else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("part", choices=("write", "workers", "blocks", "page"))
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/astralearn-scale"))
    options = parser.parse_args()
    path = options.folder / f"{options.rows}.parquet"
    if options.part == "page":
        page()
        return
    if not path.exists():
        options.folder.mkdir(parents=True, exist_ok=True)
        write(path, options.rows)
    if options.part == "workers":
        by_workers(path, options.rows)
    elif options.part == "blocks":
        by_blocks(path, options.rows)


if __name__ == "__main__":
    sys.exit(main())
