"""scikit-learn's own checks: what the library's classifier passes, ours passes."""

import functools
import warnings

import catboost as cb
import lightgbm as lgb
import pytest
import xgboost as xgb
from sklearn.utils.estimator_checks import check_estimator

from astralearn.boosting import ASTraCatBoostClassifier, ASTraLGBMClassifier, ASTraXGBClassifier

LIBRARIES = {
    "lightgbm": (
        lgb.LGBMClassifier,
        ASTraLGBMClassifier,
        {"n_estimators": 10, "n_jobs": 1, "verbose": -1},
    ),
    "xgboost": (xgb.XGBClassifier, ASTraXGBClassifier, {"n_estimators": 10, "n_jobs": 1}),
    "catboost": (
        cb.CatBoostClassifier,
        ASTraCatBoostClassifier,
        {"iterations": 10, "thread_count": 1, "verbose": 0, "allow_writing_files": False},
    ),
}


def failures(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks feed odd input, and the libraries say so
        return {
            check["check_name"]
            for check in check_estimator(estimator, on_skip=None, on_fail=None)
            if check["status"] == "failed"
        }


@functools.cache
def failures_of_the_library(name):
    theirs, _, options = LIBRARIES[name]
    return failures(theirs(**options))


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("loss", ["bce", "gmn"])
def test_no_check_fails_that_the_library_passes(name, loss):
    _, ours, options = LIBRARIES[name]
    assert failures(ours(loss=loss, **options)) <= failures_of_the_library(name)
