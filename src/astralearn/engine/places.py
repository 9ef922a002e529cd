"""Rows in several places: JAX's processes and devices, and what they tell.

Whoever launches the processes calls `jax.distributed.initialize()` in each. All of them then run
the same program; each holds its own rows, and they add up their sums in every epoch.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.experimental.multihost_utils import process_allgather
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from astralearn.engine.rows import Fold, Packed, Room

AXIS = "places"


class Places(NamedTuple):
    """All devices of all processes, in one row."""

    mesh: Mesh

    @classmethod
    def of_processes(cls) -> Places:
        return cls(Mesh(np.asarray(jax.devices()), (AXIS,)))

    @property
    def n(self) -> int:
        return int(self.mesh.size)

    def room(self, fold: Fold) -> Room:
        """That which suits all places."""
        devices = jax.local_device_count()
        share = [-(-fold.n_rows(positive) // devices) for positive in (False, True)]
        most = np.max(gathered(share), axis=0)
        return Room(int(most[0]), int(most[1]), devices)

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
