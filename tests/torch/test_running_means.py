import pytest
import torch

from astralearn.core.class_means import Means
from astralearn.torch import GMNLoss
from torch_losses import MODULES, batch, every_loss, value_and_gradient


@every_loss
def test_running_means_of_one_batch_again_and_again_are_the_batch(name):
    g, y, _ = batch()
    expected = value_and_gradient(MODULES[name](), g, y)
    loss = MODULES[name](running=0.9)
    for _ in range(5):
        got = value_and_gradient(loss, g, y)
        torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-15)


def test_running_means_remember_the_class_that_a_batch_lacks():
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
def test_running_means_forget_a_batch_that_is_not_finite(name, bad_batch):
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


def test_running_means_follow_the_logits_to_their_device():
    loss = GMNLoss(running=0.9)
    loss(torch.zeros(2), torch.tensor([0, 1]))
    loss(torch.zeros(2, device="meta"), torch.zeros(2, device="meta"))
    assert loss.kept.device.type == "meta"


def rates(kept):
    """The means of the positives and of the negatives in what `kept` holds."""
    negatives, positives = Means.of_flat(kept[:6])
    return torch.stack(positives[1:]), torch.stack(negatives[1:])


@every_loss
@pytest.mark.slow
@pytest.mark.parametrize(
    ("decay", "batches"),
    [(0.1, 340), *(pytest.param(each, 3_000, marks=pytest.mark.long) for each in (0.5, 0.9, 0.99))],
)
def test_running_means_keep_the_rate_of_a_class_however_long_it_is_absent(name, decay, batches):
    """One output sees no positives, one no negatives, one no label.

    After 340 batches a weight that falls to a tenth with each is below every float.
    """
    g, y, _ = batch(16, seed=5, outputs=3)
    loss = MODULES[name](running=decay, per_output=True, reduction="none")
    loss(g.float(), y)
    of_1, of_0 = rates(loss.kept)
    g = g.float().requires_grad_()
    target = torch.tensor([0.0, 1.0, torch.nan]).expand(16, 3)
    for number in range(1, batches + 1):
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
def test_running_means_without_a_class_for_long_start_again_when_it_is_back(name):
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


@pytest.mark.parametrize("shape", [(-1, 1), (1, -1), (1, 1, -1)])
def test_running_means_take_one_output_in_any_shape(shape):
    g, y, _ = batch()
    first, second = GMNLoss(running=0.9), GMNLoss(running=0.9)
    for loss, of_last in ((first, (-1,)), (second, shape)):
        loss(g, y)
        loss(g[:5].reshape(of_last), y[:5].reshape(of_last))
    assert float(second(g, y)) == pytest.approx(float(first(g, y)), rel=1e-12)


def test_running_means_of_other_outputs_are_named():
    loss = GMNLoss(running=0.9, per_output=True)
    loss(torch.zeros(4, 2), torch.zeros(4, 2))
    with pytest.raises(ValueError, match=r"logits must have the 2 outputs .*; found 3"):
        loss(torch.zeros(4, 3), torch.zeros(4, 3))
