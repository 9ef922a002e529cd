"""The paper's study as a function, with random rows and cheap methods under the paper's names."""

import numpy as np
import pandas as pd
import pytest

from astralearn import reproduce as module
from astralearn.datasets import Problem, Redraw, UnavailableError
from astralearn.reproduce import plan_reproduction, reproduce
from astralearn.study import Method
from astralearn.study.paper import PAPER_METHODS
from classifiers import Stacked


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    """Problems of the right size but of random rows, and cheap methods."""
    y = np.repeat([0, 1], [20000, 34]).astype(np.int8)
    X = np.random.default_rng(0).normal(size=(len(y), 3)) + y[:, None]
    monkeypatch.setattr(module, "load", lambda name: Problem(name, X, y, redraw=Redraw(5)))
    ladder = [Method(name, Stacked(noise=1.0), validates=True) for name in PAPER_METHODS]
    monkeypatch.setattr(module, "paper_ladder", lambda protocol: ladder)


@pytest.fixture
def no_figures(monkeypatch):
    monkeypatch.setattr("astralearn.report.artefacts.write_figures", lambda *_: [])


def test_every_artefact_is_written(tmp_path):
    found = reproduce(["skin-4000"], quick=True, out=tmp_path, n_jobs=1)
    assert [row[-1] for row in found.data.rows] == ["equal"]
    assert any("of 8 means lie inside" in note for note in found.table.notes)
    assert found.figure_4 == "skin-4000"
    written = {path.name for path in tmp_path.iterdir()}
    tables = {f"table-{n}.{kind}" for n in (1, 2) for kind in ("md", "csv", "tex")}
    figures = {f"figure-{n}.{kind}" for n in (1, 2, 3, 4) for kind in ("png", "svg")}
    assert tables | figures | {"report.md", "records.csv", "study.sqlite"} <= written


def test_a_run_adds_to_what_the_folder_has(no_figures, tmp_path):
    for name in ("skin-4000", "skin-588"):
        found = reproduce([name], quick=True, out=tmp_path, n_jobs=1)
    assert any("of 16 means lie inside" in note for note in found.table.notes)
    for number in (1, 2):
        problems = pd.read_csv(tmp_path / f"table-{number}.csv")["problem"]
        assert list(dict.fromkeys(problems)) == ["skin-588", "skin-4000"]


def test_what_it_ran_is_shown_where_an_earlier_problems_file_has_gone(
    no_figures, monkeypatch, tmp_path
):
    load = module.load

    def gone(name):
        if name == "skin-4000":
            raise UnavailableError("gone")
        return load(name)

    reproduce(["skin-4000"], quick=True, out=tmp_path, n_jobs=1)
    monkeypatch.setattr(module, "load", gone)
    found = reproduce(["skin-588"], quick=True, out=tmp_path, n_jobs=1)
    assert any("skin-4000: run earlier, and left out here" in said for said in found.advice)
    assert {record.problem for record in found.records} == {"skin-588"}
    assert set(pd.read_csv(tmp_path / "table-2.csv")["problem"]) == {"skin-588"}


@pytest.mark.parametrize(
    ("is_quick", "folder"),
    [(True, "astralearn-reproduction-quick"), (False, "astralearn-reproduction")],
)
def test_each_protocol_has_a_folder_of_its_own(is_quick, folder):
    planned = plan_reproduction(["skin-4000"], quick=is_quick)
    assert str(planned.path.parent) == folder
    assert planned.plan.repetitions == (1 if is_quick else 10)


def test_only_the_papers_problems_are_known():
    with pytest.raises(ValueError, match="not in the paper: yeast6; its problems are skin-588"):
        reproduce(["skin-588", "yeast6"])
