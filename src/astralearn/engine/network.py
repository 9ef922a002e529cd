"""A stack of multilayer perceptrons: each network is a row of a (K, P) matrix.

A layer's weights are (units, inputs + 1), the last column its bias, so that every layer is one
product with inputs that carry a row of ones. Rows of data run along the last axis, which the
processor reads in order: inputs are (features + 1, rows), shared by the networks, or
(K, features + 1, rows), one matrix for each. Written for NumPy and `jax.numpy` alike; JAX is not
imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from astralearn.core.inputs import Array
from astralearn.engine import reproducible
from astralearn.engine.packing import Rescaling
from astralearn.engine.view import View

BLOCK = 16_384  # rows predicted at once
HIDDEN_IN_CACHE = 512  # rows whose hidden units stay in the processor's cache


@dataclass(frozen=True)
class Architecture:
    """Layer sizes of a network with one output.

    leak: slope of the Leaky ReLU below 0 (the paper's 0.3).
    """

    n_features: int
    hidden: tuple[int, ...]
    leak: float = 0.3

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """(units, inputs + 1) of each layer, the output layer last."""
        sizes = (self.n_features, *self.hidden, 1)
        return tuple((units, inputs + 1) for inputs, units in pairwise(sizes))

    @property
    def n_parameters(self) -> int:
        return sum(units * inputs for units, inputs in self.shapes)


def initialise(
    architecture: Architecture, rng: np.random.Generator, dtype: Any = np.float32
) -> np.ndarray:
    """One network's parameters, (P,).

    He-normal hidden layers, Glorot-uniform output layer, biases 0.
    """
    layers: list[np.ndarray] = []
    for units, inputs in architecture.shapes:
        fan_in = inputs - 1
        if len(layers) < len(architecture.hidden):
            weights = rng.normal(0.0, np.sqrt(2.0 / fan_in), (units, fan_in))
        else:
            limit = np.sqrt(6.0 / (fan_in + units))
            weights = rng.uniform(-limit, limit, (units, fan_in))
        layers.append(np.concatenate([weights, np.zeros((units, 1))], axis=1).ravel())
    return np.concatenate(layers).astype(dtype)


def unflatten(parameters: Array, architecture: Architecture) -> list[Array]:
    """(K, P) as one (K, units, inputs + 1) array per layer."""
    layers, start = [], 0
    for units, inputs in architecture.shapes:
        flat = parameters[..., start : start + units * inputs]
        layers.append(flat.reshape(*parameters.shape[:-1], units, inputs))
        start += units * inputs
    return layers


def for_shared_inputs(
    parameters: Array, rescaling: Rescaling, architecture: Architecture, xp: Any
) -> Array:
    """(K, P) that give the same logits at shared inputs.

    In the first layer W(r∘u + t) + c = (W∘r)u + (c + Wt).
    """
    first, rest = _first_layer(parameters, architecture)
    weights, bias = first[..., :-1], first[..., -1:]
    bias = bias + xp.sum(weights * rescaling.shift[:, None], axis=2, keepdims=True)
    return _joined(weights * rescaling.ratio[:, None], bias, rest, xp)


def for_own_inputs(
    gradient: Array, rescaling: Rescaling, architecture: Architecture, xp: Any
) -> Array:
    """(K, P): the gradient in the parameters, from that in `for_shared_inputs`'s."""
    first, rest = _first_layer(gradient, architecture)
    weights, bias = first[..., :-1], first[..., -1:]
    return _joined(
        weights * rescaling.ratio[:, None] + bias * rescaling.shift[:, None], bias, rest, xp
    )


def _first_layer(parameters: Array, architecture: Architecture) -> tuple[Array, Array]:
    units, inputs = architecture.shapes[0]
    first, rest = parameters[:, : units * inputs], parameters[:, units * inputs :]
    return first.reshape(-1, units, inputs), rest


def _joined(weights: Array, bias: Array, rest: Array, xp: Any) -> Array:
    return xp.concatenate(
        [xp.concatenate([weights, bias], axis=2).reshape(len(rest), -1), rest], axis=1
    )


def penalised(architecture: Architecture) -> np.ndarray:
    """(P,): True for weights, False for biases, which L2 leaves alone."""
    return np.concatenate(
        [np.tile(np.arange(inputs) < inputs - 1, units) for units, inputs in architecture.shapes]
    )


def forward(
    layers: list[Array], inputs: Array, leak: float, xp: Any
) -> tuple[Array, list[Array], list[Array]]:
    """Logits (K, rows), and what `backward` needs.

    That is each layer's inputs with their row of ones, and each hidden layer's leaky slopes,
    (K, units, rows).
    """
    feeds, leaks = [inputs], []
    for weights in layers[:-1]:
        h = product(weights, feeds[-1], xp)
        leaks.append(xp.where(h < 0, leak, 1.0).astype(h.dtype))
        h = h * leaks[-1]
        feeds.append(
            xp.concatenate([h, xp.ones_like(h[:, :1])], axis=1)
            if len(feeds) < len(layers) - 1
            else h
        )
    out = layers[-1]
    if not leaks:
        return product(out, inputs, xp)[:, 0], feeds, leaks
    return xp.sum(out[:, 0, :-1, None] * feeds[-1], axis=1) + out[:, 0, -1:], feeds, leaks


def backward(
    layers: list[Array], feeds: list[Array], leaks: list[Array], pull: Array, xp: Any
) -> Array:
    """Σ over rows of pull · ∂logit/∂parameters, (K, P). pull: (K, rows)."""
    out = layers[-1]
    if not leaks:
        return product_transposed(pull[:, None], feeds[0], xp)[:, 0]
    # The last hidden layer is leak·h with h = W·feed, so Σ pull·leak·feedᵀ gives its own gradient,
    # times the output weights, and the output's gradient, times W: one product over the rows
    # instead of two.
    d = pull[:, None] * leaks[-1]
    outer = product_transposed(d, feeds[len(leaks) - 1], xp)
    gradients = [
        xp.concatenate([xp.sum(outer * layers[-2], axis=2), xp.sum(pull, axis=1)[:, None]], axis=1)
    ]
    gradients.append(out[:, 0, :-1, None] * outer)
    d = d * out[:, 0, :-1, None]
    for i in range(len(leaks) - 2, -1, -1):
        d = xp.einsum("koh,kon->khn", layers[i + 1][:, :, :-1], d) * leaks[i]
        gradients.append(product_transposed(d, feeds[i], xp))
    return xp.concatenate([g.reshape(g.shape[0], -1) for g in reversed(gradients)], axis=1)


def product(weights: Array, inputs: Array, xp: Any) -> Array:
    """(K, units, inputs) times (inputs, rows) or (K, inputs, rows): (K, units, rows)."""
    return xp.einsum("kof,fn->kon" if inputs.ndim == 2 else "kof,kfn->kon", weights, inputs)


def product_transposed(pulls: Array, inputs: Array, xp: Any) -> Array:
    """Σ over rows of (K, units, rows) times inputs: (K, units, inputs)."""
    return xp.einsum("kon,fn->kof" if inputs.ndim == 2 else "kon,kfn->kof", pulls, inputs)


def predict_logits(
    parameters: np.ndarray, architecture: Architecture, X: np.ndarray, view: View
) -> np.ndarray:
    """x of every network for every row, (K, rows), in NumPy alone.

    In float64, so that no row is told by those it is asked with; the result has X's dtype.

    X: (rows, features), as it came.
    """
    layers = unflatten(parameters.astype(np.float64), architecture)
    first, *others = layers
    inputs = np.ones((view.n_inputs + 1, len(X)))
    inputs[:-1] = view.inputs(X)
    x = np.empty((len(parameters), len(X)), X.dtype)
    for start in range(0, len(X), HIDDEN_IN_CACHE):
        rows = slice(start, start + HIDDEN_IN_CACHE)
        # All networks' first layers see the same inputs: they are one matrix.
        h = reproducible.tiled_product(first.reshape(-1, first.shape[2]), inputs[:, rows])
        h = h.reshape(*first.shape[:2], -1)
        for weights in others:
            np.maximum(h, architecture.leak * h, out=h)
            h = np.einsum("kof,kfn->kon", weights[:, :, :-1], h) + weights[:, :, -1:]
        x[:, rows] = h[:, 0]
    return x
