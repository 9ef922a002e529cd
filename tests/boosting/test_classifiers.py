"""One contract, three libraries: a new one joins LIBRARIES and inherits every test."""

import copy
import pickle
import subprocess
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import catboost as cb
import joblib
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.metrics import matthews_corrcoef, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score

from astralearn.boosting import (
    ASTraCatBoostClassifier,
    ASTraLGBMClassifier,
    ASTraXGBClassifier,
    Objective,
)
from astralearn.core import rebalanced_logit

# shap 0.51 imports a NumPy name that is deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:shap")


@dataclass(frozen=True)
class Library:
    ours: Any
    quiet: dict[str, Any]
    rounds: str
    raw: dict[str, Any]
    suffix: str

    def make(self, n=20, **options):
        return self.ours(**{self.rounds: n, **self.quiet, **options})

    def scores(self, model, X):
        return np.asarray(model.predict(X, **self.raw))

    def fit_with_early_stopping(self, X, y, X_val, y_val, metric, n=60, **options):
        if self.ours is ASTraLGBMClassifier:
            model = self.make(n, **options)
            return model.fit(
                X,
                y,
                eval_set=[(X_val, y_val)],
                eval_metric=metric,
                callbacks=[lgb.early_stopping(5, verbose=False)],
            )
        if self.ours is ASTraXGBClassifier:
            return self.make(n, eval_metric=metric, early_stopping_rounds=5, **options).fit(
                X, y, eval_set=[(X_val, y_val)], verbose=False
            )
        return self.make(n, eval_metric=metric, **options).fit(
            X, y, eval_set=(X_val, y_val), early_stopping_rounds=5
        )


LIBRARIES = {
    "lightgbm": Library(
        ASTraLGBMClassifier,
        {"verbose": -1, "n_jobs": 1},
        "n_estimators",
        {"raw_score": True},
        "txt",
    ),
    "xgboost": Library(
        ASTraXGBClassifier, {"n_jobs": 1}, "n_estimators", {"output_margin": True}, "ubj"
    ),
    "catboost": Library(
        ASTraCatBoostClassifier,
        {"verbose": 0, "thread_count": 1, "allow_writing_files": False, "learning_rate": 0.1},
        "iterations",
        {"prediction_type": "RawFormulaVal"},
        "cbm",
    ),
}
ALL = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
CONTINUING = pytest.mark.parametrize(
    "library", [LIBRARIES["lightgbm"], LIBRARIES["xgboost"]], ids=["lightgbm", "xgboost"]
)
METHODS = pytest.mark.parametrize(
    ("loss", "activation"),
    [("bce", "astra"), ("gmn", "sigmoid"), ("gmn", "astra"), ("mcc", "sigmoid")],
)


@ALL
@METHODS
def test_scores_probabilities_and_labels_agree(library, loss, activation, rare):
    X, y = rare
    model = library.make(loss=loss, activation=activation).fit(X, y)
    x = library.scores(model, X)
    z = 1 / (1 + np.exp(-rebalanced_logit(x.astype(np.float64), model.slope_)))
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba[:, 1], z, rtol=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), (x >= 0).astype(int))
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X) == 1)
    assert matthews_corrcoef(y, model.predict(X)) > 0.4
    assert len(model.slope_path_) == 21
    assert (activation == "sigmoid") == (model.slope_ == 1.0)
    assert 0 < model.threshold_ <= 0.5


@ALL
@pytest.mark.parametrize(
    "names",
    [("ok", "fraud"), ("a", "b"), (1, -1), (True, False), (0, 1), (7.0, 3.0)],
    ids=["strings", "sorted", "signs", "booleans", "ints", "floats"],
)
def test_the_rarer_class_is_positive_whatever_the_labels(library, names, rare):
    X, y = rare
    labels = np.asarray(names)[y]
    model = library.make(loss="bce").fit(X, labels)
    plain = library.make(loss="bce").fit(X, y)
    assert model.minority_class_ == names[1]
    assert model.classes_.tolist() == sorted(names)
    column = model.classes_.tolist().index(names[1])
    np.testing.assert_allclose(model.predict_proba(X)[:, column], plain.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(model.predict(X), np.asarray(names)[plain.predict(X)])
    assert model.predict(X).dtype.kind == labels.dtype.kind


@ALL
@METHODS
def test_the_start_is_set_and_added_back(library, loss, activation, rare):
    """One round at a learning rate of almost 0 leaves every score at the start."""
    X, y = rare
    for start in (None, -0.2, 0.7):
        model = library.make(1, loss=loss, activation=activation, start=start, learning_rate=1e-6)
        x = library.scores(model.fit(X, y), X)
        share = y.mean()
        if start is not None:
            expected = start
        elif loss == "bce":
            z = 1 / (1 + np.exp(-rebalanced_logit(x.astype(np.float64), model.slope_)))
            np.testing.assert_allclose(z, share, rtol=1e-3)
            continue
        else:
            expected = 0.0
        np.testing.assert_allclose(x, expected, atol=1e-3)


@ALL
@pytest.mark.parametrize("metric", ["soft_g_mean", "g_mean", "soft_mcc", "mcc", "soft_fnr", "fnr"])
def test_early_stopping(library, metric, rare):
    X, y = rare
    mirrored = -X[1000:]  # what is learned is wrong there: the first rounds are the best
    model = library.fit_with_early_stopping(
        X[:1000], y[:1000], mirrored, y[1000:], metric, learning_rate=0.3
    )
    used = model._n_trees_used()
    assert 1 <= used < 60
    assert model.slope_ == model.slope_path_[used]
    assert set(model.predict(X)) == {0, 1}


@ALL
def test_early_stopping_keeps_the_best_round(library, rare):
    """The score of the model that is kept is the best of all rounds, recomputed here tree by tree."""
    X, y = rare
    model = library.fit_with_early_stopping(
        X[:1000], y[:1000], X[1000:], y[1000:], "soft_g_mean", n=30, learning_rate=0.5
    )
    used = model._n_trees_used()

    def soft_g_mean(trees):
        key = {
            "txt": {"num_iteration": trees},
            "ubj": {"iteration_range": (0, trees)},
            "cbm": {"ntree_end": trees},
        }[library.suffix]
        z = model.predict_proba(X[1000:], **key)[:, 1]
        return np.sqrt(z[y[1000:] == 1].mean() * (1 - z[y[1000:] == 0]).mean())

    reachable = range(
        1, min(len(model.slope_path_), model.tree_count_ + 1 if library.suffix == "cbm" else 99)
    )
    assert soft_g_mean(used) == pytest.approx(max(soft_g_mean(k) for k in reachable), abs=1e-6)


@ALL
@METHODS
def test_pickle_joblib_deepcopy_and_model_file(library, loss, activation, rare, tmp_path):
    X, y = rare
    labels = np.where(y == 1, "fraud", "ok")
    model = library.make(loss=loss, activation=activation).fit(X, labels)
    joblib.dump(model, tmp_path / "model.joblib")
    loaded = library.ours()
    model.save_model(str(tmp_path / f"model.{library.suffix}"))
    loaded.load_model(str(tmp_path / f"model.{library.suffix}"))
    for again in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        joblib.load(tmp_path / "model.joblib"),
        loaded,
    ):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.minority_class_ == "fraud"
        np.testing.assert_array_equal(again.slope_path_, model.slope_path_)
        assert again.slope_ == model.slope_


