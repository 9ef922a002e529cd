import copy
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.special import expit

from astralearn.classifier.prediction import mean_output
from astralearn.core import rebalanced_logit
from rare_problems import quick, rare


@pytest.fixture(scope="module")
def fitted():
    X, y = rare()
    return quick(epochs=300).fit(X, y), X, y


def test_the_decision_is_the_logit_of_the_networks_mean_output(fitted):
    model, X, _ = fitted
    outputs = []
    for k in range(2):
        one = copy.deepcopy(model)
        one.coefs_, one.slope_ = model.coefs_[k : k + 1], model.slope_[k : k + 1]
        outputs.append(expit(one.decision_function(X)))
    np.testing.assert_allclose(
        expit(model.decision_function(X)), np.mean(outputs, axis=0), rtol=1e-6
    )


def test_each_network_s_output_is_astra(fitted):
    model, X, _ = fitted
    one = copy.deepcopy(model)
    one.coefs_, one.slope_ = model.coefs_[:1], np.ones(1)  # slope 1: g is the logit itself
    x = one.decision_function(X)
    one.slope_ = model.slope_[:1]
    b = float(model.slope_[0])
    np.testing.assert_allclose(one.decision_function(X), rebalanced_logit(x, b), rtol=1e-5)


def test_no_network_rules_the_others():
    g = np.asarray([[-1e4, 1e4, -1e4], [0.0, 0.0, 0.0], [0.0, 0.0, 1e4]])
    found = expit(mean_output(g))
    np.testing.assert_allclose(found, [1 / 3, 2 / 3, 1 / 2], rtol=1e-12)
    far = mean_output(np.asarray([[-1e4], [-1e4 + 2]]))
    np.testing.assert_allclose(far, np.logaddexp(-1e4, -1e4 + 2) - np.log(2), rtol=1e-12)
    np.testing.assert_array_equal(mean_output(g[:1].astype(np.float32)), g[0])


@given(
    npst.arrays(np.float64, (3, 4), elements=st.floats(-30, 30)),
    st.permutations(range(3)),
)
def test_the_mean_output_is_that_of_probabilities(g, order):
    np.testing.assert_allclose(expit(mean_output(g)), expit(g).mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(mean_output(g[list(order)]), mean_output(g), rtol=1e-9, atol=1e-9)


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


@pytest.mark.filterwarnings("ignore:.* are not recognised")
@pytest.mark.parametrize("class_weight", [None, "balanced", {1: 30.0}])
def test_risk_is_at_the_prior_of_the_rows_whatever_mistakes_cost(class_weight):
    X, y = rare(1000, 20)
    X[y == 1] -= 1.5
    model = quick(loss="bce", class_weight=class_weight).fit(X, y)
    assert model.predict_risk(X).mean() == pytest.approx(0.02, rel=1e-3)


@pytest.mark.filterwarnings("ignore:.* are not recognised")
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


def test_of_networks_that_do_not_count_nothing_is_heard():
    rng = np.random.default_rng(0)
    g = rng.normal(scale=300.0, size=(4, 50))
    counted = rng.random((4, 50)) < 0.5
    counted[:, 0] = False
    found = mean_output(g, counted)
    assert np.isnan(found[0])
    for i in range(1, 50):
        judges = g[counted[:, i], i]
        expected = mean_output(np.repeat(judges, 2)[:, None]) if len(judges) else [np.nan]
        np.testing.assert_allclose(found[i], expected[0], rtol=1e-9, atol=1e-12)
