"""A comparison as a function, with cheap methods in place of the ladder."""

import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from astralearn import compare as module
from astralearn import datasets, methods
from astralearn.compare import compare, plan_comparison, problem_of
from astralearn.datasets import (
    MissingColumnError,
    MissingFileError,
    TooFewPositivesError,
    UnreadableError,
)
from astralearn.methods import ChosenMethods
from astralearn.study import Method, MismatchError
from classifiers import Nearest, Raising, Stacked

pytestmark = pytest.mark.slow

RUNGS = [
    Method("BCE", Nearest(noise=3.0)),
    Method("GMN", Stacked()),
    Method("RUSBoost", Raising()),
]


def cards(rows=201):
    random = np.random.default_rng(0)
    fraud = np.arange(rows) < 8
    frame = pd.DataFrame(
        {"amount": random.normal(size=rows) + 2 * fraud, "age": random.normal(size=rows)}
    )
    frame["country"] = random.choice(["de", "fr"], size=rows)
    frame.loc[3, "age"] = np.nan
    frame["fraud"] = np.where(fraud, "yes", "no")
    return frame


def quick(data=None, **options):
    """One repetition of the cheap methods in this process."""
    given = cards() if data is None else data
    standard = {"target": "fraud", "methods": RUNGS, "repetitions": 1, "n_jobs": 1}
    return compare(given, **{**standard, **options})


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "astralearn" / "studies"


@pytest.fixture
def no_figures(monkeypatch):
    """They take most of a cheap comparison's time."""
    monkeypatch.setattr("astralearn.report.artefacts.write_figures", lambda *_, **__: [])
    monkeypatch.setattr("astralearn.pages._explained_rows", lambda _: ("", []))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """One comparison with everything it writes, shared by those who only look."""
    folder = tmp_path_factory.mktemp("finished")
    cards().to_csv(folder / "cards.csv", index=False)
    return quick(folder / "cards.csv", repetitions=2, out=folder / "out")


def test_a_file_is_compared_and_a_method_recommended(finished):
    assert len(finished.records) == 30
    assert {record.method for record in finished.records} == {"BCE", "GMN", "RUSBoost"}
    assert [row[0].text.removesuffix(" †") for row in finished.table.cells()] == [
        record.method for record in finished.records[::10]
    ]
    assert finished.answer.best.method == finished.records[0].method
    assert finished.table.title == "cards: 8 positives (yes) among 201 rows"
    assert finished.advice.method in ("BCE", "GMN")
    assert re.match("(BCE|GMN) is the least intervention", str(finished.advice))
    assert any("RUSBoost failed on" in note for note in finished.table.notes)
    assert any("gaps are filled with" in note for note in finished.notes)


def test_everything_is_in_the_folder(finished):
    names = {path.name for path in finished.study.parent.iterdir()}
    tables = {f"comparison.{ending}" for ending in ("md", "csv", "tex")}
    figures = {f"figure-4.{kind}" for kind in ("png", "svg")}
    assert names == {
        *tables, *figures, "study.sqlite", "study.sqlite.lock", "report.md", "report.html",
        "records.csv",
    }  # fmt: skip
    assert "Use " in (finished.study.parent / "report.md").read_text()


def test_a_second_call_runs_nothing(finished, no_figures):
    seen = []
    again = quick(
        finished.study.parent.parent / "cards.csv",
        repetitions=2,
        out=finished.study.parent,
        progress=seen.append,
    )
    assert [progress.done for progress in seen] == [30]
    assert again.table == finished.table
    assert again.records == finished.records


def test_without_a_folder_nothing_is_left(cache):
    found = quick()
    assert found.table.title.startswith("table: 8 positives")
    assert len(found.records) == 15
    assert list(cache.iterdir()) == []


def test_what_is_interrupted_waits_in_the_cache(cache):
    def stop(progress):
        if progress.done >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick(progress=stop)
    assert [path.suffix for path in cache.glob("*.sqlite")] == [".sqlite"]
    seen = []
    quick(progress=seen.append)
    assert seen[0].done == 3


