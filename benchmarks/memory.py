"""Peak memory of a fit as a multiple of its float32 data, each case in a process of its own.

    python benchmarks/memory.py            # 1e6 × 10 and 1e7 × 20, the default and one network
    python benchmarks/memory.py --rows 1000000
    python benchmarks/memory.py --page     # only writes docs/reliability.md's sentences anew

The multiple is (peak during the fit − memory before it + the data)/the data: 1 would be a fit that
takes nothing. A small fit comes before, so that libraries and compilers count for nothing. Writes
results/memory.csv and asserts what is promised: at most 2.5 times at 1e7 × 20.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from pathlib import Path

from records import put, stamp

RESULTS = Path(__file__).parent / "results" / "memory.csv"
PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
PROMISED = 2.5
SIZES = {1_000_000: 10, 10_000_000: 20}  # features by rows
MODELS = {"default": {}, "one network": {"committee": False, "n_estimators": 1, "epochs": 5}}

CASE = """
import ast, pathlib, sys
import numpy as np
from astralearn import ASTraClassifier

n, p, options = int(sys.argv[1]), int(sys.argv[2]), ast.literal_eval(sys.argv[3])

def kilobytes(name):
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split(name + ":")[1].split()[0])

rng = np.random.default_rng(0)
X = np.empty((n, p), np.float32)
for start in range(0, n, 1 << 20):
    X[start : start + (1 << 20)] = rng.normal(size=(min(1 << 20, n - start), p))
y = np.zeros(n, np.int8)
y[:: n // 100] = 1
X[y == 1] += 1
model = ASTraClassifier(**options, random_state=0)
model.fit(X[:5000], np.arange(5000) % 100 == 0)
pathlib.Path("/proc/self/clear_refs").write_text("5")  # The peak is counted from here.
before = kilobytes("VmRSS")
model.fit(X, y)
print((kilobytes("VmHWM") - before) * 1024 / X.nbytes + 1)
"""


def measured(n: int, p: int, options: dict[str, object]) -> float:
    """The multiple of one case."""
    command = [sys.executable, "-W", "ignore", "-c", CASE, str(n), str(p), repr(options)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def write_page() -> None:
    """Put what the file says into docs/reliability.md."""
    with RESULTS.open(newline="", encoding="utf-8") as file:
        times = {
            (int(row["rows"]), row["model"]): float(row["times the data"])
            for row in csv.DictReader(file)
        }
    (few, of_few), (many, of_many) = SIZES.items()
    put(
        PAGE,
        "benchmarks/memory.py",
        f"A fit of {many:,} rows of {of_many} float32 features takes at most {PROMISED} times the "
        f"data:\n{times[many, 'default']:.2f} times with the default, "
        f"{times[many, 'one network']:.2f} with one network "
        "on every row. Small data take more in proportion:\n"
        f"{few:,} × {of_few} take {times[few, 'default']:.1f} and {times[few, 'one network']:.1f} "
        "times, because some working room does not shrink with the rows.",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, choices=SIZES, help="one size, and nothing written")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if options.page:
        write_page()
        return
    asked = options.rows
    rows = []
    for n, p in SIZES.items():
        for model, options in MODELS.items():
            if asked in (None, n):
                times = round(measured(n, p, options), 2)
                rows.append({"rows": n, "features": p, "model": model, "times the data": times})
                print(f"{n:>12,} × {p}  {model:<12} {times:.2f} times the data", flush=True)
    if asked is None:
        with RESULTS.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        stamp(RESULTS.name)
        write_page()
    large = [row["times the data"] for row in rows if row["rows"] == max(SIZES)]
    assert max(large, default=0) <= PROMISED, f"promised: at most {PROMISED} times the data"


if __name__ == "__main__":
    main()
