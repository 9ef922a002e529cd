"""The objectives where a user would put them: the four training APIs."""

import pickle

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.base import clone

from astralearn.boosting import (
    ASTraObjective,
    ConfusionObjective,
    LightGBMObjective,
    XGBoostObjective,
)

ROUNDS = 15
OBJECTIVES = [
    ASTraObjective(),
    *(ConfusionObjective(loss) for loss in ("gmn", "f1", "mcc", "balanced_accuracy")),
    ConfusionObjective(activation="astra"),
]
ALL = pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: f"{o.loss}-{o.activation}")
LIGHTGBM = {"verbose": -1, "num_threads": 1}
XGBOOST = {"nthread": 1, "base_score": 0.0}


def scores_by(api, objective, X, y, weight=None):
    """Training scores after ROUNDS rounds from score 0."""
    if api == "lgb.train":
        data = lgb.Dataset(X, y, weight=weight, init_score=np.zeros(len(y)), params={"verbose": -1})
        return lgb.train(
            {**LIGHTGBM, "objective": LightGBMObjective(objective)}, data, ROUNDS
        ).predict(X)
    if api == "LGBMClassifier":
        model = lgb.LGBMClassifier(objective=objective, n_estimators=ROUNDS, verbose=-1, n_jobs=1)
        return model.fit(X, y, sample_weight=weight).predict(X, raw_score=True)
    if api == "xgb.train":
        data = xgb.DMatrix(X, y, weight=weight)
        return xgb.train(XGBOOST, data, ROUNDS, obj=XGBoostObjective(objective)).predict(
            data, output_margin=True
        )
    if api == "XGBClassifier":
        objective = XGBoostObjective(objective)
    model = xgb.XGBClassifier(objective=objective, n_estimators=ROUNDS, n_jobs=1, base_score=0.5)
    return model.fit(X, y, sample_weight=weight).predict(X, output_margin=True)


@pytest.mark.parametrize(
    "api", ["lgb.train", "LGBMClassifier", "xgb.train", "XGBClassifier", "XGBClassifier, unwrapped"]
)
@ALL
@pytest.mark.parametrize("weighted", [False, True])
def test_every_api_brings_the_loss_down_with_default_regularisation(api, objective, rare, weighted):
    X, y = rare
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    objective = clone(objective, safe=False)
    before = objective.value(y, np.zeros(len(y)), weight)
    scores = scores_by(api, objective, X, y, weight)
    assert len(np.unique(scores)) > 10  # trees grew
    # F1 and MCC, near 1 for a constant score, fall slowly at first.
    assert objective.value(y, scores, weight) < 0.95 * before
    assert len(objective.slope_path) == ROUNDS + 1
    assert (len(set(objective.slope_path)) > 1) == (objective.activation == "astra")


@pytest.mark.parametrize("pair", [("lgb.train", "LGBMClassifier"), ("xgb.train", "XGBClassifier")])
def test_both_apis_of_a_library_agree(pair, rare):
    first, second = (
        scores_by(api, ConfusionObjective("gmn", activation="astra"), *rare) for api in pair
    )
    np.testing.assert_allclose(
        first, second, rtol=1e-3, atol=1e-3
    )  # lgb.train's adapter sweeps in float32


def test_five_positives_grow_trees_under_default_minimum_child_settings():
    """p(1−p) of rare classes stops XGBoost's min_child_weight=1 (xgboost #5444); ours does not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 3)), np.zeros(3000)
    y[:5] = 1
    X[:5, 0] += 4
    for objective in (ASTraObjective(), ConfusionObjective("gmn")):
        for api in ("lgb.train", "xgb.train"):
            scores = scores_by(api, clone(objective, safe=False), X, y)
            assert len(np.unique(scores)) > 2  # trees grew
            assert scores[:5].mean() > np.quantile(scores[5:], 0.95)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_each_fold_of_a_cross_validation_learns_its_own_slope(library, rare):
    """The objective shows the last fold's: the path that training on its rows alone gives."""
    X, y = rare
    halves = [(np.arange(750, 1500), np.arange(750)), (np.arange(750), np.arange(750, 1500))]
    folded, alone = (
        ConfusionObjective("gmn", activation="astra", slope_rate_min=0.5) for _ in range(2)
    )
    if library == "lightgbm":
        data = lgb.Dataset(
            X, y, init_score=np.zeros(len(y)), params={"verbose": -1}, free_raw_data=False
        )
        lgb.cv(
            {**LIGHTGBM, "objective": LightGBMObjective(folded), "metric": "auc"},
            data,
            ROUNDS,
            folds=halves,
        )
        lgb.train(
            {**LIGHTGBM, "objective": LightGBMObjective(alone)}, data.subset(np.arange(750)), ROUNDS
        )
    else:
        xgb.cv(
            XGBOOST,
            xgb.DMatrix(X, y),
            ROUNDS,
            folds=halves,
            obj=XGBoostObjective(folded),
            metrics="auc",
        )
        xgb.train(XGBOOST, xgb.DMatrix(X[:750], y[:750]), ROUNDS, obj=XGBoostObjective(alone))
    assert len(folded.slope_path) == ROUNDS + 1
    np.testing.assert_allclose(folded.slope_path, alone.slope_path, rtol=1e-6)


def test_an_adapter_trains_one_set_after_another(rare):
    X, y = rare
    objective = ConfusionObjective("gmn", activation="astra", slope_rate_min=0.5)
    adapter = pickle.loads(pickle.dumps(XGBoostObjective(objective)))
    paths = []
    for data in (first := xgb.DMatrix(X, y), xgb.DMatrix(X[:750], y[:750]), first):
        xgb.train(XGBOOST, data, ROUNDS, obj=adapter)
        paths.append(adapter.objective.slope_path)
    assert [len(path) for path in paths] == [ROUNDS + 1] * 3
    assert paths[0] == paths[2] != paths[1]


def test_a_classifier_with_our_objective_pickles_clones_and_refits(rare):
    X, y = rare
    model = lgb.LGBMClassifier(
        objective=ASTraObjective(), n_estimators=ROUNDS, verbose=-1, n_jobs=1
    ).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.predict(X, raw_score=True), model.predict(X, raw_score=True)
    )
    assert len(clone(model).objective.slope_path) == 1
    wrapped = clone(xgb.XGBClassifier(objective=XGBoostObjective(model.objective)))
    assert len(wrapped.objective.objective.slope_path) == 1
    assert len(model.objective.slope_path) > 1
    first = model.predict(X, raw_score=True)
    np.testing.assert_array_equal(
        model.fit(X, y).predict(X, raw_score=True), first
    )  # a second fit starts afresh


@pytest.mark.parametrize("wrapper", [LightGBMObjective, XGBoostObjective])
@pytest.mark.parametrize("wrong", ["gmn", ASTraObjective, XGBoostObjective(ASTraObjective())])
def test_what_is_no_objective_is_named_when_it_is_wrapped(wrapper, wrong):
    with pytest.raises(TypeError, match="an ASTraObjective or a ConfusionObjective; found "):
        wrapper(wrong)


def test_an_objective_without_its_wrapper_is_named(rare):
    X, y = rare
    with pytest.raises(TypeError, match=r"found a Dataset: lgb.train takes LightGBMObjective\("):
        lgb.train({**LIGHTGBM, "objective": ASTraObjective()}, lgb.Dataset(X, y), 1)
    with pytest.raises(TypeError, match=r"found a DMatrix: .* xgb.train XGBoostObjective\("):
        xgb.train(XGBOOST, xgb.DMatrix(X, y), 1, obj=ASTraObjective())
