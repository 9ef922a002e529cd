"""Mini-batches that always hold positives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils.data import Sampler

from astralearn.core.inputs import check_whole_numbers
from astralearn.torch.ranks import is_distributed


class StratifiedBatchSampler(Sampler[list[int]]):
    """Batches of indices that hold positives, on every rank.

    For `DataLoader(batch_sampler=…)`. Each epoch goes through all negatives once, in random order.
    It deals the positives out in random order and starts again when they run out: with fewer
    positives than batches each is seen several times. So the class proportions differ from the
    data's; GMN, being made of rates within each class, does not notice, BCE does. Every rank gets
    the same number of batches, no negative twice. Each epoch has another order; `set_epoch` says
    which, as in DistributedSampler.

    labels: 0 and 1, one per example: a tensor, or anything that NumPy makes an array of.
    batch_size: examples per batch on each rank, positives included.
    positives_per_batch: positives in each batch. None takes the data's share, but leaves room for
        at least one of either class.
    drop_last: whether a last incomplete batch is left out.
    num_replicas, rank: None takes torch.distributed's, if it is initialised once batches are drawn.
    seed: of the order; the same on all ranks.

    >>> labels = [1, 1] + [0] * 8
    >>> sampler = StratifiedBatchSampler(labels, batch_size=5)
    >>> [sum(labels[row] for row in batch) for batch in sampler]
    [1, 1]
    """

    def __init__(
        self,
        labels: object,
        batch_size: int,
        *,
        positives_per_batch: int | None = None,
        drop_last: bool = False,
        num_replicas: int | None = None,
        rank: int | None = None,
        seed: int = 0,
    ) -> None:
        check_whole_numbers(batch_size=batch_size, seed=seed)
        if positives_per_batch is not None:
            check_whole_numbers(positives_per_batch=positives_per_batch)
        y = one_per_example(labels)
        if not bool(((y == 0) | (y == 1)).all()):
            raise ValueError(f"labels must be 0 or 1; found {y[(y != 0) & (y != 1)][0].item()}")
        self.positives = torch.nonzero(y == 1).reshape(-1)
        self.negatives = torch.nonzero(y == 0).reshape(-1)
        if not len(self.positives) or not len(self.negatives):
            raise ValueError(
                f"labels must hold both classes; found {len(self.positives)} positives "
                f"and {len(self.negatives)} negatives"
            )
        if positives_per_batch is None:
            positives_per_batch = max(
                1, min(batch_size - 1, round(batch_size * len(self.positives) / len(y)))
            )
        self.positives_per_batch = positives_per_batch
        if not 1 <= self.positives_per_batch < batch_size:
            raise ValueError(
                f"positives_per_batch must be in [1, batch_size={batch_size}); "
                f"found {self.positives_per_batch}"
            )
        self._num_replicas, self._rank = num_replicas, rank
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(
                f"rank must be in [0, num_replicas); found {self.rank} of {self.num_replicas}"
            )
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.seed = seed
        self.epoch = 0
        if len(self) == 0:
            raise ValueError(
                f"{len(self.negatives)} negatives fill no batch on each of {self.num_replicas} "
                "ranks: lower batch_size or drop_last"
            )

    @property
    def num_replicas(self) -> int:
        """As given, or the world's size now.

        Loaders are often made before torch.distributed is initialised, as in Lightning's fit.
        """
        if self._num_replicas is not None:
            return self._num_replicas
        return dist.get_world_size() if is_distributed() else 1

    @property
    def rank(self) -> int:
        """As given, or this process's now."""
        if self._rank is not None:
            return self._rank
        return dist.get_rank() if is_distributed() else 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next pass, the same on every rank."""
        self.epoch = epoch

    def __len__(self) -> int:
        """Batches on each rank."""
        rounds, rest = divmod(len(self.negatives), self._negatives_per_round())
        # An incomplete round is kept if every rank gets something of it.
        return rounds + int(not self.drop_last and rest >= self.num_replicas)

    def _negatives_per_round(self) -> int:
        """What one batch on every rank takes."""
        return self.num_replicas * (self.batch_size - self.positives_per_batch)

    def __iter__(self) -> Iterator[list[int]]:
        generator = torch.Generator().manual_seed(self.seed + 1_000_003 * self.epoch)
        self.epoch += 1
        negatives = self.negatives[torch.randperm(len(self.negatives), generator=generator)]
        few, per_round = self.positives_per_batch, self._negatives_per_round()
        positives = _dealt(self.positives, len(self) * self.num_replicas * few, generator)
        for number in range(len(self)):
            dealt = number * self.num_replicas + self.rank
            of_round = negatives[number * per_round : (number + 1) * per_round]
            of_0 = torch.tensor_split(of_round, self.num_replicas)[self.rank]
            of_1 = positives[dealt * few : (dealt + 1) * few]
            yield torch.cat([of_1, of_0]).tolist()


def one_per_example(labels: object) -> Tensor:
    """The labels as a tensor of shape (N,)."""
    if isinstance(labels, Sampler):
        raise TypeError(
            f"labels must be the examples' labels; found a {type(labels).__name__}, which "
            "Lightning puts there unless told not to: Trainer(use_distributed_sampler=False); "
            "this sampler deals batches out to ranks itself"
        )
    # np.array copies, since pandas gives arrays that torch may not write to.
    y = labels if isinstance(labels, Tensor) else torch.from_numpy(_numbers(np.array(labels)))
    if y.ndim == 0 or y.numel() != len(y):
        raise ValueError(
            f"labels must be one per example; found shape {tuple(y.shape)}: "
            "for several outputs pass e.g. labels.any(1)"
        )
    return y.reshape(-1)


def _numbers(labels: np.ndarray) -> np.ndarray:
    if labels.dtype.kind not in "biuf":
        raise ValueError(
            f"labels must be 0 or 1; found {labels.dtype} such as {labels.ravel()[:1].tolist()}: "
            "pass e.g. labels == 'fraud'"
        )
    return labels


def _dealt(positives: Tensor, how_many: int, generator: torch.Generator) -> Tensor:
    """Shuffled packs of all positives, one after the other."""
    packs = -(-how_many // len(positives))
    return torch.cat(
        [positives[torch.randperm(len(positives), generator=generator)] for _ in range(packs)]
    )