@ALL
def test_an_early_stopped_model_survives_its_file(library, rare, tmp_path):
    X, y = rare
    model = library.fit_with_early_stopping(
        X[:1000],
        y[:1000],
        -X[1000:],
        y[1000:],
        "soft_g_mean",
        learning_rate=0.3,
        slope_rate_min=0.5,
    )
    path = str(tmp_path / f"model.{library.suffix}")
    model.save_model(path)
    loaded = library.ours()
    loaded.load_model(path)
    assert loaded.slope_ == model.slope_ != model.slope_path_[-1]
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@ALL
def test_the_library_itself_reads_the_model_file(library, rare, tmp_path):
    X, y = rare
    model = library.make(loss="bce").fit(X, y)
    path = str(tmp_path / f"model.{library.suffix}")
    model.save_model(path)
    if library.suffix == "txt":
        x = lgb.Booster(model_file=path).predict(X, raw_score=True)
    elif library.suffix == "ubj":
        x = xgb.Booster(model_file=path).predict(xgb.DMatrix(X), output_margin=True)
    else:
        x = cb.CatBoost().load_model(path).predict(X)
    np.testing.assert_allclose(x, library.scores(model, X), rtol=1e-6, atol=1e-7)


@ALL
def test_a_foreign_model_file_is_refused(library, rare, tmp_path):
    X, y = rare
    path = str(tmp_path / f"model.{library.suffix}")
    if library.suffix == "txt":
        lgb.LGBMClassifier(n_estimators=2, verbose=-1).fit(X, y).booster_.save_model(path)
    elif library.suffix == "ubj":
        xgb.XGBClassifier(n_estimators=2).fit(X, y).save_model(path)
    else:
        cb.CatBoostClassifier(iterations=2, verbose=0, allow_writing_files=False).fit(
            X, y
        ).save_model(path)
    with pytest.raises(ValueError, match="holds no slope and no class labels"):
        library.ours().load_model(path)


@ALL
def test_feature_importances_and_contributions(library, rare):
    X, y = rare
    model = library.make(loss="bce").fit(X, y)
    importances = np.asarray(model.feature_importances_)
    assert importances.shape == (5,)
    assert importances.argmax() in (0, 1)  # the two features that carry the signal
    if library.suffix == "txt":
        contributions = model.predict(X, pred_contrib=True)
    elif library.suffix == "ubj":
        contributions = model.get_booster().predict(xgb.DMatrix(X), pred_contribs=True)
    else:
        contributions = model.get_feature_importance(cb.Pool(X), type="ShapValues")
    np.testing.assert_allclose(contributions.sum(axis=1), library.scores(model, X), atol=1e-3)


@ALL
def test_shap_explains_the_score(library, rare):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # shap's imports warn
        shap = pytest.importorskip("shap")
        X, y = rare
        model = library.make(loss="bce").fit(X, y)
        explained = shap.TreeExplainer(model.booster_ if library.suffix == "txt" else model)
        values = explained.shap_values(X[:50])
    total = (
        np.asarray(values).reshape(50, -1)[:, :5].sum(axis=1)
        + np.ravel(explained.expected_value)[-1]
    )
    np.testing.assert_allclose(total, library.scores(model, X[:50]), atol=1e-3)


@ALL
def test_missing_values_and_categories(library):
    rng = np.random.default_rng(0)
    n = 1200
    kind = rng.choice(["a", "b", "c"], n, p=[0.49, 0.49, 0.02])
    amount = rng.normal(size=n)
    amount[rng.random(n) < 0.3] = np.nan
    y = np.where((kind == "c") | (rng.random(n) < 0.002), "rare", "usual")
    kind[y == "usual"] = np.where(kind[y == "usual"] == "c", "a", kind[y == "usual"])
    X = pd.DataFrame({"kind": pd.Categorical(kind), "amount": amount})
    options = {
        "ubj": {"enable_categorical": True, "min_child_weight": 0},
        "cbm": {"cat_features": ["kind"]},
        "txt": {"min_child_samples": 5, "cat_smooth": 0, "min_data_per_group": 1},
    }
    model = library.make(40, **options[library.suffix]).fit(X, y)
    assert model.minority_class_ == "rare"
    assert (model.predict(X[(kind == "c") & (y == "rare")]) == "rare").mean() > 0.9
    assert (model.predict(X[y == "usual"]) == "usual").mean() > 0.9


