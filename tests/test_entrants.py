"""Every entrant learns from five positives, gives scores and decides."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.metrics import roc_auc_score

from astralearn.classifier.guests import seeded
from astralearn.entrants import ENTRANTS, Weighted
from astralearn.study.unit import how_positive

pytestmark = pytest.mark.slow

SLOW = {"XGBOD", "DevNet"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in ENTRANTS],
)
def test_learns_from_five_positives(name: str) -> None:
    pytest.importorskip({"CatBoost": "catboost", "XGBoost": "xgboost"}.get(name, "imblearn"))
    random = np.random.default_rng(0)
    y = np.repeat([1, 0], [105, 800])
    X = random.normal(size=(905, 4)) + 2.0 * y[:, None]
    learn = np.r_[0:5, 105:405]
    if name in SLOW:
        pytest.importorskip("pyod")
    estimator = ENTRANTS[name]()
    assert is_classifier(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = seeded(estimator, 3).fit(X[learn], y[learn])
        test = np.setdiff1d(np.arange(905), learn)
        scores = how_positive(model, X[test])
        decided = model.predict(X[test])
    assert scores is not None
    assert np.isfinite(scores).all()
    # PyOD's DevNet draws batches without regard to class, and needs more than five positives.
    assert name == "DevNet" or roc_auc_score(y[test], scores) > 0.8
    assert set(np.unique(decided)) <= {0, 1}


def test_weights_are_balanced() -> None:
    seen: dict[str, np.ndarray] = {}

    class Notes(Weighted):
        def __init__(self, estimator: object = None) -> None:
            self.estimator = estimator

        def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray) -> Notes:
            seen["weights"], self.classes_ = sample_weight, np.unique(y)
            return self

    Weighted(Notes()).fit(np.zeros((4, 1)), np.array([1, 0, 0, 0]))
    np.testing.assert_allclose(seen["weights"], [2, 2 / 3, 2 / 3, 2 / 3])
