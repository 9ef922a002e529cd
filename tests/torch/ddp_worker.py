"""What each rank runs under torchrun: its uneven shard through DDP.

Rank 0 compares with the joined batch in one process.
"""

import datetime
import itertools
import json
import os
import sys
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

if os.environ.get("WITHOUT_TORCHMETRICS"):
    sys.modules["torchmetrics"] = None  # type: ignore[assignment]

from astralearn.core import LOSSES, soft_confusion
from astralearn.torch import (
    ASTra,
    RareHead,
    SoftConfusionMonitor,
    StratifiedBatchSampler,
    SummedLossModule,
    full_batch_backward,
    parameter_groups,
)


def model(dtype: torch.dtype) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2), ASTra(2)).to(dtype)


def data(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    x, weight = torch.randn(103, 5, generator=generator), torch.rand(103, 2, generator=generator)
    y = torch.zeros(103, 2)
    y[:9] = 1  # all positives in the first rank's shard
    return x.to(dtype), y.to(dtype), weight.to(dtype)


def shards(world: int) -> list[slice]:
    """Each about half as long as the one before."""
    ends = [0, *(103 - 103 // 2 ** (rank + 1) for rank in range(world - 1)), 103]
    return [slice(start, end) for start, end in itertools.pairwise(ends)]


def shards_with_an_empty_one(world: int) -> list[slice]:
    """Everything on the first ranks, nothing on the last."""
    return [*shards(world - 1), slice(103, 103)]


def gradients(of: nn.Module) -> torch.Tensor:
    return torch.cat([parameter.grad.reshape(-1) for parameter in of.parameters()])


def worst(mine: torch.Tensor, truth: torch.Tensor) -> float:
    return float((mine - truth).abs().max() / truth.abs().max())


def monitor_error(logits: torch.Tensor, y: torch.Tensor, mine: slice) -> float:
    """Readings and counts, asked for in turns, against those of the joined batch."""
    joined = soft_confusion(logits, y)
    monitor = SoftConfusionMonitor()
    monitor.update(logits[mine], y[mine])
    counts = [monitor.confusion()]
    readings = monitor.compute()
    counts.append(monitor.confusion())
    if monitor.is_torchmetric:
        with monitor.sync_context():
            counts.append(monitor.confusion())
    differences = [reading - getattr(joined, name) for name, reading in readings.items()]
    differences += [
        (mine - truth) / len(y) for each in counts for mine, truth in zip(each, joined, strict=True)
    ]
    return max(abs(float(difference)) for difference in differences)


def recipe_error(rank: int, world: int) -> float:
    """The recipe's weights and readings after some steps, against those of one process."""
    x, y, _ = data(torch.float64)
    errors = []
    for split in (shards, shards_with_an_empty_one):
        mine = split(world)[rank]
        curves = []
        for process_group, rows in ((None, slice(None)), (True, mine)):
            torch.manual_seed(0)
            head = RareHead(y[:, 0], process_group=process_group)
            net: nn.Module = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2), head)
            net = net.double()
            if process_group:
                net = DistributedDataParallel(net)
            optimizer = torch.optim.AdamW(parameter_groups(net, lr=1e-2))
            curve = []
            for _ in range(5):
                optimizer.zero_grad()
                head.loss(net(x[rows]), y[rows]).backward()
                optimizer.step()
                curve.append(torch.tensor(list(head.readings().values()), dtype=torch.float64))
            weights = torch.cat([p.detach().reshape(-1) for p in net.parameters()])
            curves.append(torch.cat([*curve, weights]))
        errors.append(worst(curves[1], curves[0]))
    return max(errors)


def errors_in(dtype: torch.dtype, rank: int, world: int) -> dict[str, float]:
    x, y, weight = data(dtype)
    errors = {}
    for name, options, split in itertools.product(
        LOSSES, ({}, {"per_output": True}), (shards, shards_with_an_empty_one)
    ):
        loss = partial(SummedLossModule, name)
        mine = split(world)[rank]
        single = model(dtype)
        expected = loss(**options)(single(x), y, weight)
        expected.backward()
        parallel = DistributedDataParallel(model(dtype))
        value = loss(process_group=True, **options)(parallel(x[mine]), y[mine], weight[mine])
        value.backward()
        key = f"{name} {sorted(options)} {split.__name__}"
        errors[key] = max(
            worst(gradients(parallel), gradients(single)),
            abs(float(value.detach() - expected.detach())),
        )
        parallel = DistributedDataParallel(model(dtype))
        batches = [
            tuple(part[mine][i : i + 3] for part in (x, y, weight))
            for i in range(0, max(1, len(x[mine])), 3)
        ]
        value = full_batch_backward(
            parallel, loss(process_group=dist.group.WORLD, **options), batches
        )
        errors[f"{key} micro-batches"] = max(
            worst(gradients(parallel), gradients(single)), abs(float(value - expected.detach()))
        )
    logits = model(dtype)(x).detach()
    errors["monitor"] = max(
        monitor_error(logits, y, split(world)[rank]) for split in (shards, shards_with_an_empty_one)
    )
    return errors


def main() -> None:
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    torch.set_num_threads(1)
    rank, world = dist.get_rank(), dist.get_world_size()
    errors = {}
    for dtype in (torch.float64, torch.float32):
        errors |= {f"{dtype} {key}": error for key, error in errors_in(dtype, rank, world).items()}
    errors["float64 recipe"] = recipe_error(rank, world)
    labels = torch.arange(200) % 20 == 0
    sampler = StratifiedBatchSampler(labels, 16)
    seen = list(sampler)
    everyone: list[list[list[int]]] = [[] for _ in range(world)]
    dist.all_gather_object(everyone, seen)
    negatives = [
        index for batches in everyone for batch in batches for index in batch if not labels[index]
    ]
    sound = all(
        len(b) == len(seen) and all(any(labels[i] for i in batch) for batch in b) for b in everyone
    )
    errors["sampler"] = (
        0.0 if sound and len(negatives) == len(set(negatives)) and len(negatives) > 150 else 1.0
    )
    if rank == 0:
        with open(os.environ["DDP_RESULT"], "w") as file:
            json.dump(errors, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
