"""A batch counted whole or in parts, with and without a look at its values."""

import numpy as np
import pytest
from array_api_compat import array_namespace

from astralearn.core import LOSSES
from astralearn.core.class_means import gradient
from astralearn.core.counting import count
from namespaces import NAMESPACES

NAMES = list(LOSSES)


def data(n=30, seed=2, scale=8.0):
    rng = np.random.default_rng(seed)
    y = np.zeros(n)
    y[: max(2, n // 10)] = 1
    return rng.normal(0, scale, n), y, rng.uniform(0.1, 3, n)


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [8.0, 400.0], ids=["shallow", "deep"])
def test_known_values_are_counted_as_any(space, name, scale):
    g, y, w = data(scale=scale)
    loss = LOSSES[name]
    with space.double(), np.errstate(under="ignore"):
        arrays = [space.asarray(a) for a in (g, y, w)]
        xp = space.xp or array_namespace(arrays[0])
        halves = [[each[:15] for each in arrays], [each[15:] for each in arrays]]
        found = loss.count(*arrays, axis=None, xp=xp)
        pulls = space.numpy(gradient(found.pulls, arrays[1], loss.factors(*found[:2], xp=xp)))
        for parts in ([arrays], halves):
            means, known = loss.count_known(parts, axis=None, xp=xp)
            for one, other in zip(means.flat, found.means.flat, strict=True):
                np.testing.assert_allclose(space.numpy(one), space.numpy(other), rtol=1e-11)
            in_parts = [
                gradient(part.pulls, y, loss.factors(means, part.peaks, xp=xp))
                for part, (_, y, _) in zip(known, parts, strict=True)
            ]
            np.testing.assert_allclose(
                np.concatenate([space.numpy(part) for part in in_parts]),
                pulls,
                rtol=1e-9,
                atol=1e-300,  # Some libraries have no subnormal numbers.
            )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [0.0, 200.0, 1e4, 1e20])
def test_extreme_logits_are_finite(name, dtype, scale):
    g, loss = np.asarray([-scale, scale, -scale, scale, -scale], dtype), LOSSES[name]
    for labels in ([0, 0, 1, 1, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 1], [0] * 5, [1] * 5):
        for weight in (None, np.asarray([0, 1, 0, 2, 1], dtype), np.zeros(5, dtype)):
            y = np.asarray(labels, dtype)
            with np.errstate(under="ignore"):
                found = loss.count(g, y, weight, axis=None, xp=np)
                factors = loss.factors(*found[:2], xp=np)
                pulled = gradient(found.pulls, y, factors)
            assert np.isfinite(loss.of_means(found.means, xp=np)).all()
            assert np.isfinite(pulled).all()


def test_what_is_not_wanted_is_left_out_and_the_rest_is_the_same():
    g, y, w = data()
    wanted = {"power": 0, "peaked": False, "with_wrong": True, "axis": None, "xp": np}
    whole = count(g, y, w, **wanted)
    without_logs = count(g, y, w, **wanted, with_logs=False)
    without_pulls = count(g, y, w, **wanted, with_pulls=False)
    assert without_pulls.pulls is None
    assert without_pulls.means == whole.means
    np.testing.assert_array_equal(without_logs.pulls, whole.pulls)
    for of_class, expected in zip(without_logs.means, whole.means, strict=True):
        assert of_class.log_right == 0
        assert of_class[:2] == expected[:2]
