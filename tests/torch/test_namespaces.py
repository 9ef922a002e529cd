import pytest
import torch

from astralearn.torch.namespaces import current, eager, portable

expm1, log1p = portable.expm1, portable.log1p


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_elementary_functions_keep_relative_accuracy(dtype):
    v = torch.cat(
        [
            torch.logspace(-30, 1.5, 2000, dtype=torch.float64),
            torch.tensor([0.5, 0.49999, 0.50001], dtype=torch.float64),
        ]
    )
    v = v.to(dtype)
    tolerance = 8 * torch.finfo(dtype).eps
    wide = v.double()
    torch.testing.assert_close(log1p(v).double(), torch.log1p(wide), rtol=tolerance, atol=0)
    torch.testing.assert_close(expm1(v).double(), torch.expm1(wide), rtol=tolerance, atol=0)
    torch.testing.assert_close(expm1(-v).double(), torch.expm1(-wide), rtol=tolerance, atol=0)
    assert (
        float(expm1(torch.zeros((), dtype=dtype)))
        == float(log1p(torch.zeros((), dtype=dtype)))
        == 0
    )


def test_graphs_get_the_portable_functions():
    """torch.compile traces `current`, whatever is compiled."""

    def has_portable(x):
        return x + float(current() is portable)

    assert current() is eager
    assert torch.compile(has_portable, backend="eager")(torch.zeros(1)).item() == 1


def test_softplus_is_exact_in_both_tails():
    x = torch.tensor([-80.0, 25.0])
    expected = torch.tensor([torch.exp(torch.tensor(-80.0)), 25.0 + torch.exp(torch.tensor(-25.0))])
    torch.testing.assert_close(eager.softplus(x), expected, rtol=1e-6, atol=0)
