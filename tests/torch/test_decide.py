import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from astralearn.classifier.model_cut import cut_scores
from astralearn.torch import decide


class Returning(nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.forward = forward


def rows():
    generator = torch.Generator().manual_seed(0)
    y = (torch.arange(900) < 12).float()
    return torch.randn(900, 3, generator=generator) + 2 * y[:, None], y


@pytest.mark.parametrize("decision", ["g_mean", {"recall": 0.8}])
def test_it_is_the_cut_of_the_logits_in_evaluation_mode(decision):
    x, y = rows()
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.9), nn.Linear(3, 1)).train()
    model[0].eval()
    with torch.no_grad():
        scores = nn.Sequential(*model).eval()(x)[:, 0].double().numpy()
    model.train()
    model[0].eval()
    loader = DataLoader(TensorDataset(x, y), batch_size=100)
    found = decide(model, loader, decision, seen=True, prior=0.01)
    expected = cut_scores(scores, y.numpy(), decision, seen=True, prior=0.01)
    assert found.score == pytest.approx(expected.score, rel=1e-6)
    assert [module.training for module in model] == [False, True, True]
    flagged = found.flags(torch.from_numpy(scores))
    assert isinstance(flagged, torch.Tensor)
    assert 0 < int(flagged.sum()) < 900


def test_modes_come_back_where_a_batch_fails():
    model = nn.Linear(3, 1).train()
    with pytest.raises(RuntimeError):
        decide(model, [(torch.zeros(2, 4), torch.zeros(2))])
    assert model.training


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"one logit and one label per row; found .*\(5, 2\)"):
        decide(nn.Linear(3, 2), [(torch.zeros(5, 3), torch.zeros(5))])
    with pytest.raises(ValueError, match="loader must give at least one batch"):
        decide(nn.Linear(3, 1), [])
    x, y = rows()
    for batch, found in (
        ((x, y, y), "Tensor, Tensor, Tensor"),
        ((x, y.numpy()), "Tensor, ndarray"),
        ({"x": x, "y": y}, "dict"),
        (x, "Tensor"),
    ):
        with pytest.raises(ValueError, match=rf"\(inputs, labels\) of tensors; found {found}$"):
            decide(nn.Linear(3, 1), [batch])


def test_a_squeezed_batch_of_one_row_counts():
    x, y = rows()
    model = nn.Linear(3, 1)
    squeezing = Returning(lambda x: model(x).squeeze())
    found = decide(squeezing, [(x[:899], y[:899]), (x[899:], y[899:])])
    assert found.score == decide(model, [(x, y)]).score


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda x: x[:, 0], "model must be a torch.nn.Module; found function"),
        (Returning(lambda x: (x[:, 0], x)), "its logits as one tensor; found a tuple: wrap it"),
    ],
)
def test_a_model_that_gives_no_logits_is_named(model, message):
    with pytest.raises(TypeError, match=message):
        decide(model, [rows()])


def test_half_precision_counts_in_full():
    x, y = rows()
    model = nn.Linear(3, 1).to(torch.bfloat16)
    found = decide(model, [(x.to(torch.bfloat16), y)])
    assert np.isfinite(found.score)
