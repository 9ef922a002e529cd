"""`kill -9` of commands in random moments: what is left is whole, and the work goes on."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
from faults import write_cards
from trial import Trial, works

COMPARE = "compare cards.csv --target fraud --methods logistic --folds 3 --epochs 5"


def _killed(folder: Path, arguments: list[str], seconds: float) -> list[psutil.Process]:
    """Start the command, kill it once it has worked so long, and say which workers it had."""
    process = subprocess.Popen(
        [sys.executable, "-m", "astralearn", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    works(process, seconds, family=True)
    try:
        workers = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        workers = []
    process.kill()
    process.wait()
    return workers


def _records(folder: Path) -> pd.DataFrame:
    frame = pd.read_csv(folder / "records.csv")
    return frame[[name for name in frame.columns if "seconds" not in name]]


def command_kills(rng: np.random.Generator, folder: Path) -> Iterator[Trial]:
    """A scored file is the old one or whole; a study ends as if it had run through."""
    write_cards(folder)
    score = ["score", "cards.astra", "new.csv", "--out", "scored.csv"]
    compare = [*COMPARE.split(), "--repetitions", "4", "--jobs", "2", "--out"]
    whole = folder / "whole"
    subprocess.run(
        [sys.executable, "-m", "astralearn", *compare, str(whole)],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    subprocess.run(
        [sys.executable, "-m", "astralearn", *score], cwd=folder, check=True, capture_output=True
    )
    scored = (folder / "scored.csv").read_bytes()
    for trial in itertools.count():
        (folder / "scored.csv").write_text("old")
        _killed(folder, score, rng.uniform(0.5, 8))
        found = (folder / "scored.csv").read_bytes()
        yield Trial("kill -9 of score", "" if found in (b"old", scored) else "half a file")
        out = folder / f"study{trial}"
        workers = _killed(folder, [*compare, str(out)], rng.uniform(1, 15))
        _, alive = psutil.wait_procs(workers, timeout=240)
        for worker in alive:
            worker.kill()
        yield Trial("kill -9 of compare: workers end", f"{len(alive)} are left" if alive else "")
        ran = subprocess.run(
            [sys.executable, "-m", "astralearn", *compare, str(out)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        wrong = ran.stderr[-300:] if ran.returncode else ""
        if not wrong and not _records(out).equals(_records(whole)):
            wrong = "other records than of a run in one go"
        yield Trial("kill -9 of compare: it goes on and ends the same", wrong)
