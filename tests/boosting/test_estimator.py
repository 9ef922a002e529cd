"""One contract, three libraries: what a fit, a prediction and a refusal are in each of them."""

import functools
import signal
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import matthews_corrcoef
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from astralearn.boosting import SCORES, Objective
from astralearn.core import rebalanced_logit

METHODS = pytest.mark.parametrize(
    ("loss", "activation"),
    [("bce", "astra"), ("gmn", "sigmoid"), ("gmn", "astra"), ("mcc", "sigmoid")],
)


def rebalanced(x, slope):
    return 1 / (1 + np.exp(-rebalanced_logit(x.astype(np.float64), slope)))


@METHODS
def test_scores_probabilities_and_labels_agree(library, loss, activation, rare):
    X, y = rare
    model = library.make(loss=loss, activation=activation).fit(X, y)
    x = library.scores(model, X)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba[:, 1], rebalanced(x, model.slope_), rtol=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), (x >= 0).astype(int))
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X) == 1)
    assert matthews_corrcoef(y, model.predict(X)) > 0.4
    assert len(model.slope_path_) == 21
    assert (activation == "sigmoid") == (model.slope_ == 1.0)
    assert 0 < model.threshold_ <= 0.5


@pytest.mark.parametrize(
    "names",
    [("ok", "fraud"), ("a", "b"), (1, -1), (True, False), (0, 1), (7.0, 3.0)],
    ids=["strings", "sorted", "signs", "booleans", "ints", "floats"],
)
def test_the_rarer_class_is_positive_whatever_the_labels(library, names, rare):
    X, y = rare
    labels = np.asarray(names)[y]
    model = library.make(5, loss="bce").fit(X, labels)
    plain = library.make(5, loss="bce").fit(X, y)
    assert model.minority_class_ == names[1]
    assert model.classes_.tolist() == sorted(names)
    column = model.classes_.tolist().index(names[1])
    np.testing.assert_allclose(model.predict_proba(X)[:, column], plain.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(model.predict(X), np.asarray(names)[plain.predict(X)])
    assert model.predict(X).dtype.kind == labels.dtype.kind


@METHODS
def test_the_start_is_set_and_added_back(library, loss, activation, rare):
    """One round at a learning rate of almost 0 leaves every score at the start."""
    X, y = rare
    options = {"loss": loss, "activation": activation, "learning_rate": 1e-6}
    for start in (None, -0.2, 0.7):
        model = library.make(1, start=start, **options).fit(X, y)
        x = library.scores(model, X)
        if start is None and loss == "bce":
            np.testing.assert_allclose(rebalanced(x, model.slope_), y.mean(), rtol=1e-3)
        else:
            np.testing.assert_allclose(x, start or 0.0, atol=1e-3)


@pytest.mark.parametrize("metric", SCORES)
def test_early_stopping(library, metric, rare):
    X, y = rare
    mirrored = -X[1000:]  # What is learned is wrong there: the first rounds are the best.
    model = library.fit_stopping_early(
        library.make(60, learning_rate=0.3), X[:1000], y[:1000], mirrored, y[1000:], metric
    )
    used = model._n_trees_used()
    assert 1 <= used < 60
    assert model.slope_ == model.slope_path_[used]
    assert set(model.predict(X)) == {0, 1}


def test_early_stopping_keeps_the_best_round(library, rare):
    """The score of the model that is kept is the best of all rounds, computed tree by tree."""
    X, y = rare
    model = library.fit_stopping_early(
        library.make(30, learning_rate=0.5), X[:1000], y[:1000], X[1000:], y[1000:], "soft_g_mean"
    )
    used = model._n_trees_used()

    def soft_g_mean(trees):
        z = model.predict_proba(X[1000:], **library.first_trees(trees))[:, 1]
        return np.sqrt(z[y[1000:] == 1].mean() * (1 - z[y[1000:] == 0]).mean())

    # CatBoost keeps no tree after the best one.
    held = getattr(model, "tree_count_", None) or 99
    reachable = range(1, min(len(model.slope_path_), held + 1))
    assert soft_g_mean(used) == pytest.approx(max(soft_g_mean(k) for k in reachable), abs=1e-6)


@pytest.mark.slow
def test_feature_importances_and_contributions(library, rare):
    X, y = rare
    model = library.make(loss="bce").fit(X, y)
    importances = np.asarray(model.feature_importances_)
    assert importances.shape == (5,)
    assert importances.argmax() in (0, 1)  # The two features that carry the signal.
    contributions = library.contributions(model, X)
    np.testing.assert_allclose(contributions.sum(axis=1), library.scores(model, X), atol=1e-3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:shap")  # shap 0.51 imports an old name.
def test_shap_explains_the_score(library, rare):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # shap's imports warn.
        shap = pytest.importorskip("shap")
        X, y = rare
        model = library.make(loss="bce").fit(X, y)
        explained = shap.TreeExplainer(library.explainable(model))
        values = explained.shap_values(X[:50])
    of_features = np.asarray(values).reshape(50, -1)[:, :5].sum(axis=1)
    total = of_features + np.ravel(explained.expected_value)[-1]
    np.testing.assert_allclose(total, library.scores(model, X[:50]), atol=1e-3)


def test_missing_values_and_categories(library):
    rng = np.random.default_rng(0)
    n = 1200
    kind = rng.choice(["a", "b", "c"], n, p=[0.49, 0.49, 0.02])
    amount = rng.normal(size=n)
    amount[rng.random(n) < 0.3] = np.nan
    y = np.where((kind == "c") | (rng.random(n) < 0.002), "rare", "usual")
    kind[y == "usual"] = np.where(kind[y == "usual"] == "c", "a", kind[y == "usual"])
    X = pd.DataFrame({"kind": pd.Categorical(kind), "amount": amount})
    model = library.make(40, **library.categorical).fit(X, y)
    assert model.minority_class_ == "rare"
    assert (model.predict(X[(kind == "c") & (y == "rare")]) == "rare").mean() > 0.9
    assert (model.predict(X[y == "usual"]) == "usual").mean() > 0.9


@pytest.mark.parametrize("loss", ["bce", "gmn"])
def test_a_doubled_weight_moves_the_model_as_a_doubled_row(library, loss, rare):
    """Features of few values, no limits that count rows or grow with them: the same splits."""
    X, y = np.round(rare[0] * 3) / 3, rare[1]

    def fit(rows, weight):
        model = library.make(10, loss=loss, slope_rate_min=0.5, **library.by_weight_alone)
        return model.fit(X[rows], y[rows], sample_weight=weight)

    every = np.arange(len(y))
    weight = np.where(every % 3 == 0, 2.0, 1.0)
    doubled = fit(np.repeat(every, weight.astype(int)), None)
    weighted = fit(every, weight)
    np.testing.assert_allclose(library.scores(weighted, X), library.scores(doubled, X), atol=1e-5)
    np.testing.assert_allclose(weighted.slope_path_, doubled.slope_path_, rtol=1e-7)
    for wrong in (None, weight**2, 1 / weight):
        other = fit(every, wrong)
        assert np.abs(library.scores(other, X) - library.scores(doubled, X)).max() > 0.01
        assert np.abs(other.slope_path_ / doubled.slope_path_ - 1).max() > 1e-5


@pytest.mark.parametrize("loss", ["bce", "gmn"])
def test_class_weights_shift_the_balance(library, loss, rare):
    X, _ = rare
    noise = np.random.default_rng(0).normal(size=len(X))
    y = (X[:, 0] + noise > 2.5).astype(int)  # The classes overlap.
    plain, weighted = (
        library.make(5, loss=loss, **options).fit(X, y).predict(X).mean()
        for options in ({}, library.heavy_positives)
    )
    assert weighted > plain


def test_parameters_pass_through_and_clone(library, rare):
    X, y = rare
    model = clone(library.make(loss="f1", activation="sigmoid", tau_init=0.1, **{library.depth: 3}))
    assert model.get_params()["loss"] == "f1"
    assert model.get_params()[library.depth] == 3
    model.set_params(loss="gmn", tau_init=0.3, **{library.depth: 2})
    before = repr(sorted(model.get_params().items()))  # As text, in which NaN equals itself.
    model.fit(X, y)
    assert repr(sorted(model.get_params().items())) == before
    assert model.loss == "gmn"
    assert model.tau_init == 0.3


def test_grid_search_and_cross_validation(library, rare):
    X, y = rare
    grid = {"loss": ["bce", "gmn"], "activation": ["astra"]}
    search = GridSearchCV(library.make(5), grid, scoring="balanced_accuracy", cv=2).fit(X, y)
    assert search.best_score_ > 0.5
    assert len(cross_val_score(library.make(5), X, y, scoring="average_precision", cv=2)) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "auc"}, "loss must be one of bce, gmn"),
        ({"activation": "relu"}, "activation must be"),
        ({"tau_init": 0.9}, "tau must be in"),
        ({"start": np.nan}, "start must be finite; found nan"),
        ({"start": np.inf}, "start must be finite; found inf"),
        ({"start": -np.inf}, "start must be finite; found -inf"),
    ],
)
def test_bad_parameters_are_named_at_fit(library, options, message, rare):
    with pytest.raises(ValueError, match=message):
        library.make(3, **options).fit(*rare)


