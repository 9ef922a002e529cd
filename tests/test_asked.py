"""What was asked of a comparison, as a command and as the lines that train on."""

import shlex

import numpy as np
import pandas as pd
import pytest

from astralearn.asked import as_option, said_of_absent, study_decision
from astralearn.cli import _parser
from astralearn.compare import plan_comparison
from astralearn.datasets import Problem
from astralearn.methods import make
from astralearn.study import Method, Record
from astralearn.study.answer import answer
from classifiers import Nearest


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def table(tmp_path):
    rng, rows = np.random.default_rng(0), 60
    frame = pd.DataFrame(
        {"a": rng.normal(size=rows), "card": np.arange(rows) // 2, "day": range(rows)}
    )
    frame["t"] = np.where(np.arange(rows) % 6 == 0, "it's", "no")
    frame.to_csv(tmp_path / "my table.csv", index=False)
    return tmp_path / "my table.csv"


def planned(table, **options):
    return plan_comparison(table, target="t", methods=["logistic", "GMN"], **options)


def winner(name):
    """An answer with this method first."""
    records = {
        method: [
            Record(
                "p", method, 0, fold, 80, 18, 1, 1 - hit, hit, None, 0.1,
                ranks=f"{fold}:1{'-+'[hit]}",
            )
            for fold in range(5)
        ]
        for method, hit in ((name, 1), ("other", 0))
    }  # fmt: skip
    return answer(records)


@pytest.mark.parametrize(
    "options",
    [
        {"decision": {"cost": {"it's": 100.0, "no": 1.0}}, "seed": 3, "repetitions": 2},
        {"decision": {"alerts": 0.05}, "group": "card", "budget": 90.0},
        {"time": "day", "leave_one_positive_out": False, "folds": 3, "positive": "it's"},
    ],
)
def test_the_command_is_read_as_what_was_asked(table, options):
    asked = planned(table, **options).asked
    words = shlex.split(asked.command)
    assert words[:2] == ["astralearn", "compare"]
    read = vars(_parser().parse_args(words[1:]))
    for name, value in {**options, "target": "t", "methods": ["logistic", "GMN"]}.items():
        assert read[name] == value
    assert read["data"] == str(table)


def test_facts_name_file_seed_folds_and_decision(table):
    facts = dict(planned(table, seed=7, decision="mcc", group="card").asked.facts())
    assert facts["file"] == str(table)
    assert facts["seed"] == "7"
    assert facts["decision"] == "mcc"
    assert facts["folds"] == "5, 5 times over, keeping card together"
    assert facts["target"] == "t; positive is it's"
    assert "60, of them 10 positive, 2 columns" in facts["rows"]


def test_the_default_is_trained_by_python_and_by_a_command(table):
    asked = planned(table, decision={"recall": 0.9}).asked
    (_, python), (_, command) = asked.training_lines(winner("ASTraClassifier"))
    assert "ASTraClassifier(decision={'recall': 0.9})" in python
    compile(python, "lines", "exec")
    assert [line.split()[0] for line in python.splitlines()] == ["from", "from", "model"]
    read = vars(_parser().parse_args(shlex.split(command)[1:]))
    assert (read["target"], read["decision"], read["out"]) == (
        "t",
        {"recall": 0.9},
        "my table.astra",
    )


def test_a_rung_is_trained_by_its_name_and_a_rival_by_python_alone(table):
    asked = planned(table).asked
    _, (_, command) = asked.training_lines(winner("GMN"))
    assert "--method GMN" in command
    ((_, rival),) = asked.training_lines(winner("logistic"))
    assert "make('logistic')" in rival
    assert type(make("logistic")).__name__ == "Pipeline"
    assert make("astraclassifier", decision="mcc").decision == "mcc"


def test_a_method_of_ones_own_is_shown_as_it_prints(table):
    asked = plan_comparison(table, target="t", methods=[Method("mine", Nearest(noise=2.0))]).asked
    ((_, line),) = asked.training_lines(winner("mine"))
    assert "TabularASTraClassifier(Nearest(noise=2.0)).fit(X, y)" in line


def test_where_nothing_was_found_there_is_nothing_to_train(table):
    records = {"BCE": [Record("p", "BCE", 0, 0, 80, 18, 1, 1, 0, None, 0.1, ranks="1:3-")]}
    assert planned(table).asked.training_lines(answer(records)) == []


def test_costs_are_those_of_the_labels():
    problem = Problem("p", np.zeros((3, 1)), np.array([0, 0, 1], np.int8), labels=("no", "yes"))
    assert study_decision({"cost": {"yes": 9, "no": 2}}, problem) == {"cost": {1: 9, 0: 2}}
    assert study_decision("mcc", problem) == "mcc"


def test_options_as_the_command_line_spells_them():
    assert as_option({"cost": {"yes": 100.0, "no": 1}}) == "cost=yes:100,no:1"
    assert as_option(["BCE", Method("mine", Nearest())]) == "BCE,mine"
    assert as_option(90.0) == "90s"


def test_absent_methods_are_named_by_reason():
    said = ["a was left out: no x", "b was left out: no x", "c was left out: no y"]
    assert said_of_absent(said) == ["left out: a, b: no x", "left out: c: no y"]