def test_added_methods_join_those_in_the_folder_in_an_order_of_their_own(no_figures, tmp_path):
    mine = Method("mine", Nearest())
    quick(methods=[mine, RUNGS[1]], out=tmp_path)
    found = quick(methods=[RUNGS[0]], out=tmp_path)
    names = list(dict.fromkeys(record.method for record in found.records))
    assert sorted(names) == ["BCE", "GMN", "mine"]
    assert [row[0].text for row in found.table.cells()] == names
    assert pd.read_csv(tmp_path / "records.csv")["method"].tolist() == [
        name for name in names for _ in range(5)
    ]


def test_methods_of_an_earlier_run_with_other_settings_are_named(no_figures, tmp_path, monkeypatch):
    def chosen(names, epochs=None, decision=None):
        made = [Method(name, Nearest(seconds=(epochs or 0) / 1e6)) for name in names]
        return ChosenMethods(made, [])

    monkeypatch.setattr(module, "choose", chosen)
    quick(methods=["BCE", "SVM"], epochs=20, out=tmp_path)
    same = quick(methods=["logistic"], epochs=20, out=tmp_path)
    assert not any("earlier run" in note for note in same.table.notes)
    other = quick(methods=["GMN"], epochs=300, out=tmp_path)
    said = "BCE is of an earlier run, with seconds=2e-05; this one has seconds=0.0003."
    assert said in other.table.notes
    assert said in (tmp_path / "report.md").read_text()


def test_other_data_need_another_folder(no_figures, tmp_path):
    quick(replace(datasets.load("digits"), name="cards"), target=None, out=tmp_path)
    report = (tmp_path / "report.md").read_text()
    with pytest.raises(MismatchError, match="holds a comparison on cards; this one is on table"):
        quick(out=tmp_path)
    assert (tmp_path / "report.md").read_text() == report


def test_leave_one_positive_out():
    found = quick(leave_one_positive_out=True)
    assert any("n = 8 test folds per method (1 × 8)" in note for note in found.table.notes)


def test_names_and_methods_of_ones_own_go_together():
    planned = plan_comparison(methods=["logistic", Method("mine", Nearest())])
    assert [method.name for method in planned.plan.methods] == ["logistic", "mine"]
    assert planned.plan.problems[0].name == "digits"


def test_no_method_left_names_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ValueError, match=r"none of the methods can be run: ASTra-XGBoost was left"):
        quick(methods=["ASTra-XGBoost"])


def test_what_a_name_stands_for_is_said(monkeypatch):
    absent = "LightGBM was left out: lightgbm is not installed"
    absent = [absent, absent.replace("LightGBM", "ASTra-LightGBM"), "XGBOD was left out: no pyod"]
    monkeypatch.setattr(module, "choose", lambda *_, **__: ChosenMethods(RUNGS, absent))
    assert plan_comparison(methods=["all"]).notes == (
        "left out: LightGBM, ASTra-LightGBM: lightgbm is not installed",
        "left out: XGBOD: no pyod",
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"target": None}, MissingColumnError, r"Name it \(`target`\); there are 'amount', 'age'"),
        ({"data": "nowhere.csv"}, MissingFileError, "no such file: nowhere.csv"),
        ({"data": "skin"}, MissingFileError, "no such file or problem: skin; the catalogue has"),
        ({"data": "digits"}, ValueError, "`target=fraud` is for files and frames"),
        (
            {"data": "digits", "target": None, "positive": 8},
            ValueError,
            "`positive=8` is for files and frames",
        ),
        ({"folds": 1}, ValueError, "`folds` must be at least 2; found 1"),
        ({"folds": 9}, TooFewPositivesError, r"ask for at most 8 folds \(`folds=8`\)"),
        (
            {"folds": 5, "leave_one_positive_out": True},
            ValueError,
            "`folds` and `leave_one_positive_out` exclude each other",
        ),
        ({"repetitions": 0}, ValueError, "`repetitions` must be at least 1; found 0"),
        ({"epochs": 0}, ValueError, "`epochs` must be at least 1; found 0"),
        ({"seed": -1}, ValueError, "`seed` must be at least 0; found -1"),
        ({"n_jobs": 0}, ValueError, "`n_jobs` must be at least 1, or -1 for one per core"),
        ({"methods": ["kNN"]}, ValueError, "no such method: 'kNN'"),
        ({"budget": 0.0}, ValueError, "`budget` must be above 0 seconds; found 0"),
        ({"decision": "auc"}, ValueError, "decision must be one of 'g_mean', 'mcc', 'f1'"),
        ({"decision": {"cost": {"yes": 1}}}, ValueError, "of each label, 'no' and 'yes'"),
        ({"group": "card"}, MissingColumnError, r"no column 'card' \(`group`\); there are"),
        ({"time": "country"}, UnreadableError, "must be numbers or dates such as 2024-12-31"),
    ],
)
def test_what_cannot_be_names_its_argument(options, error, message):
    with pytest.raises(error, match=message):
        quick(**options)


