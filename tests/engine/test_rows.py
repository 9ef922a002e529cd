import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from astralearn.engine.rows import Fold, chunking, pack
from astralearn.engine.view import View


def fold(n, seed=0, mean=0.0, scale=1.0):
    rng = np.random.default_rng(seed)
    y = (rng.uniform(size=n) < 0.3).astype(float)
    return Fold(rng.normal(size=(n, 3)), y, rng.uniform(0.5, 2, n), View(np.full(3, mean), np.full(3, scale)))


@given(st.integers(1, 10**7), st.integers(256, 65_536))
def test_chunks_hold_every_row_with_little_to_spare(n, most):
    n_chunks, length = chunking(n, most)
    assert n_chunks * length >= n
    assert length % 32 == 0
    assert n_chunks * length <= max(32, 1.13 * n + 32 * n_chunks)
    assert length <= 1.13 * most + 32


@given(st.integers(2, 400), st.integers(0, 150), st.integers(1, 3))
def test_each_row_is_there_once_scaled_and_weighted(n, n_val, n_folds):
    folds = [fold(n, seed, mean=1.0, scale=2.0) for seed in range(n_folds)]
    held = [fold(n_val, 50 + seed, mean=1.0, scale=2.0) for seed in range(n_folds)] if n_val else None
    for positive in (False, True):
        packed = pack(folds, held, positive=positive, n_networks=n_folds, dtype=np.float64, chunk_numbers=256)
        for k in range(n_folds):
            features = packed.features if n_folds == 1 else packed.features[:, k]
            flat = np.moveaxis(features, 1, 0).reshape(4, -1)
            parts = [(packed.weight, folds[k]), *([(packed.held_out, held[k])] if held else [])]
            for weights, source in parts:
                w = weights[:, k].ravel()
                rows = (source.y > 0.5) == positive
                assert np.count_nonzero(w) == rows.sum()
                np.testing.assert_allclose(flat[:3, w > 0].T, (source.X[rows] - 1) / 2)
                np.testing.assert_allclose(w[w > 0], source.weight[rows])
            assert (flat[3] == 1).all()


def test_arrays_sit_where_xla_takes_them_as_they_are():
    packed = pack([fold(100)], None, positive=False, n_networks=1)
    assert packed.features.ctypes.data % 64 == 0
    assert packed.weight.ctypes.data % 64 == 0
    assert packed.held_out is None