def test_a_foreign_objective_is_refused(library, rare):
    with pytest.raises(ValueError, match=f"{library.objective} must be left out"):
        library.make(**{library.objective: "regression"}).fit(*rare)


@pytest.mark.parametrize(
    ("y", "message"),
    [(np.zeros(30), "one class only"), (np.arange(30) % 3, "Only binary classification")],
)
def test_labels_that_cannot_be_learned(library, y, message):
    with pytest.raises(ValueError, match=message):
        library.make().fit(np.random.default_rng(0).normal(size=(30, 2)), y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(1500), "sample_weight must be above 0 for some row; found a sum of 0"),
        (np.r_[-1.0, np.ones(1499)], "sample_weight must be finite and at least 0; found -1.0"),
        (np.r_[-1e-9, np.ones(1499)], "sample_weight must be finite and at least 0; found -1e-09"),
        (np.ones(7), r"sample_weight must have the shape of y, \(1500,\); found \(7,\)"),
    ],
    ids=["all 0", "negative", "barely negative", "short"],
)
@pytest.mark.parametrize("options", [{"loss": "bce"}, {"loss": "gmn"}, {"start": 0.5}], ids=str)
def test_weights_that_teach_nothing_are_refused(library, weight, message, options, rare):
    X, y = rare
    with pytest.raises(ValueError, match=message):
        library.make(3, **options).fit(X, y, sample_weight=weight)


