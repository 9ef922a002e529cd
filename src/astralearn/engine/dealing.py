"""Which place holds which blocks of rows, and what it has to be brought.

The rows of a class stand in one line: those of the first process, of the second, and so on, then
those held out, which every process has. A fit in one place cuts the same line into the same blocks,
so that its sums are the same to the bit. A block belongs to the process that holds its middle; what
lies across a border is brought there. NumPy alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from astralearn.engine.packing import Cut


class Transfer(NamedTuple):
    """Rows that one process gives another: a stretch of a class's line."""

    positive: bool
    giver: int
    taker: int
    first: int
    stop: int


class Dealt(NamedTuple):
    """How the blocks of one class are dealt.

    cut: of the line.
    ends: where the training rows of each process end in it, (processes,).
    owner: the process that has each block, (blocks,).
    rooms: the blocks of each device, −1 where it has fewer than another, (devices, rooms).
    """

    cut: Cut
    ends: np.ndarray
    owner: np.ndarray
    rooms: np.ndarray

    @classmethod
    def of(cls, cut: Cut, counts: Sequence[int] | np.ndarray, devices: Sequence[int]) -> Dealt:
        """counts, devices: training rows of the class and devices, of each process."""
        ends = np.cumsum(counts)
        first = np.arange(cut.blocks) * cut.block_rows
        middle = (first + np.minimum(first + cut.block_rows, ends[-1])) // 2
        holder = np.searchsorted(ends, np.minimum(middle, ends[-1] - 1), side="right")
        # Blocks of rows held out are anyone's.
        everyone = np.arange(cut.blocks) * len(ends) // cut.blocks
        owner = np.where(first < ends[-1], holder, everyone)
        of_devices = [
            blocks
            for process, n in enumerate(devices)
            for blocks in np.array_split(np.flatnonzero(owner == process), n)
        ]
        # A loop of one turn is compiled to other roundings than one of several.
        least = min(2, cut.blocks)
        n_rooms = max(least, *(len(blocks) for blocks in of_devices))
        rooms = np.full((len(of_devices), n_rooms), -1)
        for device, blocks in enumerate(of_devices):
            rooms[device, : len(blocks)] = blocks
        return cls(cut, ends, owner, rooms)

    @property
    def order(self) -> tuple[int, ...]:
        """Of each block, its place among the rooms of all devices."""
        rooms = self.rooms.ravel()
        return tuple(np.argsort(rooms, kind="stable")[np.count_nonzero(rooms < 0) :].tolist())

    def transfers(self, *, positive: bool) -> list[Transfer]:
        """What has to be brought to whom."""
        found = []
        for block, taker in enumerate(self.owner.tolist()):
            first = block * self.cut.block_rows
            stop = min(first + self.cut.block_rows, int(self.ends[-1]))
            while first < stop:
                giver = int(np.searchsorted(self.ends, first, side="right"))
                end = min(stop, int(self.ends[giver]))
                if giver != taker:
                    found.append(Transfer(positive, giver, taker, first, end))
                first = end
        return found


def turns(transfers: Sequence[Transfer], most_rows: int) -> list[dict[int, Transfer]]:
    """The transfers in turns: of each giver one, of at most so many rows."""
    of_giver: dict[int, list[Transfer]] = {}
    for one in transfers:
        of_giver.setdefault(one.giver, []).extend(
            one._replace(first=first, stop=min(first + most_rows, one.stop))
            for first in range(one.first, one.stop, most_rows)
        )
    n = max((len(gifts) for gifts in of_giver.values()), default=0)
    return [
        {giver: gifts[turn] for giver, gifts in of_giver.items() if turn < len(gifts)}
        for turn in range(n)
    ]
