import copy
import math

import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from astralearn import soft_confusion
from astralearn.torch import ASTra, RareHead, SoftConfusionMonitor, parameter_groups
from torch_losses import BACKENDS

LABELS = torch.arange(1000) < 5
X = torch.randn(24, 4, generator=torch.Generator().manual_seed(0))
Y = (torch.arange(24) < 3).float()


def adjusted(g, y, negatives=21, positives=3):
    """The loss, its class ratio as a number."""
    return bce(g - math.log(negatives / positives), y)


def trained(step, steps=6):
    """Weights and losses of some steps of the recipe."""
    torch.manual_seed(0)
    head = RareHead(LABELS)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1), nn.Flatten(0), head)
    optimizer = torch.optim.AdamW(parameter_groups(model, lr=0.05))
    step = step(model, head)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = step(X, Y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.cat([torch.stack(losses), *(p.detach().reshape(-1) for p in model.parameters())])


def test_the_slope_starts_at_the_quarter_power_of_the_ratio_and_stays_below():
    head = RareHead(LABELS)
    limit = (995 / 5) ** 0.25
    assert head.astra.slope.item() == pytest.approx(limit)
    with torch.no_grad():
        head.astra.raw_slope.fill_(50.0)
    assert head.astra.slope.item() == pytest.approx(limit)


def test_weights_decay_less_the_more_positives_there_are():
    assert RareHead(LABELS).weight_decay == 1.0
    assert RareHead(torch.arange(1000) < 60).weight_decay == pytest.approx(0.1)


def test_it_is_astra():
    x = torch.linspace(-4, 4, 9)
    torch.testing.assert_close(RareHead(LABELS)(x), ASTra(slope_max=(995 / 5) ** 0.25)(x))


def test_without_a_rare_class_it_is_the_plain_sigmoid():
    torch.testing.assert_close(RareHead([0, 1])(X), X)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_loss_is_cross_entropy_less_the_batch_s_log_ratio(dtype):
    head = RareHead(LABELS)
    g = X[:, 0].to(dtype).requires_grad_()
    twin = g.detach().clone().requires_grad_()
    loss, expected = head.loss(g, Y.int()), adjusted(twin, Y.to(dtype))
    torch.testing.assert_close(loss, expected)
    loss.backward()
    expected.backward()
    torch.testing.assert_close(g.grad, twin.grad)


def test_the_largest_logits_have_a_finite_loss():
    g = torch.full((24,), 3e38).requires_grad_()
    loss = RareHead(LABELS).loss(g, torch.zeros(24))
    assert loss.item() == pytest.approx(3e38, rel=1e-6)
    loss.backward()
    torch.testing.assert_close(g.grad, torch.full((24,), 1 / 24))


def test_logit_0_is_the_balanced_decision():
    g = torch.zeros((), requires_grad=True)
    RareHead(LABELS).loss(g.expand(24), Y).backward()
    torch.testing.assert_close(g.grad, torch.tensor(0.0))


def test_a_class_that_is_missing_counts_as_one_in_the_ratio():
    head = RareHead(LABELS)
    for y, counts in ((torch.zeros(24), (24, 1)), (torch.ones(24), (1, 24))):
        g = X[:, 0].clone().requires_grad_()
        loss = head.loss(g, y)
        torch.testing.assert_close(loss, adjusted(g, y, *counts))
        loss.backward()
        assert (g.grad != 0).all()


def test_labels_that_are_missing():
    head = RareHead(LABELS)
    g = X[:, 0].clone().requires_grad_()
    gaps = Y.clone()
    gaps[4:9] = math.nan
    known = ~gaps.isnan()
    loss = head.loss(g, gaps)
    torch.testing.assert_close(loss, adjusted(g[known], Y[known], 16))
    loss.backward()
    assert (g.grad[~known] == 0).all()
    g.grad = None
    loss = head.loss(g, torch.full((24,), math.nan))
    loss.backward()
    assert loss.item() == 0
    assert (g.grad == 0).all()


def test_readings_are_the_monitor_s_since_the_last_call():
    head, monitor = RareHead(LABELS), SoftConfusionMonitor()
    head.loss(X[:, 1], Y)
    head.readings()
    for column in (0, 2):
        head.loss(X[:, column], Y)
        monitor.update(X[:, column], Y)
    readings = head.readings()
    for name, value in monitor.compute().items():
        assert readings[name] == pytest.approx(float(value), abs=1e-6)
    assert readings["threshold"] == pytest.approx(head.astra.threshold.item())
    head.eval().loss(X[:, 1], Y)
    assert head.counts.sum() == 0


def test_missing_labels_are_not_read():
    head = RareHead(LABELS)
    head.loss(X[:, 0], torch.where(torch.arange(24) < 20, Y, math.nan))
    joined = soft_confusion(X[:20, 0].numpy(), Y[:20].numpy())
    assert head.readings()["fpr"] == pytest.approx(float(joined.fpr), rel=1e-6)


def test_readings_are_written():
    head, written = RareHead(LABELS), {}
    head.loss(X[:, 0], Y)

    class Writer:
        def add_scalar(self, name, value, step):
            written[name] = value, step

    readings = head.write(Writer(), 7, prefix="train/")
    assert written == {f"train/{name}": (value, 7) for name, value in readings.items()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", BACKENDS)
def test_compiled_it_gives_the_same_curve(backend):
    def eager(model, head):
        return lambda x, y: head.loss(model(x), y)

    def compiled(model, head):
        return torch.compile(eager(model, head), fullgraph=True, backend=backend)

    torch.compiler.reset()
    torch.testing.assert_close(trained(compiled), trained(eager), rtol=2e-5, atol=2e-6)


def test_it_can_be_copied_and_saved():
    head = RareHead(LABELS)
    with torch.no_grad():
        head.astra.raw_slope -= 0.5
    twin = RareHead(LABELS)
    twin.load_state_dict(head.state_dict())
    torch.testing.assert_close(twin(X), head(X))
    torch.testing.assert_close(copy.deepcopy(head)(X), head(X))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RareHead([0, 0]), ValueError, "hold both; found 0 positives and 2 negatives"),
        (lambda: RareHead([0, 1, 2]), ValueError, "1 positives and 1 negatives among 3"),
        (lambda: RareHead(["a", "b"]), ValueError, "labels must be 0 or 1"),
        (
            lambda: RareHead(LABELS).loss(torch.zeros(3), torch.zeros(3, 1)),
            ValueError,
            "target must have the shape of logits",
        ),
        (
            lambda: RareHead(LABELS).loss(torch.zeros(3), torch.full((3,), 2.0)),
            ValueError,
            "target must hold 0, 1 or NaN",
        ),
    ],
)
def test_mistakes_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()
