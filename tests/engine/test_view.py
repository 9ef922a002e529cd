import numpy as np
import pytest
from scipy.spatial.distance import mahalanobis

from astralearn.classifier.rows import MOST_FEATURES, Rows, prepare, with_distance
from astralearn.engine.view import FAR, View

RNG = np.random.default_rng(0)
MIX = np.array([[2.0, 0.5, 0.0], [0.0, 1.0, -3.0], [0.0, 0.0, 1.0]])


def rows(n=400, positives=6, dtype=np.float64, weight=None):
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(n, 3)) @ MIX + [5, -100, 0.1]).astype(dtype)
    positive = np.arange(n) < positives
    return Rows(X, positive, np.ones(n) if weight is None else weight)


def test_inputs_are_scaled_features():
    X = RNG.normal(size=(7, 3))
    view = View(np.array([1.0, 2, 3]), np.array([1.0, 2, 4]))
    np.testing.assert_allclose(view.inputs(X), ((X - [1, 2, 3]) / [1, 2, 4]).T)
    assert view.n_inputs == 3


def test_the_last_input_is_the_mahalanobis_distance_from_the_majority():
    some = rows()
    prepared = prepare(some, None, standardize=True, clip=None, distance=True).train
    view = prepared.view
    majority = some.X[~some.positive]
    shrink = 4 / (len(majority) + 4)
    u = (majority - view.mean[:-1]) / view.scale[:-1]
    covariance = np.cov(u.T, bias=True)
    covariance = (1 - shrink) * covariance + shrink * np.trace(covariance) / 3 * np.eye(3)
    inverse = np.linalg.inv(covariance)
    expected = np.array(
        [
            mahalanobis((x - view.mean[:-1]) / view.scale[:-1], u.mean(axis=0), inverse)
            for x in some.X
        ]
    )
    found = view.inputs(some.X)[-1]
    np.testing.assert_allclose(found * view.scale[-1] + view.mean[-1], expected, rtol=1e-9)
    assert found.mean() == pytest.approx(0, abs=1e-9)
    assert found.std() == pytest.approx(1)


def test_features_are_taken_within_the_limit_also_for_the_distance():
    some = rows()
    some.X[-1, 0] += 1e4
    view = prepare(some, None, standardize=True, clip=2.0, distance=True).train.view
    assert view.limit == 2.0
    u = np.clip((some.X - view.mean[:-1]) / view.scale[:-1], -2, 2)
    assert (np.abs(u) == 2).sum() > 1
    inputs = view.inputs(some.X)
    np.testing.assert_allclose(inputs[:-1], u.T, rtol=1e-12)
    majority = u[~some.positive]
    np.testing.assert_allclose(view.centre, majority.mean(axis=0), rtol=1e-9)
    shrink = 4 / (len(majority) + 4)
    covariance = (1 - shrink) * np.cov(majority.T, bias=True) + shrink * np.trace(
        np.cov(majority.T, bias=True)
    ) / 3 * np.eye(3)
    expected = [mahalanobis(x, majority.mean(axis=0), np.linalg.inv(covariance)) for x in u]
    np.testing.assert_allclose(inputs[-1] * view.scale[-1] + view.mean[-1], expected, rtol=1e-9)


def test_nothing_is_clipped_that_is_not_scaled():
    assert (
        prepare(rows(), None, standardize=False, clip=2.0, distance=False).train.view.limit == FAR
    )


def test_a_weight_of_two_is_a_row_given_twice():
    some = rows()
    twice = some.weight + (np.arange(400) % 3 == 0)
    again = np.repeat(np.arange(400), twice.astype(int))
    weighted = prepare(
        Rows(some.X, some.positive, twice), None, standardize=True, clip=None, distance=True
    ).train.view
    repeated = prepare(
        some.take(again), None, standardize=True, clip=None, distance=True
    ).train.view
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "case", ["constant", "copied", "one row", "huge", "more features than rows"]
)
def test_finite_whatever_the_majority_is(case, dtype):
    some = rows(dtype=dtype)
    X = some.X.copy()
    if case == "constant":
        X[:] = 3
    elif case == "copied":
        X[:, 1] = X[:, 0]
    elif case == "huge":
        X *= dtype(1e30 if dtype == np.float32 else 1e150)
    elif case == "more features than rows":
        X = np.random.default_rng(2).normal(size=(400, 500)).astype(dtype)
    keep = slice(0, 7) if case == "one row" else slice(None)
    some = Rows(X[keep], some.positive[keep], some.weight[keep])
    fold = prepare(some, None, standardize=True, clip=None, distance=True).train
    inputs = fold.view.inputs(some.X)
    assert np.isfinite(inputs).all()
    assert inputs.dtype == dtype


def test_left_out_of_very_wide_data():
    X = RNG.normal(size=(20, MOST_FEATURES + 1))
    assert (
        prepare(
            Rows(X, np.arange(20) < 3, np.ones(20)),
            None,
            standardize=True,
            clip=None,
            distance=True,
        ).train.view.root
        is None
    )


def test_blocks_do_not_show(monkeypatch):
    some = rows()
    view = View(np.zeros(3), np.ones(3))
    whole = with_distance(view, some)
    monkeypatch.setattr("astralearn.classifier.rows.BLOCK", 37)
    for one, other in zip(whole, with_distance(view, some), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
