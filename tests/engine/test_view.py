import numpy as np
from scipy.spatial.distance import mahalanobis

from astralearn.engine.view import FAR, View

RNG = np.random.default_rng(0)


def test_inputs_are_scaled_features():
    X = RNG.normal(size=(7, 3))
    view = View(np.array([1.0, 2, 3]), np.array([1.0, 2, 4]))
    np.testing.assert_allclose(view.inputs(X), ((X - [1, 2, 3]) / [1, 2, 4]).T)
    assert view.n_inputs == 3


def test_the_last_input_is_the_scaled_distance_of_clipped_features():
    X, centre = 3 * RNG.normal(size=(50, 2)), np.array([0.5, -0.25])
    root = np.array([[2.0, 0.0], [0.3, 0.5]])
    view = View(np.array([1.0, 2, 4]), np.array([1.0, 2, 5]), centre, root, limit=1.5)
    u = np.clip((X - [1, 2]) / [1, 2], -1.5, 1.5)
    assert (np.abs(u) == 1.5).any()
    distance = [mahalanobis(row, centre, root @ root.T) for row in u]
    np.testing.assert_allclose(view.inputs(X)[:2], u.T)
    np.testing.assert_allclose(view.inputs(X)[2], (np.array(distance) - 4) / 5)


def test_no_input_lies_beyond_far():
    view = View(np.zeros(1), np.full(1, 1e-300))
    np.testing.assert_array_equal(view.inputs(np.array([[1e300], [-1e300]])), [[FAR, -FAR]])
