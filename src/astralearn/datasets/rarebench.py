"""RareBench's collection: tables with a rarer class to draw from and test on.

A study draws k positives of a table, learns, and is tested on the positives that were not drawn.
Half of the problems are open, to be tuned on; half are sealed, to be run for reports only. A
problem is sealed where SHA-256 of its name is odd, unless astralearn's defaults were tuned on it.
The real tables are listed in rarebench.csv.

>>> len(OPEN), len(SEALED)
(30, 28)
>>> problem = load_problem("breast-cancer")
>>> problem.rows, problem.features, problem.positives
(569, 30, 212)
"""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass, replace
from importlib.resources import files

from astralearn.datasets.catalogue import CATALOGUE, check_sizes
from astralearn.datasets.distributions import Floats
from astralearn.datasets.errors import MissingFileError
from astralearn.datasets.generator import TASKS, Task
from astralearn.datasets.problem import Problem
from astralearn.datasets.rare_tables import PACKAGED, SOURCES, Place

GENERATED = "generator"


@dataclass(frozen=True)
class RareEntry:
    """One problem of the collection, and what it must look like.

    source: a key of `SOURCES`, or "generator". place: where in the source it is.
    """

    name: str
    described: str
    rows: int
    features: int
    positives: int
    source: str
    place: Place

    @property
    def is_real(self) -> bool:
        return self.source != GENERATED

    @property
    def was_tuned_on(self) -> bool:
        """Whether astralearn's defaults were chosen by it, among others."""
        return self.source == "paper"

    @property
    def is_sealed(self) -> bool:
        """Whether it is kept for reports: an odd hash, and never tuned on."""
        is_odd = int(hashlib.sha256(self.name.encode()).hexdigest(), 16) % 2 == 1
        return is_odd and not self.was_tuned_on

    @property
    def licence(self) -> str:
        return SOURCES[self.source].licence if self.is_real else "BSD-3-Clause"

    @property
    def checksum(self) -> str:
        """SHA-256 of its file, or of its values where a package brings them.

        It is "" where the values are generated.
        """
        if not self.is_real:
            return ""
        file = SOURCES[self.source].archive
        if file is not None:
            return file.sha256
        if self.source == "paper":
            return CATALOGUE[self.place.table].sha256
        return PACKAGED[self.place.table]


def load_problem(name: str) -> Problem:
    """Return a problem of the collection, fetched if need be and checked.

    MissingFileError for a name nobody knows, UnavailableError where its archive cannot be had,
    UnreadableError where it is not what the entry says.

    >>> load_problem("digits-3").positives
    183
    """
    if name not in PROBLEMS:
        raise MissingFileError(f"no such problem: {name!r}; there are {', '.join(PROBLEMS)}")
    entry = PROBLEMS[name]
    if entry.is_real:
        problem = SOURCES[entry.source].read(entry.place)
    else:
        problem = Problem(name, *TASKS[name].table())
    problem = replace(problem, name=name, redraw=None)
    check_sizes(problem, entry.rows, entry.features, entry.positives, name=name)
    return problem


def best_order(problem: Problem) -> Floats | None:
    """Return the best score of each row of a generated problem, None of a real one."""
    return TASKS[problem.name].best_order(problem.X) if problem.name in TASKS else None


def _listed(row: dict[str, str]) -> RareEntry:
    place = Place(row["table"], row["target"], row["positive"], tuple(row["without"].split()))
    return RareEntry(
        name=row["name"],
        described=row["described"],
        rows=int(row["rows"]),
        features=int(row["features"]),
        positives=int(row["positives"]),
        source=row["source"],
        place=place,
    )


def _synthetic(task: Task) -> RareEntry:
    return RareEntry(
        name=task.name,
        described=task.described,
        rows=task.positives + task.negatives,
        features=task.majority.width,
        positives=task.positives,
        source=GENERATED,
        place=Place(task.name),
    )


def _entries() -> list[RareEntry]:
    text = files("astralearn.datasets").joinpath("rarebench.csv").read_text(encoding="utf-8")
    real = [_listed(row) for row in csv.DictReader(text.splitlines())]
    return [*real, *map(_synthetic, TASKS.values())]


#: Every problem of the collection by its name, with source, licence, checksum and shape.
PROBLEMS: dict[str, RareEntry] = {entry.name: entry for entry in _entries()}
#: Names of the problems that may be tuned on.
OPEN = [name for name, entry in PROBLEMS.items() if not entry.is_sealed]
#: Names of the problems that are kept for reports.
SEALED = [name for name, entry in PROBLEMS.items() if entry.is_sealed]
