import builtins
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import is_classifier

from astralearn.datasets import load
from astralearn.entrants import ENTRANTS
from astralearn.methods import (
    DEFAULT_METHOD,
    FAST,
    METHOD_NAMES,
    PAPER_NETWORKS,
    RIVALS,
    TREE_METHODS,
    choose,
    paper_ladder,
)
from astralearn.study import Plan, read_histories, run
from astralearn.study.paper import PAPER_METHODS, PROTOCOL, QUICK
from astralearn.study.paper_plan import PaperPlan
from astralearn.study.record import StartRecord


def test_the_ladder_is_the_papers():
    assert tuple(PAPER_NETWORKS) == PAPER_METHODS
    found = {
        m.name: (m.estimator.loss, m.estimator.activation)
        for m in choose(["ladder"]).methods
        if m.name != DEFAULT_METHOD
    }
    assert found == {
        "BCE": ("bce", "sigmoid"),
        "GMN": ("gmn", "sigmoid"),
        "BCE-ASTra": ("bce", "astra"),
        "GMN-ASTra": ("gmn", "astra"),
    }


@pytest.mark.parametrize("protocol", [PROTOCOL, QUICK])
def test_the_papers_ladder_validates_on_the_rows_it_is_given(protocol):
    for method in paper_ladder(protocol):
        assert method.validates
        assert method.estimator.epochs == protocol.epochs
        assert method.estimator.burn_in == protocol.burn_in < protocol.epochs
        assert method.estimator.starts == protocol.starts


@pytest.mark.slow
def test_everything_that_is_offered_is_a_classifier():
    pytest.importorskip("imblearn")
    for library in ("lightgbm", "xgboost", "catboost", "pyod"):
        pytest.importorskip(library)
    methods, absent = choose(["all", "entrants"])
    assert [m.name for m in methods] == METHOD_NAMES
    assert [*PAPER_NETWORKS, DEFAULT_METHOD, *TREE_METHODS, *RIVALS, *ENTRANTS] == METHOD_NAMES
    assert set(FAST) < set(METHOD_NAMES)
    assert all(is_classifier(m.estimator) for m in methods)
    assert absent == []


def test_names_in_any_case_once_and_in_order():
    assert [m.name for m in choose(["gmn-astra", "LADDER"]).methods] == [
        "GMN-ASTra",
        "BCE",
        "GMN",
        "BCE-ASTra",
        "ASTraClassifier",
    ]


def test_epochs_reach_every_network():
    methods = choose(["all"], epochs=7).methods
    networks = [m for m in methods if hasattr(m.estimator, "epochs")]
    assert len(networks) == 6
    assert {m.estimator.epochs for m in networks} == {7}


def test_absent_packages_are_named(monkeypatch):
    real = builtins.__import__

    def without_imblearn(name, *args, **options):
        if name.startswith("imblearn"):
            raise ModuleNotFoundError("No module named 'imblearn'", name="imblearn")
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without_imblearn)
    methods, absent = choose(["rivals"])
    assert "RUSBoost" not in [m.name for m in methods]
    assert "logistic" in [m.name for m in methods]
    assert (
        absent[0]
        == "RUSBoost was left out: imblearn is not installed (pip install 'astralearn[peers]')"
    )
    assert len(absent) == 3


def test_absent_boosting_libraries_are_named(monkeypatch):
    for library in ("xgboost", "catboost"):
        monkeypatch.setitem(sys.modules, library, None)
    methods, absent = choose(["trees"])
    assert [m.name for m in methods] == ["ASTra-LightGBM"]
    assert absent == [
        f"ASTra-{name} was left out: {name.lower()} is not installed (pip install "
        "'astralearn[boosting]')"
        for name in ("XGBoost", "CatBoost")
    ]


def test_an_installed_package_that_cannot_be_imported_is_not_said_to_be_absent(monkeypatch):
    def broken():
        raise ImportError("cannot import name 'x' from 'sklearn.utils'", name="sklearn.utils")

    monkeypatch.setitem(RIVALS, "RUSBoost", broken)
    assert choose(["RUSBoost"]).absent == [
        "RUSBoost was left out: cannot import name 'x' from 'sklearn.utils'"
    ]


