"""A study's file through Python: killed with commits in flight, and damaged."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from trial import Forks, Trial, damaged, works

# Every commit has three records, said when it is done: so what is there is known from outside.
COMMIT = """
with Store(Path(arguments[0]), wait_seconds=10) as store:
    first = len(store.finished()) // 3
    for unit in range(first, first + 100_000):
        records = [Record("p", "m", unit, fold, 9, 1, 1, 1, 1, None, 0.1) for fold in range(3)]
        store.add([Outcome(record, {"epoch": np.arange(200.0)}) for record in records])
        print(unit, flush=True)
"""
COMMIT_IMPORTS = """
from pathlib import Path
import numpy as np
from astralearn.study.record import Outcome, Record
from astralearn.study.store import Store
"""


def commit_kills(rng: np.random.Generator, folder: Path) -> Iterator[Trial]:
    """`kill -9` while records are committed: what was said is there, and units are whole."""
    from astralearn.study.store import read_histories, read_records

    forks = Forks(COMMIT_IMPORTS, COMMIT, folder)
    for trial in itertools.count():
        # A study is continued a few times; a long one takes long to read.
        path = folder / f"study{trial // 5}.sqlite"
        process = forks.start(path)
        process.wait_for("\n")
        works(process, rng.uniform(0, 0.3))
        process.end()
        try:
            records = read_records(path)
            # The last line may be cut short, so the one before it counts.
            told = [int(line) for line in forks.printed().splitlines()[:-1]]
            wrong = ""
            if len(records) % 3 or len(read_histories(path, "p")["m"]) != len(records):
                wrong = f"{len(records)} records: half a unit"
            elif told and len(records) < 3 * (told[-1] + 1):
                wrong = f"{len(records)} records, though unit {told[-1]} was said to be there"
        except Exception as error:
            wrong = repr(error)[:200]
        yield Trial("kill -9 with commits in flight", wrong)


def damaged_studies(rng: np.random.Generator, folder: Path) -> Iterator[Trial]:
    """Damaged study files: read and continued, or refused by name."""
    from astralearn.study import StudyError
    from astralearn.study.record import Outcome, Record
    from astralearn.study.store import Store, read_histories, read_records

    def add(path: Path, fold: int) -> None:
        record = Record("p", "m", 0, fold, 9, 1, 1, 1, 1, None, 0.1)
        with Store(path) as store:
            store.agree({"seed": "1", "problem p": "rows", "method m": "m.C()"})
            store.finished()
            store.add([Outcome(record, {"epoch": np.arange(5.0)})])

    whole, path = folder / "whole.sqlite", folder / "damaged.sqlite"
    for fold in range(12):
        add(whole, fold)
    data = whole.read_bytes()
    while True:
        what, content = damaged(data, rng)
        for beside in folder.glob("damaged.sqlite*"):
            beside.unlink()
        path.write_bytes(content)
        wrong = ""
        try:
            add(path, 99)
            read_records(path), read_histories(path, "p")
        except StudyError:
            pass
        except Exception as error:
            wrong = repr(error)[:200]
        yield Trial(f"study: {what}", wrong)
