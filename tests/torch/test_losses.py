import math

import numpy as np
import pytest
import torch
from torch import nn

from astralearn.core import LOSSES
from astralearn.core.losses import Loss
from astralearn.torch import (
    ASTra,
    BalancedAccuracyLoss,
    BCELoss,
    GMNLoss,
    SummedLossModule,
)
from oracles import brute_loss
from torch_losses import MODULES, batch, every_loss, value_and_gradient


def test_every_loss_of_the_core_has_a_module():
    assert {name: MODULES[name].name for name in LOSSES} == {name: name for name in LOSSES}


@every_loss
@pytest.mark.parametrize("weighted", [False, True])
def test_value_against_the_textbook(name, weighted):
    g, y, w = batch()
    weight = w if weighted else torch.ones_like(w)
    got = float(MODULES[name]()(g, y, *([w] if weighted else [])))
    assert got == pytest.approx(
        float(brute_loss(name, g.tolist(), y.tolist(), weight.tolist())), rel=1e-12
    )


@every_loss
@pytest.mark.parametrize(
    "options", [{}, {"per_output": True, "reduction": "none"}, {"per_output": True}], ids=str
)
@pytest.mark.slow
def test_gradcheck_and_gradgradcheck(name, options):
    g, y, w = batch(12, outputs=2)
    g.requires_grad_()
    assert torch.autograd.gradcheck(lambda a: MODULES[name](**options)(a, y, w[:, :1]), (g,))
    assert torch.autograd.gradgradcheck(lambda a: MODULES[name](**options)(a, y, w[:, :1]), (g,))


@every_loss
@pytest.mark.parametrize("scale", [200.0, 1e4])
@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 0], [1, 1, 0, 0, 0], [0] * 5, [1] * 5], ids=str)
def test_extreme_logits_are_finite(name, scale, labels):
    g = torch.tensor([-scale, scale, -scale, scale, -scale])
    value, gradient = value_and_gradient(MODULES[name](), g, torch.tensor(labels))
    assert torch.isfinite(value)
    assert torch.isfinite(gradient).all()


def test_gmn_still_teaches_where_every_positive_is_lost():
    value, gradient = value_and_gradient(
        GMNLoss(), torch.tensor([-200.0, -201.0, 1.0]), torch.tensor([1, 1, 0])
    )
    expected = LOSSES["gmn"].gradient(
        np.asarray([-200.0, -201.0, 1.0]), np.asarray([1.0, 1.0, 0.0])
    )
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-44)
    assert float(value) == 1


@every_loss
@pytest.mark.parametrize("label", [0, 1])
def test_a_batch_of_one_class_still_teaches_that_class(name, label):
    """As if one example of the other class were there, classified right."""
    g = torch.tensor([-1.0, 0.5, 2.0], dtype=torch.float64)
    value, gradient = value_and_gradient(MODULES[name](), g, torch.full((3,), label))
    assert float(value) > 0
    assert (gradient * (1 - 2 * label) > 0).all()
    if name != "bce":
        joined = torch.cat([g, torch.tensor([-80.0 if label else 80.0], dtype=torch.float64)])
        y = torch.tensor([label] * 3 + [1 - label])
        with_other, with_gradient = value_and_gradient(MODULES[name](), joined, y)
        assert float(value) == pytest.approx(float(with_other), rel=1e-12)
        torch.testing.assert_close(gradient, with_gradient[:3], rtol=1e-10, atol=0)


@every_loss
@pytest.mark.parametrize("shape", [(20, 3), (5, 3, 2, 2)])
def test_per_output_is_one_loss_for_each(name, shape):
    rng = np.random.default_rng(3)
    g, y = (
        torch.tensor(rng.normal(0, 2, shape)),
        torch.tensor((rng.random(shape) < 0.3).astype(int)),
    )
    each = [MODULES[name]()(g[:, c], y[:, c]) for c in range(3)]
    torch.testing.assert_close(
        MODULES[name](per_output=True, reduction="none")(g, y), torch.stack(each)
    )
    torch.testing.assert_close(MODULES[name](per_output=True)(g, y), torch.stack(each).mean())


def _fall_of_rates(means, *, xp):
    return xp.exp(means.negatives.log_right), xp.exp(means.positives.log_right)


# The sum of both classes' error rates: 2 − TPR − TNR.
SEVENTH = Loss(
    1.0,
    lambda means, *, xp: means.negatives.wrong + means.positives.wrong,
    _fall_of_rates,
    reads_wrong=True,
)


