"""What the warp costs: BCE on rebalanced logits against the framework's own on plain ones.

Forward and backward, side by side, in turns, in one process; a ratio is the median of the turns'
ratios. float32, 1e6 logits, b = 7.396.
"""

from __future__ import annotations

import sys
from pathlib import Path

# ruff: noqa: E402
# benchmarks/torch.py lies beside this script, where Python looks first: without this line it would
# be imported in place of PyTorch.
sys.path[:] = [
    entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent
]

import statistics
import time
from collections.abc import Callable

import array_api_compat.torch as torch_xp
import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from scipy.special import expit

from astralearn.core import bce_gradient, bce_loss, rebalanced_logit, rebalanced_logit_dx

N = 1_000_000
TURNS = 15
SLOPE = 7.396

rng = np.random.default_rng(0)
X = rng.normal(0, 2, N).astype(np.float32)
Y = (rng.uniform(size=N) < 0.001).astype(np.float32)
B = np.float32(SLOPE)


def numpy_pair() -> tuple[Callable[[], object], Callable[[], object]]:
    def own() -> object:
        return np.mean(np.logaddexp(0, X) - Y * X), (expit(X) - Y) / np.float32(N)

    def warped() -> object:
        g = rebalanced_logit(X, B, xp=np)
        return bce_loss(g, Y, xp=np), bce_gradient(g, Y, xp=np) * rebalanced_logit_dx(X, B, xp=np)

    return own, warped


def jax_pair() -> tuple[Callable[[], object], Callable[[], object]]:
    x, y, b = jnp.asarray(X), jnp.asarray(Y), jnp.asarray(B)

    @jax.jit
    def plain(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.value_and_grad(lambda v: jnp.mean(optax.sigmoid_binary_cross_entropy(v, y)))(x)

    @jax.jit
    def warp(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        g = rebalanced_logit(x, b, xp=jnp)
        return bce_loss(g, y, xp=jnp), bce_gradient(g, y, xp=jnp) * rebalanced_logit_dx(
            x, b, xp=jnp
        )

    return lambda: jax.block_until_ready(plain(x)), lambda: jax.block_until_ready(warp(x))


def torch_pair() -> tuple[Callable[[], object], Callable[[], object]]:
    x, y, b = torch.tensor(X, requires_grad=True), torch.tensor(Y), torch.tensor(B)

    def own() -> object:
        return torch.autograd.grad(torch.nn.functional.binary_cross_entropy_with_logits(x, y), x)

    def warped() -> object:
        with torch.no_grad():
            g = rebalanced_logit(x, b, xp=torch_xp)
            slope = rebalanced_logit_dx(x, b, xp=torch_xp)
        g = g.requires_grad_()
        return (
            torch.autograd.grad(torch.nn.functional.binary_cross_entropy_with_logits(g, y), g)[0]
            * slope
        )

    return own, warped


def milliseconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e3


def main() -> None:
    print(f"BCE on {N:,} float32 logits, forward and backward (closed forms), {TURNS} turns")
    print(f"{'library':<10}{'its own BCE, ms':>17}{'warp + BCE, ms':>16}{'ratio':>8}")
    for name, pair in {"numpy": numpy_pair, "jax (jit)": jax_pair, "torch": torch_pair}.items():
        own, warped = pair()
        own(), warped()
        turns = [(milliseconds(own), milliseconds(warped)) for _ in range(TURNS)]
        ratio = statistics.median(w / o for o, w in turns)
        print(
            f"{name:<10}{statistics.median(o for o, _ in turns):>17.1f}"
            f"{statistics.median(w for _, w in turns):>16.1f}{ratio:>8.1f}"
        )


if __name__ == "__main__":
    main()
