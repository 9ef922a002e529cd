"""What people would use today on rare classes: one line an entrant.

Each is as its authors recommend for imbalanced data. A method joins by a name and a function that
makes a scikit-learn classifier; packages are imported in the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

FOREST_TREES = 200


def _extra_trees() -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(FOREST_TREES, class_weight="balanced")


def _random_forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(FOREST_TREES, class_weight="balanced_subsample")


def _discriminant() -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto", priors=[0.5, 0.5])


def _smote_logistic() -> Any:
    from imblearn.over_sampling import SMOTE
    from imblearn.pipeline import make_pipeline
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    # SMOTE's five neighbours need six positives; with five it takes the four others.
    sampler = SMOTE(k_neighbors=4)
    return make_pipeline(StandardScaler(), sampler, LogisticRegression(max_iter=1000))


def _xgboost() -> Any:
    from xgboost import XGBClassifier

    return Weighted(XGBClassifier(n_jobs=1, verbosity=0))


def _catboost() -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        auto_class_weights="Balanced",
        thread_count=1,
        verbose=0,
        allow_writing_files=False,
        random_state=0,
    )


def _hd_ensemble() -> Any:
    from astralearn.hd_ensemble import HDEnsembleClassifier

    return HDEnsembleClassifier()


def _xgbod() -> Any:
    from pyod.models.xgbod import XGBOD

    return Detector(XGBOD(n_jobs=1, random_state=0))


def _devnet() -> Any:
    from pyod.models.devnet import DevNet

    return Detector(DevNet(device="cpu"))


ENTRANTS: dict[str, Callable[[], Any]] = {
    "ExtraTrees": _extra_trees,
    "random forest": _random_forest,
    "LDA": _discriminant,
    "SMOTE + logistic": _smote_logistic,
    "XGBoost": _xgboost,
    "CatBoost": _catboost,
    "HD-Ensemble (rebuilt)": _hd_ensemble,
    "XGBOD": _xgbod,
    "DevNet": _devnet,
}


class Weighted(ClassifierMixin, BaseEstimator):
    """A classifier fitted with balanced row weights, as XGBoost's authors advise."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Weighted:
        """Fit a clone with weights that give both classes the same total."""
        from sklearn.base import clone
        from sklearn.utils.class_weight import compute_sample_weight

        weights = compute_sample_weight("balanced", y)
        self.estimator_ = clone(self.estimator).fit(X, y, sample_weight=weights)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.estimator_.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.estimator_.predict(X))


class Detector(ClassifierMixin, BaseEstimator):
    """A supervised detector of PyOD as a classifier, on standardised columns.

    Its decision is PyOD's: the cut that flags the share of training rows that are rare.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Detector:
        """Fit a clone that is told the share of positives."""
        from sklearn.base import clone
        from sklearn.preprocessing import StandardScaler

        y = np.asarray(y)
        self.classes_ = np.unique(y)
        self.scaler_ = StandardScaler().fit(X)
        scaled = self.scaler_.transform(X)
        self.estimator_ = clone(self.estimator).fit(scaled, y)
        scores = self.estimator_.decision_function(scaled)
        self.cut_ = float(np.sort(scores)[-int((y == self.classes_[-1]).sum())])
        return self

    def decision_function(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.estimator_.decision_function(self.scaler_.transform(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[(self.decision_function(X) >= self.cut_).astype(int)])
