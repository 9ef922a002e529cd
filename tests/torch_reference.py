"""The paper's training loop in plain PyTorch, from the paper's formulas and autograd: what the
engine is judged against.
"""

from __future__ import annotations

import numpy as np
import torch

from astralearn.engine.network import Architecture


def train(
    architecture: Architecture,
    X,
    y,
    weight,
    parameters,
    slope,
    *,
    loss,
    astra,
    epochs,
    learning_rate=0.001,
    alpha=0.0,
) -> tuple[np.ndarray, float]:
    """One network's parameters (P,) and slope after `epochs` steps of Adam (ε = 1e-7)."""
    dtype = torch.float64 if parameters.dtype == np.float64 else torch.float32
    X, y, weight = (torch.tensor(np.asarray(a), dtype=dtype) for a in (X, y, weight))
    layers, start = [], 0
    for units, inputs in architecture.shapes:
        block = parameters[start : start + units * inputs].reshape(units, inputs)
        layers.append(torch.tensor(block, dtype=dtype, requires_grad=True))
        start += units * inputs
    beta = torch.tensor(
        slope - 2 if slope > 2 else np.log(slope - 1), dtype=dtype, requires_grad=True
    )
    optimizer = torch.optim.Adam(
        [{"params": layers, "lr": learning_rate}, {"params": [beta], "lr": 0.01}], eps=1e-7
    )
    rate = 0.01
    for _ in range(epochs):
        optimizer.zero_grad()
        g = _logits(X, layers, beta, architecture.leak, astra)
        objective = _loss(g, y, weight, loss) + 0.5 * alpha / weight.sum() * sum(
            (w[:, :-1] ** 2).sum() for w in layers
        )
        objective.backward()
        z = torch.sigmoid(g.detach())
        fnr = float((weight * y * (1 - z)).sum() / (weight * y).sum())
        fpr = float((weight * (1 - y) * z).sum() / (weight * (1 - y)).sum())
        rate = min(1.1 * rate, 0.5) if fnr > fpr else max(0.99 * rate, 0.01) if fnr < fpr else rate
        optimizer.param_groups[1]["lr"] = rate if astra else 0.0
        optimizer.step()
    beta = float(beta.detach())
    return np.concatenate(
        [w.detach().numpy().ravel() for w in layers]
    ), 2 + beta if beta > 0 else 1 + np.exp(beta)


def _logits(X, layers, beta, leak, astra):
    h = X
    for weights in layers[:-1]:
        h = torch.nn.functional.leaky_relu(h @ weights[:, :-1].T + weights[:, -1], leak)
    x = (h @ layers[-1][:, :-1].T + layers[-1][:, -1]).squeeze(1)
    if not astra:
        return x
    b = torch.where(beta > 0, 2 + beta, 1 + torch.exp(beta))
    s, s0 = (
        torch.nn.functional.softplus(b * x + torch.log(b), threshold=1e9) / b,
        torch.log1p(b) / b,
    )
    return torch.log(torch.expm1(s) / torch.expm1(s0))


def _loss(g, y, weight, name):
    if name == "bce":
        return (
            weight * torch.nn.functional.binary_cross_entropy_with_logits(g, y, reduction="none")
        ).sum() / weight.sum()
    z = torch.sigmoid(g)
    if name == "root_gmn":
        found, rejected = (
            (of * p**0.25).sum() / of.sum()
            for of, p in ((weight * y, z), (weight * (1 - y), 1 - z))
        )
        return 4 * (1 - torch.sqrt(found * rejected))
    tp, fn = (weight * y * z).sum(), (weight * y * (1 - z)).sum()
    fp, tn = (weight * (1 - y) * z).sum(), (weight * (1 - y) * (1 - z)).sum()
    return {
        "gmn": lambda: 1 - torch.sqrt(tp / (tp + fn) * tn / (tn + fp)),
        "f1": lambda: 1 - 2 * tp / (2 * tp + fp + fn),
        "mcc": lambda: (
            1 - (tp * tn - fp * fn) / torch.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        ),
        "balanced_accuracy": lambda: 1 - (tp / (tp + fn) + tn / (tn + fp)) / 2,
    }[name]()
