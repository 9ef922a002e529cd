"""A batch counted whole or in parts, with and without a look at its values."""

import numpy as np
import pytest
from array_api_compat import array_namespace

from astralearn.core import LOSSES
from astralearn.core.class_means import gradient
from namespaces import NAMESPACES
from oracles import drawn_logits

NAMES = list(LOSSES)


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [8.0, 400.0], ids=["shallow", "deep"])
def test_known_values_are_counted_as_any(space, name, scale):
    g, y, w = drawn_logits(30, seed=2, scale=scale)
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


@pytest.mark.parametrize("name", NAMES)
def test_classes_that_no_weight_tells_apart_weigh_what_they_number(name):
    """Σw of the negatives is then what the positives leave, or TN + FP."""
    g, y, _ = drawn_logits(30, seed=2, scale=8.0)
    loss = LOSSES[name]
    plain, weighted = (loss.count(g, y, w, axis=None, xp=np) for w in (None, np.ones_like(g)))
    assert [float(of_class.total.item()) for of_class in plain.means] == [27.0, 3.0]
    np.testing.assert_allclose(plain.means.flat, weighted.means.flat, rtol=1e-14)
    np.testing.assert_allclose(plain.pulls, weighted.pulls, rtol=1e-14)
