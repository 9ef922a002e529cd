import pytest
import torch

from astralearn.torch import GMNLoss
from torch_losses import MODULES, batch, every_loss, value_and_gradient


@every_loss
@pytest.mark.slow
def test_blocks_change_nothing(name, monkeypatch):
    g, y, w = batch(10_005)
    expected = value_and_gradient(MODULES[name](), g, y, w)
    monkeypatch.setattr("astralearn.torch.cpu.BLOCK_ELEMENTS", 1_000)
    torch.testing.assert_close(
        value_and_gradient(MODULES[name](), g, y, w), expected, rtol=1e-10, atol=1e-18
    )


@every_loss
def test_blocks_where_positives_are_many(name, monkeypatch):
    g, y, w = batch(2_005)
    y = 1 - y
    g[y == 0] = 8.0  # lost, so that each negative weighs far more than a positive
    expected = value_and_gradient(MODULES[name](), g, y, w)
    monkeypatch.setattr("astralearn.torch.cpu.BLOCK_ELEMENTS", 500)
    torch.testing.assert_close(
        value_and_gradient(MODULES[name](), g, y, w), expected, rtol=1e-10, atol=1e-18
    )


@every_loss
@pytest.mark.parametrize("label", [0.0, 1.0])
@pytest.mark.parametrize("block", [10, 10**9])
def test_one_class_alone_survives_mixed_precisions_scale(name, label, block, monkeypatch):
    monkeypatch.setattr("astralearn.torch.cpu.BLOCK_ELEMENTS", block)
    g = torch.linspace(-3, 3, 64, requires_grad=True)
    (MODULES[name]()(g, torch.full((64,), label)) * 2.0**24).backward()
    assert torch.isfinite(g.grad).all()
    assert (g.grad != 0).any()


def test_a_block_whose_positives_are_all_lost_has_pulls_in_units_of_its_own(monkeypatch):
    g = torch.tensor([-200.0, 1.0, -201.0, -2.0, -1.0, 3.0], dtype=torch.float64)
    y = torch.tensor([1, 0, 1, 0, 1, 0])
    expected = value_and_gradient(GMNLoss(), g, y)
    monkeypatch.setattr("astralearn.torch.cpu.BLOCK_ELEMENTS", 2)
    found = value_and_gradient(GMNLoss(), g, y)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=0)
