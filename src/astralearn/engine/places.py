"""Rows in several places: JAX's processes and devices, and what they tell.

Whoever launches the processes calls `jax.distributed.initialize()` in each. All of them then run
the same program; each holds its own rows, and they add up their sums in every epoch.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.experimental.multihost_utils import process_allgather
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from astralearn.engine.dealing import Dealt, turns
from astralearn.engine.objective import AcrossPlaces
from astralearn.engine.packing import ClassLines, Cut, Line, Packed
from astralearn.engine.rows import Fold

AXIS = "places"


AT_ONCE = 1 << 28  # bytes of rows under way to other processes


class Laid(NamedTuple):
    """What of a fold's rows stands in this process, and where its blocks are in all.

    here: of the negatives and of the positives.
    """

    here: Sequence[ClassLines]
    across: AcrossPlaces


class Places(NamedTuple):
    """All devices of all processes, in one row."""

    mesh: Mesh

    @classmethod
    def of_processes(cls) -> Places:
        return cls(Mesh(np.asarray(jax.devices()), (AXIS,)))

    @property
    def n(self) -> int:
        return int(self.mesh.size)

    def lay(self, fold: Fold, cut: Callable[..., Cut]) -> Laid:
        """Deal the rows of all processes, and bring those that lie elsewhere.

        fold: this process's rows; those held out are the same in every process.
        cut: how so many rows of a class are cut, as `Chunks.cut`.
        """
        number, both = jax.process_index(), (False, True)
        own = [Line.here(fold.train, positive=positive) for positive in both]
        told = gathered(([line.n for line in own], jax.local_device_count()))
        devices = [n for _, n in told]
        counts = [np.asarray([of_both[k] for of_both, _ in told]) for k in both]
        held_out = [
            [Line.here(rows, positive=positive) for rows in fold.parts[1:]] for positive in both
        ]
        sizes = [int(counts[k].sum()) + sum(line.n for line in held_out[k]) for k in both]
        dealt = [Dealt.of(cut(sizes[k], of=sum(sizes)), counts[k], devices) for k in both]
        lines = [
            own[k]._replace(n=int(counts[k].sum()), start=int(counts[k][:number].sum()))
            for k in both
        ]
        brought = _brought(lines, dealt)
        mine = slice(sum(devices[:number]), sum(devices[: number + 1]))
        here = [
            ClassLines(
                cut=dealt[k].cut,
                lines=[lines[k]._replace(brought=brought[k]), *held_out[k]],
                blocks=dealt[k].rooms[mine].ravel(),
            )
            for k in both
        ]
        return Laid(here, AcrossPlaces(AXIS, dealt[0].order, dealt[1].order))

    def laid_out(self, rows: Packed) -> Packed:
        """The rows of all places, without a copy of those here."""
        sharding = NamedSharding(self.mesh, PartitionSpec(AXIS))
        devices = jax.local_devices()

        def everywhere(own: np.ndarray) -> jax.Array:
            parts = [
                jax.device_put(part, device, may_alias=True)
                for part, device in zip(np.split(own, len(devices)), devices, strict=True)
            ]
            shape = (self.n * len(parts[0]), *own.shape[1:])
            return jax.make_array_from_single_device_arrays(shape, sharding, parts)

        return jax.tree.map(everywhere, rows)

    def everywhere(self, function: Callable[..., Any], n_arguments: int) -> Callable[..., Any]:
        """The function of each place's own rows, its second argument, and shared ones."""
        specs = [PartitionSpec() for _ in range(n_arguments)]
        specs[1] = PartitionSpec(AXIS)
        # What a function gives is made of sums over all places, and so the same in each.
        return jax.shard_map(
            function,
            mesh=self.mesh,
            in_specs=tuple(specs),
            out_specs=PartitionSpec(),
            check_vma=False,
        )


def _brought(
    lines: Sequence[Line], dealt: Sequence[Dealt]
) -> list[list[tuple[int, np.ndarray, np.ndarray]]]:
    """What other processes hold of this one's blocks of each class, as `Line.brought`."""
    number, X = jax.process_index(), lines[0].rows.X
    row_bytes = X.shape[1] * X.itemsize + 8
    transfers = [one for k in (False, True) for one in dealt[k].transfers(positive=k)]
    found: list[list[tuple[int, np.ndarray, np.ndarray]]] = [[], []]
    for turn in turns(transfers, max(1, AT_ONCE // (row_bytes * jax.process_count()))):
        mine = turn.get(number)
        given = None if mine is None else lines[mine.positive].between(mine.first, mine.stop)
        for giver, rows in enumerate(gathered(given)):
            if giver in turn and turn[giver].taker == number:
                found[turn[giver].positive].append((turn[giver].first, *rows))
    return found


def gathered(value: Any) -> list[Any]:
    """What every process has for the value, in the order of the processes."""
    data = np.frombuffer(pickle.dumps(value), np.uint8)
    sizes = process_allgather(np.asarray([len(data)], np.uint32)).ravel()
    # Few sizes, for each is compiled.
    padded = np.zeros(1 << int(sizes.max() - 1).bit_length(), np.uint8)
    padded[: len(data)] = data
    everyone = process_allgather(padded).reshape(len(sizes), -1)
    return [pickle.loads(one[:size].tobytes()) for one, size in zip(everyone, sizes, strict=True)]


def is_first() -> bool:
    """Whether this is the process that speaks for all."""
    return jax.process_index() == 0


def any_says(flag: bool) -> bool:
    """Whether it is True in any process."""
    return bool(process_allgather(np.asarray([flag], np.uint8)).any())
