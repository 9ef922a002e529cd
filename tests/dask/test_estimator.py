"""A fit of partitions is the fit of the table in one place."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from astralearn import ASTraClassifier, load

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # distributed's imports warn
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    from astralearn.dask import DaskASTraClassifier

# A cluster that starts and stops leaves warnings of its own: open sockets, slow event loops.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

# Uneven, one without any row, one with all positives and nothing else.
SIZES = (2_000, 0, 60_000, 30, 39_970)
QUICK = {"epochs": 10, "n_estimators": 5, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(sum(SIZES), 3))
    y = np.zeros(len(X), int)
    y[62_000:62_030] = 1
    X[y == 1] += 2
    return X, y


@pytest.fixture(scope="module")
def collections(table):
    X, y = table
    return da.from_array(X, (SIZES, (3,))), da.from_array(y, (SIZES,))


@pytest.fixture(scope="module")
def fitted(client, collections):
    return DaskASTraClassifier(**QUICK).fit(*collections)


@pytest.fixture(scope="module")
def alone(table):
    return ASTraClassifier(**QUICK).fit(*table)


def test_the_committee_is_the_local_one(fitted, alone):
    np.testing.assert_allclose(fitted.mean_, alone.mean_, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(fitted.scale_, alone.scale_, rtol=1e-12)
    np.testing.assert_allclose(fitted.coefs_, alone.coefs_, rtol=1e-6, atol=1e-7)
    assert fitted.cut_ == pytest.approx(alone.cut_, rel=1e-9)
    assert fitted.prior_shift_ == pytest.approx(alone.prior_shift_, rel=1e-6)
    assert fitted.expectations_.recall.mean == pytest.approx(alone.expectations_.recall.mean)
    assert fitted.get_params() == alone.get_params()
    assert (fitted.n_features_in_, fitted.minority_class_) == (3, 1)


def test_predictions_are_lazy_and_the_local_ones(fitted, alone, table, collections):
    for method in ("predict", "predict_proba", "predict_risk", "decision_function"):
        lazy = getattr(fitted, method)(collections[0][61_900:62_100])
        assert isinstance(lazy, da.Array)
        assert lazy.chunks[0] == (100, 30, 70)
        expected = getattr(alone, method)(table[0][61_900:62_100])
        assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-6, atol=1e-9)


def test_frames_keep_their_index(fitted, client, table):
    frame = pd.DataFrame(table[0][:900], index=np.arange(900) * 2)
    lazy = dd.from_pandas(frame, npartitions=4)
    local = fitted.local()
    labels, risks = fitted.predict(lazy), fitted.predict_risk(lazy)
    assert isinstance(labels, dd.Series)
    pd.testing.assert_series_equal(
        labels.compute(), pd.Series(local.predict(frame.to_numpy()), frame.index)
    )
    pd.testing.assert_series_equal(
        risks.compute(), pd.Series(local.predict_risk(frame.to_numpy()), frame.index)
    )
    both = fitted.predict_proba(lazy)
    assert list(both.columns) == [0, 1]
    np.testing.assert_array_equal(both.compute().to_numpy(), local.predict_proba(frame.to_numpy()))


def test_local_is_the_plain_classifier_and_a_file_of_it(fitted, table, tmp_path):
    local = fitted.local()
    assert type(local) is ASTraClassifier
    X = table[0][:100]
    np.testing.assert_array_equal(local.predict_risk(X), fitted.predict_risk(X))
    fitted.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_risk(X), local.predict_risk(X))


def test_a_small_table_of_parquet_files_is_fitted_in_one_place(client, tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(900, 2)), columns=["a", "b"])
    frame["label"] = np.where(np.arange(900) < 8, "rare", "usual")
    frame.loc[:7, "a"] += 5
    dd.from_pandas(frame, npartitions=3, sort=False).to_parquet(tmp_path / "table")
    lazy = dd.read_parquet(tmp_path / "table")
    model = DaskASTraClassifier(**QUICK).fit(lazy[["a", "b"]], lazy["label"])
    expected = ASTraClassifier(**QUICK).fit(frame[["a", "b"]], frame["label"])
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.coefs_, expected.coefs_)
    found = model.predict(lazy[["a", "b"]]).compute().to_numpy()
    np.testing.assert_array_equal(found, expected.predict(frame[["a", "b"]]))


def test_a_table_of_one_class_is_refused_before_training(client, collections):
    X, _ = collections
    with pytest.raises(ValueError, match=r"y must contain two classes .* found one class only"):
        DaskASTraClassifier(**QUICK).fit(X, da.zeros(len(X), chunks=(SIZES,)))


@pytest.mark.parametrize("absent", ["dask", "distributed"])
def test_without_what_it_needs_the_extra_is_named(absent):
    code = f"import sys; sys.modules[{absent!r}] = None; import astralearn.dask"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    ).stderr.splitlines()[-1]
    assert said.startswith("ImportError: astralearn.dask needs Dask (")
    assert said.endswith("pip install 'astralearn[cluster]'")
