"""Attack the library, and tell what was tried and what held.

    make attack                                   # 80 minutes, 60 of them on what is read
    python attack/run.py --areas "signals,kills"  # some of it, in the place of their rows
    python attack/run.py --minutes 5 --try        # writes nothing

Each area has its minutes: Ctrl-C in the first three seconds of a fit, `kill -9` of fits,
scoring, studies and commits in flight, disks that are full or read-only and pipes that close, a
hostile server, damaged model files, studies and tables, models of strangers, tables that hypothesis
makes up, and memory over fits of new shapes. Prints one table and puts it into
benchmarks/results/attack.csv and docs/reliability.md, an area at a time. Moments are drawn by the
processor's time of what is attacked, so that a busy machine is attacked in the same places. What is
tried is drawn anew with each --seed.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import itertools
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import psutil
from faults import faults
from made_up import made_up_tables
from stores import commit_kills, damaged_studies
from strangers import strangers
from studies import command_kills
from trial import Forks, Trial, damaged, works

from hostile import servers

ROOT = Path(__file__).parent.parent
# Looked for last: benchmarks/torch.py is not to hide PyTorch.
sys.path.append(str(ROOT / "benchmarks"))
from records import put, stamp  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "attack.csv"
PAGE = ROOT / "docs" / "reliability.md"

FIT = """
y = np.arange(300) < 8
X = np.random.default_rng(0).normal(size=(300, 4)) + 3 * y[:, None]
print("ready", flush=True)
try:
    ASTraClassifier(epochs=10_000_000, n_estimators=2, committee=False).fit(X, y)
except KeyboardInterrupt:
    pass
model = ASTraClassifier(epochs=20, n_estimators=2, committee=False, random_state=0).fit(X, y)
print("then", model.n_iter_, flush=True)
"""
# A shell starts what it runs in the background deaf to Ctrl-C.
FIT_IMPORTS = """
import signal, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
from astralearn import ASTraClassifier
assert "jax" not in sys.modules
warnings.simplefilter("ignore")
"""


def signals(rng: np.random.Generator, folder: Path) -> Iterator[Trial]:
    """Ctrl-C in the first three seconds of a first fit: it ends, and the next one works."""
    forks = Forks(FIT_IMPORTS, FIT, folder)
    while True:
        process = forks.start()
        process.wait_for("ready")
        works(process, rng.uniform(0, 3))
        process.send(signal.SIGINT)
        state = works(process, 60)
        code = process.end()
        held = state == "ended" and code == 0 and forks.printed() == "ready\nthen 20\n"
        wrong = "" if held else f"{state}, {code}: {forks.printed()[-300:]}"
        yield Trial("Ctrl-C in the first fit", wrong)


SAVE = """
model = astralearn.load(arguments[0])
print("ready", flush=True)
while True:
    model.save(arguments[1])
