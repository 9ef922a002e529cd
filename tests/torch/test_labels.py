import pytest
import torch

from astralearn.torch import GMNLoss
from torch_losses import MODULES, batch, every_loss, value_and_gradient


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
@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int64, torch.float32, torch.float64]
)
def test_labels_of_any_dtype(name, dtype):
    g, y, _ = batch()
    assert MODULES[name]()(g.float(), y.to(dtype)).dtype == torch.float32
    torch.testing.assert_close(MODULES[name]()(g, y.to(dtype)), MODULES[name]()(g, y))


def test_weights_with_a_gradient_are_fine_where_none_is_taken():
    g, y, w = batch()
    with torch.no_grad():
        assert float(GMNLoss()(g, y, w.clone().requires_grad_())) == float(GMNLoss()(g, y, w))


def test_a_column_of_labels_gets_a_hint():
    with pytest.raises(ValueError, match=r"found \(4,\) \(use logits.squeeze"):
        GMNLoss()(torch.zeros(4, 1), torch.zeros(4))