@ALL
@pytest.mark.parametrize("loss", ["bce", "gmn"])
def test_a_doubled_weight_moves_the_model_as_a_doubled_row(library, loss, rare):
    """In features of few values, and without limits that count rows or grow with them, both see the same splits."""
    X, y = np.round(rare[0] * 3) / 3, rare[1]
    options = {
        "txt": {"min_child_samples": 0, "min_data_in_bin": 1, "reg_lambda": 1.0, "max_depth": 2},
        "ubj": {"tree_method": "exact"},
        "cbm": {
            "bootstrap_type": "No",
            "random_strength": 0,
            "feature_border_type": "Uniform",
            "l2_leaf_reg": 1e-9,
        },
    }[library.suffix]
    weight = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    again = np.repeat(np.arange(len(y)), weight.astype(int))
    doubled = library.make(10, loss=loss, slope_rate_min=0.5, **options).fit(X[again], y[again])
    weighted = library.make(10, loss=loss, slope_rate_min=0.5, **options).fit(
        X, y, sample_weight=weight
    )
    np.testing.assert_allclose(library.scores(weighted, X), library.scores(doubled, X), atol=1e-5)
    np.testing.assert_allclose(weighted.slope_path_, doubled.slope_path_, rtol=1e-7)
    for wrong in (None, weight**2, 1 / weight):
        other = library.make(10, loss=loss, slope_rate_min=0.5, **options).fit(
            X, y, sample_weight=wrong
        )
        assert np.abs(library.scores(other, X) - library.scores(doubled, X)).max() > 0.01
        assert np.abs(other.slope_path_ / doubled.slope_path_ - 1).max() > 1e-5


@ALL
def test_parameters_pass_through_and_clone(library, rare):
    X, y = rare
    depth = "depth" if library.suffix == "cbm" else "max_depth"
    model = clone(library.make(loss="f1", activation="sigmoid", tau_init=0.1, **{depth: 3}))
    assert model.get_params()["loss"] == "f1"
    assert model.get_params()[depth] == 3
    model.set_params(loss="gmn", tau_init=0.3, **{depth: 2})
    before = repr(sorted(model.get_params().items()))  # as text, in which NaN equals itself
    model.fit(X, y)
    assert repr(sorted(model.get_params().items())) == before
    assert model.loss == "gmn"
    assert model.tau_init == 0.3


@ALL
def test_grid_search_and_cross_validation(library, rare):
    X, y = rare
    search = GridSearchCV(
        library.make(5),
        {"loss": ["bce", "gmn"], "activation": ["astra"]},
        scoring="balanced_accuracy",
        cv=2,
    ).fit(X, y)
    assert search.best_score_ > 0.5
    assert len(cross_val_score(library.make(5), X, y, scoring="average_precision", cv=2)) == 2


@ALL
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "auc"}, "loss must be one of bce, gmn"),
        ({"activation": "relu"}, "activation must be"),
        ({"tau_init": 0.9}, "tau must be in"),
    ],
)
def test_bad_parameters_are_named_at_fit(library, options, message, rare):
    with pytest.raises(ValueError, match=message):
        library.make(**options).fit(*rare)


@ALL
def test_a_foreign_objective_is_refused(library, rare):
    name = "loss_function" if library.suffix == "cbm" else "objective"
    with pytest.raises(ValueError, match=f"{name} must be left out"):
        library.make(**{name: "regression"}).fit(*rare)


@ALL
@pytest.mark.parametrize(
    ("y", "message"),
    [(np.zeros(30), "one class only"), (np.arange(30) % 3, "Only binary classification")],
)
def test_labels_that_cannot_be_learned(library, y, message):
    with pytest.raises(ValueError, match=message):
        library.make().fit(np.random.default_rng(0).normal(size=(30, 2)), y)


@ALL
@pytest.mark.parametrize("loss", ["bce", "gmn"])
def test_class_weights_shift_the_balance(library, loss, rare):
    X, _ = rare
    y = (X[:, 0] + np.random.default_rng(0).normal(size=len(X)) > 2.5).astype(
        int
    )  # the classes overlap
    name = {"txt": "class_weight", "ubj": "scale_pos_weight", "cbm": "class_weights"}[
        library.suffix
    ]
    heavy = 50.0 if library.suffix == "ubj" else {0: 1.0, 1: 50.0}
    plain, weighted = (
        library.make(5, loss=loss, **options).fit(X, y).predict(X).mean()
        for options in ({}, {name: heavy})
    )
    assert weighted > plain


@pytest.mark.parametrize(
    ("name", "options", "ratio"),
    [
        ("lightgbm", {"scale_pos_weight": 9.0}, 9.0),
        ("lightgbm", {"class_weight": {0: 0.5, 1: 4.5}}, 9.0),
        ("lightgbm", {"class_weight": "balanced"}, None),
        ("lightgbm", {"is_unbalance": True}, None),
        ("xgboost", {"scale_pos_weight": 9.0}, 9.0),
        ("catboost", {"scale_pos_weight": 9.0}, 9.0),
        ("catboost", {"auto_class_weights": "Balanced"}, None),
    ],
)
def test_class_weights_are_in_the_start_of_bce(name, options, ratio, rare):
    """One round at a learning rate of almost 0: z is the share of positives as weighted; a ratio of None balances the classes."""
    X, y = rare
    model = LIBRARIES[name].make(1, **{"loss": "bce", "learning_rate": 1e-6, **options}).fit(X, y)
    positives = y.sum() * ((1 - y).sum() / y.sum() if ratio is None else ratio)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], positives / (positives + (1 - y).sum()), rtol=1e-3
    )


