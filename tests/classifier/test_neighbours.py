import numpy as np
import pytest

from astralearn.classifier import neighbours
from astralearn.classifier.neighbours import SOFTENING, as_references, squared, take_neighbours


def rows(n=60, positives=5, features=3, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.permutation(n) < positives
    u = (rng.normal(size=(n, features)) + 2 * positive[:, None]).astype(np.float32)
    return u, positive, rng.integers(1, 4, n).astype(float)


def by_hand(row, majority, positives, weight):
    def softened(others):
        difference = others.astype(np.float64) - row.astype(np.float64)
        return np.sum(difference**2, axis=1) + SOFTENING * len(row)

    near = np.average(1 / softened(positives), weights=weight)
    crowd = np.mean(1 / softened(majority) ** 4)
    return 0.5 * np.log(near) - 0.125 * np.log(crowd)


def test_scores_are_soft_nearest_distances():
    u, positive, weight = rows()
    found, _ = take_neighbours(u, positive, weight, seed=0)
    new = np.random.default_rng(1).normal(size=(20, 3)).astype(np.float32)
    expected = [by_hand(row, u[~positive], u[positive], weight[positive]) for row in new]
    np.testing.assert_allclose(found.score(new), expected, rtol=1e-4, atol=1e-4)


def test_no_row_is_its_own_neighbour(monkeypatch):
    monkeypatch.setattr(neighbours, "BLOCK", 7)
    u, positive, weight = rows()
    _, left_out = take_neighbours(u, positive, weight, seed=0)
    expected = []
    for i in range(len(u)):
        others = np.arange(len(u)) != i
        majority, positives = others & ~positive, others & positive
        # The mean over the majority is over as many, of which the row itself is no one's.
        dilution = 0.125 * np.log(majority.sum() / (~positive).sum())
        score = by_hand(u[i], u[majority], u[positives], weight[positives])
        expected.append(score - dilution)
    np.testing.assert_allclose(left_out, expected, rtol=1e-4, atol=1e-4)


def test_a_single_positive_has_nothing_to_be_near_to():
    u, positive, weight = rows(positives=1)
    _, left_out = take_neighbours(u, positive, weight, seed=0)
    assert np.isnan(left_out[positive]).all()
    assert np.isfinite(left_out[~positive]).all()


def test_copies_lie_near_but_not_at_no_distance():
    u, positive, weight = rows()
    u[positive] = u[positive][0]
    u[~positive] = 0.0
    found, left_out = take_neighbours(u, positive, weight, seed=0)
    assert np.isfinite(left_out).all()
    assert np.isfinite(found.score(u)).all()


def test_of_many_rows_some_are_drawn_the_heavy_ones_first(monkeypatch):
    monkeypatch.setattr(neighbours, "REFERENCES", 10)
    u, positive, weight = rows(n=200, positives=30)
    heavy = np.flatnonzero(~positive)[:5]
    weight[heavy] = 1e6
    found, left_out = take_neighbours(u, positive, weight, seed=0)
    assert found.majority.shape == found.positives.shape == (10, 3)
    assert found.weight.sum() == pytest.approx(1.0)
    drawn = {row.tobytes() for row in found.majority}
    assert {u[i].tobytes() for i in heavy} <= drawn
    again, same = take_neighbours(u, positive, weight, seed=0)
    assert (again.majority.tobytes(), same.tobytes()) == (
        found.majority.tobytes(),
        left_out.tobytes(),
    )
    other, _ = take_neighbours(u, positive, weight, seed=1)
    assert other.positives.tobytes() != found.positives.tobytes()


def test_a_row_s_score_does_not_depend_on_the_rows_beside_it():
    u, positive, weight = rows(n=300)
    found, _ = take_neighbours(u, positive, weight, seed=0)
    one_by_one = np.concatenate([found.score(u[i : i + 1]) for i in range(len(u))])
    np.testing.assert_allclose(one_by_one, found.score(u), rtol=0, atol=1e-7)


def test_far_rows_have_finite_scores():
    u, positive, weight = rows()
    found, _ = take_neighbours(u, positive, weight, seed=0)
    for far in (1e3, -1e9, 1e18):
        assert np.isfinite(found.score(np.full((2, 3), far, np.float32))).all()


def test_squared_distances():
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(n, 40)).astype(np.float32) for n in (9, 11))
    expected = np.sum((a[:, None] - b) ** 2.0, axis=2) + 40 * SOFTENING
    np.testing.assert_allclose(squared(a, as_references(b)), expected, rtol=1e-5)
    np.testing.assert_allclose(np.diag(squared(a, as_references(a))), 40 * SOFTENING, rtol=1e-5)
