"""PyTorch's losses by name, and batches for them: what the tests in tests/torch share."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from astralearn.torch import BalancedAccuracyLoss, BCELoss, F1Loss, GMNLoss, MCCLoss, RootGMNLoss

MODULES = {
    "bce": BCELoss,
    "gmn": GMNLoss,
    "f1": F1Loss,
    "mcc": MCCLoss,
    "balanced_accuracy": BalancedAccuracyLoss,
    "root_gmn": RootGMNLoss,
}
# Of torch.compile: both make the same graph, and one runs it without a C++ compiler.
BACKENDS = ["aot_eager", pytest.param("inductor", marks=pytest.mark.long)]
every_loss = pytest.mark.parametrize("name", list(MODULES))


def batch(n=60, seed=0, scale=3.0, outputs=None):
    """Logits, labels and weights, of shape (n,) or (n, outputs)."""
    rng = np.random.default_rng(seed)
    shape = (n,) if outputs is None else (n, outputs)
    y = rng.random(shape) < 0.2
    y[:2], y[2] = True, False
    return [
        torch.tensor(a)
        for a in (rng.normal(0, scale, shape), y.astype(int), rng.uniform(0.1, 3, shape))
    ]


def value_and_gradient(loss, g, *rest):
    """The loss, and its gradient at the logits g."""
    g = g.detach().clone().requires_grad_()
    value = loss(g, *rest)
    value.sum().backward()
    return value.detach(), g.grad