def test_lightgbm_is_unbalance_weighs_positives_in_bce(rare):
    X, y = rare
    make = LIBRARIES["lightgbm"].make
    unbalanced = make(loss="bce", is_unbalance=True).fit(X, y)
    weighted = make(loss="bce", scale_pos_weight=(1 - y).sum() / y.sum()).fit(X, y)
    np.testing.assert_array_equal(unbalanced.predict_proba(X), weighted.predict_proba(X))
    with pytest.raises(
        ValueError, match="scale_pos_weight must be left out where is_unbalance is set"
    ):
        make(loss="bce", is_unbalance=True, scale_pos_weight=2.0).fit(X, y)


def earlier_models(library, model, tmp_path):
    """The forms in which a library takes the model to go on from."""
    path = str(tmp_path / f"earlier.{library.suffix}")
    model.save_model(path)
    name, booster = (
        ("init_model", model.booster_)
        if library.suffix == "txt"
        else ("xgb_model", model.get_booster())
    )
    return [{name: earlier} for earlier in (model, booster, path)]


def plain_models(library, X, y, tmp_path):
    """Models of 30 trees that know of no slope, in the forms in which a library takes the model to go on from."""
    path = str(tmp_path / f"plain.{library.suffix}")
    if library.suffix == "txt":
        model = lgb.LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1).fit(X, y)
        model.booster_.save_model(path)
        return [{"init_model": earlier} for earlier in (model, model.booster_, path)]
    model = xgb.XGBClassifier(n_estimators=30, n_jobs=1).fit(X, y)
    model.save_model(path)
    return [{"xgb_model": earlier} for earlier in (model, model.get_booster(), path)]


@CONTINUING
def test_trees_that_know_no_slope_count_in_its_path(library, rare, tmp_path):
    X, y = rare
    for earlier in plain_models(library, X, y, tmp_path):
        model = library.make(7, slope_rate_min=0.5).fit(X, y, **earlier)
        assert len(model.slope_path_) == model._n_trees_used() + 1 == 38
        assert set(model.slope_path_[:31]) == {library.make(1).fit(X, y).slope_path_[0]}
        assert model.slope_ == model.slope_path_[-1] != model.slope_path_[30]
        assert len(model._rates) == 38


@CONTINUING
def test_early_stopping_after_trees_that_know_no_slope_takes_the_slope_of_its_best_round(
    library, rare, tmp_path
):
    X, y = rare
    options = {"loss": "bce", "tau_init": 0.1, "slope_rate_min": 20, "slope_rate_max": 50}
    evaluated = {"eval_set": [(X[1000:], y[1000:])]}
    for earlier in plain_models(library, X[:1000], y[:1000], tmp_path):
        if library.suffix == "txt":
            stop = [lgb.early_stopping(5, verbose=False)]
            model = library.make(60, **options).fit(
                X[:1000], y[:1000], callbacks=stop, **evaluated, **earlier
            )
            reported = model.best_score_["valid_0"]["soft_g_mean"]
        else:
            model = library.make(60, early_stopping_rounds=5, **options).fit(
                X[:1000], y[:1000], verbose=False, **evaluated, **earlier
            )
            reported = 1 - model.best_score
        assert len(model.slope_path_) == model._n_trees_used() + 6
        z = model.predict_proba(X[1000:])[:, 1]
        assert np.sqrt(z[y[1000:] == 1].mean() * (1 - z[y[1000:] == 0]).mean()) == pytest.approx(
            reported, abs=2e-6
        )


@CONTINUING
def test_continued_training_keeps_the_activation(library, rare, tmp_path):
    X, y = rare
    for then, now in (("astra", "sigmoid"), ("sigmoid", "astra")):
        first = library.make(3, activation=then).fit(X, y)
        for earlier in earlier_models(library, first, tmp_path):
            with pytest.raises(
                ValueError,
                match=f'activation must be "{then}", that of the earlier model .*; found "{now}"',
            ):
                library.make(3, activation=now).fit(X, y, **earlier)
            assert (
                len(library.make(3, activation=then, tau_init=0.4).fit(X, y, **earlier).slope_path_)
                == 7
            )
    flat = library.make(3, tau_init=0.5).fit(X, y)
    for activation in ("astra", "sigmoid"):
        model = library.make(3, activation=activation, tau_init=0.5)
        assert model.fit(X, y, **earlier_models(library, flat, tmp_path)[0]).slope_ == 1.0


@CONTINUING
def test_the_slope_survives_rounds_in_which_all_scores_are_equal(library, rare):
    """DART drops all trees of some rounds."""
    dart = (
        {"boosting_type": "dart", "drop_rate": 0.5, "skip_drop": 0.0}
        if library.suffix == "txt"
        else {"booster": "dart", "rate_drop": 0.5}
    )
    model = library.make(50, loss="bce", slope_rate_min=0.5, random_state=3, **dart).fit(*rare)
    assert len(model.slope_path_) == model._n_trees_used() + 1 == 51
    assert np.abs(np.diff(np.log(model.slope_path_))).max() < 0.01


@CONTINUING
def test_trees_without_a_split_count_in_the_slope_path(library, rare):
    X, y = rare
    limit = {"txt": {"min_child_samples": 1400}, "ubj": {"gamma": 1e9}}[library.suffix]
    with pytest.warns(UserWarning, match="the fitted trees hold no split"):
        first = library.make(3, **limit).fit(X, y)
    kept = first._n_trees_used()
    assert len(first.slope_path_) == kept + 1
    name, unlimited = ("init_model", {}) if library.suffix == "txt" else ("xgb_model", {"gamma": 0})
    second = library.make(5, **unlimited).fit(X, y, **{name: first})
    assert len(second.slope_path_) == second._n_trees_used() + 1 == kept + 6


