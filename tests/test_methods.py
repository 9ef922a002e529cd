import builtins

import pytest
from sklearn.base import is_classifier

from astralearn.methods import LADDER, RIVALS, choose, paper_ladder
from astralearn.study.paper import METHODS, PROTOCOL, QUICK


def test_the_ladder_is_the_papers():
    assert tuple(LADDER) == METHODS
    found = {m.name: (m.estimator.loss, m.estimator.activation) for m in choose(["ladder"]).methods}
    assert found == {"BCE": ("bce", "sigmoid"), "GMN": ("gmn", "sigmoid"), "BCE-ASTra": ("bce", "astra"), "GMN-ASTra": ("gmn", "astra")}


@pytest.mark.parametrize("protocol", [PROTOCOL, QUICK])
def test_the_papers_ladder_validates_on_the_rows_it_is_given(protocol):
    for method in paper_ladder(protocol):
        assert method.validates
        assert method.estimator.epochs == protocol.epochs
        assert method.estimator.burn_in == protocol.burn_in < protocol.epochs
        assert method.estimator.selection == "fnr"
        assert method.estimator.n_estimators == 1
        assert method.estimator.validation_fraction == 0.0


def test_everything_that_is_offered_is_a_classifier():
    pytest.importorskip("imblearn")
    pytest.importorskip("lightgbm")
    methods, absent = choose(["all"])
    assert [m.name for m in methods] == [*LADDER, *RIVALS]
    assert all(is_classifier(m.estimator) for m in methods)
    assert absent == []


def test_names_in_any_case_once_and_in_order():
    assert [m.name for m in choose(["gmn-astra", "LADDER"]).methods] == ["GMN-ASTra", "BCE", "GMN", "BCE-ASTra"]


def test_epochs_reach_every_network():
    methods = choose(["all"], epochs=7).methods
    networks = [m for m in methods if hasattr(m.estimator, "epochs")]
    assert len(networks) == 5
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
    assert absent[0] == "RUSBoost was left out: imblearn is not installed"
    assert len(absent) == 3


def test_unknown_names():
    with pytest.raises(ValueError, match=r"no such method: 'SVM'; there are BCE, GMN, .*and the groups ladder, rivals, all"):
        choose(["SVM"])
