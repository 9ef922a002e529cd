"""The sweep over negatives, compiled by JAX: a third of NumPy's time, which makes one pass over memory for every operation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from astralearn.boosting.sweep import Kind, negatives_of
from astralearn.core.row_terms import SlopeNumbers

# Rows of one call: calls cost 0.1 ms, threads want several to share. All have this size, so that each kind compiles once.
BLOCK = 1 << 17

# Rows that stay in cache, on one core; and running totals kept side by side, so that summing is done in vectors and rounds less.
_STRIPE, _LANES = 1 << 14, 64


def negatives(x: np.ndarray, w: np.ndarray, at: SlopeNumbers, kind: Kind) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradient, curvature and the sums of at most BLOCK rows, float32; on the CPU, wherever JAX would go by itself."""
    n = len(x)
    if n < BLOCK:
        x, w = (np.concatenate([values, np.zeros(BLOCK - n, values.dtype)]) for values in (x, w))
    with jax.default_device(jax.devices("cpu")[0]):
        gradient, curvature, lanes = _compiled(kind)(x, w, at)
    return np.asarray(gradient)[:n], np.asarray(curvature)[:n], np.asarray(lanes).sum(axis=1, dtype=np.float64)


@functools.cache
def _compiled(kind: Kind) -> Callable[..., Any]:
    def stripe(at: SlopeNumbers, totals: jax.Array, rows: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        gradient, curvature, summands = negatives_of(*rows, at, kind, xp=jnp)
        return totals + jnp.stack([summand.reshape(-1, _LANES).sum(axis=0) for summand in summands]), (gradient, curvature)

    def block(x: jax.Array, w: jax.Array, at: SlopeNumbers) -> tuple[jax.Array, jax.Array, jax.Array]:
        stripes = x.reshape(-1, _STRIPE), w.reshape(-1, _STRIPE)
        totals, rows = jax.lax.scan(functools.partial(stripe, at), jnp.zeros((2 if kind.plain else 3, _LANES), x.dtype), stripes)
        return rows[0].reshape(-1), rows[1].reshape(-1), totals

    return jax.jit(block)
