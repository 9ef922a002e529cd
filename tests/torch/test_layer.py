import copy
import math

import numpy as np
import pytest
import torch
from torch import nn

import astralearn
from astralearn.torch import ASTra, GMNLoss
from oracles import exact, points

SHAPES = [(1, (7,)), (1, (7, 1)), (1, ()), (3, (7, 3)), (2, (3, 2, 4, 5))]
FIT = {"rtol": 1e-5, "atol": 2e-6}  # the warp's promise in float32: absolute near g = 0


def call(layer, raw, x):
    return torch.func.functional_call(layer, {"raw_slope": raw}, (x,))


def with_slope(b, num_outputs=1, **kind):
    layer = ASTra(num_outputs, **kind)
    with torch.no_grad():
        layer.raw_slope.copy_(
            torch.tensor(float(astralearn.raw_from_slope(b)), dtype=torch.float64)
        )
    return layer


@pytest.mark.parametrize(("num_outputs", "shape"), SHAPES)
def test_gradcheck_and_gradgradcheck(num_outputs, shape):
    torch.manual_seed(0)
    layer = ASTra(num_outputs, dtype=torch.float64)
    x = (2 * torch.randn(shape, dtype=torch.float64)).requires_grad_()
    raw = (
        layer.raw_slope.detach() + 3 * torch.randn(num_outputs, dtype=torch.float64)
    ).requires_grad_()
    assert torch.autograd.gradcheck(lambda *a: call(layer, a[1], a[0]), (x, raw))
    assert torch.autograd.gradgradcheck(lambda *a: call(layer, a[1], a[0]), (x, raw))


@pytest.mark.parametrize("grad", [True, False], ids=["training", "inference"])
def test_values_against_mpmath(grad):
    x, b = points(300, np.float64, seed=7)
    with torch.set_grad_enabled(grad):
        got = [
            float(with_slope(s, dtype=torch.float64)(torch.tensor(v, requires_grad=grad)).detach())
            for v, s in zip(x, b, strict=True)
        ]
    for value, v, s in zip(got, x, b, strict=True):
        truth = float(exact(float(v), float(s))["rebalanced_logit"])
        # β = b − 2 carries the rounding of b, which reaches g = bx below 0.
        assert value == pytest.approx(
            truth, rel=3e-14, abs=3e-15 * (1 + math.log(s)) if grad else 0
        )


@pytest.mark.parametrize("b", [1.0, 1.5, 7.396, 1e3, 1e6])
def test_gradients_are_finite_at_extreme_logits(b):
    layer = with_slope(b)
    x = torch.tensor([-1e31, -1e4, -100.0, -1.0, 0.0, 1.0, 100.0, 1e4, 1e31], requires_grad=True)
    y = torch.tensor([1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    for loss in (nn.BCEWithLogitsLoss(), GMNLoss()):
        x.grad = layer.raw_slope.grad = None
        g = layer(x)
        loss(g, y).backward()
        assert torch.isfinite(g).all()
        assert torch.isfinite(x.grad).all()
        assert torch.isfinite(layer.raw_slope.grad).all()


def test_a_gradient_beyond_the_slopes_dtype_is_infinite_and_no_error():
    layer = ASTra()
    layer(torch.tensor([-1e300, 0.0], dtype=torch.float64)).sum().backward()
    assert layer.raw_slope.grad.dtype == torch.float32
    assert torch.isinf(layer.raw_slope.grad).all()


def test_probabilities_activation_slope_and_threshold_are_the_papers():
    layer = ASTra(tau_init=0.1)
    x = torch.linspace(-1, 1, 9)
    b = float(astralearn.slope(0.1))
    y_hat = astralearn.astra(x.double().numpy(), b)
    np.testing.assert_allclose(layer.activation(x).detach(), y_hat, rtol=1e-4)
    np.testing.assert_allclose(
        layer.probabilities(x).detach(), astralearn.rebalance(y_hat, 0.1), rtol=1e-4
    )
    assert layer.slope.tolist() == pytest.approx([b], rel=1e-6)
    assert layer.threshold.tolist() == pytest.approx([0.1], rel=1e-6)
    assert ((layer(x) >= 0) == (x >= 0)).all()


def test_one_slope_per_channel():
    layer = ASTra(2)
    with torch.no_grad():
        layer.raw_slope.copy_(torch.tensor([0.0, 50.0]))
    x = torch.randn(3, 2, 4, 4)
    for channel in range(2):
        b = float(layer.slope[channel].detach())
        np.testing.assert_allclose(
            layer(x)[:, channel].detach(),
            astralearn.rebalanced_logit(x[:, channel].double().numpy(), b),
            **FIT,
        )


def test_training_and_inference_agree():
    layer, x = with_slope(87.0), 3 * torch.randn(1000)
    with torch.no_grad():
        inference = layer(x)
    torch.testing.assert_close(layer(x).detach(), inference, **FIT)


def test_learnable_or_not():
    assert [name for name, _ in ASTra().named_parameters()] == ["raw_slope"]
    fixed = ASTra(learnable=False)
    assert list(fixed.parameters()) == []
    assert "raw_slope" in fixed.state_dict()
    x = torch.randn(5, requires_grad=True)
    fixed(x).sum().backward()
    assert torch.isfinite(x.grad).all()


def test_state_dict_and_deepcopy_round_trip(tmp_path):
    layer, x = with_slope(30.0, 3), torch.randn(4, 3)
    torch.save(layer.state_dict(), tmp_path / "layer.pt")
    fresh = ASTra(3)
    fresh.load_state_dict(torch.load(tmp_path / "layer.pt", weights_only=True))
    assert torch.equal(fresh(x), layer(x))
    clone = copy.deepcopy(layer)
    assert torch.equal(clone(x), layer(x))
    assert clone.raw_slope is not layer.raw_slope


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype):
    layer, x = with_slope(87.0), torch.tensor([-300.0, -1.0, 0.5, 300.0])
    half = layer(x.to(dtype))
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, layer(x), rtol=1e-2, atol=1e-3)


