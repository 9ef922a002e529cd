"""Losses over shards: means added up, and each shard's exact gradient after that."""

from functools import partial, reduce

import numpy as np
import pytest

from astralearn.core import LOSSES, SoftConfusion
from astralearn.core.class_means import ClassMeans, Means, count_class, gradient, reweighed
from oracles import drawn_logits

NAMES = list(LOSSES)


def in_shards(name, shards, axis=None, xp=np):
    """The loss of all shards joined, and the gradient of each."""
    loss = LOSSES[name]
    counted = [loss.count(g, y, weight, axis=axis, xp=xp) for g, y, weight in shards]
    total = reduce(partial(loss.add, xp=xp), (found.means for found in counted))
    gradients = [
        gradient(found.pulls, y, loss.factors(total, found.peaks, xp=xp))
        for found, (_, y, _) in zip(counted, shards, strict=True)
    ]
    return loss.of_means(total, xp=xp), gradients


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "cuts", [[30], [2, 3, 59], [6]], ids=["halves", "uneven", "all positives in the first"]
)
def test_shards_equal_the_joined_batch(name, cuts):
    g, y, w = drawn_logits(seed=1)
    shards = list(zip(*(np.split(a, cuts) for a in (g, y, w)), strict=True))
    value, gradients = in_shards(name, shards)
    assert float(value[0]) == pytest.approx(float(LOSSES[name].value(g, y, w)), rel=1e-13)
    np.testing.assert_allclose(
        np.concatenate(gradients), LOSSES[name].gradient(g, y, w), rtol=1e-11, atol=1e-18
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gmn_shards_are_exact_where_every_positive_is_lost(dtype):
    g = np.asarray([-200.0, -201.0, 1.0, -203.0, -2.0, 0.5], dtype)
    y = np.asarray([1.0, 1.0, 0.0, 1.0, 0.0, 0.0], dtype)
    with np.errstate(under="ignore"):
        _, gradients = in_shards(
            "gmn", [(g[:1], y[:1], None), (g[1:3], y[1:3], None), (g[3:], y[3:], None)]
        )
        expected = LOSSES["gmn"].gradient(g.astype(float), y.astype(float))
    normal = np.abs(expected) > np.finfo(dtype).smallest_normal
    np.testing.assert_allclose(
        np.concatenate(gradients)[normal],
        expected[normal],
        rtol=1e-11 if dtype == np.float64 else 1e-4,
    )


@pytest.mark.parametrize("name", NAMES)
def test_rows_without_weight_do_not_exist(name):
    g, y, w = drawn_logits(20, seed=4)
    w[[0, 7]] = 0
    g[0] = 500.0  # the best positive by far, were it there
    keep = w > 0
    _, (found,) = in_shards(name, [(g, y, w)])
    expected = LOSSES[name].gradient(g[keep], y[keep], w[keep])
    np.testing.assert_allclose(found[keep], expected, rtol=1e-11, atol=1e-18)


@pytest.mark.parametrize("name", NAMES)
def test_doubled_weights_keep_the_value_and_halve_the_gradient(name):
    g, y, _ = drawn_logits(seed=6)
    loss = LOSSES[name]
    found = loss.count(g, y, None, axis=None, xp=np)
    halved, whole = (
        np.asarray(loss.factors(means, found.peaks, xp=np))
        for means in (loss.add(found.means, found.means, xp=np), found.means)
    )
    np.testing.assert_allclose(2 * halved, whole, rtol=1e-12)
    np.testing.assert_allclose(
        loss.of_means(reweighed(found.means, 2.0, 2.0), xp=np),
        loss.of_means(found.means, xp=np),
        rtol=1e-13,
    )


@pytest.mark.parametrize("name", ["gmn", "root_gmn", "bce", "f1"])
def test_a_class_counted_alone_is_counted_as_in_a_mixed_batch(name):
    g, y, w = drawn_logits(40, seed=3, scale=150.0)
    loss = LOSSES[name]
    with np.errstate(under="ignore"):
        means = loss.count(g, y, w, axis=None, xp=np).means
        positive = y == 1
        right, wrong = 1 / (1 + np.exp(-g[positive])), 1 / (1 + np.exp(g[positive]))
        alone, peak, shares = count_class(
            wrong[None],
            right[None],
            -np.logaddexp(0, -g[positive])[None],
            w[positive][None],
            power=loss.power,
            peaked=loss.is_logarithmic,
            axis=1,
            xp=np,
        )
    np.testing.assert_allclose(alone.log_right, means.positives.log_right, rtol=1e-12)
    np.testing.assert_allclose(alone.total, means.positives.total, rtol=1e-12)
    assert peak.shape == (1,)
    assert shares.shape == (1, positive.sum())


def test_six_arrays_there_and_back():
    means = Means(ClassMeans(1, 2, 3), ClassMeans(4, 5, 6))
    assert means.flat == (1, 2, 3, 4, 5, 6)
    assert Means.of_flat(iter(means.flat)) == means


def test_means_of_counts():
    counts = SoftConfusion(tn=70.0, fp=20.0, fn=4.0, tp=3.0)
    found = LOSSES["f1"].confusion(Means.of_counts(counts, xp=np), xp=np)
    np.testing.assert_allclose(found, counts, rtol=1e-14)
