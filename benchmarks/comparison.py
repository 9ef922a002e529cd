"""How soon a comparison answers, and what a kill costs it.

    python benchmarks/comparison.py            # writes results/comparison.csv
    python benchmarks/comparison.py --kill     # the kill alone, and nothing written

`astralearn compare` with its default methods on 50,000 × 10 rows with 12 positives, two processes.
Time is given as the clock's and as CPU time of all processes shared out over two cores, for the
machine may be busy. Then the same is killed (SIGKILL) in the middle: every fold that was told of
is kept, and no more folds are in work than there are processes.
Asserts, of CPU time: first results within 20 s, the answer within 3 minutes.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from records import RESULTS, stamp
from tables import POSITIVES, cards

CORES = 2
TABLE = RESULTS / "comparison.csv"
AIMS = {"first result": 20.0, "answer": 180.0}
KILL_AFTER = 7  # folds


def cpu_seconds() -> float:
    """Of this process and of all below it, those that ended too."""
    import psutil

    here = psutil.Process()
    alive = 0.0
    for one in here.children(recursive=True):
        try:
            alive += sum(one.cpu_times()[:4])
        except psutil.Error:
            continue  # It ended meanwhile.
    return sum(os.times()[:4]) + alive


def timed(path: Path, out: Path) -> dict[str, tuple[float, float]]:
    """Seconds by the clock and of CPU until the first result and the answer, imports included."""
    begun, found = time.perf_counter(), {}

    def note(what: str) -> None:
        found[what] = (time.perf_counter() - begun, cpu_seconds() / CORES)
        print(what, *(f"{seconds:.1f} s" for seconds in found[what]), flush=True)

    from astralearn.compare import compare

    def progress(state: object) -> None:
        if state.records and "first result" not in found:
            note("first result")

    most = [0.0]

    def watching(state: object) -> None:
        progress(state)
        most[0] = max(most[0], cpu_seconds())
        if state.done % 10 == 0:
            print(f"{state.done}/{state.total}, {most[0] / CORES:.0f} s of CPU", flush=True)

    compared = compare(path, target="fraud", out=out, n_jobs=CORES, progress=watching)
    # Workers that have ended by now would be missed.
    found["answer"] = (time.perf_counter() - begun, max(most[0], cpu_seconds()) / CORES)
    print(*compared.answer.sentences(), sep="\n")
    return found


def killed(path: Path, out: Path) -> tuple[int, int]:
    """Folds that were told of when the command was killed, and those that its file kept."""
    from astralearn.study.store import read_records

    command = [sys.executable, "-m", "astralearn", "compare", path, "--target", "fraud"]
    command += ["--out", out, "--jobs", CORES]
    with subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as one:
        told, text = 0, b""
        while told < KILL_AFTER:
            block = os.read(one.stdout.fileno(), 1 << 12)
            assert block, "it ended before it was killed"
            text = text[-100:] + block
            told = max([told, *(int(n) for n in re.findall(rb"(\d+)/\d+ folds", text))])
        os.kill(one.pid, signal.SIGKILL)
    return told, len(read_records(out / "study.sqlite"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kill", action="store_true", help="only that, and nothing is written")
    only_kill = parser.parse_args().kill
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cards.csv"
        cards(0, POSITIVES).to_csv(path, index=False)
        found = {} if only_kill else timed(path, Path(folder) / "whole")
        told, kept = killed(path, Path(folder) / "killed")
    print(f"killed after {told} folds, {kept} are kept")
    assert kept >= told
    rows = [
        {"what": what, "clock": f"{clock:.3g}", "cpu": f"{cpu:.3g}", "bound": AIMS[what]}
        for what, (clock, cpu) in found.items()
    ]
    if not rows:
        return
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    stamp(TABLE.name)
    assert all(float(row["cpu"]) <= row["bound"] for row in rows), rows


if __name__ == "__main__":
    main()
