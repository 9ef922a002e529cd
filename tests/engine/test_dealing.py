import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from astralearn.engine.dealing import Dealt, turns
from astralearn.engine.packing import Cut

processes = st.lists(st.tuples(st.integers(0, 500), st.integers(1, 3)), min_size=1, max_size=5)


def dealt_of(of_each, n_held_out, rows, chunks):
    counts, devices = zip(*of_each, strict=True)
    n = max(1, sum(counts) + n_held_out)
    return Dealt.of(Cut(-(-n // (chunks * rows)), chunks, rows), counts, devices)


@given(processes, st.integers(0, 300), st.integers(1, 70), st.integers(1, 3))
def test_every_block_is_one_devices_and_found_there(of_each, n_held_out, rows, chunks):
    dealt = dealt_of(of_each, n_held_out, rows, chunks)
    rooms = dealt.rooms.ravel()
    np.testing.assert_array_equal(rooms[list(dealt.order)], np.arange(dealt.cut.blocks))
    assert np.count_nonzero(rooms >= 0) == dealt.cut.blocks
    assert len(dealt.rooms) == sum(n for _, n in of_each)
    ends = np.cumsum([n for _, n in of_each])
    for device, process in enumerate(np.repeat(np.arange(len(ends)), [n for _, n in of_each])):
        assert all(dealt.owner[block] == process for block in dealt.rooms[device] if block >= 0)


@given(processes, st.integers(0, 300), st.integers(1, 70), st.integers(1, 3), st.integers(1, 99))
def test_with_what_is_brought_every_process_has_its_blocks(
    of_each, n_held_out, rows, chunks, most_rows
):
    dealt = dealt_of(of_each, n_held_out, rows, chunks)
    counts = [n for n, _ in of_each]
    # Where each row of the line lies, and where it is needed.
    lies = np.repeat(np.arange(len(counts)), counts)
    needed = np.repeat(dealt.owner, dealt.cut.block_rows)[: len(lies)]
    there = lies.copy()
    for turn in turns(dealt.transfers(positive=True), most_rows):
        for giver, one in turn.items():
            assert one.positive
            assert 0 < one.stop - one.first <= most_rows
            assert (lies[one.first : one.stop] == giver).all()
            there[one.first : one.stop] = one.taker
    np.testing.assert_array_equal(there, needed)


def test_rows_stay_where_most_of_their_block_is():
    dealt = Dealt.of(Cut(4, 1, 100), [190, 210], [1, 1])
    assert dealt.owner.tolist() == [0, 0, 1, 1]
    assert [one[1:] for one in dealt.transfers(positive=False)] == [(1, 0, 190, 200)]
    # Positives that lie together stay together.
    assert Dealt.of(Cut(2, 1, 32), [0, 40], [1, 1]).owner.tolist() == [1, 1]


def test_an_empty_class_is_dealt():
    for devices in itertools.product((1, 2), repeat=2):
        assert Dealt.of(Cut(1, 1, 32), [0, 0], devices).order == (0,)
