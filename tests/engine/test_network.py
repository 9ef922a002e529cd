import numpy as np
import pytest
import torch

from astralearn.engine.network import (
    Architecture,
    backward,
    forward,
    initialise,
    penalised,
    unflatten,
)


@pytest.mark.parametrize("hidden", [(), (3,), (5, 4), (2, 3, 2)])
@pytest.mark.parametrize("shared", [True, False])
def test_forward_and_backward_against_autograd(hidden, shared):
    rng = np.random.default_rng(0)
    architecture = Architecture(4, hidden)
    parameters = rng.normal(size=(3, architecture.n_parameters))
    inputs = rng.normal(size=(5, 20) if shared else (3, 5, 20))
    inputs[..., -1, :] = 1
    pull = rng.normal(size=(3, 20))
    x, feeds, leaks = forward(unflatten(parameters, architecture), inputs, 0.3, np)
    gradient = backward(unflatten(parameters, architecture), feeds, leaks, pull, np)
    for k in range(3):
        theta = torch.tensor(parameters[k], requires_grad=True)
        h, start = torch.tensor((inputs if shared else inputs[k])[:-1]), 0
        for i, (units, n) in enumerate(architecture.shapes):
            w = theta[start : start + units * n].reshape(units, n)
            start += units * n
            h = w[:, :-1] @ h + w[:, -1:]
            h = h if i == len(hidden) else torch.nn.functional.leaky_relu(h, 0.3)
        (h[0] * torch.tensor(pull[k])).sum().backward()
        np.testing.assert_allclose(x[k], h[0].detach(), rtol=1e-12)
        np.testing.assert_allclose(gradient[k], theta.grad, rtol=1e-10, atol=1e-12)


def test_initial_weights_have_the_papers_spread():
    architecture = Architecture(200, (300,))
    hidden, out = unflatten(initialise(architecture, np.random.default_rng(0))[None], architecture)
    assert hidden[..., :-1].std() == pytest.approx(np.sqrt(2 / 200), rel=0.02)
    limit = np.sqrt(6 / 301)
    assert np.abs(out[..., :-1]).max() <= limit
    assert out[..., :-1].std() == pytest.approx(limit / np.sqrt(3), rel=0.1)
    assert (hidden[..., -1] == 0).all()
    assert (out[..., -1] == 0).all()


def test_biases_are_not_penalised():
    architecture = Architecture(2, (3,))
    assert penalised(architecture).tolist() == [True, True, False] * 3 + [True] * 3 + [False]
