import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from astralearn.engine.packing import CHUNK_ROWS, MOST_BLOCKS, Chunks, ClassLines, Cut, Line, pack
from astralearn.engine.rows import Fold, RowCosts, Rows
from astralearn.engine.view import View


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.uniform(size=n) < 0.3
    return Rows(rng.normal(size=(n, 3)), positive, rng.uniform(0.5, 2, n))


@given(st.integers(1, 10**7), st.integers(256, 65_536), st.integers(1, 20))
def test_chunks_hold_every_row_with_little_to_spare(n, most, n_networks):
    cut = Chunks(most * n_networks).cut(n, of=n, n_networks=n_networks)
    n_chunks = cut.blocks * cut.chunks
    assert cut.blocks <= MOST_BLOCKS
    assert cut.blocks * cut.block_rows >= n
    assert cut.rows % 32 == 0
    spare = cut.chunks - 1 if cut.blocks > 1 else 0
    assert (n_chunks - spare) * cut.rows <= max(64, 1.13 * n + 32 * n_chunks)
    assert cut.rows <= 1.13 * most + 32


def test_few_rows_are_one_chunk_and_many_are_cut_small():
    chunks = Chunks(1 << 10, undivided=1 << 17)
    many = 1 << 16
    assert chunks.cut(many, of=many, n_networks=2) == (1, 1, CHUNK_ROWS)
    assert chunks.cut(many + 1, of=many + 1, n_networks=2).rows == 512
    assert chunks.cut(many + 1, of=many + 1, n_networks=1).rows == 1024


def test_a_few_positives_of_many_rows_are_two_blocks():
    assert Chunks(1 << 10, undivided=1 << 17).cut(5, of=10**5, n_networks=2) == (2, 1, 32)


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
            features = packed.features if n_folds == 1 else packed.features[:, :, k]
            flat = np.moveaxis(features, -2, 0).reshape(4, -1)
            parts = [(packed.weight, fold.train)]
            if n_val:
                parts.append((packed.held_out, fold.held_out))
            for weights, source in parts:
                w = weights[:, :, k].ravel()
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
        shared = np.moveaxis(of_class.features, -2, 0).reshape(4, -1)
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
                flat = weights[:, :, k].ravel()
                np.testing.assert_array_equal(
                    flat[: members.sum()], fold.costs[positive] * source.weight[members]
                )
                assert not flat[members.sum() :].any()


def test_arrays_sit_where_xla_takes_them_as_they_are():
    packed = pack([Fold(rows(100), View(np.zeros(3), np.ones(3)))], n_networks=1).negatives
    assert packed.features.ctypes.data % 64 == 0
    assert packed.weight.ctypes.data % 64 == 0
    assert packed.held_out is None


def test_a_line_is_read_across_what_was_brought():
    some = rows(40)
    numbers = some.of_class(False)
    n = len(numbers)
    own = Line(n, 5, some, numbers[5 : n - 6])
    pieces = [
        (start, some.X[numbers[part]], some.weight[numbers[part]])
        for start, part in ((n - 6, slice(n - 6, n)), (0, slice(0, 5)))
    ]
    whole = own._replace(brought=pieces)
    for first, stop in ((0, n), (3, 7), (5, 9), (n - 8, n - 2), (1, 2)):
        X, weight = whole.between(first, stop)
        np.testing.assert_array_equal(X, some.X[numbers[first:stop]])
        np.testing.assert_array_equal(weight, some.weight[numbers[first:stop]])


def test_blocks_that_stand_here_hold_the_rows_of_the_whole():
    fold = Fold(rows(900), View(np.ones(3), np.full(3, 2.0)), rows(200, 7))
    cut = Cut(3, 2, 160)
    whole, part = (
        pack(
            [fold],
            n_networks=1,
            here=[
                ClassLines(
                    cut, [Line.here(of, positive=positive) for of in fold.parts], np.asarray(blocks)
                )
                for positive in (False, True)
            ],
        )
        for blocks in ([0, 1, 2], [2, -1, 1])
    )
    for of_whole, of_part in zip(whole[:2], part[:2], strict=True):
        for everything, some in zip(of_whole, of_part, strict=True):
            np.testing.assert_array_equal(some[0], everything[2])
            np.testing.assert_array_equal(some[2], everything[1])
        assert not of_part.weight[1].any()
        assert not of_part.held_out[1].any()
