import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from astralearn.torch import StratifiedBatchSampler


def labels(n=100, positives=3):
    y = torch.zeros(n, dtype=torch.long)
    y[:positives] = 1
    return y


@given(
    st.integers(10, 200), st.integers(1, 8), st.integers(3, 40), st.integers(1, 4), st.booleans()
)
def test_every_batch_of_every_rank_has_positives_and_no_negative_comes_twice(
    n, positives, batch_size, ranks, drop_last
):
    y = labels(n, positives)
    try:
        samplers = [
            StratifiedBatchSampler(y, batch_size, num_replicas=ranks, rank=r, drop_last=drop_last)
            for r in range(ranks)
        ]
    except ValueError:
        return
    batches = [list(sampler) for sampler in samplers]
    assert {len(each) for each in batches} == {len(samplers[0])}
    assert all(
        sum(int(y[i]) for i in batch) == samplers[0].positives_per_batch
        for each in batches
        for batch in each
    )
    assert all(
        samplers[0].positives_per_batch < len(batch) <= batch_size
        for each in batches
        for batch in each
    )
    negatives = [i for each in batches for batch in each for i in batch if not y[i]]
    assert len(negatives) == len(set(negatives))
    if not drop_last:
        assert len(negatives) > n - positives - ranks


def test_positives_are_dealt_out_evenly():
    seen = [
        i
        for batch in StratifiedBatchSampler(labels(), 10, positives_per_batch=2)
        for i in batch
        if i < 3
    ]
    counts = [seen.count(i) for i in range(3)]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("batch_size", [2, 8])
def test_where_nearly_all_are_positives_every_batch_has_a_negative(batch_size):
    sampler = StratifiedBatchSampler(labels(100, 95), batch_size)
    assert sampler.positives_per_batch == batch_size - 1
    assert [sum(i >= 95 for i in batch) for batch in sampler] == [1] * 5


def test_epochs_differ_and_seeds_repeat():
    sampler, same = (StratifiedBatchSampler(labels(), 10) for _ in range(2))
    first, second = list(sampler), list(sampler)
    assert first != second
    assert list(same) == first
    sampler.set_epoch(0)
    assert list(sampler) == first


def test_in_a_data_loader():
    y = labels(50, 2)
    loader = DataLoader(
        TensorDataset(torch.arange(50), y), batch_sampler=StratifiedBatchSampler(y, 8)
    )
    assert all(int(batch.sum()) >= 1 for _, batch in loader)
    assert len(loader) == 7


@pytest.mark.parametrize(
    "kind",
    [
        torch.Tensor.tolist,
        torch.Tensor.bool,
        torch.Tensor.numpy,
        lambda y: y[:, None],
        lambda y: pd.Series(y.numpy(), index=range(7, 7 + len(y))),
        lambda y: np.flip(y.flip(0).numpy()),
    ],
    ids=["list", "bool", "array", "column", "series", "reversed view"],
)
def test_labels_of_any_kind(kind):
    assert list(StratifiedBatchSampler(kind(labels()), 10)) == list(
        StratifiedBatchSampler(labels(), 10)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            lambda: StratifiedBatchSampler([0, 0, 0], 2),
            "both classes; found 0 positives and 3 negatives",
        ),
        (lambda: StratifiedBatchSampler([0, 2, 1], 2), "labels must be 0 or 1; found 2"),
        (
            lambda: StratifiedBatchSampler(["a", "b"], 2),
            "labels must be 0 or 1; found <U1 such as \\['a'\\]",
        ),
        (
            lambda: StratifiedBatchSampler(labels(), 4, positives_per_batch=4),
            r"must be in \[1, batch_size=4\); found 4",
        ),
        (
            lambda: StratifiedBatchSampler(labels(), 4, positives_per_batch=0),
            r"must be in \[1, batch_size=4\); found 0",
        ),
        (lambda: StratifiedBatchSampler(labels(), 1), r"must be in \[1, batch_size=1\); found 1"),
        (
            lambda: StratifiedBatchSampler(torch.eye(3), 2),
            r"one per example; found shape \(3, 3\): .* pass e.g. labels.any\(1\)",
        ),
        (lambda: StratifiedBatchSampler(1, 2), r"one per example; found shape \(\)"),
        (lambda: StratifiedBatchSampler(labels(), 4, num_replicas=2, rank=2), "rank must be in"),
        (
            lambda: StratifiedBatchSampler([0, 1], 8, num_replicas=2, rank=0),
            "1 negatives fill no batch on each of 2 ranks",
        ),
    ],
)
def test_mistakes_get_a_clear_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        arguments()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 2.5}, "batch_size must be a whole number; found 2.5"),
        ({"batch_size": "4"}, "batch_size must be a whole number; found '4'"),
        ({"batch_size": 4, "positives_per_batch": 1.5}, "positives_per_batch must be a whole"),
        ({"batch_size": 4, "seed": None}, "seed must be a whole number; found None"),
    ],
)
def test_what_is_no_whole_number_is_named_before_training(settings, message):
    with pytest.raises(TypeError, match=message):
        StratifiedBatchSampler(labels(), **settings)


def test_lightnings_sampler_in_place_of_the_labels():
    with pytest.raises(
        TypeError, match=r"found a DistributedSampler.*Trainer\(use_distributed_sampler=False\)"
    ):
        StratifiedBatchSampler(DistributedSampler(labels(), num_replicas=2, rank=0), 4)


def test_ranks_are_looked_up_when_batches_are_drawn(monkeypatch):
    """Lightning initialises torch.distributed in fit, after the loader was made."""
    labels = torch.cat([torch.ones(3), torch.zeros(40)])
    sampler = StratifiedBatchSampler(labels, 6, positives_per_batch=1)
    alone = len(sampler)
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    seen = []
    for rank in (0, 1):
        monkeypatch.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
        sampler.set_epoch(0)
        seen.append({index for batch in sampler for index in batch if labels[index] == 0})
    assert len(sampler) == alone // 2
    assert not seen[0] & seen[1]
    assert len(seen[0] | seen[1]) == 40