"""


def a_model(folder: Path) -> Path:
    """A small fitted model in a file."""
    from astralearn import ASTraClassifier

    path = folder / "model.astra"
    if not path.exists():
        y = np.arange(200) < 8
        X = np.random.default_rng(0).normal(size=(200, 3)) + 3 * y[:, None]
        ASTraClassifier(epochs=5, n_estimators=2, committee=False).fit(X, y).save(path)
    return path


def kills(rng: np.random.Generator, folder: Path) -> Iterator[Trial]:
    """`kill -9` while a model is written again and again: the file is whole."""
    import astralearn

    first, again = a_model(folder), folder / "again.astra"
    coefficients = astralearn.load(first).coefs_.tobytes()
    again.write_bytes(first.read_bytes())
    # A first load brings in what every load needs.
    forks = Forks(f"import astralearn; astralearn.load({str(first)!r})", SAVE, folder)
    while True:
        process = forks.start(first, again)
        process.wait_for("ready")
        works(process, rng.uniform(0, 0.2))
        process.end()
        try:
            same = astralearn.load(again).coefs_.tobytes() == coefficients
            yield Trial("kill -9 while a model is written", "" if same else "another model")
        except Exception as error:
            yield Trial("kill -9 while a model is written", repr(error))


def model_files(rng: np.random.Generator, folder: Path) -> Iterator[Trial]:
    """Damaged model files: refused by name, or the very model."""
    import astralearn
    from astralearn.model_file import ModelFileError

    whole = a_model(folder)
    data, expected = whole.read_bytes(), astralearn.load(whole).coefs_.tobytes()
    path = folder / "damaged.astra"
    while True:
        what, content = damaged(data, rng)
        path.write_bytes(content)
        wrong = ""
        try:
            if astralearn.load(path).coefs_.tobytes() != expected:
                wrong = "another model was read"
        except ModelFileError:
            pass
        except Exception as error:
            wrong = repr(error)[:200]
        yield Trial(f"model file: {what}", wrong)


def tables(rng: np.random.Generator, folder: Path) -> Iterator[Trial]:
    """Damaged CSV, ARFF and Parquet files: read whole and in blocks, or refused by name."""
    from astralearn.datasets.errors import DataError
    from astralearn.datasets.streams import row_stream
    from astralearn.datasets.tables import read_table

    frame = pd.DataFrame({"a": np.arange(40) / 3, "b, c": ["x", 'y"z'] * 20, "class": [0, 1] * 20})
    text = frame.to_csv(index=False)
    rows = "\n".join(
        f"{a:.3f},'{'yes' if c else 'no'}'" for a, c in zip(frame["a"], frame["class"], strict=True)
    )
    frame.to_parquet(folder / "whole.parquet")
    contents = {
        "csv": text.encode(),
        "csv.gz": gzip.compress(text.encode()),
        "arff": f"@relation r\n@attribute a numeric\n@attribute c {{yes,no}}\n@data\n{rows}\n".encode(),
        "parquet": (folder / "whole.parquet").read_bytes(),
    }
    for ending in itertools.cycle(contents):
        what, content = damaged(contents[ending], rng)
        path = folder / f"damaged.{ending}"
        path.write_bytes(content)
        wrong = ""
        start = time.process_time()
        read, streamed = False, False
        try:
            with contextlib.suppress(DataError):
                read_table(path)
                read = True
            with contextlib.suppress(DataError):
                stream = row_stream(path, rows=16)
                names = stream.columns()
                pairs = zip(stream.frames(names, []), stream.originals(), strict=True)
                streamed = all(len(block) == len(original) for block, original in pairs)
        except Exception as error:
            wrong = repr(error)[:200]
        # A Parquet file holds what pandas made it of, which blocks do without.
        if streamed > read and ending != "parquet":
            wrong = wrong or "what cannot be read whole was read in blocks"
        if time.process_time() - start > 10:
            wrong = "took more than 10 s"
        yield Trial(f"{ending}: {what}", wrong)


def shapes(rng: np.random.Generator, _folder: Path) -> Iterator[Trial]:
    """Fits of ever new shapes: beyond the programs that are kept, memory stays."""
    from astralearn import ASTraClassifier
    from astralearn.engine.programs import KEPT

    start = 0
    for i in itertools.count():
        n, p = int(rng.integers(100, 2000)), 2 + i
        y = np.arange(n) < 8
        X = rng.normal(size=(n, p)) + 2 * y[:, None]
        ASTraClassifier(epochs=5, n_estimators=2, committee=False).fit(X, y)
        memory = psutil.Process().memory_info().rss
        if i == KEPT + 4:
            start = memory
        grown = (memory - start) / 1e6 if start else 0.0
        yield Trial("fit of a new shape", "" if grown < 50 + 2 * i else f"{grown:.0f} MB more")


class Area(NamedTuple):
    """What attacks, its minutes, and the fewest trials, however long they take."""

    trials: Callable[[np.random.Generator, Path], Iterator[Trial]]
    minutes: float
    fewest: int


AREAS = {
    "signals": Area(signals, 5, 50),
    "kills": Area(kills, 1, 50),
    "kills of commits": Area(commit_kills, 1, 50),
    "kills of commands": Area(command_kills, 5, 30),
    "faults of the disk": Area(faults, 3, 20),
    "hostile servers": Area(servers, 1, 80),
    "model files": Area(model_files, 15, 500),
    "strangers' models": Area(strangers, 10, 200),
    "studies": Area(damaged_studies, 5, 500),
    "tables": Area(tables, 20, 500),
    "made-up tables": Area(made_up_tables, 10, 20),
    "shapes": Area(shapes, 4, 30),
}


class Tally:
    """What was tried of one area: trials, seconds and failures of every kind."""

    def __init__(self, area: str) -> None:
        self.area = area
        self.tried: dict[str, list[str]] = {}
        self.seconds: dict[str, float] = {}

    def add(self, trial: Trial, seconds: float) -> None:
        """Count a trial, and say so where it failed."""
        self.tried.setdefault(trial.what, []).append(trial.wrong)
        self.seconds[trial.what] = self.seconds.get(trial.what, 0.0) + seconds
        if trial.wrong:
            print(f"{self.area}, {trial.what}: {trial.wrong}", flush=True)

    def rows(self) -> list[dict[str, str]]:
        """A row for each kind of trial, as the file has them."""
        return [
            {
                "area": self.area,
                "what": what,
                "tried": str(len(wrong)),
                "held": str(wrong.count("")),
                "minutes": f"{self.seconds[what] / 60:.2f}",
            }
            for what, wrong in sorted(self.tried.items())
        ]


def attack(area: str, minutes: float, seed: int, fewest: int) -> Tally:
    """Try what the area has until its time is over; Ctrl-C ends it with what was tried so far."""
    tally = Tally(area)
    last = start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(KeyboardInterrupt):
        trials = AREAS[area].trials(np.random.default_rng(seed), Path(folder))
        for count, trial in enumerate(trials, start=1):
            now = time.monotonic()
            tally.add(trial, now - last)
            last = now
            if now - start > 60 * minutes and count >= fewest:
                break
    # What an area has started, and was interrupted with, ends with it.
    for process in psutil.Process().children(recursive=True):
        process.kill()
    return tally


def keep(tally: Tally) -> None:
    """Put the area's rows into the file, in the place of those of an earlier run, and the page."""
    old: list[dict[str, str]] = []
    if RESULTS.exists():
        with RESULTS.open(newline="", encoding="utf-8") as file:
            old = [row for row in csv.DictReader(file) if row["area"] != tally.area]
    order = list(AREAS)
    rows = sorted([*old, *tally.rows()], key=lambda row: order.index(row["area"]))
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    stamp(RESULTS.name)
    write_page(rows)