@pytest.mark.parametrize(("spent", "left"), [(3.0, 9.0), (10.0, 6.0), (40.0, 6.0)])
def test_reading_counts_for_the_budget_and_leaves_half_of_it(monkeypatch, spent, left):
    planned = plan_comparison(cards(), target="fraud", methods=RUNGS, budget=12.0)
    given = []

    def nothing_done(*_args, budget, **_options):
        given.append(budget)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "run", nothing_done)
    monkeypatch.setattr(module, "monotonic", lambda: planned.begun + spent)
    with pytest.raises(KeyboardInterrupt):
        planned.run(n_jobs=1)
    assert given == [pytest.approx(left)]


def test_one_positive_is_too_few_however_it_is_asked():
    frame = pd.DataFrame({"a": range(21), "t": [1] + [0] * 20})
    with pytest.raises(TooFewPositivesError, match="at least two are needed, one to learn from"):
        quick(frame, target="t", leave_one_positive_out=True)


def test_a_note_is_made_once():
    frame = cards()
    frame["price"] = np.where(np.arange(len(frame)) % 10 == 0, "unknown", "1.5")
    planned = plan_comparison(frame, target="fraud", methods=RUNGS)
    (note,) = [note for note in planned.notes if note.startswith("price is read as words")]
    assert "leave cells with 'unknown' empty" in note


@pytest.mark.parametrize(
    ("file", "name"),
    [(".hidden.csv", "hidden"), ("a\nb\x1b[31m.csv", "a b\N{REPLACEMENT CHARACTER}[31m")],
)
def test_any_file_name_gives_a_name_on_one_line(tmp_path, file, name):
    cards().to_csv(tmp_path / file, index=False)
    assert problem_of(tmp_path / file, target="fraud").name == name


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
def test_a_file_name_may_be_bytes_of_another_encoding(tmp_path):
    path = Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9.csv"))
    cards().to_csv(path, index=False)
    assert quick(path).problem.name == "caf\N{REPLACEMENT CHARACTER}"


def test_a_name_too_long_for_the_system_is_that_of_no_file():
    for name in ("x" * 300, "x" * 300 + ".csv"):
        with pytest.raises(MissingFileError, match="no such file"):
            problem_of(name, target="t")


def test_an_empty_file_is_unreadable(tmp_path):
    (tmp_path / "a.csv").touch()
    with pytest.raises(UnreadableError, match="cannot be read: No columns to parse from file"):
        problem_of(tmp_path / "a.csv", target="t")


def test_the_default_are_the_few_that_matter_on_the_digits_fastest_first():
    planned = plan_comparison()
    names = [method.name for method in planned.plan.methods]
    assert sorted(names) == sorted(m.name for m in methods.choose(["default"]).methods)
    assert names[0] == "logistic"
    assert [m.seconds for m in planned.plan.methods] == sorted(
        m.seconds for m in planned.plan.methods
    )
    assert (planned.plan.folds, planned.plan.repetitions) == (5, 5)
    assert not any("repetitions" in note for note in planned.notes)


def test_folds_of_a_large_table_are_drawn_fewer_times(monkeypatch):
    slow = [Method("slow", Nearest(), seconds=1000.0)]
    monkeypatch.setattr(module, "MOST_SECONDS", 210.0)  # of said 100 s a repetition
    planned = plan_comparison(cards(), target="fraud", methods=slow)
    assert planned.plan.repetitions == 2
    said = "for the table's size, folds are drawn 2 times, not 5 (`repetitions`)"
    assert planned.notes[-1] == said
    monkeypatch.setattr(module, "MOST_SECONDS", 1.0)
    assert plan_comparison(cards(), target="fraud", methods=slow).plan.repetitions == 1
    asked = plan_comparison(cards(), target="fraud", methods=slow, repetitions=4)
    assert (asked.plan.repetitions, said in asked.notes) == (4, False)
