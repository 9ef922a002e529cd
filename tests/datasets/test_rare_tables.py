"""The sources of RareBench's tables."""

from __future__ import annotations

import pytest

from astralearn.datasets import rare_tables
from astralearn.datasets.errors import UnreadableError
from astralearn.datasets.rare_tables import SOURCES, Place


def test_a_table_of_scikit_learn_that_changed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rare_tables.PACKAGED, "digits", "another")
    with pytest.raises(UnreadableError, match="digits has changed"):
        SOURCES["scikit-learn"].read(Place("digits", positive="3"))


def test_every_source_says_who_may_use_it() -> None:
    assert all(source.package and source.licence for source in SOURCES.values())
