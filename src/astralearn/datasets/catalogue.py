"""The problems known by name.

They are the five of the paper's Table 1, their neighbours from the same study, and one that needs
no file. The ARFF files come from the HD-Ensemble study the paper took its data from, at addresses
that name a commit and so cannot change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from astralearn.datasets.arff import read_arff
from astralearn.datasets.errors import MissingFileError, UnreadableError
from astralearn.datasets.problem import Problem, Redraw, problem_from_frame
from astralearn.datasets.source import fetch, find

SOURCE = "https://raw.githubusercontent.com/smallcube/HD-Ensemble/{commit}/datasets/{file}"
MOST_COMMIT = "4e3b23ef5578264bcc979d564af2729c52623963"
SHUTTLE_COMMIT = "80213d8bf4a7f3806aa6623ac050915e94a6ad3e"
TARGET = "class"
#: The problem that needs no file: five handwritten eights among other digits.
DEFAULT_PROBLEM = "digits"


@dataclass(frozen=True)
class Entry:
    """One problem and what it must look like.

    rows, features, positives: of one repetition, as in Table 1.
    file, sha256, address: None and "" where it needs no file.

    >>> entry = CATALOGUE["digits"]
    >>> entry.positives, round(entry.imbalance_ratio, 1), entry.where()
    (5, 324.6, 'inside scikit-learn')
    """

    name: str
    rows: int
    features: int
    positives: int
    file: str | None = None
    sha256: str = ""
    address: str = ""
    redraw: Redraw | None = None
    described: str = ""

    @property
    def imbalance_ratio(self) -> float:
        return (self.rows - self.positives) / self.positives

    def where(self) -> str:
        """The path of its file, "inside scikit-learn", or "not on this machine"."""
        if self.file is None:
            return "inside scikit-learn"
        path = find(self.file)
        return str(path) if path else "not on this machine"


def _arff(name: str, file: str, *, commit: str = MOST_COMMIT, **facts: Any) -> Entry:
    return Entry(name, file=file, address=SOURCE.format(commit=commit, file=file), **facts)


# fmt: off
_SKIN = _arff(
    "skin-588", "skin_nonskin.arff", rows=20034, features=3, positives=34,
    sha256="9f7642b104b9d5003e937446be71d15e4c007f1bb161ddf64ee3a7dad5afe9f4",
    described="the paper's: skin and other pixels",
)
_COD = _arff(
    "cod-763", "cod-rna.arff", rows=19871, features=8, positives=26,
    sha256="68e7a8e74060de73fd19fb0011b00a5dc4d55da46611e466d3da7977a5ee0b0b",
    described="the paper's: non-coding RNA",
)
_ENTRIES = [
    _SKIN,
    replace(
        _SKIN, name="skin-4000", rows=20005, positives=5, redraw=Redraw(5),
        described="the paper's: five skin positives, redrawn",
    ),
    _COD,
    replace(
        _COD, name="cod-3500", rows=17505, positives=5, redraw=Redraw(5, 17500),
        described="the paper's: five RNA positives, redrawn",
    ),
    _arff(
        "ijcnn-971", "ijcnn1.arff", rows=4858, features=22, positives=5,
        sha256="fb96f463bac1d8c0c2134a3ad67ee6d6eea5ee500aecd17197b84353c2ded5fe",
        described="the paper's: engine misfires",
    ),
    _arff(
        "abalone19", "abalone19.arff", rows=4174, features=8, positives=32,
        sha256="cb358775ea2f1de55d21e80348962faa8eb9aaed9bf9f0d27601a8870802e5b1",
    ),
    _arff(
        "kddcup-buffer_overflow_vs_back", "kddcup-buffer_overflow_vs_back.arff",
        rows=2233, features=41, positives=30,
        sha256="cfd90fcd4cdeed55959c54dc5906cd8871c44de7bc9cbcc96331b079a18f4a07",
    ),
    _arff(
        "kr-vs-k-zero_vs_fifteen", "kr-vs-k-zero_vs_fifteen.arff",
        rows=2193, features=6, positives=27,
        sha256="2192c34d136e94d8156e2f3becab4ea98202b486ff46cc2b4c8c20632f0ec6bb",
    ),
    _arff(
        "poker-8-9_vs_5", "poker-8-9_vs_5.arff", rows=2075, features=10, positives=25,
        sha256="8bb77848c3c0a275c73c9576b35819bb9864f228852cbcfe3a0b0f219d8ab99c",
    ),
    _arff(
        "shuttle-2_vs_5", "shuttle-2_vs_5.arff", rows=3316, features=9, positives=49,
        sha256="013676a8d9a75abcdb01cec33752ffa499c3ef235ddb2a9c15588591e6df0837",
        commit=SHUTTLE_COMMIT,
    ),
    _arff(
        "yeast6", "yeast6.arff", rows=1484, features=8, positives=35,
        sha256="d1ccd2f34eb025b82e264c869f0939907d4a70658b05d4ac5da01680997836bc",
    ),
    Entry(
        DEFAULT_PROBLEM, rows=1628, features=64, positives=5, redraw=Redraw(5),
        described="five handwritten eights among other digits, redrawn",
    ),
]
# fmt: on
#: Every known problem by its name: the paper's, six of the same study, and digits.
CATALOGUE: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}


def load(name: str = DEFAULT_PROBLEM) -> Problem:
    """A problem of the catalogue, downloaded if need be.

    Its rows, features and positives are checked against the catalogue.

    >>> problem = load("digits")
    >>> problem.rows, problem.positives, round(problem.imbalance_ratio, 1)
    (1628, 5, 324.6)
    """
    entry = entry_named(name)
    path = fetch_entry(entry)
    problem = problem_from_frame(read_arff(path), TARGET, name=name) if path else _digits()
    problem = replace(problem, name=entry.name, redraw=entry.redraw)
    check_sizes(problem, entry.rows, entry.features, entry.positives, name=name)
    return problem


def check_sizes(problem: Problem, *expected: int, name: str) -> None:
    """Refuse a problem of other rows, features and positives than expected."""
    found = (problem.rows, problem.features, problem.positives)
    if found != expected:
        raise UnreadableError(
            f"{name}: rows, features and positives must be {expected}; found {found}"
        )


def entry_named(name: str) -> Entry:
    """The catalogue's entry; MissingFileError with the known names otherwise.

    >>> entry_named("digits").rows
    1628
    """
    if name not in CATALOGUE:
        raise MissingFileError(
            f"no such problem: {name!r}; the catalogue has {', '.join(CATALOGUE)}"
        )
    return CATALOGUE[name]


def fetch_entry(entry: Entry) -> Path | None:
    """The entry's file, downloaded if need be; None where it needs none.

    >>> fetch_entry(entry_named("digits")) is None
    True
    """
    return fetch(entry.file, entry.address, entry.sha256) if entry.file else None


def _digits() -> Problem:
    """Eights against the other digits; Redraw keeps five."""
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    return Problem(DEFAULT_PROBLEM, X, (digit == 8).astype(np.int8), labels=("other digits", "8"))