def test_lightgbm_rounds_that_leave_no_tree_leave_no_slope(rare, monkeypatch):
    """LightGBM keeps no tree of a round without a split, and goes on."""
    X, y = rare
    options = {
        "loss": "bce",
        "colsample_bytree": 0.2,
        "min_split_gain": 8.0,
        "slope_rate_min": 0.5,
        "random_state": 1,
    }
    slopes, trees = [], []

    def recorded(objective, *args):
        factors = advance(objective, *args)
        slopes.append(objective.slope)
        return factors

    advance = Objective.advance
    monkeypatch.setattr(Objective, "advance", recorded)
    model = (
        LIBRARIES["lightgbm"]
        .make(20, **options)
        .fit(X, y, callbacks=[lambda training: trees.append(training.model.num_trees())])
    )
    assert 1 < trees[-1] < len(slopes) == 20
    slope_after = dict(zip(trees, slopes, strict=True))
    assert model.slope_path_[1:].tolist() == [slope_after[k] for k in range(1, trees[-1] + 1)]
    assert model.slope_ == slopes[-1]


@CONTINUING
def test_continued_training_keeps_the_positive_class(library, rare, tmp_path):
    """In the second batch the other class is the rarer one; the old trees' scores still mean the first one's."""
    X, y = rare
    labels = np.where(y == 1, "fraud", "ok")
    first = library.make(loss="bce").fit(X, labels)
    batch = np.concatenate([np.flatnonzero(y == 1), np.flatnonzero(y == 0)[: y.sum() // 2]])
    assert y[batch].mean() > 0.6
    for earlier in earlier_models(library, first, tmp_path):
        second = library.make(2, loss="bce").fit(X[batch], labels[batch], **earlier)
        assert second.minority_class_ == "fraud"
        assert roc_auc_score(y, second.predict_proba(X)[:, 0]) > 0.9
        with pytest.raises(
            ValueError,
            match=r"y must hold the classes of the earlier model .*\['fraud', 'ok'\]; found \[0, 1\]",
        ):
            library.make(2).fit(X, y, **earlier)


@CONTINUING
def test_the_slope_goes_on_from_every_form_of_an_earlier_model(library, rare, tmp_path):
    X, y = rare
    first = library.make(8, slope_rate_min=0.5).fit(X, y)
    models = [
        library.make(7, slope_rate_min=0.5).fit(X, y, **earlier)
        for earlier in earlier_models(library, first, tmp_path)
    ]
    for model in models:
        np.testing.assert_array_equal(model.slope_path_[:9], first.slope_path_)
        np.testing.assert_array_equal(model.slope_path_, models[0].slope_path_)
        np.testing.assert_array_equal(model.predict_proba(X), models[0].predict_proba(X))


@CONTINUING
def test_training_goes_on_from_the_trees_that_early_stopping_kept(library, rare, tmp_path):
    X, y = rare
    first = library.fit_with_early_stopping(
        X[:1000],
        y[:1000],
        -X[1000:],
        y[1000:],
        "soft_g_mean",
        learning_rate=0.3,
        slope_rate_min=0.5,
    )
    kept = first._n_trees_used()
    assert kept + 1 < len(first.slope_path_)
    for earlier in earlier_models(library, first, tmp_path):
        second = library.make(7, slope_rate_min=0.5).fit(X, y, **earlier)
        assert second._n_trees_used() == kept + 7
        assert len(second.slope_path_) == kept + 8
        np.testing.assert_array_equal(second.slope_path_[: kept + 1], first.slope_path_[: kept + 1])


def test_xgboost_goes_on_from_a_model_that_saved_its_best(rare):
    X, y = rare
    stop = xgb.callback.EarlyStopping(rounds=5, save_best=True)
    first = LIBRARIES["xgboost"].make(
        60, eval_metric="soft_g_mean", callbacks=[stop], learning_rate=0.3
    )
    first.fit(X[:1000], y[:1000], eval_set=[(-X[1000:], y[1000:])], verbose=False)
    second = LIBRARIES["xgboost"].make(7).fit(X, y, xgb_model=first)
    assert (
        len(second.slope_path_)
        == second.get_booster().num_boosted_rounds() + 1
        == first._n_trees_used() + 8
    )


def test_xgboost_linear_models_go_on_although_they_cannot_be_cut(rare):
    X, y = rare
    first = LIBRARIES["xgboost"].fit_with_early_stopping(
        X[:1000], y[:1000], -X[1000:], y[1000:], "soft_g_mean", booster="gblinear"
    )
    held = first.get_booster().num_boosted_rounds()
    assert (
        len(LIBRARIES["xgboost"].make(7, booster="gblinear").fit(X, y, xgb_model=first).slope_path_)
        == held + 8
    )


@CONTINUING
def test_training_goes_on_where_an_earlier_model_ended(library, rare):
    X, y = rare
    first = library.make(8, loss="bce").fit(X, y)
    second = library.make(7, loss="bce").fit(
        X, y, **({"init_model": first} if library.suffix == "txt" else {"xgb_model": first})
    )
    whole = library.make(15, loss="bce").fit(X, y)
    assert len(second.slope_path_) == 16
    np.testing.assert_array_equal(second.slope_path_[:9], first.slope_path_)
    np.testing.assert_allclose(library.scores(second, X), library.scores(whole, X), atol=0.05)


def test_lightgbm_without_a_varying_feature_keeps_the_start():
    """LightGBM's own objectives survive it; custom ones only without its feature filter."""
    X, y = np.ones((50, 2)), np.arange(50) % 5 == 0
    with pytest.warns(UserWarning, match="the fitted trees hold no split"):
        model = LIBRARIES["lightgbm"].make(loss="bce").fit(X, y)
    assert not model.predict(X).any()


@ALL
def test_trees_without_a_split_are_warned_of(library, rare):
    limits = {
        "txt": {"min_child_samples": 1400},
        "ubj": {"gamma": 1e9},
        "cbm": {"grow_policy": "Depthwise", "min_data_in_leaf": 1400},
    }
    with pytest.warns(UserWarning, match="the fitted trees hold no split"):
        library.make(**limits[library.suffix]).fit(*rare)


@pytest.mark.parametrize("version", ["installed", "4.5"])
@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_lightgbm_evaluation_sets_in_both_spellings(version, rare, monkeypatch):
    if version == "4.5":
        monkeypatch.setattr("astralearn.boosting.lightgbm._TAKES_EVAL_X", False)
    X, y = rare
    labels = np.where(y == 1, "fraud", "ok")
    results = [
        LIBRARIES["lightgbm"]
        .make(5, loss="bce")
        .fit(X[:1000], labels[:1000], eval_metric=["soft_g_mean", "auc"], **spelled)
        .evals_result_
        for spelled in (
            {"eval_set": [(X[1000:], labels[1000:])]},
            {"eval_set": (X[1000:], labels[1000:])},
            {"eval_X": X[1000:], "eval_y": labels[1000:]},
            {"eval_X": (X[1000:],), "eval_y": (labels[1000:],)},
        )
    ]
    assert results[0]["valid_0"]["auc"][-1] > 0.9
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize(
    ("spelled", "message"),
    [
        ({"eval_X": 0}, "eval_X and eval_y must be given together; found eval_X only"),
        ({"eval_y": 0}, "eval_X and eval_y must be given together; found eval_y only"),
        ({"eval_X": 0, "eval_y": 0, "eval_set": []}, "eval_set must be left out"),
        ({"eval_X": (0, 0), "eval_y": (0,)}, "must be one array each, or tuples of one length"),
        ({"eval_X": (0,), "eval_y": 0}, "must be one array each, or tuples of one length"),
    ],
)
def test_lightgbm_evaluation_sets_that_do_not_fit_together(spelled, message, rare):
    with pytest.raises(ValueError, match=message):
        LIBRARIES["lightgbm"].make().fit(*rare, **spelled)


def test_lightgbm_knows_the_training_set_among_the_evaluation_sets(rare):
    X, y = rare
    model = LIBRARIES["lightgbm"].make(2).fit(X, y, eval_X=(X, X[:500]), eval_y=(y, y[:500]))
    assert list(model.evals_result_) == ["training", "valid_1"]


def test_lightgbm_linear_trees_need_a_start_of_0(rare):
    X, y = rare
    make = LIBRARIES["lightgbm"].make
    with pytest.raises(ValueError, match=r"linear_tree must be left out, or start set to 0\.0"):
        make(loss="bce", linear_tree=True).fit(X, y)
    for model in (make(linear_tree=True), make(loss="bce", linear_tree=True, start=0.0)):
        assert roc_auc_score(y, model.fit(X, y).predict_proba(X)[:, 1]) > 0.9


def test_lightgbm_per_row_starting_scores_are_the_callers(rare):
    X, y = rare
    model = LIBRARIES["lightgbm"].make(3).fit(X, y, init_score=X[:, 0].copy())
    assert np.abs(model.predict(X, raw_score=True).mean()) < 1


def test_lightgbm_forests_are_refused(rare):
    for option in ({"boosting_type": "rf"}, {"boosting": "rf"}):
        with pytest.raises(ValueError, match="boosting_type must not be 'rf'"):
            LIBRARIES["lightgbm"].make(5, bagging_freq=1, bagging_fraction=0.5, **option).fit(*rare)


@ALL
@pytest.mark.parametrize("failure", ["rows", "interruption"])
def test_a_refit_that_fails_leaves_the_fitted_model(library, failure, rare, monkeypatch):
    X, y = rare
    model = library.make(5).fit(X, np.where(y == 1, "fraud", "ok"))
    before = model.predict_proba(X)
    calls = []

    def interrupted(*args):
        calls.append(None)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return advance(*args)

    advance = Objective.advance
    if failure == "interruption":
        monkeypatch.setattr(Objective, "advance", interrupted)
    rows = np.full(X.shape, "text", dtype=object) if failure == "rows" else X
    expected = (
        KeyboardInterrupt
        if failure == "interruption"
        else cb.CatBoostError
        if library.suffix == "cbm"
        else ValueError
    )
    with pytest.raises(expected):
        model.fit(rows, np.where(y == 1, "a", "z"))
    assert model.classes_.tolist() == ["fraud", "ok"]
    assert model.minority_class_ == "fraud"
    assert set(model.predict(X)) == {"fraud", "ok"}
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert len(model.slope_path_) == 6
    monkeypatch.undo()
    assert model.fit(X, np.where(y == 1, "a", "z")).classes_.tolist() == ["a", "z"]


@CONTINUING
def test_a_first_fit_that_fails_leaves_nothing_fitted(library, rare):
    X, y = rare
    model = library.make(5)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="could not convert"):
        model.fit(np.full(X.shape, "text", dtype=object), y)
    assert vars(model) == before


def test_xgboost_refuses_labels_of_more_rows(rare):
    """XGBoost itself takes them for a hundred and fifty outputs."""
    X, y = rare
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[10, 1500\]"):
        LIBRARIES["xgboost"].make(5).fit(X[:10], y)


def test_catboost_fits_again_after_reading_a_file(rare, tmp_path):
    X, y = rare
    model = LIBRARIES["catboost"].make(5).fit(X, y)
    model.save_model(path := str(tmp_path / "model.cbm"))
    loaded = ASTraCatBoostClassifier(verbose=0, allow_writing_files=False).load_model(path)
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
    for again in (clone(loaded), loaded):
        np.testing.assert_array_equal(again.fit(X, y).predict_proba(X), model.predict_proba(X))
    chosen = ASTraCatBoostClassifier(eval_metric="mcc", metric_period=2).load_model(path)
    assert [
        chosen.get_params().get(name) for name in ("loss_function", "eval_metric", "metric_period")
    ] == [None, "mcc", 2]


def test_catboost_importances_are_those_of_the_file_read_last(rare, tmp_path):
    X, y = rare
    model = LIBRARIES["catboost"].make(5).fit(X, y)
    model.save_model(path := str(tmp_path / "model.cbm"))
    other = LIBRARIES["catboost"].make(5).fit(X[:, ::-1], y).load_model(path)
    np.testing.assert_array_equal(other.feature_importances_, model.feature_importances_)


def test_catboost_scores_columns_and_weights(rare):
    X, y = rare
    model = LIBRARIES["catboost"].make(5).fit(X, y)
    right = model.predict(X) == y
    assert model.score(X, y[:, None]) == model.score(X, y) == right.mean()
    weight = np.where(y == 1, 5.0, 1.0)
    assert model.score(X, y, weight) == pytest.approx(np.average(right, weights=weight))


def test_catboost_reports_the_score_by_its_name(rare):
    X, y = rare
    model = LIBRARIES["catboost"].make(5, eval_metric="soft_mcc").fit(X, y, eval_set=(X, y))
    assert {name: list(scores) for name, scores in model.get_evals_result().items()} == {
        "learn": ["soft_mcc"],
        "validation": ["soft_mcc"],
    }


@pytest.mark.parametrize("where", ["swept", "advance"])
def test_catboost_lets_an_interruption_through(rare, where, monkeypatch):
    """Ctrl-C met in the objective ("swept", from its third call) or in the metric comes out as CatBoost's own error."""
    calls = []

    def interrupted(*args, **options):
        calls.append(where)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return plain(*args, **options)

    plain = getattr(Objective, where)
    monkeypatch.setattr(Objective, where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        LIBRARIES["catboost"].make(5).fit(*rare)


WITHOUT_NUMBA = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "numba":
            raise ModuleNotFoundError("No module named 'numba'", name=name)

sys.meta_path.insert(0, Absent())
import numpy as np
from astralearn.boosting import ASTraCatBoostClassifier

X = np.arange(60.0)[:, None]
ASTraCatBoostClassifier(iterations=2, verbose=0, allow_writing_files=False).fit(X, X[:, 0] > 49)
"""


def test_catboost_is_quiet_without_numba():
    """As after `pip install 'astralearn[boosting]'`, which brings none; None in sys.modules would not make CatBoost warn."""
    done = subprocess.run(
        [sys.executable, "-W", "always::UserWarning", "-c", WITHOUT_NUMBA],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "numba" not in done.stderr


def test_catboost_refuses_what_it_cannot_recode(rare):
    X, y = rare
    with pytest.raises(ValueError, match="X and y must be given separately"):
        LIBRARIES["catboost"].make().fit(cb.Pool(X, y))
    with pytest.raises(ValueError, match="init_model is not supported"):
        LIBRARIES["catboost"].make().fit(X, y, init_model=object())
    for eval_set in (cb.Pool(X, y), [cb.Pool(X, y)]):
        with pytest.raises(
            ValueError, match=r"eval_set must be \(X, y\) or a list of such pairs.*; found Pool"
        ):
            LIBRARIES["catboost"].make().fit(X, y, eval_set=eval_set)


def test_catboost_refuses_what_trains_past_the_objective(rare):
    X, y = rare
    make = LIBRARIES["catboost"].make
    for fit in (
        lambda: make().fit(X, y, save_snapshot=True),
        lambda: make(save_snapshot=True).fit(X, y),
    ):
        with pytest.raises(ValueError, match="save_snapshot is not supported"):
            fit()
    for name in ("grid_search", "randomized_search", "select_features"):
        with pytest.raises(ValueError, match=f"{name} is not supported: .*use sklearn"):
            getattr(make(), name)({"depth": [2, 4]}, X, y)


def test_catboost_text_features_with_an_evaluation_set(rare):
    X, y = rare
    frame = pd.DataFrame(
        {"words": np.where(X[:, 0] > 1, "good day sir", "bad night madam"), "second": X[:, 1]}
    )
    make = LIBRARIES["catboost"].make
    of_class = make(3, text_features=["words"]).fit(frame, y, eval_set=(frame, y))
    of_fit = make(3).fit(frame, y, eval_set=(frame, y), text_features=["words"])
    np.testing.assert_array_equal(of_class.predict_proba(frame), of_fit.predict_proba(frame))


def test_catboost_log_probabilities_and_stages(rare):
    X, y = rare
    model = (
        LIBRARIES["catboost"]
        .make(10, loss="bce", slope_rate_min=0.5)
        .fit(X, np.where(y == 1, "fraud", "ok"))
    )
    for log_proba in (model.predict_log_proba(X), model.predict(X, "LogProbability")):
        np.testing.assert_allclose(log_proba, np.log(model.predict_proba(X)), rtol=1e-9)
    for first, period, ends in ((0, 1, range(1, 11)), (0, 4, (4, 8, 10)), (2, 5, (7, 10))):
        options = {"ntree_start": first, "eval_period": period}
        stages = [
            model.staged_predict(X, **options),
            model.staged_predict_proba(X, **options),
            model.staged_predict_log_proba(X, **options),
        ]
        for end, labels, proba, log_proba in zip(ends, *stages, strict=True):
            np.testing.assert_array_equal(
                labels, model.predict(X, ntree_start=first, ntree_end=end)
            )
            np.testing.assert_allclose(
                proba, model.predict_proba(X, ntree_start=first, ntree_end=end), rtol=1e-9
            )
            np.testing.assert_allclose(log_proba, np.log(proba), rtol=1e-9)


@pytest.mark.parametrize(
    "library", [LIBRARIES["lightgbm"], LIBRARIES["xgboost"]], ids=["lightgbm", "xgboost"]
)
def test_continued_training_is_one_training(library, rare, tmp_path):
    """The slope goes on at the rate at which it had stopped, from the model itself and from its file."""
    X, y = rare
    through, first = library.make(20).fit(X, y), library.make(10).fit(X, y)
    first.save_model(path := tmp_path / f"model.{library.suffix}")
    name = "init_model" if library.suffix == "txt" else "xgb_model"
    for earlier in (first, path if library.suffix == "txt" else str(path)):
        second = library.make(10).fit(X, y, **{name: earlier})
        np.testing.assert_allclose(second.slope_path_, through.slope_path_, rtol=1e-5)
        np.testing.assert_allclose(
            second.predict_proba(X), through.predict_proba(X), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("weight", [-1.0, -1e-9])
def test_lightgbm_refuses_weights_as_the_others_do(weight, rare):
    X, y = rare
    with pytest.raises(ValueError, match="sample_weight must be finite and at least 0"):
        LIBRARIES["lightgbm"].make(3).fit(X, y, sample_weight=np.r_[weight, np.ones(len(y) - 1)])


def test_lightgbm_metrics_that_nobody_has_are_named(rare):
    X, y = rare
    make = LIBRARIES["lightgbm"].make
    with pytest.raises(
        ValueError,
        match=r"eval_metric must be one of soft_g_mean, .*or a metric of LightGBM's; found 'gmean'",
    ):
        make(3).fit(X, y, eval_set=[(X, y)], eval_metric="gmean")
    for metric in ("auc", "binary_logloss", "average_precision", "mae"):
        assert make(3).fit(X, y, eval_set=[(X, y)], eval_metric=metric).evals_result_
    assert make(3).fit(X, y, eval_set=[(X, y)], eval_metric="None").evals_result_ == {}


def test_lightgbm_evaluates_the_soft_g_mean_where_no_metric_is_named(rare):
    X, y = rare
    for options, names in (
        ({}, ["soft_g_mean"]),
        ({"metric": None}, ["soft_g_mean"]),
        ({"metric": "auc"}, ["auc"]),
        ({"metrics": ["auc", "average_precision"]}, ["auc", "average_precision"]),
    ):
        assert (
            list(
                LIBRARIES["lightgbm"]
                .make(3, **options)
                .fit(X, y, eval_set=[(X, y)])
                .evals_result_["training"]
            )
            == names
        )
    with pytest.raises(
        ValueError,
        match="metric must be one of LightGBM's, those of SCORES go into fit's eval_metric; found 'soft_mcc'",
    ):
        LIBRARIES["lightgbm"].make(3, metric="soft_mcc").fit(X, y, eval_set=[(X, y)])


@ALL
@pytest.mark.parametrize("start", [np.nan, np.inf, -np.inf])
def test_a_start_that_is_no_number_is_refused(library, start, rare):
    with pytest.raises(ValueError, match=f"start must be finite; found {start}"):
        library.make(3, start=start).fit(*rare)


@ALL
def test_weights_that_are_all_0_are_refused_where_the_start_depends_on_them(library, rare):
    X, y = rare
    with pytest.raises(
        ValueError, match="sample_weight must be above 0 for some row; found a sum of 0"
    ):
        library.make(3, loss="bce").fit(X, y, sample_weight=np.zeros(len(y)))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "lightgbm",
            {"class_weight": {0: 0.0, 1: 1.0}},
            "class_weight must be above 0 and finite; found 0.0 for 0",
        ),
        (
            "catboost",
            {"class_weights": [0, 1]},
            "class_weight must be above 0 and finite; found 0 for 0",
        ),
        (
            "catboost",
            {"class_weights": [1]},
            r"class_weights must have a weight for each of the classes \[0, 1\]; found \[1\]",
        ),
        ("xgboost", {"scale_pos_weight": 0}, "scale_pos_weight must be above 0; found 0"),
        (
            "xgboost",
            {"start": -1000.0},
            "start must be within ±13, for XGBoost keeps it as a probability; found -1000",
        ),
        ("xgboost", {"tau_init": 1e-300}, r"tau_init must be in \[1e-05, 0\.5\]; found 1e-300"),
    ],
)
def test_numbers_that_cannot_be_are_named(name, options, message, rare):
    with pytest.raises(ValueError, match=message):
        LIBRARIES[name].make(3, **options).fit(*rare)


def test_xgboost_takes_its_start_and_not_that_of_a_file(rare, tmp_path):
    X, y = rare
    LIBRARIES["xgboost"].make(3).fit(X, y).save_model(path := tmp_path / "model.ubj")
    model = LIBRARIES["xgboost"].make(1, start=1.0, loss="bce", min_child_weight=1e9)
    model.load_model(path)
    with pytest.warns(UserWarning, match="no split"):
        model.fit(X, y)
    np.testing.assert_allclose(model.predict(X, output_margin=True), 1.0, rtol=1e-5)
