import copy
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from astralearn.core import rebalanced_logit
from rare_problems import quick, rare


@pytest.fixture(scope="module")
def fitted():
    X, y = rare()
    return quick(epochs=300).fit(X, y), X, y


def test_the_decision_is_the_mean_of_the_networks(fitted):
    model, X, _ = fitted
    logits = []
    for k in range(2):
        one = copy.deepcopy(model)
        one.coefs_, one.slope_ = (
            model.coefs_[k : k + 1],
            np.ones(1),
        )  # slope 1: g is the logit itself
        logits.append(one.decision_function(X))
    mean, b = np.mean(logits, axis=0), np.sqrt(model.slope_[0] * model.slope_[1])
    np.testing.assert_allclose(
        model.decision_function(X), rebalanced_logit(mean, float(b)), rtol=1e-5
    )


def test_prediction_in_blocks_is_prediction_at_once(fitted, monkeypatch):
    model, X, _ = fitted
    whole = model.decision_function(X)
    monkeypatch.setattr("astralearn.classifier.prediction.BLOCK", 7)
    np.testing.assert_allclose(model.decision_function(X), whole, rtol=1e-9)


def test_risk_is_calibrated_to_the_training_prior(fitted):
    model, X, y = fitted
    risk = model.predict_risk(X)
    assert risk.mean() == pytest.approx(y.mean(), rel=1e-3)
    order = np.argsort(model.decision_function(X))
    assert (np.diff(risk[order]) >= 0).all()


@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 30.0}])
def test_risk_is_at_the_prior_of_the_rows_whatever_mistakes_cost(class_weight):
    X, y = rare(1000, 20)
    X[y == 1] -= 1.5
    model = quick(loss="bce", class_weight=class_weight).fit(X, y)
    assert model.predict_risk(X).mean() == pytest.approx(0.02, rel=1e-3)


@pytest.mark.parametrize("loss", ["root_gmn", "bce"])
@pytest.mark.parametrize("weight", [1e-15, 1e13])
def test_risk_at_any_prior(loss, weight):
    X, y = rare()
    risk = quick(loss=loss).fit(X, y, np.where(y == 1, weight, 1.0)).predict_risk(X)
    assert np.isfinite(risk).all()
    assert (risk.mean() < 1e-6) if weight < 1 else (risk.mean() > 0.9)


@pytest.mark.slow
def test_predicts_without_jax(fitted, tmp_path):
    model, X, _ = fitted
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps((model, X, model.decision_function(X))))
    code = f"""
        import pickle, sys
        sys.modules["jax"] = sys.modules["optax"] = None
        model, X, expected = pickle.load(open({str(path)!r}, "rb"))
        assert (model.decision_function(X) == expected).all()
        assert model.predict(X).sum() > 0
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
