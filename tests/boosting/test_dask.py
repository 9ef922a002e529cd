"""Two Dask workers in two processes train the model that one process trains."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
import xgboost as xgb

from astralearn.boosting import (
    ASTraObjective,
    ASTraXGBClassifier,
    ConfusionObjective,
    XGBoostObjective,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # distributed's imports warn
    distributed = pytest.importorskip("distributed")
    da = pytest.importorskip("dask.array")
    from xgboost import dask as xgb_dask

    from astralearn.boosting import dask as ours

# A cluster that starts and stops leaves warnings of its own: open sockets, slow event loops.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

PARAMS = {"max_depth": 3, "nthread": 1, "tree_method": "hist"}
ROUNDS = 10
OBJECTIVES = {
    "astra": ASTraObjective,
    "gmn": lambda: ConfusionObjective("gmn"),
    "gmn-astra": lambda: ConfusionObjective("gmn", activation="astra", slope_rate_min=0.5),
    "mcc": lambda: ConfusionObjective("mcc"),
}


@pytest.fixture(scope="module")
def client():
    # Any port: another test may have a cluster too.
    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
    }
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def data():
    """Small integers: quantile sketches agree however rows are spread.

    Sorted by label: one worker has no positive.
    """
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, size=(1200, 4)).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(0, 2, 1200) > 34).astype(float)
    order = np.argsort(y, kind="stable")
    return X[order], y[order], rng.uniform(0.5, 2, 1200)


def on_workers(client, X, y, w, chunks):
    pieces = [
        da.from_array(X, chunks=(chunks, 4)),
        da.from_array(y, chunks=(chunks,)),
        da.from_array(w, chunks=(chunks,)),
    ]
    pieces = [piece.persist() for piece in pieces]
    distributed.wait(pieces)
    return xgb_dask.DaskQuantileDMatrix(client, pieces[0], pieces[1], weight=pieces[2])


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize(
    "chunks", [(600, 600), (1150, 50), (1200,)], ids=["halves", "uneven", "one worker without rows"]
)
def test_the_model_equals_the_single_process_one(client, data, name, chunks):
    X, y, w = data
    assert not y[:600].any()  # the first half holds no positive
    alone, together = OBJECTIVES[name](), OBJECTIVES[name]()
    single = xgb.train(
        {**PARAMS, "objective": "binary:logistic", "base_score": 0.5},
        xgb.QuantileDMatrix(X, y, weight=w),
        ROUNDS,
        obj=XGBoostObjective(alone),
    )
    both = ours.train(
        client, PARAMS, on_workers(client, X, y, w, chunks), ROUNDS, objective=together
    )["booster"]
    mine, theirs = (
        booster.predict(xgb.DMatrix(X), output_margin=True) for booster in (both, single)
    )
    assert np.unique(theirs).size > 5
    np.testing.assert_allclose(mine, theirs, atol=2e-5)
    np.testing.assert_allclose(together.slope_path, alone.slope_path, rtol=1e-6)
    assert len(together.slope_path) == ROUNDS + 1


@pytest.mark.parametrize(
    ("params", "objective", "error", "message"),
    [
        ({"base_score": 0.0}, ASTraObjective(), ValueError, r"in \(0, 1\), .*; found 0.0"),
        ({"base_score": 1}, ASTraObjective(), ValueError, "base_score must be a probability"),
        ({}, "gmn", TypeError, "an ASTraObjective or a ConfusionObjective; found str"),
        ({}, XGBoostObjective(ASTraObjective()), TypeError, "found XGBoostObjective"),
    ],
)
def test_mistakes_are_named_before_training(params, objective, error, message):
    with pytest.raises(error, match=message):
        ours.train(None, params, None, 3, objective=objective)


def test_the_booster_loads_into_the_classifier(client, data, tmp_path):
    X, y, w = data
    objective = ConfusionObjective("gmn", activation="astra")
    booster = ours.train(
        client, PARAMS, on_workers(client, X, y, w, (600, 600)), ROUNDS, objective=objective
    )["booster"]
    booster.save_model(tmp_path / "model.ubj")
    model = ASTraXGBClassifier()
    model.load_model(tmp_path / "model.ubj")
    assert model.slope_ == objective.slope
    np.testing.assert_array_equal(
        model.predict(X), (booster.predict(xgb.DMatrix(X), output_margin=True) >= 0).astype(int)
    )


def test_a_second_training_starts_afresh_unless_it_goes_on_from_a_model(client, data):
    X, y, w = data
    objective = ConfusionObjective("gmn", activation="astra", slope_rate_min=0.5)
    rows = on_workers(client, X, y, w, (600, 600))
    first = ours.train(client, PARAMS, rows, ROUNDS, objective=objective)["booster"]
    path = list(objective.slope_path)
    ours.train(client, PARAMS, rows, ROUNDS, objective=objective)
    np.testing.assert_allclose(objective.slope_path, path, rtol=1e-6)
    fresh = ConfusionObjective("gmn", activation="astra", slope_rate_min=0.5)
    ours.train(client, PARAMS, rows, 3, objective=fresh, xgb_model=first)
    assert len(fresh.slope_path) == ROUNDS + 4
    np.testing.assert_array_equal(fresh.slope_path[: ROUNDS + 1], path)


def test_trees_that_know_no_slope_count_in_its_path(client, data):
    X, y, w = data
    plain = xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(X, y), 5)
    objective = ConfusionObjective("gmn", activation="astra", slope_rate_min=0.5)
    ours.train(
        client,
        PARAMS,
        on_workers(client, X, y, w, (600, 600)),
        3,
        objective=objective,
        xgb_model=plain,
    )
    assert len(objective.slope_path) == len(objective.learner.rates) == 9
    assert len(set(objective.slope_path[:6])) == 1


def test_without_adding_up_the_models_differ(data):
    """A worker that counts only its own rows has no positive: another model comes out."""
    _, y, w = data
    alone = ConfusionObjective("gmn")
    local = ConfusionObjective("gmn")
    x = np.zeros(600)
    whole, _ = alone.round(y, np.zeros(1200), w)
    part, _ = local.round(y[:600], x, w[:600])
    assert np.max(np.abs(part - whole[:600])) > 0.05


@pytest.mark.parametrize("absent", ["xgboost", "dask", "distributed"])
def test_without_what_it_needs_the_extras_are_named(absent):
    code = f"import sys; sys.modules[{absent!r}] = None; import astralearn.boosting.dask"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    ).stderr.splitlines()[-1]
    assert said.startswith("ImportError: astralearn.boosting.dask needs XGBoost and Dask (")
    assert said.endswith("pip install 'astralearn[boosting,cluster]'")
