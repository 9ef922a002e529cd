"""What an epoch costs over processes, beside the local engine, and how far fits are apart.

    python benchmarks/scale.py epochs                 # seconds per epoch, rows × processes
    python benchmarks/scale.py epochs --rows 10000000
    python benchmarks/scale.py dask                   # the same sums as tasks of Dask
    python benchmarks/scale.py equal                  # how far fits are apart after 500 epochs
    python benchmarks/scale.py page                   # its part of docs/speed.md

Local epochs (networks in two threads) and those of two and three processes take turns, so that a
busy machine is busy for all; the median and the least of the turns are kept. Columns `parameters`
and `predictions` say how far a fit lies from the local one: of the largest parameter, and of a
probability. Each part writes its rows of results/scale.csv anew.
"""

from __future__ import annotations

import argparse
import csv
import functools
import itertools
import os
import resource
import socket
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from records import put, stamp

RESULTS = Path(__file__).parent / "results" / "scale.csv"
COLUMNS = ("part", "case", "rows", "processes", "median", "least", "cpu", "bytes")
COLUMNS += ("parameters", "predictions")
FEATURES, NETWORKS, HIDDEN = 20, 2, 16
TURNS = 5
CASES = (("local", 1), ("processes", 2), ("processes", 3))
EQUAL_ROWS, RATES = 102_000, (0.001, 0.02)
# Where the positives lie: how many there are, of how many features, and how far from the others in
# three of them.
TABLES = {"apart": (30, 3, 2.0), "overlapping": (100, 20, 1.0)}


def stack_of(rows: int, number: int, everywhere: tuple[float, float] | None):
    """Two networks on random rows, one in a thousand positive."""
    from astralearn.engine.network import Architecture, initialise
    from astralearn.engine.rows import Fold, Rows
    from astralearn.engine.stack import Stack
    from astralearn.engine.view import View

    X = np.random.default_rng(number).standard_normal((rows, FEATURES), np.float32)
    positive = np.arange(rows) % 1000 == 0
    view = View(np.zeros(FEATURES), np.ones(FEATURES))
    architecture = Architecture(FEATURES, (HIDDEN,))
    starts = [initialise(architecture, np.random.default_rng(k)) for k in range(NETWORKS)]
    return Stack(
        architecture=architecture,
        folds=[Fold(Rows(X, positive, np.ones(rows)), view, everywhere=everywhere)],
        fold_of=[0] * NETWORKS,
        parameters=np.stack(starts),
        slope=np.full(NETWORKS, 3.0),
    )


def loops_of(stack, places):
    """A function of n for each group of networks, which runs so many epochs."""
    from astralearn.engine import training
    from astralearn.engine.packing import SHORT_RUN

    settings = training.Settings(loss="root_gmn", epochs=100)
    groups = stack.groups()
    laid = None
    if places is not None:
        cut = functools.partial(SHORT_RUN.cut, n_networks=len(groups[0]))
        laid = places.lay(stack.folds[0], cut)
    found = []
    for index, members in enumerate(groups):
        group = training._Group.of(stack, settings, index, members, SHORT_RUN, places, laid)
        state, advance = training._begin(stack, settings, group)
        found.append(lambda n, state=state, advance=advance: np.asarray(advance(state, n)[1].rate))
    return found


def serve(number: int, n: int, address: str, rows: int) -> None:
    """A process: runs as many epochs as each line of its input says, and tells its CPU time."""
    import jax

    jax.config.update("jax_platforms", "cpu")
    jax.distributed.initialize(address, n, number)
    from astralearn.engine.places import Places

    share = rows // n
    stack = stack_of(share, number, (0.999 * rows, 0.001 * rows))
    loops = loops_of(stack, Places.of_processes())
    print("ready", flush=True)
    for line in sys.stdin:
        before = _cpu()
        for loop in loops:
            loop(int(line))
        print(f"done {_cpu() - before}", flush=True)
    os._exit(0)


def _cpu() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