@pytest.mark.parametrize("options", [{}, {"per_output": True}, {"running": 0.5}], ids=str)
def test_a_seventh_loss_of_the_table_trains_as_a_module(options, monkeypatch):
    monkeypatch.setitem(LOSSES, "sum_of_rates", SEVENTH)
    g, y, w = batch(40, outputs=2)
    value, gradient = value_and_gradient(SummedLossModule("sum_of_rates", **options), g, y, w)
    double, half = value_and_gradient(BalancedAccuracyLoss(**options), g, y, w)
    torch.testing.assert_close((value, gradient), (2 * double, 2 * half), rtol=1e-12, atol=1e-15)
    if not options:
        assert torch.autograd.gradgradcheck(
            lambda a: SummedLossModule("sum_of_rates")(a, y, w), (g.requires_grad_(),)
        )
    model = nn.Sequential(nn.Linear(2, 2), ASTra(2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    loss, x = SummedLossModule("sum_of_rates", **options), g.detach().float()
    history = []
    for _ in range(20):
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        optimizer.step()
        history.append(value.item())
    assert history[-1] < history[0]


def test_bce_is_torchs():
    g, y, _ = batch()
    torch.testing.assert_close(BCELoss()(g, y), nn.BCEWithLogitsLoss()(g, y.double()))


def test_bce_takes_infinite_logits_on_the_right_side():
    g = torch.tensor([-torch.inf, torch.inf, 0.0], requires_grad=True)
    loss = BCELoss()(g, torch.tensor([0.0, 1.0, 0.0]))
    loss.backward()
    assert loss.item() == pytest.approx(math.log(2) / 3)
    assert g.grad.tolist() == pytest.approx([0.0, 0.0, 1 / 6])


@every_loss
@pytest.mark.parametrize("scale", [1e-25, 1e35])
def test_the_scale_of_weights_does_not_matter(name, scale):
    g, y, w = (part.float() for part in batch())
    expected = value_and_gradient(MODULES[name](), g, y, w)
    torch.testing.assert_close(
        value_and_gradient(MODULES[name](), g, y, scale * w), expected, rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: GMNLoss()(torch.zeros(4, 1), torch.zeros(4)),
            ValueError,
            r"shape of logits, \(4, 1\); found \(4,\) \(use logits.squeeze",
        ),
        (
            lambda: GMNLoss()(torch.zeros(4), torch.zeros(3)),
            ValueError,
            r"target must have the shape of logits, \(4,\); found \(3,\)$",
        ),
        (
            lambda: GMNLoss()(torch.zeros(2), torch.tensor([0, 3])),
            ValueError,
            r"target must hold 0, 1 or NaN \(missing\); found 3",
        ),
        (lambda: GMNLoss()(torch.zeros(2), torch.tensor([0.5, 1.0])), ValueError, r"found 0\.5"),
        (
            lambda: GMNLoss(ignore_index=9)(torch.zeros(2), torch.tensor([9, -1])),
            ValueError,
            "or ignore_index=9; found -1",
        ),
        (
            lambda: GMNLoss()(torch.zeros(2, dtype=torch.long), torch.tensor([0, 1])),
            TypeError,
            "logits must be floating point",
        ),
        (
            lambda: GMNLoss()(torch.zeros(2), torch.zeros(2, dtype=torch.complex64)),
            TypeError,
            "target must be a real tensor",
        ),
        (
            lambda: GMNLoss()(torch.zeros(2), [0, 1]),
            TypeError,
            "target must be a real tensor; found list",
        ),
        (
            lambda: GMNLoss()(torch.zeros(2), torch.zeros(2), torch.ones(3)),
            ValueError,
            "sample_weight must broadcast",
        ),
        (
            lambda: GMNLoss()(torch.zeros(2), torch.zeros(2), [1.0, 1.0]),
            TypeError,
            "sample_weight must be a tensor; found list",
        ),
        (
            lambda: GMNLoss()(torch.zeros(2), torch.zeros(2), torch.tensor([1.0, -1.0])),
            ValueError,
            "sample_weight must be finite and at least 0; found -1$",
        ),
        (
            lambda: GMNLoss()(torch.zeros(2), torch.zeros(2), torch.ones(2, requires_grad=True)),
            ValueError,
            r"sample_weight gets no gradient.*pass sample_weight\.detach\(\)",
        ),
        (
            lambda: GMNLoss()(torch.zeros(0), torch.zeros(0)),
            ValueError,
            "at least one value, unless process_group is given",
        ),
        (
            lambda: GMNLoss(per_output=True)(torch.zeros(3), torch.zeros(3)),
            ValueError,
            r"per_output wants logits of shape \(N, C\)",
        ),
        (
            lambda: SummedLossModule("gmm"),
            ValueError,
            "name must be one of bce, gmn, f1, mcc, balanced_accuracy, root_gmn; found 'gmm'",
        ),
        (SummedLossModule, ValueError, "name must be one of bce.*; found ''"),
        (
            lambda: GMNLoss(reduction="sum"),
            ValueError,
            "reduction must be 'mean' or 'none'; found 'sum'",
        ),
        (
            lambda: GMNLoss(running=1.0),
            ValueError,
            r"running must be None or a decay in \[0, 1\); found 1.0",
        ),
        (
            lambda: GMNLoss(process_group=True)(torch.zeros(2), torch.tensor([0, 1])),
            RuntimeError,
            "init_process_group first",
        ),
    ],
)
def test_mistakes_get_a_clear_error(call, error, message):
    with pytest.raises(error, match=message):
        call()


@every_loss
def test_a_single_logit_without_dimensions(name):
    loss = MODULES[name]
    g = torch.tensor(0.3, requires_grad=True)
    value = loss()(g, torch.tensor(1.0))
    value.backward()
    flat = torch.tensor([0.3], requires_grad=True)
    expected = loss()(flat, torch.tensor([1.0]))
    expected.backward()
    assert value.item() == expected.item()
    assert g.grad.item() == flat.grad.item()


@every_loss
def test_the_meta_device_has_shapes(name):
    g, y = torch.empty(6, 3, device="meta"), torch.empty(6, 3, device="meta")
    assert MODULES[name](per_output=True, reduction="none")(
        g, y, torch.empty(6, 1, device="meta")
    ).shape == (3,)


def test_arrays_are_no_tensors():
    with pytest.raises(TypeError, match="logits must be a tensor; found ndarray"):
        GMNLoss()(np.zeros(3), np.zeros(3))
