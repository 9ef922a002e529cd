import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from astralearn.engine.rows import CHUNK_ROWS, Chunks, Fold, RowCosts, Rows, pack
from astralearn.engine.view import View


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.uniform(size=n) < 0.3
    return Rows(rng.normal(size=(n, 3)), positive, rng.uniform(0.5, 2, n))


@given(st.integers(1, 10**7), st.integers(256, 65_536), st.integers(1, 20))
def test_chunks_hold_every_row_with_little_to_spare(n, most, n_networks):
    n_chunks, length = Chunks(most * n_networks).cut(n, n_networks)
    assert n_chunks * length >= n
    assert length % 32 == 0
    assert n_chunks * length <= max(32, 1.13 * n + 32 * n_chunks)
    assert length <= 1.13 * most + 32


def test_few_rows_are_one_chunk_and_many_are_cut_small():
    chunks = Chunks(1 << 10, undivided=1 << 17)
    assert chunks.cut(1 << 16, 2) == (1, CHUNK_ROWS)
    assert chunks.cut((1 << 16) + 1, 2)[1] == 512
    assert chunks.cut((1 << 16) + 1, 1)[1] == 1024


@given(st.integers(2, 400), st.integers(0, 150), st.integers(1, 3))
def test_each_row_is_there_once_scaled_and_weighted(n, n_val, n_folds):
    view = View(np.ones(3), np.full(3, 2.0))
    folds = [
        Fold(rows(n, seed), view, rows(n_val, 50 + seed) if n_val else None, RowCosts(0.5, 3.0))
        for seed in range(n_folds)
    ]
    everything = pack(folds, n_networks=n_folds, dtype=np.float64, chunks=Chunks(256))
    assert everything.rescaling is None
    for positive, cost in ((False, 0.5), (True, 3.0)):
        packed = everything.positives if positive else everything.negatives
        for k, fold in enumerate(folds):
            features = packed.features if n_folds == 1 else packed.features[:, k]
            flat = np.moveaxis(features, 1, 0).reshape(4, -1)
            parts = [(packed.weight, fold.train)]
            if n_val:
                parts.append((packed.held_out, fold.held_out))
            for weights, source in parts:
                w = weights[:, k].ravel()
                members = source.positive == positive
                assert np.count_nonzero(w) == members.sum()
                np.testing.assert_allclose(flat[:3, w > 0].T, (source.X[members] - 1) / 2)
                np.testing.assert_allclose(w[w > 0], cost * source.weight[members])
            assert (flat[3] == 1).all()


@given(st.integers(2, 400), st.integers(2, 4), st.booleans())
def test_folds_over_the_same_rows_are_packed_once(n, n_folds, validates):
    whole = rows(n)
    rng = np.random.default_rng(1)

    def part():
        weight = rng.uniform(0.5, 2, n) * (rng.uniform(size=n) < 0.6)
        return dataclasses.replace(whole, weight=weight)

    folds = [
        Fold(
            part(),
            View(rng.normal(size=3), rng.uniform(0.5, 2, 3)),
            part() if validates else None,
            RowCosts(1.0, 2.0 + k),
        )
        for k in range(n_folds)
    ]
    packed = pack(folds, n_networks=n_folds, dtype=np.float64, chunks=Chunks(256))
    seen = np.any([some.weight > 0 for fold in folds for some in fold.parts], axis=0)
    for positive, of_class in ((False, packed.negatives), (True, packed.positives)):
        members = seen & (whole.positive == positive)
        shared = np.moveaxis(of_class.features, 1, 0).reshape(4, -1)
        assert (shared[3] == 1).all()
        for k, fold in enumerate(folds):
            ratio, shift = packed.rescaling.ratio[k], packed.rescaling.shift[k]
            own = ratio[:, None] * shared[:3] + shift[:, None]
            np.testing.assert_allclose(
                own[:, : members.sum()], fold.view.inputs(whole.X[members]), rtol=1e-9, atol=1e-9
            )
            for weights, source in zip(
                (of_class.weight, of_class.held_out), fold.parts, strict=False
            ):
                flat = weights[:, k].ravel()
                np.testing.assert_array_equal(
                    flat[: members.sum()], fold.costs[positive] * source.weight[members]
                )
                assert not flat[members.sum() :].any()


def test_arrays_sit_where_xla_takes_them_as_they_are():
    packed = pack([Fold(rows(100), View(np.zeros(3), np.ones(3)))], n_networks=1).negatives
    assert packed.features.ctypes.data % 64 == 0
    assert packed.weight.ctypes.data % 64 == 0
    assert packed.held_out is None
