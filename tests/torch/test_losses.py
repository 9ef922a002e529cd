import math

import numpy as np
import pytest
import torch
from torch import nn

from astralearn.core import LOSSES
from astralearn.core.class_means import Means
from astralearn.core.losses import Loss
from astralearn.torch import (
    ASTra,
    BalancedAccuracyLoss,
    BCELoss,
    F1Loss,
    GMNLoss,
    MCCLoss,
    RootGMNLoss,
    SummedLossModule,
)
from oracles import brute_loss

MODULES = {
    "bce": BCELoss,
    "gmn": GMNLoss,
    "f1": F1Loss,
    "mcc": MCCLoss,
    "balanced_accuracy": BalancedAccuracyLoss,
    "root_gmn": RootGMNLoss,
}
every_loss = pytest.mark.parametrize("name", list(MODULES))


def batch(n=60, seed=0, scale=3.0, outputs=None):
    rng = np.random.default_rng(seed)
    shape = (n,) if outputs is None else (n, outputs)
    y = rng.random(shape) < 0.2
    y[:2], y[2] = True, False
    return [
        torch.tensor(a)
        for a in (rng.normal(0, scale, shape), y.astype(int), rng.uniform(0.1, 3, shape))
    ]


def value_and_gradient(loss, g, *rest):
    g = g.detach().clone().requires_grad_()
    value = loss(g, *rest)
    value.sum().backward()
    return value.detach(), g.grad


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
    """As if one example of the other class were there, classified right: 40 in the logit is right to rounding."""
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
@pytest.mark.parametrize("how", ["nan", "ignore_index", "weight"])
def test_missing_labels_do_not_exist(name, how):
    g, y, w = batch(seed=2)
    keep = torch.arange(60) % 3 != 0
    expected, expected_gradient = value_and_gradient(MODULES[name](), g[keep], y[keep], w[keep])
    options, target, weight = {}, y, w
    if how == "nan":
        target = torch.where(keep, y.double(), torch.nan)
        g = torch.where(keep, g, torch.nan)
    elif how == "ignore_index":
        options, target = {"ignore_index": -100}, torch.where(keep, y, -100)
    else:
        weight = torch.where(keep, w, 0.0)
    value, gradient = value_and_gradient(MODULES[name](**options), g, target, weight)
    assert float(value) == pytest.approx(float(expected), rel=1e-12)
    torch.testing.assert_close(gradient[keep], expected_gradient, rtol=1e-10, atol=1e-18)
    assert (gradient[~keep] == 0).all()


@every_loss
def test_a_batch_without_any_label_is_zero(name):
    value, gradient = value_and_gradient(
        MODULES[name](), torch.randn(4), torch.full((4,), torch.nan)
    )
    assert float(value) == 0
    assert (gradient == 0).all()


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


@every_loss
@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int64, torch.float32, torch.float64]
)
def test_labels_of_any_dtype(name, dtype):
    g, y, _ = batch()
    assert MODULES[name]()(g.float(), y.to(dtype)).dtype == torch.float32
    torch.testing.assert_close(MODULES[name]()(g, y.to(dtype)), MODULES[name]()(g, y))


@every_loss
def test_blocks_change_nothing(name, monkeypatch):
    g, y, w = batch(10_005)
    expected = value_and_gradient(MODULES[name](), g, y, w)
    monkeypatch.setattr("astralearn.torch.cpu.BLOCK", 1_000)
    torch.testing.assert_close(
        value_and_gradient(MODULES[name](), g, y, w), expected, rtol=1e-10, atol=1e-18
    )


@every_loss
def test_blocks_where_positives_are_many(name, monkeypatch):
    g, y, w = batch(2_005)
    y = 1 - y
    g[y == 0] = 8.0  # lost, so that each negative weighs far more than a positive
    expected = value_and_gradient(MODULES[name](), g, y, w)
    monkeypatch.setattr("astralearn.torch.cpu.BLOCK", 500)
    torch.testing.assert_close(
        value_and_gradient(MODULES[name](), g, y, w), expected, rtol=1e-10, atol=1e-18
    )


def test_bce_of_the_largest_logits_is_their_mean():
    """Their sum is beyond float32."""
    value, gradient = value_and_gradient(
        BCELoss(), torch.tensor([3e38, 3e38]), torch.tensor([0.0, 0.0])
    )
    assert float(value) == pytest.approx(3e38, rel=1e-6)
    assert gradient.tolist() == [0.5, 0.5]


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


def test_bce_takes_infinite_logits_on_the_right_side():
    g = torch.tensor([-torch.inf, torch.inf, 0.0], requires_grad=True)
    loss = BCELoss()(g, torch.tensor([0.0, 1.0, 0.0]))
    loss.backward()
    assert loss.item() == pytest.approx(math.log(2) / 3)
    assert g.grad.tolist() == pytest.approx([0.0, 0.0, 1 / 6])


@every_loss
def test_running_sums_of_one_batch_again_and_again_are_the_batch(name):
    g, y, _ = batch()
    expected = value_and_gradient(MODULES[name](), g, y)
    loss = MODULES[name](running=0.9)
    for _ in range(5):
        got = value_and_gradient(loss, g, y)
        torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-15)


