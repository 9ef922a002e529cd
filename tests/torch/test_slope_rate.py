import math

import pytest
import torch
from torch import nn

import astralearn
from astralearn.torch import ASTra, SlopeRate, parameter_groups


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 2), ASTra(2))


def optimizer(of=None):
    return torch.optim.AdamW(parameter_groups(of or model(), lr=1e-3), weight_decay=0.1)


def test_groups_hold_every_parameter_once():
    net = model()
    groups = parameter_groups(net, lr=1e-3, slope_lr=0.02)
    assert [group["lr"] for group in groups] == [1e-3, 0.02]
    assert groups[1]["params"] == [net[1].raw_slope]
    assert sorted(id(p) for group in groups for p in group["params"]) == sorted(
        id(p) for p in net.parameters()
    )


def test_slopes_are_not_decayed():
    net = model()
    opt = optimizer(net)
    before = net[1].raw_slope.detach().clone()
    for parameter in net.parameters():
        parameter.grad = torch.zeros_like(parameter)
    opt.step()
    assert torch.equal(net[1].raw_slope, before)


def test_steps_by_the_papers_equation():
    opt = optimizer()
    scheduler = SlopeRate(opt)
    rate = 0.01
    for e_ratio in [3.0, 2.0, 0.5, 1.0, torch.tensor(5.0), math.inf, *[9.0] * 60, *[0.0] * 5]:
        scheduler.step(e_ratio)
        rate = float(astralearn.slope_rate(rate, float(e_ratio)))
        assert scheduler.get_last_lr() == [rate]
        assert opt.param_groups[1]["lr"] == rate
        assert opt.param_groups[0]["lr"] == 1e-3


def test_state_is_saved_and_restored(tmp_path):
    opt = optimizer()
    scheduler = SlopeRate(opt, maximum=0.3)
    for _ in range(7):
        scheduler.step(2.0)
    torch.save(
        {"optimizer": opt.state_dict(), "slope_rate": scheduler.state_dict()}, tmp_path / "state.pt"
    )
    saved = torch.load(tmp_path / "state.pt", weights_only=True)
    other = optimizer()
    restored = SlopeRate(other)
    other.load_state_dict(saved["optimizer"])
    restored.load_state_dict(saved["slope_rate"])
    assert restored.get_last_lr() == scheduler.get_last_lr()
    assert restored.state_dict() == scheduler.state_dict()
    restored.step(2.0)
    scheduler.step(2.0)
    assert restored.get_last_lr() == scheduler.get_last_lr()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: SlopeRate(torch.optim.Adam(model().parameters())),
            ValueError,
            "no group of slopes: build it as",
        ),
        (lambda: SlopeRate(optimizer()).step(), TypeError, "needs the e-ratio FNR/FPR"),
        (
            lambda: SlopeRate(optimizer()).step(math.nan),
            ValueError,
            "e_ratio must be a number at least 0; found nan",
        ),
        (lambda: SlopeRate(optimizer()).step(-1.0), ValueError, "e_ratio must be at least 0"),
        (lambda: SlopeRate(optimizer(), minimum=0.6), ValueError, "0 < minimum <= maximum"),
        (
            lambda: parameter_groups(nn.Linear(2, 1), lr=1e-3),
            ValueError,
            "no learnable ASTra layer",
        ),
    ],
)
def test_mistakes_get_a_clear_error(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_parameters_are_no_model():
    with pytest.raises(
        TypeError, match="model must be the module itself, not its parameters; found generator"
    ):
        parameter_groups(nn.Linear(2, 1).parameters(), lr=1e-3)


def test_slopes_that_the_model_does_not_own_are_refused():
    """As under FullyShardedDataParallel with flattened parameters."""

    class Flattened(nn.Sequential):
        def parameters(self, recurse=True):
            return iter([nn.Parameter(torch.zeros(5))])

    with pytest.raises(ValueError, match="use_orig_params"):
        parameter_groups(Flattened(nn.Linear(3, 1), ASTra()), lr=1e-3)
