"""Dask collections as pieces, on Dask's own threads."""

import operator

import numpy as np
import pandas as pd
import pytest

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

from astralearn.dask.partitions import ADDED_AT_ONCE, Partitions  # noqa: E402

X = np.arange(60.0).reshape(20, 3)
Y = np.arange(20) % 2


def rows_of(piece):
    return len(piece.X)


def test_labels_are_cut_as_the_rows_are():
    partitions = Partitions.of(da.from_array(X, (6, 2)), da.from_array(Y, 20), None)
    assert partitions.each(rows_of) == [6, 6, 6, 2]
    assert partitions.each(lambda piece: piece.X.shape[1]) == [3] * 4
    assert partitions.each(lambda piece: len(piece.y)) == [6, 6, 6, 2]


def test_sums_are_added_in_the_order_of_the_partitions():
    n = ADDED_AT_ONCE * 2 + 1
    partitions = Partitions.of(da.from_array(np.ones((n, 1)), 1), da.arange(n, chunks=1), None)
    told = partitions.merged(lambda piece: [int(piece.y[0])], operator.add)
    assert told == list(range(n))


def test_each_partition_has_what_is_given_to_it():
    partitions = Partitions.of(da.from_array(X, (10, 3)), da.from_array(Y, 10), None)
    assert partitions.each(lambda piece, more: more, [(1,), (2,)]) == [1, 2]


def test_columns_in_other_partitions_are_refused():
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    with pytest.raises(ValueError, match="as many partitions as X; found 4, and 2 of X"):
        Partitions.of(frame, da.from_array(Y, 5), None)


def test_what_is_in_memory_is_for_the_plain_classifier():
    with pytest.raises(ValueError, match="X must be a Dask array, frame or series; found ndarray"):
        Partitions.of(X, Y, None)


def test_a_partition_that_cannot_be_read_is_named():
    def part(number):
        frame = pd.DataFrame(X[:5], columns=list("abc"))
        return frame.drop(columns="c") if number == 1 else frame

    meta = pd.DataFrame(X[:0], columns=list("abc"))
    frame = dd.from_map(part, range(3), meta=meta)
    partitions = Partitions.of(frame[["a", "b"]], frame["c"], None)
    with pytest.raises(ValueError, match=r"partition 1 cannot be read: KeyError: 'c'"):
        partitions.each(rows_of)