def test_trees_without_a_split_are_warned_of(library, rare):
    with pytest.warns(UserWarning, match="the fitted trees hold no split"):
        library.make(**library.without_splits).fit(*rare)


@pytest.mark.parametrize("failure", ["rows", "interruption"])
def test_a_refit_that_fails_leaves_the_fitted_model(library, failure, rare, monkeypatch):
    X, y = rare
    model = library.make(5).fit(X, np.where(y == 1, "fraud", "ok"))
    before = model.predict_proba(X)
    calls = []

    def interrupted(*args):
        calls.append(None)
        if len(calls) > 3:
            signal.raise_signal(signal.SIGINT)
        return advance(*args)

    advance = Objective.advance
    rows, expected = np.full(X.shape, "text", dtype=object), library.unreadable
    if failure == "interruption":
        monkeypatch.setattr(Objective, "advance", interrupted)
        rows, expected = X, KeyboardInterrupt
    with pytest.raises(expected):
        model.fit(rows, np.where(y == 1, "a", "z"))
    assert model.classes_.tolist() == ["fraud", "ok"]
    assert model.minority_class_ == "fraud"
    assert set(model.predict(X)) == {"fraud", "ok"}
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert len(model.slope_path_) == 6
    monkeypatch.undo()
    assert model.fit(X, np.where(y == 1, "a", "z")).classes_.tolist() == ["a", "z"]


def test_a_first_fit_that_fails_leaves_nothing_fitted(continuing, rare):
    X, y = rare
    model = continuing.make(5)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="could not convert"):
        model.fit(np.full(X.shape, "text", dtype=object), y)
    assert vars(model) == before


def failures(estimator):
    """The names of scikit-learn's checks that an estimator fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The checks feed odd input, and the libraries say so.
        checks = check_estimator(estimator, on_skip=None, on_fail=None)
    return {check["check_name"] for check in checks if check["status"] == "failed"}


@functools.cache
def failures_of_the_library(library):
    return failures(library.make_plain(10))


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["bce", pytest.param("gmn", marks=pytest.mark.long)])
def test_no_check_of_scikit_learn_fails_that_the_library_passes(library, loss):
    assert failures(library.make(10, loss=loss)) <= failures_of_the_library(library)
