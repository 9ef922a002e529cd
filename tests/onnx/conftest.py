import numpy as np
import pandas as pd
import pytest

from astralearn.classifier import trees
from astralearn.tabular import TabularASTraClassifier
from rare_problems import quick_committee, rare

pytest.importorskip("onnxruntime")


def ran(model, feeds):
    """What onnxruntime makes of an ONNX model's inputs."""
    from onnxruntime import InferenceSession

    session = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


@pytest.fixture(scope="session")
def run():
    return ran


@pytest.fixture(scope="session")
def committee():
    """A committee, and rows that lie everywhere."""
    X, y = rare(600, 10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "TREES", 20)
        model = quick_committee().fit(X, y)
    far = 1e6 * np.random.default_rng(0).normal(size=(20, X.shape[1]))
    return model, np.concatenate([X, far, 0 * far])


@pytest.fixture(scope="session")
def table():
    """A table's classifier, new rows of it, and the same rows as ONNX takes them."""
    rng = np.random.default_rng(0)
    n = 500
    frame = pd.DataFrame(
        {
            "amount": rng.lognormal(3, 1, n),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 90, n)),
            "shop": rng.choice(["food", "fuel", None], n),
            "card": [f"c{i}" for i in rng.integers(0, 60, n)],
            "when": pd.Timestamp("2023-01-01")
            + pd.to_timedelta(rng.integers(0, 500 * 86_400, n), unit="s"),
            "online": rng.random(n) < 0.5,
        }
    )
    y = np.where(np.arange(n) < 10, "fraud", "ok")
    frame.loc[:9, "amount"] += 2000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "TREES", 20)
        model = TabularASTraClassifier(quick_committee()).fit(frame, y)
    frame.loc[3, "amount"] = 1e39
    frame.loc[5:9, "shop"] = "new"
    frame.loc[7:20, "card"] = "c999"
    frame.loc[11:14, "when"] = pd.NaT
    seconds = (frame["when"] - pd.Timestamp(0)).dt.total_seconds()
    feeds = {
        "when": seconds.to_numpy(),
        **{name: frame[name].to_numpy(float) for name in ("amount", "age", "online")},
        **{name: frame[name].fillna("missing").to_numpy(object) for name in ("shop", "card")},
    }
    return model, frame, {name: column[:, None] for name, column in feeds.items()}
