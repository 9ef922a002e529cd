"""Data, and the table of libraries: a new one joins LIBRARIES and inherits every contract."""

from typing import Any, ClassVar

import catboost as cb
import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

from astralearn.boosting import ASTraCatBoostClassifier, ASTraLGBMClassifier, ASTraXGBClassifier


def table(n=1500, seed=0, positives=0.02, dtype=np.float64):
    """Rows whose rarer class (1) sits in one corner, noisy; never fewer than five positives."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).astype(dtype)
    signal = X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n)
    y = (signal > np.quantile(signal, 1 - max(positives, 5 / n))).astype(int)
    return X, y


@pytest.fixture(scope="session")
def rare():
    return table()


class Library:
    """How a library spells what the contracts ask of all of them."""

    ours: Any
    plain: Any
    quiet: ClassVar[dict[str, Any]]
    raw: ClassVar[dict[str, Any]]
    suffix: str
    rounds = "n_estimators"
    depth = "max_depth"
    objective = "objective"

    # What is raised where the rows are no numbers.
    unreadable: type[Exception] = ValueError

    # A model to go on from, as an argument of fit; None where the library has none.
    continue_from: str | None = None

    # Options under which no tree splits, and the one that a model must undo to split again.
    without_splits: ClassVar[dict[str, Any]]
    with_splits: ClassVar[dict[str, Any]] = {}

    # Options under which a weight of 2 and a row given twice see the same splits.
    by_weight_alone: ClassVar[dict[str, Any]]

    # Options for a data frame whose column "kind" is categorical and has few rows of one kind.
    categorical: ClassVar[dict[str, Any]]

    # A positive weighs as fifty negatives.
    heavy_positives: ClassVar[dict[str, Any]]

    def make(self, n=20, **options):
        return self.ours(**{self.rounds: n, **self.quiet, **options})

    def make_plain(self, n, **options):
        return self.plain(**{self.rounds: n, **self.quiet, **options})

    def scores(self, model, X):
        return np.asarray(model.predict(X, **self.raw))

    def save_plain(self, model, path):
        model.save_model(path)

    def explainable(self, model):
        return model


class LightGBM(Library):
    ours, plain = ASTraLGBMClassifier, lgb.LGBMClassifier
    quiet: ClassVar = {"verbose": -1, "n_jobs": 1}
    raw: ClassVar = {"raw_score": True}
    suffix = "txt"
    continue_from = "init_model"
    without_splits: ClassVar = {"min_child_samples": 1400}
    by_weight_alone: ClassVar = {
        "min_child_samples": 0,
        "min_data_in_bin": 1,
        "reg_lambda": 1.0,
        "max_depth": 2,
    }
    categorical: ClassVar = {"min_child_samples": 5, "cat_smooth": 0, "min_data_per_group": 1}
    heavy_positives: ClassVar = {"class_weight": {0: 1.0, 1: 50.0}}

    def fit_stopping_early(self, model, X, y, X_val, y_val, metric=None, **fit_params):
        return model.fit(
            X,
            y,
            eval_set=[(X_val, y_val)],
            eval_metric=metric,
            callbacks=[lgb.early_stopping(5, verbose=False)],
            **fit_params,
        )

    def best_soft_g_mean(self, model):
        return model.best_score_["valid_0"]["soft_g_mean"]

    def first_trees(self, trees):
        return {"num_iteration": trees}

    def booster(self, model):
        return model.booster_

    def save_plain(self, model, path):
        model.booster_.save_model(path)

    def scores_of_file(self, path, X):
        return lgb.Booster(model_file=path).predict(X, raw_score=True)

    def contributions(self, model, X):
        return model.predict(X, pred_contrib=True)

    def explainable(self, model):
        return model.booster_


class XGBoost(Library):
    ours, plain = ASTraXGBClassifier, xgb.XGBClassifier
    quiet: ClassVar = {"n_jobs": 1}
    raw: ClassVar = {"output_margin": True}
    suffix = "ubj"
    continue_from = "xgb_model"
    without_splits: ClassVar = {"gamma": 1e9}
    with_splits: ClassVar = {"gamma": 0}
    by_weight_alone: ClassVar = {"tree_method": "exact"}
    categorical: ClassVar = {"enable_categorical": True, "min_child_weight": 0}
    heavy_positives: ClassVar = {"scale_pos_weight": 50.0}

    def fit_stopping_early(self, model, X, y, X_val, y_val, metric=None, **fit_params):
        model.set_params(eval_metric=metric, early_stopping_rounds=5)
        return model.fit(X, y, eval_set=[(X_val, y_val)], verbose=False, **fit_params)

    def best_soft_g_mean(self, model):
        return 1 - model.best_score

    def first_trees(self, trees):
        return {"iteration_range": (0, trees)}

    def booster(self, model):
        return model.get_booster()

    def scores_of_file(self, path, X):
        return xgb.Booster(model_file=path).predict(xgb.DMatrix(X), output_margin=True)

    def contributions(self, model, X):
        return model.get_booster().predict(xgb.DMatrix(X), pred_contribs=True)


class CatBoost(Library):
    ours, plain = ASTraCatBoostClassifier, cb.CatBoostClassifier
    quiet: ClassVar = {
        "verbose": 0,
        "thread_count": 1,
        "allow_writing_files": False,
        "learning_rate": 0.1,
    }
    raw: ClassVar = {"prediction_type": "RawFormulaVal"}
    suffix = "cbm"
    rounds = "iterations"
    depth = "depth"
    objective = "loss_function"
    unreadable = cb.CatBoostError
    without_splits: ClassVar = {"grow_policy": "Depthwise", "min_data_in_leaf": 1400}
    by_weight_alone: ClassVar = {
        "bootstrap_type": "No",
        "random_strength": 0,
        "feature_border_type": "Uniform",
        "l2_leaf_reg": 1e-9,
    }
    categorical: ClassVar = {"cat_features": ["kind"]}
    heavy_positives: ClassVar = {"class_weights": {0: 1.0, 1: 50.0}}

    def fit_stopping_early(self, model, X, y, X_val, y_val, metric=None):
        model.set_params(eval_metric=metric)
        return model.fit(X, y, eval_set=(X_val, y_val), early_stopping_rounds=5)

    def first_trees(self, trees):
        return {"ntree_end": trees}

    def scores_of_file(self, path, X):
        return cb.CatBoost().load_model(path).predict(X)

    def contributions(self, model, X):
        return model.get_feature_importance(cb.Pool(X), type="ShapValues")


LIBRARIES = {"lightgbm": LightGBM(), "xgboost": XGBoost(), "catboost": CatBoost()}


@pytest.fixture(params=LIBRARIES)
def library(request):
    """Each library in turn."""
    return LIBRARIES[request.param]


@pytest.fixture(params=[name for name, of in LIBRARIES.items() if of.continue_from])
def continuing(request):
    """Each library that goes on from an earlier model."""
    return LIBRARIES[request.param]


@pytest.fixture
def lightgbm():
    return LIBRARIES["lightgbm"]


@pytest.fixture
def xgboost():
    return LIBRARIES["xgboost"]


@pytest.fixture
def catboost():
    return LIBRARIES["catboost"]