def write_page(rows: list[dict[str, str]]) -> None:
    """Put the table into docs/reliability.md, a row for each kind of trial."""
    kinds: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        kinds.setdefault((row["area"], row["what"].split(":")[0]), []).append(row)
    lines = [
        "`benchmarks/results/attack.csv` has each kind of damage in a row of its own.",
        "",
        "|area | what | tried | held |",
        "|---|---|---|---|",
    ]
    for (area, what), some in kinds.items():
        tried, held = (sum(int(row[name]) for row in some) for name in ("tried", "held"))
        lines.append(f"|{area} | {what} | {tried:,} | {held:,} |")
    missing = [area for area in AREAS if area not in {row["area"] for row in rows}]
    short = [
        area
        for area in AREAS
        if area not in missing
        and sum(int(row["tried"]) for row in rows if row["area"] == area) < AREAS[area].fewest
    ]
    if missing or short:
        lines += [
            "",
            f"Not run: {', '.join(missing) or 'none'}. Cut short: {', '.join(short) or 'none'}.",
        ]
    put(PAGE, "attack/run.py", "\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--minutes", type=float, help="of all these areas together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--areas", help=f"some of {', '.join(AREAS)}; the others' rows stay")
    parser.add_argument("--try", action="store_true", dest="dry", help="writes nothing")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    areas = list(AREAS) if asked.areas is None else asked.areas.split(",")
    usual, held = sum(AREAS[area].minutes for area in areas), True
    for area in areas:
        minutes = AREAS[area].minutes * (asked.minutes or usual) / usual
        tally = attack(area, minutes, asked.seed, 1 if asked.dry else AREAS[area].fewest)
        if not asked.dry:
            keep(tally)
        for row in tally.rows():
            print("{area:<18} {what:<50} {tried:>7} tried {held:>7} held".format(**row), flush=True)
            held &= row["held"] == row["tried"]
    sys.exit(not held)


if __name__ == "__main__":
    main()
