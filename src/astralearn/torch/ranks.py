"""Means over the ranks of a process group: a few numbers per step travel."""

from __future__ import annotations

import functools
from typing import TypeAlias

import torch
import torch.distributed as dist

from astralearn.core.class_means import Means
from astralearn.core.losses import Loss
from astralearn.torch.batch_means import widened
from astralearn.torch.namespaces import eager

ProcessGroup: TypeAlias = "dist.ProcessGroup"


def is_distributed() -> bool:
    return dist.is_available() and dist.is_initialized()


def group_of(process_group: ProcessGroup | bool) -> ProcessGroup | None:
    """What torch.distributed calls the group: its default one is None."""
    if not is_distributed():
        raise RuntimeError(
            "process_group needs torch.distributed.init_process_group first "
            "(torchrun prepares its environment)"
        )
    return None if isinstance(process_group, bool) else process_group


def world_size(process_group: ProcessGroup | bool) -> int:
    return 1 if process_group is False else dist.get_world_size(group_of(process_group))


def gather_means(loss: Loss, means: Means, process_group: ProcessGroup | bool) -> Means:
    """The means of all ranks joined, the same bits on each, `widened`.

    Everyone gathers all and adds them in the order of ranks.
    """
    if process_group is False:
        return means
    mine = torch.stack(means.flat).contiguous()
    everyone = [torch.empty_like(mine) for _ in range(world_size(process_group))]
    dist.all_gather(everyone, mine, group=group_of(process_group))
    add = functools.partial(loss.add, xp=eager)
    return functools.reduce(add, (widened(Means.of_flat(part.unbind(0))) for part in everyone))
