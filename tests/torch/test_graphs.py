"""torch.compile, torch.export and ONNX: whole graphs, as accurate as eager PyTorch."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx

import astralearn
from astralearn.torch import ASTra, BCELoss, GMNLoss, MCCLoss, RareHead, RootGMNLoss
from astralearn.torch.cpu import FEWEST_IN_PLACE
from astralearn.torch.namespaces import portable
from torch_losses import BACKENDS, MODULES

expm1, log1p = portable.expm1, portable.log1p


def long(case):
    return pytest.param(case, marks=pytest.mark.long)


LOSSES = list(MODULES.values())

X = torch.cat([torch.linspace(-40, 40, 161), torch.tensor([-1e4, -1e-4, 1e-4, 1e4])])
# Packages deprecating each other's functions are not this library's to fix.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"
    ),
]


@pytest.fixture(autouse=True)
def _nothing_compiled_before():
    """All losses share one forward, of which Dynamo compiles eight variants at most."""
    torch.compiler.reset()


def reference(x, layer):
    return astralearn.rebalanced_logit(x.double().numpy(), float(layer.slope.detach().double()))


@pytest.mark.parametrize(
    "loss", [GMNLoss, *(long(each) for each in (nn.BCEWithLogitsLoss, *LOSSES) if each != GMNLoss)]
)
def test_compile_has_no_graph_breaks_no_warnings_and_equals_eager(loss):
    layer, loss = ASTra(), loss()

    def step(x, y):
        return loss(layer(x), y)

    y = (torch.arange(len(X)) % 7 == 0).float()
    results = []
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*Dynamo detected")
        for function in (step, torch.compile(step, fullgraph=True)):
            x = X.clone().requires_grad_()
            layer.raw_slope.grad = None
            value = function(x, y)
            value.backward()
            results.append((value.detach(), x.grad, layer.raw_slope.grad))
    for eager, compiled in zip(*results, strict=True):
        torch.testing.assert_close(compiled, eager, rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize(
    "loss",
    [
        GMNLoss,
        MCCLoss,
        *(long(each) for each in LOSSES if each not in (GMNLoss, MCCLoss)),
    ],
)
def test_the_lowest_logit_of_all_is_finite_compiled_too(loss):
    """What masks are filled with."""
    loss = loss()
    y = torch.tensor([0.0, 1.0, 0.0, 1.0])
    results = []
    for function in (loss, torch.compile(loss, fullgraph=True, backend="aot_eager")):
        x = torch.tensor([torch.finfo(torch.float32).min, 1.0, 0.5, -0.5], requires_grad=True)
        value = function(x, y)
        value.backward()
        results.append((value.detach(), x.grad))
    torch.testing.assert_close(results[1], results[0], rtol=2e-5, atol=1e-7)


def test_shapes_taken_for_dynamic_from_the_start():
    layer, bce, gmn = ASTra(), BCELoss(), GMNLoss()

    def step(x, y):
        g = layer(x)
        return bce(g, y) + gmn(g, y)

    y = (torch.arange(len(X)) % 7 == 0).float()
    got = torch.compile(step, fullgraph=True, dynamic=True, backend="aot_eager")(
        X.clone().requires_grad_(), y
    )
    torch.testing.assert_close(got, step(X, y), rtol=2e-5, atol=1e-7)


def test_an_absent_class_survives_a_large_scale():
    """Of the loss, as mixed precision multiplies it."""
    x = torch.tensor([0.1, -1.0, 0.0], requires_grad=True)
    torch.compile(RootGMNLoss(), fullgraph=True, backend="aot_eager")(x, torch.zeros(3)).mul(
        2.0**40
    ).backward()
    assert torch.isfinite(x.grad).all()


def test_compiled_bce_equals_eager_and_a_nan_shows_in_its_gradients():
    """Where mixed precision overflows, a scaler looks for it there."""
    layer, loss = ASTra(), BCELoss()
    step = torch.compile(lambda x, y: loss(layer(x), y), fullgraph=True)
    y, results = torch.tensor([0.0, 1.0, 0.0]), []
    for function in (step, lambda x, y: loss(layer(x), y)):
        x = torch.tensor([-30.0, 1.0, -1.0], requires_grad=True)
        value = function(x, y)
        results.append((value.detach(), *torch.autograd.grad(value, [x, layer.raw_slope])))
    torch.testing.assert_close(results[0], results[1], rtol=2e-5, atol=1e-7)
    x = torch.tensor([torch.nan, 1.0, -1.0], requires_grad=True)
    step(x, y).backward()
    assert x.grad[0].isnan()
    assert layer.raw_slope.grad.isnan().all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_compiled_running_means_have_no_graph_breaks_and_equal_eager(backend):
    eager, compiled = GMNLoss(running=0.9), GMNLoss(running=0.9)
    step = torch.compile(compiled, fullgraph=True, backend=backend)
    for shift in range(3):
        y = (torch.arange(len(X)) % 7 == shift).float()
        results = []
        for loss in (eager, step):
            x = X.clone().requires_grad_()
            value = loss(x, y)
            value.backward()
            results.append((value.detach(), x.grad))
        torch.testing.assert_close(results[1], results[0], rtol=2e-5, atol=1e-7)
    torch.testing.assert_close(compiled.kept, eager.kept, rtol=2e-5, atol=1e-7)
    assert not compiled.kept.requires_grad


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("loss", "ignore_index"),
    [
        (BCELoss, None),
        (GMNLoss, -1),
        pytest.param(BCELoss, -1, marks=pytest.mark.long),
        pytest.param(GMNLoss, None, marks=pytest.mark.long),
    ],
)
def test_compiled_missing_labels_equal_eager_and_get_no_gradient(loss, ignore_index, backend):
    """Their logits are NaN, which neither the loss nor another gradient may notice."""
    missing = torch.arange(len(X)) % 5 == 0
    y = torch.where(
        missing,
        torch.nan if ignore_index is None else ignore_index,
        (torch.arange(len(X)) % 7 == 0).float(),
    )
    loss = loss(ignore_index=ignore_index)
    results = []
    for function in (loss, torch.compile(loss, fullgraph=True, backend=backend)):
        x = torch.where(missing, torch.nan, X).requires_grad_()
        value = function(x, y)
        value.backward()
        assert (x.grad[missing] == 0).all()
        assert torch.isfinite(x.grad).all()
        results.append((value.detach(), x.grad))
    torch.testing.assert_close(results[1], results[0], rtol=2e-5, atol=1e-7)


def test_compiled_inference_is_accurate_far_below_zero():
    layer = ASTra()
    with torch.no_grad():
        got = torch.compile(layer, fullgraph=True)(X)
    np.testing.assert_allclose(got, reference(X, layer), rtol=1e-5)


def test_export_round_trip():
    layer = ASTra().eval()
    program = torch.export.export(layer, (X,), dynamic_shapes=({0: torch.export.Dim("n", min=2)},))
    np.testing.assert_allclose(program.module()(X).detach(), reference(X, layer), rtol=1e-5)
    assert program.module()(torch.randn(5)).shape == (5,)


@pytest.mark.parametrize("num_outputs", [long(1), 2])
def test_onnx_round_trip_in_onnxruntime(num_outputs, tmp_path):
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    model = nn.Sequential(nn.Linear(1, num_outputs), ASTra(num_outputs)).eval()
    with torch.no_grad():
        model[0].weight.fill_(1.0)
        model[0].bias.zero_()
        model[1].raw_slope.copy_(torch.arange(1.0, num_outputs + 1))
        expected = model(X[:, None]).numpy()
    torch.onnx.export(
        model, (X[:, None],), str(tmp_path / "model.onnx"), dynamo=True, verbose=False
    )
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    (got,) = session.run(None, {session.get_inputs()[0].name: X[:, None].numpy()})
    np.testing.assert_allclose(got, expected, rtol=2e-5)


@pytest.mark.parametrize("loss", [long(BCELoss), GMNLoss])
def test_onnx_of_a_model_with_its_loss(loss, tmp_path):
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.loss = ASTra(), loss()

        def forward(self, x, y):
            return self.loss(self.layer(x), y)

    whole, x, y = Whole().eval(), torch.linspace(-2, 2, 9), (torch.arange(9) % 3 == 0).float()
    torch.onnx.export(whole, (x, y), str(tmp_path / "model.onnx"), dynamo=True, verbose=False)
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    (got,) = session.run(
        None, dict(zip((i.name for i in session.get_inputs()), (x.numpy(), y.numpy()), strict=True))
    )
    np.testing.assert_allclose(got, whole(x, y).item(), rtol=2e-5)


@pytest.mark.parametrize("way", ["trace", "script-based ONNX exporter"])
def test_the_older_ways_out_need_no_no_grad(way, tmp_path):
    model = nn.Sequential(nn.Linear(1, 1), ASTra()).eval()
    x = torch.linspace(-3, 3, 13)[:, None]
    expected = model(x).detach().numpy()
    if way == "trace":
        got = torch.jit.trace(model, x)(x).detach().numpy()
    else:
        pytest.importorskip("onnx")
        runtime = pytest.importorskip("onnxruntime")
        torch.onnx.export(model, (x,), str(tmp_path / "model.onnx"), dynamo=False)
        session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
        (got,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    "loss", [each if each in (GMNLoss, BCELoss) else long(each) for each in LOSSES]
)
def test_a_compiled_backward_pass_after_an_eager_forward_pass(loss):
    layer, loss = ASTra(), loss()
    x, y = torch.linspace(-3, 3, 100, requires_grad=True), (torch.arange(100) % 7 == 0).float()
    expected = torch.autograd.grad(loss(layer(x), y), [x, layer.raw_slope])
    value = loss(layer(x), y)
    with torch._dynamo.config.patch(compiled_autograd=True):
        torch.compile(lambda t: t.backward(), backend="eager")(value)
    torch.testing.assert_close([x.grad, layer.raw_slope.grad], list(expected), rtol=1e-4, atol=1e-7)


# Labels and weights, each with something wrong.
WRONG = {
    "label": ([0.0, 2.0, 1.0], None),
    "integer label": ([0, -100, 1], None),
    "weight": ([0.0, 1.0, 1.0], [1.0, -1.0, 1.0]),
    "weight of a missing label": ([0.0, float("nan"), 1.0], [1.0, float("nan"), 1.0]),
}
INDUCTOR = pytest.param("weight", "inductor", marks=pytest.mark.slow)


@pytest.mark.parametrize(("what", "compiler"), [*((what, "aot_eager") for what in WRONG), INDUCTOR])
def test_compiled_losses_check_values_where_they_are_asked_to(what, compiler):
    target, weight = (None if part is None else torch.tensor(part) for part in WRONG[what])
    logits = torch.tensor([-1.0, 0.5, 2.0], requires_grad=True)
    said = "sample_weight must be finite" if weight is not None else "target must hold 0, 1 or NaN"
    checked, plain = (
        torch.compile(loss, fullgraph=True, backend=compiler)
        for loss in (GMNLoss(check_compiled=True), GMNLoss())
    )
    plain(logits, target, weight)
    with pytest.raises(RuntimeError, match=said):
        checked(logits, target, weight)
    with pytest.raises(ValueError, match=said):
        GMNLoss()(logits, target, weight)


@pytest.mark.parametrize("missing", [float("nan"), -100])
def test_a_compiled_loss_that_checks_is_the_same_loss(missing):
    loss = GMNLoss(ignore_index=-100, check_compiled=True)
    x, target = X[20:60], torch.tensor([0.0, 1.0, 0.0, missing] * 10)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    found = []
    for function in (loss, compiled):
        logits = x.clone().requires_grad_()
        value = function(logits, target, torch.ones(40))
        value.backward()
        found.append((value.detach(), logits.grad))
    torch.testing.assert_close(*found, rtol=2e-5, atol=1e-7)


def head_s_loss():
    return RareHead([0] * 9 + [1]).loss


@pytest.mark.parametrize(
    "loss", [head_s_loss, GMNLoss, *(long(each) for each in LOSSES if each != GMNLoss)]
)
@pytest.mark.parametrize("count", [10, FEWEST_IN_PLACE])
def test_make_fx_records_values_and_gradients(loss, count):
    layer, loss = ASTra(), loss()
    y = (torch.arange(count) % 7 == 0).float()

    def step(x, y):
        value = loss(layer(x), y)
        return value, *torch.autograd.grad(value, [x, layer.raw_slope])

    graph = make_fx(step)(torch.zeros(count, requires_grad=True), 1 - y)
    x = torch.linspace(-3, 3, count, requires_grad=True)
    torch.testing.assert_close(graph(x, y), step(x, y), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.vmap])
def test_torch_func_is_refused_in_a_sentence(transform):
    with pytest.raises(RuntimeError, match="with functorch transforms"):
        transform(ASTra())(torch.ones(1))
