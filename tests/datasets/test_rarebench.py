"""RareBench's collection: what it promises, and what each entry must look like."""

from __future__ import annotations

import numpy as np
import pytest

from astralearn.datasets.errors import MissingFileError, UnavailableError, UnreadableError
from astralearn.datasets.rarebench import (
    OPEN,
    PROBLEMS,
    SEALED,
    RareEntry,
    best_order,
    load_problem,
)


def test_collection_is_large_mostly_real_and_in_two_halves() -> None:
    assert len(PROBLEMS) >= 30
    assert sum(entry.is_real for entry in PROBLEMS.values()) >= len(PROBLEMS) * 2 / 3
    assert set(OPEN) | set(SEALED) == set(PROBLEMS)
    assert not set(OPEN) & set(SEALED)
    assert abs(len(OPEN) - len(SEALED)) <= 4


def test_no_problem_that_was_tuned_on_is_sealed() -> None:
    assert [name for name, entry in PROBLEMS.items() if entry.was_tuned_on] == [
        "skin-588",
        "cod-763",
    ]
    assert not any(PROBLEMS[name].was_tuned_on for name in SEALED)


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_entry_names_source_licence_and_checksum(name: str) -> None:
    entry = PROBLEMS[name]
    assert entry.described
    assert entry.licence
    assert len(entry.checksum) == (64 if entry.is_real else 0)


def in_packages(entry: RareEntry) -> bool:
    return entry.source in ("scikit-learn", "generator")


@pytest.mark.parametrize("name", [name for name, entry in PROBLEMS.items() if in_packages(entry)])
def test_packaged_and_generated_problems_are_as_listed(name: str) -> None:
    problem = load_problem(name)
    assert problem.name == name
    best = best_order(problem)
    assert (best is None) == PROBLEMS[name].is_real
    assert best is None or np.isfinite(best).all()


@pytest.mark.long
@pytest.mark.parametrize("name", [n for n, entry in PROBLEMS.items() if not in_packages(entry)])
def test_fetched_problems_are_as_listed(name: str) -> None:
    try:
        problem = load_problem(name)
    except UnavailableError as error:
        pytest.skip(str(error))
    assert problem.name == name


def test_unknown_names_and_other_shapes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingFileError, match="no such problem: 'nothing'"):
        load_problem("nothing")
    entry = PROBLEMS["digits-3"]
    monkeypatch.setitem(PROBLEMS, "digits-3", RareEntry(**{**vars(entry), "rows": 5}))
    with pytest.raises(UnreadableError, match="must be"):
        load_problem("digits-3")