def test_running_sums_remember_the_class_that_a_batch_lacks():
    g, y, _ = batch(seed=5)
    loss = GMNLoss(running=0.9)
    loss(g, y)
    negatives = g[y == 0]
    value, gradient = value_and_gradient(loss, negatives, torch.zeros(len(negatives)))
    alone, _ = value_and_gradient(GMNLoss(), negatives, torch.zeros(len(negatives)))
    assert float(value) > float(alone)
    assert (gradient > 0).all()
    # state: saved, restored, untouched in evaluation
    other = GMNLoss(running=0.9)
    other.load_state_dict(loss.state_dict())
    assert torch.equal(other.kept, loss.kept)
    loss.eval()
    assert float(loss(g, y)) == pytest.approx(float(GMNLoss()(g, y)))
    assert torch.equal(other.kept, loss.kept)


@every_loss
@pytest.mark.parametrize("bad_batch", [0, 1])
def test_running_sums_forget_a_batch_that_is_not_finite(name, bad_batch):
    """In one of two outputs: the other one keeps its sums of the same batch."""
    batches = [batch(seed=seed, outputs=2)[:2] for seed in range(4)]
    loss, first, second = (
        MODULES[name](per_output=True, reduction="none", running=0.9) for _ in range(3)
    )
    for number, (logits, target) in enumerate(batches):
        is_bad = number == bad_batch
        spoilt = logits * torch.tensor([torch.nan, 1.0]) if is_bad else logits
        value, gradient = value_and_gradient(loss, spoilt, target)
        of_second, gradient_of_second = value_and_gradient(second, logits[:, 1:], target[:, 1:])
        torch.testing.assert_close((value[1:], gradient[:, 1:]), (of_second, gradient_of_second))
        if is_bad:
            assert torch.isnan(value[0])
        else:
            torch.testing.assert_close(
                (value[:1], gradient[:, :1]),
                value_and_gradient(first, logits[:, :1], target[:, :1]),
            )


def test_running_sums_follow_the_logits_to_their_device():
    loss = GMNLoss(running=0.9)
    loss(torch.zeros(2), torch.tensor([0, 1]))
    loss(torch.zeros(2, device="meta"), torch.zeros(2, device="meta"))
    assert loss.kept.device.type == "meta"


def rates(kept):
    """The means of the positives and of the negatives in what `kept` holds."""
    negatives, positives = Means.of_flat(kept[:6])
    return torch.stack(positives[1:]), torch.stack(negatives[1:])


@every_loss
@pytest.mark.parametrize("decay", [0.5, 0.9, 0.99])
def test_running_sums_keep_the_rate_of_a_class_however_long_it_is_absent(name, decay):
    """The first output sees no positives for 3,000 batches, the second no negatives, the third no label at all."""
    g, y, _ = batch(16, seed=5, outputs=3)
    loss = MODULES[name](running=decay, per_output=True, reduction="none")
    loss(g.float(), y)
    of_1, of_0 = rates(loss.kept)
    g = g.float().requires_grad_()
    target = torch.tensor([0.0, 1.0, torch.nan]).expand(16, 3)
    for number in range(1, 3_001):
        with torch.set_grad_enabled(number % 20 == 0):
            losses = loss(g, target)
        assert torch.isfinite(losses).all()
        if losses.requires_grad:
            losses.sum().backward()  # added up, a gradient that is not finite stays so
    assert torch.isfinite(g.grad).all()
    still_of_1, still_of_0 = rates(loss.kept)
    torch.testing.assert_close(still_of_1[..., [0, 2]], of_1[..., [0, 2]], rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(still_of_0[..., [1, 2]], of_0[..., [1, 2]], rtol=1e-3, atol=1e-3)


@every_loss
def test_running_sums_without_a_class_for_long_start_again_when_it_is_back(name):
    """Exactly: what is left of the old ones is below rounding."""
    g, y, _ = batch(seed=5)
    loss, fresh = MODULES[name](running=0.5), MODULES[name](running=0.5)
    loss(-g, y)
    negatives = g[y == 0]
    for _ in range(100):
        loss(negatives, torch.zeros(len(negatives)))
        fresh(negatives, torch.zeros(len(negatives)))
    torch.testing.assert_close(
        value_and_gradient(loss, g, y), value_and_gradient(fresh, g, y), rtol=1e-12, atol=1e-15
    )


@every_loss
def test_running_of_zero_is_the_batch_alone(name):
    g, y, _ = batch()
    loss = MODULES[name](running=0.0)
    loss(g, y)
    negatives = g[y == 0]
    labels = torch.zeros(len(negatives))
    assert torch.equal(loss(negatives, labels), MODULES[name]()(negatives, labels))


@every_loss
@pytest.mark.parametrize("scale", [1e-25, 1e35])
def test_the_scale_of_weights_does_not_matter(name, scale):
    g, y, w = (part.float() for part in batch())
    expected = value_and_gradient(MODULES[name](), g, y, w)
    torch.testing.assert_close(
        value_and_gradient(MODULES[name](), g, y, scale * w), expected, rtol=1e-4, atol=1e-6
    )


def test_weights_with_a_gradient_are_fine_where_none_is_taken():
    g, y, w = batch()
    with torch.no_grad():
        assert float(GMNLoss()(g, y, w.clone().requires_grad_())) == float(GMNLoss()(g, y, w))


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
            "sample_weight must be finite and at least 0",
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


@every_loss
@pytest.mark.parametrize("label", [0.0, 1.0])
@pytest.mark.parametrize("block", [10, 10**9])
def test_one_class_alone_survives_mixed_precisions_scale(name, label, block, monkeypatch):
    monkeypatch.setattr("astralearn.torch.cpu.BLOCK", block)
    g = torch.linspace(-3, 3, 64, requires_grad=True)
    (MODULES[name]()(g, torch.full((64,), label)) * 2.0**24).backward()
    assert torch.isfinite(g.grad).all()
    assert (g.grad != 0).any()
