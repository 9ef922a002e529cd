import numpy as np
import pytest


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
