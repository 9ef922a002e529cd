"""Networks that train on every row of every worker; a worker that is lost is said to be."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pandas as pd
import psutil
import pytest

from astralearn import ASTraClassifier

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # distributed's imports warn
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    import distributed

    from astralearn.classifier.shard_fit import Spread
    from astralearn.dask import DaskASTraClassifier, workers
    from astralearn.dask.partitions import Partitions

# A cluster that starts and stops leaves warnings of its own: open sockets, slow event loops.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

# Uneven, one without any row, one with all positives and nothing else, alone on its worker.
SIZES = (2_000, 0, 60_000, 30, 39_970)
NETWORKS = {
    "committee": False,
    "n_estimators": 2,
    "epochs": 500,
    "learning_rate": 0.02,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(sum(SIZES), 3))
    y = np.zeros(len(X), int)
    y[62_000:62_030] = 1
    X[y == 1] += 1
    return X, y


@pytest.fixture(scope="module")
def alone(table):
    return ASTraClassifier(**NETWORKS).fit(*table)


def cut(table, sizes):
    X, y = table
    return da.from_array(X, (sizes, (3,))), da.from_array(y, (sizes,))


def test_partitions_are_dealt_in_runs_of_about_as_many_rows(table):
    spread = Spread.of(Partitions.of(*cut(table, SIZES), None))
    shares = workers.dealt(spread, ["a", "b", "c"])
    assert [(share.worker, share.partitions) for share in shares] == [
        ("a", [0, 2]),
        ("b", [3]),
        ("c", [4]),
    ]
    assert [share.starts for share in shares] == [[0, 2_000], [0], [0]]
    assert [share.n_rows for share in shares] == [62_000, 30, 39_970]
    few = workers.dealt(spread, list("abcdefgh"))
    assert [share.partitions for share in few] == [[0], [2], [3], [4]]


def assert_equal(model, alone, X):
    """Two fits of 500 epochs, on classes that overlap: the same to the bit."""
    np.testing.assert_array_equal(model.coefs_, alone.coefs_)
    np.testing.assert_array_equal(model.slope_, alone.slope_)
    # The shift of the prior is solved for in float64, from sums in another order.
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(model.predict_risk(X), alone.predict_risk(X), atol=1e-12)
    assert type(model.local()) is ASTraClassifier
    assert model.n_iter_ == 500


def test_three_workers_fit_the_networks_of_one_place(client, table, alone):
    """Uneven partitions, one without rows, one with all positives."""
    assert_equal(DaskASTraClassifier(**NETWORKS).fit(*cut(table, SIZES)), alone, table[0])
    assert not any(running(client))


@pytest.mark.long
def test_two_workers_fit_the_networks_of_one_place(client, table, alone):
    halves = cut(table, (30_000, sum(SIZES) - 30_000))
    assert_equal(DaskASTraClassifier(**NETWORKS).fit(*halves), alone, table[0])
    assert not any(running(client))


@pytest.mark.long
def test_held_out_rows_weights_and_equal_positives_are_those_of_one_place(client, table):
    X, y = np.round(table[0], 1), table[1]
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2.0, len(y))
    settings = {**NETWORKS, "loss": "bce", "selection": "g_mean", "burn_in": 50}
    settings |= {"n_estimators": 4}
    validation = rng.normal(size=(900, 3)), np.arange(900) % 9 == 0
    alone = ASTraClassifier(**settings).fit(X, y, weight, validation)
    x, labels = cut((X, y), SIZES)
    there = DaskASTraClassifier(**settings).fit(
        x, labels, da.from_array(weight, (SIZES,)), validation
    )
    np.testing.assert_array_equal(there.coefs_, alone.coefs_)
    np.testing.assert_array_equal(there.slope_, alone.slope_)


@pytest.mark.parametrize("who", ["worker", "process"])
def test_a_loss_during_fit_is_an_error_and_leaves_nothing_behind(client, table, who):
    model = DaskASTraClassifier(**{**NETWORKS, "epochs": 10**8})
    said = []

    def fit():
        try:
            model.fit(*cut(table, SIZES))
        except workers.WorkerLostError as error:
            said.append(str(error))

    thread = threading.Thread(target=fit)
    thread.start()
    wait_for(lambda: len(processes := running(client)) == 3 and all(processes))
    pids = [pid for of_worker in running(client) for pid in of_worker]
    time.sleep(2)
    victim = pids[1] if who == "process" else psutil.Process(pids[1]).ppid()
    os.kill(victim, signal.SIGKILL)
    thread.join(60)
    assert not thread.is_alive()
    assert "worker tcp://" in said[0]
    assert "the classifier is as it was before" in said[0]
    assert not hasattr(model, "coefs_")
    wait_for(lambda: not any(psutil.pid_exists(pid) for pid in pids))
    client.wait_for_workers(3, timeout=60)


def test_an_interrupted_client_stops_the_processes(client, table, monkeypatch):
    def interrupted(*_):
        assert all(running(client))
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "_ended", interrupted)
    with pytest.raises(KeyboardInterrupt):
        DaskASTraClassifier(**NETWORKS).fit(*cut(table, SIZES))
    assert not any(running(client))


def test_what_is_wrong_is_named_before_training(client, table):
    X, y = table
    with pytest.raises(ValueError, match="found one class only"):
        DaskASTraClassifier(**NETWORKS).fit(cut(table, SIZES)[0], da.zeros(len(X), chunks=(SIZES,)))
    frame = pd.DataFrame(X[:300], columns=list("abc")).assign(y=y[:300].astype(float))
    frame.loc[250, "y"] = np.nan

    def part(number):
        of = frame.iloc[number * 100 : number * 100 + 100]
        return of.rename(columns={"b": "other"}) if number == 1 else of

    lazy = dd.from_map(part, range(3), meta=frame.iloc[:0])
    with pytest.raises(ValueError, match=r"partition 1 .*'b'"):
        DaskASTraClassifier(**NETWORKS).fit(lazy[["a", "b"]], lazy["y"])
    whole = dd.from_pandas(frame, npartitions=3, sort=False)
    with pytest.raises(ValueError, match="partition 2: the target is missing in 1 of 100 rows"):
        DaskASTraClassifier(**NETWORKS).fit(whole[["a", "b", "c"]], whole["y"])


def test_without_a_cluster_one_is_asked_for(table, monkeypatch):
    def none():
        raise ValueError("No global client found")

    monkeypatch.setattr(distributed, "get_client", none)
    with pytest.raises(ValueError, match=r"start one with dask\.distributed\.Client\(\) first"):
        DaskASTraClassifier(**NETWORKS).fit(*cut(table, SIZES))


def running(client):
    """The training processes of each worker."""

    def pids():
        return [process.pid for process in workers._running.values()]

    return list(client.run(pids).values())


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)
