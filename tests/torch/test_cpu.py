"""In place and block by block, eager PyTorch gives what the core gives."""

import numpy as np
import pytest
import torch

import astralearn
from astralearn.core import LOSSES
from astralearn.core.class_means import gradient
from astralearn.torch import ASTra, BCELoss
from astralearn.torch.cpu import blocks, write_gradient

FIT = {"rtol": 1e-5, "atol": 2e-6}


def with_slope(b):
    layer = ASTra()
    torch.nn.init.constant_(layer.raw_slope, float(astralearn.raw_from_slope(b)))
    return layer


def value_and_gradient(loss, g, *rest):
    g = g.detach().clone().requires_grad_()
    value = loss(g, *rest)
    value.sum().backward()
    return value.detach(), g.grad


def test_blocks_join_to_the_whole(monkeypatch):
    monkeypatch.setattr("astralearn.torch.cpu.BLOCK_ELEMENTS", 10)
    x = torch.arange(60.0).reshape(20, 3)
    parts = blocks(x)
    assert {part.numel() for part in parts} == {6, 9}
    assert torch.equal(torch.cat(parts), x)
    assert len(blocks(x[:6])) == 1


@pytest.mark.parametrize("of_negatives", [0.1, 3.0])
def test_a_gradient_in_three_passes(of_negatives):
    pulls, y = torch.rand(30), (torch.arange(30) % 4 == 0).float()
    factors = torch.tensor(of_negatives), torch.tensor(0.5)
    found = torch.empty(30)
    write_gradient(found, pulls, y, factors)
    torch.testing.assert_close(found, gradient(pulls, y, factors))


@pytest.mark.parametrize(
    "scale", [0.5, 3.0, 30.0], ids=["near 0", "some far from it", "most far from it"]
)
@pytest.mark.parametrize("shape", [(3005,), (1001, 3), (40, 3, 20, 21)])
def test_blocks_change_nothing(shape, scale, monkeypatch):
    layer = ASTra(3 if len(shape) > 1 else 1, dtype=torch.float64)
    x = (scale * torch.randn(*shape, dtype=torch.float64)).requires_grad_()
    results = []
    for few, block in ((10**9, 10**9), (1, 1000), (1, 10**9)):
        monkeypatch.setattr("astralearn.torch.cpu.FEWEST_IN_PLACE", few)
        monkeypatch.setattr("astralearn.torch.cpu.BLOCK_ELEMENTS", block)
        x.grad = layer.raw_slope.grad = None
        g = layer(x)
        g.sigmoid().sum().backward()
        results.append((g.detach(), x.grad, layer.raw_slope.grad))
    for other in results[1:]:
        torch.testing.assert_close(other, results[0], rtol=1e-11, atol=1e-12)


def test_a_logit_that_is_nan_spoils_no_other_of_its_block(monkeypatch):
    monkeypatch.setattr("astralearn.torch.cpu.FEWEST_IN_PLACE", 1)
    x = torch.tensor([float("nan"), -30.0, 0.5, 30.0], requires_grad=True)
    layer = ASTra()
    g = layer(x)
    g.backward(torch.ones(4))
    alone = x.detach()[1:].requires_grad_()
    monkeypatch.setattr("astralearn.torch.cpu.FEWEST_IN_PLACE", 10)
    expected = layer(alone)
    expected.backward(torch.ones(3))
    torch.testing.assert_close(g[1:], expected, **FIT)
    torch.testing.assert_close(x.grad[1:], alone.grad, **FIT)


def test_tensors_without_values_have_shapes():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        assert ASTra()(torch.randn(40_000, requires_grad=True)).shape == (40_000,)


@pytest.mark.parametrize("slope", [1.0, 7.396, 87.0, 1e4, 1e6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_blocks_of_extremes(slope, dtype, monkeypatch):
    monkeypatch.setattr("astralearn.torch.cpu.FEWEST_IN_PLACE", 1)
    monkeypatch.setattr("astralearn.torch.cpu.BLOCK_ELEMENTS", 100)
    layer = with_slope(slope).to(dtype)
    far = torch.logspace(-8, 4, 200, dtype=dtype)
    x = torch.cat([-far, torch.zeros(1, dtype=dtype), far]).requires_grad_()
    g = layer(x)
    g.backward(torch.ones_like(g))
    b, exact_x = layer.slope.detach().double().item(), x.detach().double().numpy()
    roundings = 8 * torch.finfo(dtype).eps
    truth = astralearn.rebalanced_logit(exact_x, b)
    np.testing.assert_array_less(
        np.abs(g.detach().double().numpy() - truth), roundings * (1 + np.abs(truth) + np.log(b))
    )
    # t is rounded to a few units of its size, and ∂g/∂x changes with t as fast as it is itself.
    off = roundings * (2 + np.abs(b * exact_x).clip(max=1e2))
    np.testing.assert_array_less(
        np.abs(x.grad.double().numpy() / astralearn.rebalanced_logit_dx(exact_x, b) - 1), off
    )
    assert torch.isfinite(layer.raw_slope.grad).all()


@pytest.mark.parametrize("per_output", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bce_in_few_passes_is_the_cores(dtype, weighted, per_output):
    far = torch.logspace(-6, 4, 100, dtype=torch.float64)
    g = torch.stack([torch.cat([-far, far]), torch.cat([far, -far])], dim=1)
    y = (torch.arange(200)[:, None] % 3 == torch.arange(2)).double()
    w = torch.rand(200, 1, dtype=torch.float64) if weighted else None
    axis = 0 if per_output else None
    value = LOSSES["bce"].value(g.numpy(), y.numpy(), None if w is None else w.numpy(), axis=axis)
    gradient = LOSSES["bce"].gradient(
        g.numpy(), y.numpy(), None if w is None else w.numpy(), axis=axis
    )
    got = value_and_gradient(
        BCELoss(per_output=per_output, reduction="none"),
        g.to(dtype),
        y,
        None if w is None else w.to(dtype),
    )
    bound = 1e-12 if dtype == torch.float64 else 2e-6
    np.testing.assert_allclose(got[0].double(), value, rtol=bound)
    np.testing.assert_allclose(got[1].double(), gradient, rtol=bound, atol=1e-30)


def test_bce_of_the_largest_logits_is_their_mean():
    """Their sum is beyond float32."""
    value, gradient = value_and_gradient(
        BCELoss(), torch.tensor([3e38, 3e38]), torch.tensor([0.0, 0.0])
    )
    assert float(value) == pytest.approx(3e38, rel=1e-6)
    assert gradient.tolist() == [0.5, 0.5]