@pytest.mark.parametrize(
    "error",
    [
        OSError("libgomp.so.1: cannot open shared object file"),
        ValueError("numpy.dtype size changed"),
    ],
)
def test_an_installed_package_that_raises_when_imported_costs_only_its_methods(monkeypatch, error):
    def broken():
        raise error

    monkeypatch.setitem(RIVALS, "LightGBM", broken)
    methods, absent = choose(["logistic", "LightGBM"])
    assert [m.name for m in methods] == ["logistic"]
    assert absent == [f"LightGBM was left out: {type(error).__name__}: {error}"]


@pytest.mark.slow
def test_boosted_trees_run_through_the_study(tmp_path):
    """The contract: cloned, seeded, on one core, decisions and scores of every fold."""
    for library in ("lightgbm", "xgboost", "catboost"):
        pytest.importorskip(library)
    methods = choose(["trees"]).methods
    for method in methods:
        settings = method.estimator.get_params()
        assert settings.get("n_jobs", settings.get("thread_count")) == 1
        few = "iterations" if method.name == "ASTra-CatBoost" else "n_estimators"
        method.estimator.set_params(**{few: 10})
    records = run(Plan([load("digits")], methods, repetitions=1), tmp_path / "trees")
    assert len(records) == 15
    assert {record.error for record in records} == {None}
    assert all(record.average_precision is not None for record in records)


def test_unknown_names():
    with pytest.raises(
        ValueError,
        match=(
            r"no such method: 'kNN'; there are BCE, GMN, .*and the groups default, ladder, trees, "
            r"rivals, entrants, fast, all"
        ),
    ):
        choose(["kNN"])


@pytest.mark.slow
@pytest.mark.parametrize("chosen", ["GMN", pytest.param("all", marks=pytest.mark.long)])
def test_the_real_ladder_runs_through_the_study(tmp_path, chosen):
    """The contract: stacks of pairs, decisions, scores and monitored e-ratios."""
    ladder = choose(["ladder", "weighted MLP"], epochs=30).methods
    wanted = [method for method in ladder if method.name in (DEFAULT_METHOD, chosen)]
    methods = wanted if chosen != "all" else ladder
    records = run(Plan([load("digits")], methods, repetitions=1), tmp_path / "study")
    assert len(records) == 5 * len(methods)
    assert all(record.average_precision is not None for record in records)
    check(records, read_histories(tmp_path / "study", "digits"), methods)


@pytest.mark.slow
@pytest.mark.parametrize("chosen", ["GMN", pytest.param("all", marks=pytest.mark.long)])
def test_the_papers_ladder_runs_through_its_study(tmp_path, chosen):
    """The contract: triples, several starts, both choices of the epoch."""
    protocol = replace(PROTOCOL, epochs=30, burn_in=10, repetitions=2, starts=1)
    methods = [m for m in paper_ladder(protocol) if chosen in (m.name, "all")]
    plan = PaperPlan([load("digits")], methods, repetitions=2, burn_in=10)
    records = run(plan, tmp_path / "study")
    assert len(records) == 10 * len(methods)
    assert all(10 <= record.chosen_epoch < 30 for record in records)
    assert all(r.worst_mcc <= r.mcc <= r.best_mcc for r in records)
    histories = read_histories(tmp_path / "study", "digits", StartRecord)
    check(records, histories, methods)
    assert "val_fnr" in histories["GMN"][0]


def check(records, histories, methods):
    assert {record.error for record in records} == {None}
    assert set(histories) == {method.name for method in methods}
    for folds in histories.values():
        assert len(folds) == len(records) / len(methods)
        assert all(
            (np.diff(fold["epoch"]) > 0).all() and fold["e_ratio"].shape == fold["epoch"].shape
            for fold in folds
        )
        assert all(25 <= fold["epoch"][-1] <= 30 for fold in folds)
