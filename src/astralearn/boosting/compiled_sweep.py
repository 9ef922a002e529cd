"""The sweep over negatives, compiled by JAX: a third of NumPy's time, which makes one pass over memory for every operation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from astralearn.boosting.sweep import Found, Kind, negatives_of
from astralearn.core.row_terms import SlopeNumbers
from astralearn.engine.fork import check_fork

# Rows that stay in cache, on one core; and running totals kept side by side, so that summing is done in vectors and rounds less.
STRIPE, _LANES = 1 << 14, 64

# JAX reads an array where it lies if its address is a multiple of this, and otherwise copies it.
_ALIGNMENT = 64


def negatives(x: np.ndarray, w: np.ndarray, at: SlopeNumbers, kind: Kind) -> Found:
    """Derivatives and the sums of any number of rows, float32; on the CPU, wherever JAX would go by itself.

    Each number of stripes compiles once. A stripe's sums are its own, so that it does not matter which stripes share a call.
    """
    check_fork()
    n = len(x)
    with jax.default_device(jax.devices("cpu")[0]):
        gradient, curvature, lanes = _compiled(kind)(_in_stripes(x), _in_stripes(w), at)
    return Found(
        np.asarray(gradient)[:n],
        np.asarray(curvature)[:n],
        np.asarray(lanes).sum(axis=2, dtype=np.float64),
    )


def _in_stripes(values: np.ndarray) -> np.ndarray:
    """Copied to where JAX reads them, shape (stripes, STRIPE), with zeros after the last row."""
    size = -(-len(values) // STRIPE) * STRIPE
    room = np.empty(size + _ALIGNMENT, values.dtype)
    start = -room.ctypes.data % _ALIGNMENT // values.itemsize
    padded = room[start : start + size]
    padded[: len(values)] = values
    padded[len(values) :] = 0
    return padded.reshape(-1, STRIPE)


@functools.cache
def _compiled(kind: Kind) -> Callable[..., Any]:
    def stripe(
        at: SlopeNumbers, _: None, rows: tuple[jax.Array, jax.Array]
    ) -> tuple[None, tuple[jax.Array, jax.Array, jax.Array]]:
        gradient, curvature, summands = negatives_of(*rows, at, kind, xp=jnp)
        return None, (
            gradient,
            curvature,
            jnp.stack([summand.reshape(-1, _LANES).sum(axis=0) for summand in summands]),
        )

    def stripes(
        x: jax.Array, w: jax.Array, at: SlopeNumbers
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        _, (gradient, curvature, totals) = jax.lax.scan(functools.partial(stripe, at), None, (x, w))
        return gradient.reshape(-1), curvature.reshape(-1), totals

    return jax.jit(stripes)
