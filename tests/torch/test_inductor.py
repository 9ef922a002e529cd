"""Arithmetic on bits, function by function; compiled as a whole it is tested in test_graphs."""

import numpy as np
import pytest
import torch

from astralearn.core.class_means import gradient
from astralearn.core.elementary import sigmoid, softplus
from astralearn.core.warp import LOWEST
from astralearn.torch.inductor import (
    bits_to_keep,
    gradient_of_signed,
    signed_pulls,
    swift,
    swift_losses,
)


def test_swift_functions_keep_relative_accuracy():
    """Against float64, where compiled training calls them: s ≥ 0, u normal, t within bounds."""
    eps = torch.finfo(torch.float32).eps
    s = torch.logspace(-30, 4, 4000)
    torch.testing.assert_close(
        swift.one_minus_exp_minus(s).double(), -torch.expm1(-s.double()), rtol=4 * eps, atol=0
    )
    u = torch.logspace(-37, 37, 4000)
    torch.testing.assert_close(swift.log(u).double(), torch.log(u.double()), rtol=4 * eps, atol=eps)
    t = torch.linspace(-36, 36, 4001)
    softplus_t, sigmoid_t = swift.softplus_and_sigmoid(t)
    # e^t carries the rounding of t.
    torch.testing.assert_close(
        softplus_t.double(),
        torch.nn.functional.softplus(t.double(), threshold=100),
        rtol=40 * eps,
        atol=0,
    )
    torch.testing.assert_close(sigmoid_t.double(), torch.sigmoid(t.double()), rtol=40 * eps, atol=0)


def test_swift_functions_of_the_losses_keep_relative_accuracy():
    eps = torch.finfo(torch.float32).eps
    v = -torch.logspace(-30, 1.9, 4000)
    torch.testing.assert_close(
        swift_losses.exp(v).double(), torch.exp(v.double()), rtol=40 * eps, atol=0
    )
    near = -torch.linspace(0, 1, 4001)
    torch.testing.assert_close(
        swift_losses.exp(near).double(), torch.exp(near.double()), rtol=4 * eps, atol=0
    )
    x = torch.cat([v, -v])
    # e^x carries the rounding of x.
    torch.testing.assert_close(
        sigmoid(x, swift_losses).double(), torch.sigmoid(x.double()), rtol=40 * eps, atol=0
    )
    torch.testing.assert_close(
        softplus(x, swift_losses).double(),
        -torch.nn.functional.logsigmoid(-x.double()),
        rtol=40 * eps,
        atol=0,
    )
    far = torch.tensor([-1e30, -1e6, -200.0])
    assert (swift_losses.exp(far) == 0).all()
    assert (sigmoid(far, swift_losses) == 0).all()
    torch.testing.assert_close(softplus(-far, swift_losses), -far, rtol=0, atol=0)


@pytest.mark.parametrize(
    "function",
    [
        swift.one_minus_exp_minus,
        lambda t: torch.stack(swift.softplus_and_sigmoid(t)),
        swift_losses.exp,
        lambda x: sigmoid(x, swift_losses),
        lambda x: softplus(x, swift_losses),
    ],
)
def test_swift_functions_hide_no_nan(function):
    assert function(torch.tensor([torch.nan, -torch.nan])).isnan().all()


def test_the_bound_of_the_warp_is_that_of_the_core():
    _, sigmoid_t = swift.softplus_and_sigmoid(torch.tensor([-1e4]))
    np.testing.assert_allclose(sigmoid_t.item(), np.exp(LOWEST), rtol=1e-6)


def test_bits_are_kept_but_where_a_label_is_nan():
    y = torch.tensor([0.0, 1.0, torch.nan, -torch.nan, torch.inf, -1.0])
    assert bits_to_keep(y).tolist() == [-1, -1, 0, 0, -1, -1]


def test_signed_pulls_have_the_gradient_of_pulls_and_labels():
    pulls, y = torch.rand(20), (torch.arange(20) % 3 == 0).float()
    factors = torch.tensor(0.3), torch.tensor(2.0)
    found = gradient_of_signed(signed_pulls(pulls, y), *factors)
    torch.testing.assert_close(found, gradient(pulls, y, factors))
