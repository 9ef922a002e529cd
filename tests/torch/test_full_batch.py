import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from astralearn.torch import ASTra, BCELoss, GMNLoss, StratifiedBatchSampler, full_batch_backward
from torch_losses import MODULES

pytestmark = pytest.mark.slow


def model(*extra, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(4, 6), nn.Tanh(), *extra, nn.Linear(6, 1), nn.Flatten(0), ASTra()
    )


def data(n, positives=11, seed=1):
    generator = torch.Generator().manual_seed(seed)
    y = torch.zeros(n)
    y[torch.randperm(n, generator=generator)[:positives]] = 1
    return torch.randn(n, 4, generator=generator), y, torch.rand(n, generator=generator) + 0.1


def gradients(of):
    return torch.cat([parameter.grad.reshape(-1) for parameter in of.parameters()])


def worst(mine, truth):
    return float((mine - truth).abs().max() / truth.abs().max())


@pytest.mark.parametrize(
    "loss",
    [
        GMNLoss,
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in MODULES.values()
            if each is not GMNLoss
        ),
    ],
    ids=lambda loss: loss.name,
)
def test_a_thousand_micro_batches_equal_one_batch(loss):
    x, y, weight = data(4000)
    whole, parts = model(), model()
    expected = loss()(whole(x), y, weight)
    expected.backward()
    value = full_batch_backward(
        parts, loss(), list(zip(x.split(4), y.split(4), weight.split(4), strict=True))
    )
    assert worst(gradients(parts), gradients(whole)) < 1e-5
    assert float(value) == pytest.approx(float(expected.detach()), rel=1e-5)


def test_gradients_are_added_as_backward_does():
    x, y, _ = data(40)
    net = model()
    batches = list(zip(x.split(10), y.split(10), strict=True))
    full_batch_backward(net, GMNLoss(), batches)
    once = gradients(net).clone()
    full_batch_backward(net, GMNLoss(), batches)
    torch.testing.assert_close(gradients(net), 2 * once)


def test_dropout_and_a_shuffling_loader_repeat_themselves():
    """The second pass sees what the first one counted: the same masks and batches."""
    x, y, _ = data(60)
    loader = DataLoader(TensorDataset(x, y), batch_size=7, shuffle=True)
    net = model(nn.Dropout(0.5))
    torch.manual_seed(3)
    full_batch_backward(net, GMNLoss(), loader)
    got = gradients(net).clone()
    net.zero_grad()
    torch.manual_seed(3)
    logits, labels = zip(*((net(a), b) for a, b in loader), strict=True)
    GMNLoss()(torch.cat(logits), torch.cat(labels)).backward()
    assert worst(got, gradients(net)) < 1e-5


def seeded():
    return torch.Generator().manual_seed(3)


@pytest.mark.parametrize(
    "settings",
    [
        lambda y: {"batch_sampler": StratifiedBatchSampler(y, 16, positives_per_batch=3)},
        lambda y: {"shuffle": True, "generator": seeded(), "batch_size": 16, "drop_last": True},
        lambda y: {
            "sampler": WeightedRandomSampler(y + 0.2, 40, generator=seeded()),
            "batch_size": 16,
        },
        lambda y: {
            "batch_sampler": BatchSampler(RandomSampler(y, generator=seeded()), 16, drop_last=True)
        },
    ],
    ids=["stratified", "generator", "sampler", "batch_sampler"],
)
def test_loaders_with_a_state_of_their_own_repeat_themselves_and_go_on_as_after_one_epoch(settings):
    x, y, _ = data(60)
    loader, untouched = (DataLoader(TensorDataset(x, y), **settings(y)) for _ in range(2))
    net, whole = model(), model()
    full_batch_backward(net, GMNLoss(), loader)
    inputs, labels = zip(*untouched, strict=True)
    GMNLoss()(whole(torch.cat(inputs)), torch.cat(labels)).backward()
    assert worst(gradients(net), gradients(whole)) < 1e-5
    assert all(
        torch.equal(mine, theirs) for (mine, _), (theirs, _) in zip(loader, untouched, strict=True)
    )


def test_batch_norm_statistics_move_once():
    x, y, _ = data(60)
    net = model(nn.BatchNorm1d(6))
    full_batch_backward(net, GMNLoss(), list(zip(x.split(20), y.split(20), strict=True)))
    assert int(net[2].num_batches_tracked) == 3


