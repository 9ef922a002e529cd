"""The paper's study as a function, with random rows and cheap methods under the paper's names."""

import numpy as np
import pandas as pd
import pytest

from astralearn import reproduce as module
from astralearn.datasets import Problem, Redraw, UnavailableError
from astralearn.methods import ChosenMethods
from astralearn.reproduce import plan_reproduction, reproduce
from astralearn.study import Method
from astralearn.study.paper import PAPER_METHODS, RIVALS
from classifiers import CheapNetwork, Nearest

pytestmark = pytest.mark.slow


def cheap_ladder(protocol):
    return [Method(name, CheapNetwork(protocol.starts), validates=True) for name in PAPER_METHODS]


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    """Problems of the right size but of random rows, cheap methods, and a rival that is absent."""
    y = np.repeat([0, 1], [20000, 34]).astype(np.int8)
    X = np.random.default_rng(0).normal(size=(len(y), 3)) + y[:, None]
    monkeypatch.setattr(module, "load", lambda name: Problem(name, X, y, redraw=Redraw(5)))
    monkeypatch.setattr(module, "paper_ladder", cheap_ladder)
    rivals = ChosenMethods([Method(RIVALS[1], Nearest())], ["RUSBoost was left out: why"])
    monkeypatch.setattr(module, "choose", lambda names: rivals)


@pytest.fixture
def no_figures(monkeypatch):
    monkeypatch.setattr("astralearn.report.reproduction_page.write_figures", lambda *_: [])


def test_every_artefact_is_written(tmp_path):
    pytest.importorskip("matplotlib")
    found = reproduce(["skin-4000"], quick=True, out=tmp_path, n_jobs=1)
    assert [row[-1] for row in found.data.rows] == ["equal"]
    assert "of 8 means agree" in found.table.notes[0]
    assert "RUSBoost was left out: why" in found.sentences
    assert found.figure_4 == "skin-4000"
    assert len(found.records) == 2 * 5 * (4 * 2 + 1)
    written = {path.name for path in tmp_path.iterdir()}
    names = ("table-1", "table-2", "table-2-last-epoch", "bounds", "spread")
    tables = {f"{name}.{kind}" for name in names for kind in ("md", "csv", "tex")}
    figures = {f"figure-{n}.{kind}" for n in (1, 2, 3, 4) for kind in ("png", "svg")}
    assert tables | figures | {"report.html", "records.csv", "study.sqlite"} <= written
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for said in (*found.verdict, *(f"{table.title}</h2>" for table in found.tables.values())):
        assert said.replace("'", "&#39;") in page
    records = pd.read_csv(tmp_path / "records.csv")
    assert {"start", "last_tp", "best_mcc", "worst_g_mean"} <= set(records.columns)


def test_the_same_seed_gives_the_same_files_however_often_it_was_stopped(no_figures, tmp_path):
    reproduce(["skin-4000"], quick=True, out=tmp_path / "a", n_jobs=1)
    seen = []

    def stop(progress):
        seen.append(progress.done)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(["skin-4000"], quick=True, out=tmp_path / "b", n_jobs=1, progress=stop)
    reproduce(["skin-4000"], quick=True, out=tmp_path / "b", n_jobs=1)
    for name in ("table-2.csv", "table-2-last-epoch.csv", "bounds.csv", "spread.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_run_adds_to_what_the_folder_has(no_figures, tmp_path):
    for name in ("skin-4000", "skin-588"):
        found = reproduce([name], quick=True, out=tmp_path, n_jobs=1)
    assert "of 16 means agree" in found.table.notes[0]
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
    assert any("skin-4000: run earlier, and left out here" in said for said in found.sentences)
    assert {record.problem for record in found.records} == {"skin-588"}
    assert set(pd.read_csv(tmp_path / "table-2.csv")["problem"]) == {"skin-588"}


@pytest.mark.parametrize(
    ("is_quick", "folder"),
    [(True, "astralearn-reproduction-quick"), (False, "astralearn-reproduction")],
)
def test_each_protocol_has_a_folder_of_its_own(is_quick, folder):
    planned = plan_reproduction(["skin-4000"], quick=is_quick)
    assert str(planned.path.parent) == folder
    assert planned.plan.repetitions == (2 if is_quick else 10)
    assert planned.plan.starts == 2


def test_starts_are_an_option():
    planned = plan_reproduction(["skin-4000"], starts=3)
    assert planned.plan.starts == 3
    assert planned.plan.networks[0].estimator.starts == 3
    with pytest.raises(ValueError, match="`starts` must be at least 1; found 0"):
        plan_reproduction(["skin-4000"], starts=0)


def test_only_the_papers_problems_are_known():
    with pytest.raises(ValueError, match="not in the paper: yeast6; its problems are skin-588"):
        reproduce(["skin-588", "yeast6"])