class Processes:
    """Processes that wait for epochs to run."""

    def __init__(self, n: int, rows: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.all = [
            subprocess.Popen(
                [sys.executable, __file__, "serve", str(k), str(n), address, str(rows)],
                stderr=subprocess.DEVNULL,
                env=os.environ | {"NPROC": "1"},  # as astralearn.dask.process has it
                **pipes,
            )
            for k in range(n)
        ]
        self._heard("ready")

    def run(self, epochs: int) -> float:
        """CPU seconds of all of them."""
        for one in self.all:
            one.stdin.write(f"{epochs}\n")
            one.stdin.flush()
        return sum(float(line.split()[1]) for line in self._heard("done"))

    def close(self) -> None:
        for one in self.all:
            one.stdin.close()
            one.wait()

    def _heard(self, word: str) -> list[str]:
        said = []
        for one in self.all:
            line = one.stdout.readline()
            while line and not line.startswith(word):
                line = one.stdout.readline()
            assert line, "a process ended"
            said.append(line)
        return said


def bytes_per_epoch(rows: int) -> int:
    """What two processes tell: of every block three means, a peak and a gradient."""
    from astralearn.engine.network import Architecture
    from astralearn.engine.packing import SHORT_RUN

    numbers = 4 + Architecture(FEATURES, (HIDDEN,)).n_parameters + 1
    of_positives = rows // 1000
    cuts = [SHORT_RUN.cut(n, of=rows, n_networks=1) for n in (rows - of_positives, of_positives)]
    return 4 * NETWORKS * numbers * sum(cut.blocks for cut in cuts)


def epochs(sizes: list[int]) -> None:
    for rows in sizes:
        n_epochs = max(2, min(200, 2_000_000 // rows))
        local = loops_of(stack_of(rows, 0, None), None)
        pool = ThreadPoolExecutor(len(local))
        spread = {n: Processes(n, rows) for n in (2, 3)}

        def run_local(n: int, local=local, pool=pool) -> float:
            before = _cpu()
            list(pool.map(lambda loop: loop(n), local))
            return _cpu() - before

        cases = {1: run_local, **{n: one.run for n, one in spread.items()}}
        took = {n: [] for n in cases}
        for run in cases.values():
            run(1)
        for _ in range(TURNS):
            for n, run in cases.items():
                start = time.perf_counter()
                cpu = run(n_epochs)
                took[n].append(((time.perf_counter() - start) / n_epochs, cpu / n_epochs))
        for one in spread.values():
            one.close()
        for n, pairs in took.items():
            seconds, cpus = zip(*pairs, strict=True)
            keep(
                "epochs",
                case="local" if n == 1 else "processes",
                rows=rows,
                processes=n,
                median=statistics.median(seconds),
                least=min(seconds),
                cpu=statistics.median(cpus),
                bytes=0 if n == 1 else bytes_per_epoch(rows),
            )


def through_dask() -> None:
    """One task per worker and epoch, each giving sums of the same size, added by the client."""
    import distributed

    size = bytes_per_epoch(3_000) // 4
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        workers = sorted(client.nthreads())

        def epoch(state: np.ndarray) -> np.ndarray:
            sums = [
                client.submit(np.multiply, state, 0.5, workers=[worker], pure=False)
                for worker in workers
            ]
            return np.add(*client.gather(sums))

        state = np.ones(size, np.float32)
        epoch(state)
        seconds = []
        for _ in range(TURNS):
            start = time.perf_counter()
            for _ in range(30):
                state = epoch(state)
            seconds.append((time.perf_counter() - start) / 30)
    keep(
        "dask",
        case="tasks",
        rows=0,
        processes=2,
        median=statistics.median(seconds),
        least=min(seconds),
        bytes=4 * size,
    )


def equal() -> None:
    """Fits of 500 epochs by two and three workers, and of reordered rows, beside the local.

    Partitions are uneven; one of them has nothing but positives, and all of them.
    """
    import dask.array as da
    import distributed

    from astralearn import ASTraClassifier
    from astralearn.dask import DaskASTraClassifier

    options = {"n_workers": 3, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        for (name, (positives, features, shift)), rate in itertools.product(TABLES.items(), RATES):
            rng = np.random.default_rng(0)
            X, y = rng.normal(size=(EQUAL_ROWS, features)), np.zeros(EQUAL_ROWS, int)
            y[62_000 : 62_000 + positives] = 1
            X[y == 1, :3] += shift
            rest = EQUAL_ROWS - 62_000 - positives
            cuts = {2: (30_000, EQUAL_ROWS - 30_000), 3: (2_000, 0, 60_000, positives, rest)}
            order = rng.permutation(EQUAL_ROWS)
            settings = {"committee": False, "n_estimators": 2, "epochs": 500, "random_state": 0}
            settings["learning_rate"] = rate
            local = ASTraClassifier(**settings).fit(X, y)
            reordered = ASTraClassifier(**settings).fit(X[order], y[order])
            keep_apart(f"order {name} {rate}", 1, reordered, local, X)
            for n, cut in cuts.items():
                table = da.from_array(X, (cut, (features,))), da.from_array(y, (cut,))
                spread = DaskASTraClassifier(**settings).fit(*table).local()
                keep_apart(f"workers {name} {rate}", n, spread, local, X)


def keep_apart(case: str, n: int, model, local, X: np.ndarray) -> None:
    """Put into the results how far a model lies from the local one."""
    keep(
        "equal",
        case=case,
        rows=EQUAL_ROWS,
        processes=n,
        parameters=float(np.abs(model.coefs_ - local.coefs_).max() / np.abs(local.coefs_).max()),
        predictions=float(np.abs(model.predict_proba(X) - local.predict_proba(X)).max()),
    )


def kept() -> list[dict[str, str]]:
    """The results so far."""
    with RESULTS.open(newline="") as file:
        return [dict.fromkeys(COLUMNS, "") | row for row in csv.DictReader(file)]


def page() -> None:
    """Write the table and the projection of docs/speed.md."""
    from astralearn.engine.packing import MOST_BLOCKS

    key = ("part", "case", "rows", "processes")
    found = {tuple(row[name] for name in key): row for row in kept()}
    sizes = sorted({int(row["rows"]) for row in kept() if row["part"] == "epochs"})

    def ms(case: str, rows: int, n: int) -> float:
        return 1e3 * float(found["epochs", case, str(rows), str(n)]["median"])

    least, most = sizes[0], sizes[-1]
    talk = ms("processes", least, 2) - ms("local", least, 1)
    cpu = {n: float(found["epochs", c, str(most), str(n)]["cpu"]) for c, n in CASES[:2]}
    told = int(found["epochs", "processes", str(most), "2"]["bytes"])
    through = 1e3 * float(found["dask", "tasks", "0", "2"]["median"])
    rows, n = 10**9, 100
    # A worker has whole blocks of rows.
    share = -(-MOST_BLOCKS // n) / MOST_BLOCKS
    compute, talking = rows * share * cpu[1] / most, talk / 1e3 * (n - 1)
    lines = [
        f"Milliseconds per epoch of {NETWORKS} networks of {HIDDEN} units on {FEATURES} features, "
        f"medians of {TURNS} turns ([records](../benchmarks/results/scale.csv)):",
        "",
        "| Rows | Local, two threads | Two processes | Three processes |",
        "|---:|---:|---:|---:|",
        *(
            f"| {size:,} | " + " | ".join(three_digits(ms(c, size, n)) for c, n in CASES) + " |"
            for size in sizes
        ),
        "",
        "They ran in turns on two cores, which three processes share.",
        "",
        f"- At {most:,} rows each process is told {told:,} bytes an epoch, the sums of all blocks,",
        "  however many processes there are.",
        f"- At {least:,} rows two processes add {talk:.2g} ms to an epoch.",
        f"- At {most:,} rows two processes do",
        f"  {ms('local', most, 1) / ms('processes', most, 2):.2f}",
        f"  times the local engine's rows per second, and take {cpu[2] / cpu[1]:.2f} times its CPU",
        "  time.",
        f"- The same sums as tasks of Dask take {through:.2g} ms an epoch without any arithmetic,",
        "  so the processes add up by themselves.",
    ]
    lines += apart(found)
    lines += [
        "",
        f"**A projection, not a measurement, to {rows:,} rows on {n} workers of one core.** A row",
        f"takes {1e9 * cpu[1] / most:.0f} ns of a core in an epoch (CPU time at {most:,} rows), so",
        f"the {rows * share:,.0f} rows of a worker's {-(-MOST_BLOCKS // n)} blocks of",
        f"{MOST_BLOCKS} take {compute:.2g} s. A ring of {n} has {n - 1} times the",
        f"steps of two, {talking:.2g} s at the cost above. Together that",
        f"is {compute + talking:.2g} s an",
        f"epoch and {250 * (compute + talking) / 60:.2g} minutes for 250. The network between",
        "machines was not measured, and ten networks take five times the arithmetic of two.",
    ]
    put(Path(__file__).parent.parent / "docs" / "speed.md", "scale.py", "\n".join(lines))


def three_digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def apart(found: dict[tuple[str, ...], dict[str, str]]) -> list[str]:
    """A table of how far fits lie from the local one."""

    def most(column: str, case: str, *counts: int) -> str:
        of = [found["equal", case, str(EQUAL_ROWS), str(n)] for n in counts]
        largest = max(float(row[column]) for row in of)
        return "0" if largest == 0 else f"{largest:.1g}"

    columns = ("parameters", "predictions")
    lines = [
        "",
        "How far 500 epochs end from those of one machine, of the largest parameter and in"
        f" probability, on {EQUAL_ROWS:,} rows:",
        "",
        "| Positives | Learning rate | Two and three workers | One machine, rows reordered |",
        "|---|---:|---:|---:|",
    ]
    for name, rate in itertools.product(TABLES, RATES):
        cells = [
            " and ".join(most(column, f"{case} {name} {rate}", *counts) for column in columns)
            for case, counts in (("workers", (2, 3)), ("order", (1,)))
        ]
        lines.append(f"| {TABLES[name][0]}, {name} | {rate} | {' | '.join(cells)} |")
    return lines


def keep(part: str, **row) -> None:
    """Put a row into the results, in place of an earlier one of the same case."""
    rows = kept() if RESULTS.exists() else []
    row = dict.fromkeys(COLUMNS, "") | {"part": part} | row
    row = {name: f"{v:.6g}" if isinstance(v, float) else str(v) for name, v in row.items()}
    key = ("part", "case", "rows", "processes")
    rows = [one for one in rows if any(one[name] != row[name] for name in key)] + [row]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    stamp(RESULTS.name)
    print({name: value for name, value in row.items() if value}, flush=True)


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        number, n, address, rows = sys.argv[2:]
        serve(int(number), int(n), address, int(rows))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("epochs", "dask", "equal", "page"))
    parser.add_argument("--rows", type=int, nargs="*", default=[3_000, 100_000, 1_000_000])
    options = parser.parse_args()
    if options.part == "epochs":
        epochs(options.rows)
    elif options.part == "dask":
        through_dask()
    elif options.part == "equal":
        equal()
    else:
        page()


if __name__ == "__main__":
    main()
