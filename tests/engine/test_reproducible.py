import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from astralearn.engine.reproducible import cholesky, tiled_product

sizes = st.integers(1, 300)


@settings(max_examples=30, deadline=None)
@given(sizes, sizes, sizes, st.integers(0, 9))
def test_tiles_add_up_to_the_product(m, k, n, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(m, k)), rng.normal(size=(k, n))
    np.testing.assert_allclose(tiled_product(a, b), a @ b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 200])
def test_the_factor_is_lower_triangular_and_its_square_is_the_matrix(size):
    x = np.random.default_rng(size).normal(size=(size + 20, size))
    a = x.T @ x + np.eye(size)
    lower = cholesky(a)
    np.testing.assert_array_equal(lower, np.tril(lower))
    np.testing.assert_allclose(lower @ lower.T, a, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(lower, np.linalg.cholesky(a), rtol=1e-9, atol=1e-11)


def test_both_are_the_same_with_any_number_of_threads():
    x = np.random.default_rng(0).normal(size=(4000, 300))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            square = tiled_product(x.T, x)
            found.append((square.tobytes(), cholesky(square).tobytes()))
    assert found[0] == found[1]