def test_batch_norm_statistics_stay_where_the_first_pass_fails():
    x, y, _ = data(40)
    net = model(nn.BatchNorm1d(6))
    with pytest.raises(ValueError, match="target must hold 0, 1 or NaN"):
        full_batch_backward(net, GMNLoss(), [(x[:20], y[:20]), (x[20:], y[20:] + 2)])
    assert int(net[2].num_batches_tracked) == 0
    assert not net[2].running_mean.any()


class Counting(nn.Module):
    """Makes its buffer at the first call, as caches are made."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", None)

    def forward(self, x):
        if self.calls is None:
            self.calls = torch.zeros(())
        self.calls += 1
        return x


def test_a_buffer_that_first_appears_in_forward_stays_and_others_are_restored():
    x, y, _ = data(60)
    net, plain = model(Counting(), nn.BatchNorm1d(6)), model(nn.BatchNorm1d(6))
    batches = list(zip(x.split(20), y.split(20), strict=True))
    full_batch_backward(net, GMNLoss(), batches)
    full_batch_backward(plain, GMNLoss(), batches)
    assert int(net[3].num_batches_tracked) == 3
    assert int(net[2].calls) == 6
    assert torch.equal(gradients(net), gradients(plain))


def test_batches_of_another_kind():
    x, y, _ = data(20)
    net, other = model(), model()
    full_batch_backward(net, GMNLoss(), list(zip(x.split(5), y.split(5), strict=True)))
    batches = [{"image": a, "label": b} for a, b in zip(x.split(5), y.split(5), strict=True)]
    full_batch_backward(
        other, GMNLoss(), batches, forward=lambda m, batch: (m(batch["image"]), batch["label"])
    )
    assert torch.equal(gradients(net), gradients(other))


MEMORY = """
import resource, sys, torch
from torch import nn
from astralearn.torch import ASTra, GMNLoss, full_batch_backward
torch.set_num_threads(1)
class Batches:
    def __init__(self, n): self.n = n
    def __iter__(self):
        for i in range(self.n):
            x = torch.randn(2000, 50, generator=torch.Generator().manual_seed(i))
            yield x, (torch.arange(2000) % 500 == i % 500).float()
model = nn.Sequential(nn.Linear(50, 200), nn.ReLU(), nn.Linear(200, 1), nn.Flatten(0), ASTra())
full_batch_backward(model, GMNLoss(), Batches(5))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
full_batch_backward(model, GMNLoss(), Batches(int(sys.argv[1])))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def test_peak_memory_does_not_grow_with_their_number():
    """200 micro-batches after 5: their activations (3.6 MB each) would take 700 MB if kept."""
    run = subprocess.run(
        [sys.executable, "-c", MEMORY, "200"], capture_output=True, text=True, check=True
    )
    assert float(run.stdout) < 15


@pytest.mark.parametrize(
    ("loss", "batches", "error", "message"),
    [
        (GMNLoss(running=0.9), [], ValueError, "exact, a loss with running sums is not"),
        (
            GMNLoss(),
            iter([]),
            TypeError,
            "goes through the batches twice: pass a list or a DataLoader",
        ),
        (GMNLoss(), [], ValueError, "at least one micro-batch"),
    ],
)
def test_mistakes_get_a_clear_error(loss, batches, error, message):
    with pytest.raises(error, match=message):
        full_batch_backward(model(), loss, batches)


def test_what_cannot_be_added_up_is_refused():
    model, batch = nn.Linear(2, 1), (torch.zeros(4, 2), torch.zeros(4, 1))
    with pytest.raises(
        TypeError, match=r"found BCEWithLogitsLoss: use astralearn\.torch\.BCELoss\(\)"
    ):
        full_batch_backward(model, nn.BCEWithLogitsLoss(), [batch])
    with pytest.raises(TypeError, match=r"a batch must be \(inputs, target\) .*found a Tensor"):
        full_batch_backward(model, GMNLoss(), [batch[0]])


def test_a_micro_batch_of_several_blocks(monkeypatch):
    monkeypatch.setattr("astralearn.torch.cpu.BLOCK_ELEMENTS", 100)
    x, y, _ = data(1000)
    whole, parts = model(), model()
    GMNLoss()(whole(x), y).backward()
    full_batch_backward(parts, GMNLoss(), [(x[:700], y[:700]), (x[700:], y[700:])])
    assert worst(gradients(parts), gradients(whole)) < 1e-5


def test_labels_that_want_a_gradient_get_none():
    x, y, _ = data(40)
    y.requires_grad_()
    whole, parts = model(), model()
    BCELoss()(whole(x), y).backward()
    full_batch_backward(parts, BCELoss(), list(zip(x.split(20), y.split(20), strict=True)))
    assert worst(gradients(parts), gradients(whole)) < 1e-5
    assert y.grad is None