def test_autocast_computes_in_float32():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 1), ASTra())
    x, y = torch.randn(8, 4), (torch.arange(8) % 4 == 0).float()[:, None]
    with torch.autocast("cpu", torch.bfloat16):
        logits = model[0](x)
        g = model[1](logits)
        loss = GMNLoss()(g, y)
    assert logits.dtype == torch.bfloat16
    assert g.dtype == loss.dtype == torch.float32
    loss.backward()
    assert all(
        torch.isfinite(p.grad).all() and p.grad.dtype == torch.float32 for p in model.parameters()
    )


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ASTra(tau_init=0.6), ValueError, r"tau must be in \(0, 0.5\]; found 0.6"),
        (lambda: ASTra(0), ValueError, "num_outputs must be at least 1; found 0"),
        (
            lambda: ASTra(3)(torch.zeros(4, 2)),
            ValueError,
            r"takes logits of shape \(N, 3\) or \(N, 3, …\); found \(4, 2\)",
        ),
        (lambda: ASTra(3)(torch.zeros(3)), ValueError, r"takes logits of shape \(N, 3\)"),
        (
            lambda: ASTra()(torch.zeros(3, dtype=torch.long)),
            TypeError,
            "logits in floating point; found torch.int64",
        ),
        (
            lambda: ASTra()(np.zeros(3, np.float32)),
            TypeError,
            "ASTra takes logits in a tensor; found ndarray",
        ),
    ],
)
def test_mistakes_get_a_clear_error(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_layer_made_without_memory_can_be_initialised():
    layer = ASTra(3, tau_init=0.1, device="meta").to_empty(device="cpu")
    layer.reset_parameters()
    torch.testing.assert_close(layer.raw_slope, ASTra(3, tau_init=0.1).raw_slope)
    assert ASTra(learnable=False, device="meta").to_empty(device="cpu").raw_slope.shape == (1,)


@pytest.mark.parametrize("tau", [1e-40, 1e-6])
def test_a_threshold_too_low_is_named(tau):
    with pytest.raises(ValueError, match=r"tau_init must be in \[1e-05, 0\.5\]; found 1e-"):
        ASTra(tau_init=tau)


def test_a_limited_slope_starts_at_its_limit_and_can_come_back():
    layer = ASTra(slope_max=3.0)
    assert layer.slope.item() == pytest.approx(3.0)
    with torch.no_grad():
        layer.raw_slope.fill_(9.0)
    assert layer.slope.item() == pytest.approx(3.0)
    layer.slope.sum().backward()
    assert layer.raw_slope.grad.item() == pytest.approx(1.0)
    assert "slope_max=3" in repr(layer)
    assert ASTra(tau_init=0.45, slope_max=30.0).slope.item() < 2


@pytest.mark.parametrize("limit", [0.5, math.nan, math.inf])
def test_an_impossible_limit_is_named(limit):
    with pytest.raises(ValueError, match="slope_max must be None or finite and at least 1; found"):
        ASTra(slope_max=limit)
