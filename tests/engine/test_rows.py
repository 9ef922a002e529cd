import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from astralearn.engine.rows import Fold, chunking, pack
from astralearn.engine.view import View


def fold(n, seed=0, mean=0.0, scale=1.0):
    rng = np.random.default_rng(seed)
    y = (rng.uniform(size=n) < 0.3).astype(float)
    return Fold(
        rng.normal(size=(n, 3)),
        y,
        rng.uniform(0.5, 2, n),
        View(np.full(3, mean), np.full(3, scale)),
    )


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
    held = (
        [fold(n_val, 50 + seed, mean=1.0, scale=2.0) for seed in range(n_folds)] if n_val else None
    )
    everything = pack(folds, held, n_networks=n_folds, dtype=np.float64, chunk_numbers=256)
    assert everything.rescaling is None
    for positive in (False, True):
        packed = everything.positives if positive else everything.negatives
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


@given(st.integers(2, 400), st.integers(2, 4), st.booleans())
def test_folds_over_the_same_rows_are_packed_once(n, n_folds, validates):
    whole = fold(n)
    rng = np.random.default_rng(1)

    def part():
        weight = rng.uniform(0.5, 2, n) * (rng.uniform(size=n) < 0.6)
        return dataclasses.replace(
            whole, weight=weight, view=View(rng.normal(size=3), rng.uniform(0.5, 2, 3))
        )

    folds = [part() for _ in range(n_folds)]
    held = [dataclasses.replace(part(), view=other.view) for other in folds] if validates else None
    packed = pack(folds, held, n_networks=n_folds, dtype=np.float64, chunk_numbers=256)
    seen = np.any([f.weight > 0 for f in folds + (held or [])], axis=0)
    for positive, rows in ((False, packed.negatives), (True, packed.positives)):
        of_class = seen & ((whole.y > 0.5) == positive)
        shared = np.moveaxis(rows.features, 1, 0).reshape(4, -1)
        assert (shared[3] == 1).all()
        for k, f in enumerate(folds):
            own = (
                packed.rescaling.ratio[k][:, None] * shared[:3] + packed.rescaling.shift[k][:, None]
            )
            np.testing.assert_allclose(
                own[:, : of_class.sum()], f.view.inputs(f.X[of_class]), rtol=1e-9, atol=1e-9
            )
            for weights, source in (
                (rows.weight, f),
                *([(rows.held_out, held[k])] if held else []),
            ):
                flat = weights[:, k].ravel()
                np.testing.assert_array_equal(flat[: of_class.sum()], source.weight[of_class])
                assert not flat[of_class.sum() :].any()


def test_arrays_sit_where_xla_takes_them_as_they_are():
    packed = pack([fold(100)], None, n_networks=1).negatives
    assert packed.features.ctypes.data % 64 == 0
    assert packed.weight.ctypes.data % 64 == 0
    assert packed.held_out is None
