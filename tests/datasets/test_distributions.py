"""Densities are those of the rows: by the mean ratio, and by counting rows in boxes."""

from __future__ import annotations

import numpy as np
import pytest

from astralearn.datasets.distributions import (
    Beside,
    Board,
    Counts,
    Distribution,
    Levels,
    Mixture,
    Normal,
    Ring,
    StudentT,
)

SIZE = 200_000
SQUARE = (-4.0, 5.0)
SKEWED = Normal(np.array([0.5, -1.0]), np.array([[1.0, 0.6], [0.6, 2.0]]))
CONTINUOUS: dict[str, Distribution] = {
    "normal": SKEWED,
    "student": StudentT(0.5, 1.2, 3.0, 2),
    "ring": Ring(1.5, 0.5),
    "board": Board(4, 0.9),
    "mixture": Mixture([SKEWED, Ring(2.0, 0.3)], [0.3, 0.7]),
    "beside": Beside([StudentT(0.0, 1.0, 4.0, 1), Normal(np.zeros(1), np.eye(1))]),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_density_is_the_share_of_rows_in_every_box(name: str) -> None:
    distribution = CONTINUOUS[name]
    random = np.random.default_rng(0)
    edges = np.linspace(*SQUARE, 10)
    counted, _, _ = np.histogram2d(*distribution.rows(random, SIZE).T, bins=(edges, edges))
    # The density's integral over each box, by the midpoints of a fine grid.
    steps = 360
    middles = np.linspace(*SQUARE, 2 * steps + 1)[1::2]
    points = np.column_stack([axis.ravel() for axis in np.meshgrid(middles, middles)])
    density = np.exp(distribution.log_density(points))
    weighed, _, _ = np.histogram2d(*points.T, bins=(edges, edges), weights=density)
    shares = weighed * ((SQUARE[1] - SQUARE[0]) / steps) ** 2
    np.testing.assert_allclose(counted / SIZE, shares, atol=0.004)


def test_categories_and_counts_have_the_probabilities_of_their_rows() -> None:
    random = np.random.default_rng(0)
    shares = np.array([0.1, 0.2, 0.7])
    found = np.bincount(Levels(shares).rows(random, SIZE)[:, 0].astype(int)) / SIZE
    density = np.exp(Levels(shares).log_density(np.arange(3.0)[:, None]))
    np.testing.assert_allclose(found, density, atol=0.004)
    counts = Counts(np.array([0.5, 2.0]))
    rows = counts.rows(random, SIZE)
    both_one = np.exp(counts.log_density(np.ones((1, 2))))[0]
    assert (rows == 1).all(axis=1).mean() == pytest.approx(both_one, abs=0.003)


def test_nothing_lies_beside_the_board() -> None:
    assert Board(4, 0.9).log_density(np.array([[-0.5, 1.0], [1.0, 4.5]])).tolist() == [-np.inf] * 2
