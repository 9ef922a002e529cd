"""Disks that are full or cannot be written, and pipes that close."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from trial import Trial

# No file may grow beyond so many bytes, which is how a full disk looks.
FULL = """
import resource, sys
from astralearn.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.exit(main(sys.argv[2:]))
"""
UNWRITABLE, PIPE_CLOSED = 12, 1


def write_cards(folder: Path) -> None:
    """A table to learn from, one to score, and a model."""
    from astralearn import ASTraClassifier
    from astralearn.fit_score import fit_table
    from astralearn.tabular import TabularASTraClassifier

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(3000, 3)), columns=list("abc"))
    frame["fraud"] = np.where(np.arange(3000) < 8, "yes", "no")
    frame.loc[:7, "a"] += 5
    frame.to_csv(folder / "cards.csv", index=False)
    frame.drop(columns="fraud").to_csv(folder / "new.csv", index=False)
    quick = ASTraClassifier(epochs=20, n_estimators=2, committee=False, random_state=0)
    fit_table(frame, "fraud", model=TabularASTraClassifier(quick), out=folder / "cards.astra")


def _ran(folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    arguments = list(map(str, command))
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)


def _wrong(ran: subprocess.CompletedProcess[str], code: int, sentences: int) -> str:
    said = ran.stderr.splitlines()
    if ran.returncode != code:
        return f"exit code {ran.returncode}: {ran.stderr[-200:]}"
    return "" if len(said) == sentences else f"said {ran.stderr[-300:]!r}"


def faults(rng: np.random.Generator, folder: Path) -> Iterator[Trial]:
    """One sentence, the documented exit code, and the old file or none."""
    write_cards(folder)
    fit = ["fit", "cards.csv", "--target", "fraud", "--out"]
    for trial in itertools.count():
        out = folder / f"out{trial}"
        out.mkdir()
        model, scored = out / "m.astra", out / "s.csv"
        scored.write_text("old")
        score = ["score", "cards.astra", "new.csv", "--out"]
        limit = int(rng.integers(1, 60_000))
        ran = _ran(folder, sys.executable, "-c", FULL, limit, *score, scored)
        wrong = _wrong(ran, UNWRITABLE, 1)
        if scored.read_text() != "old" or len(list(out.iterdir())) != 1:
            wrong = f"left {sorted(path.name for path in out.iterdir())}"
        yield Trial("full disk: score", wrong)
        if trial % 5 == 0:
            ran = _ran(folder, sys.executable, "-c", FULL, int(rng.integers(1, 9000)), *fit, model)
            wrong = _wrong(ran, UNWRITABLE, 1)
            if len(list(out.iterdir())) != 1:
                wrong = f"left {sorted(path.name for path in out.iterdir())}"
            yield Trial("full disk: fit", wrong)
            for verb in (fit, score):
                ran = _ran(folder, sys.executable, "-m", "astralearn", *verb, "/proc/none.csv")
                yield Trial(f"folder that cannot be written: {verb[0]}", _wrong(ran, UNWRITABLE, 1))
            reader, writer = os.pipe()
            os.close(reader)
            command = [sys.executable, "-m", "astralearn", "suggest", "cards.astra", "new.csv"]
            ran = subprocess.run(
                command, cwd=folder, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
            )
            os.close(writer)
            # The sentence on expected positives may come before the pipe is found closed.
            wrong = "" if ran.returncode == PIPE_CLOSED else f"{ran.returncode} {ran.stderr[-200:]}"
            yield Trial("pipe closed: suggest", wrong or ("Traceback" in ran.stderr) * "traceback")
