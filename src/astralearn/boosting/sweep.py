"""One sweep over the rows: every row's derivatives up to one factor per class, and the six sums that fix these factors.

Negatives, the many, share their exponentials (`core.row_terms`), in blocks that stay in cache and on several threads; positives,
the few, go through the exact functions in double precision.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from astralearn.core import rebalanced_logit, rebalanced_logit_db, rebalanced_logit_dx
from astralearn.core.confusion import right_and_wrong
from astralearn.core.row_terms import BUFFERS, row_terms

# Bytes per array and block: a block's ten buffers stay in a core's second-level cache.
BLOCK_BYTES = 1 << 16

# Positives at a time: their temporaries are fresh arrays, which are cheap while all of them together are small.
POSITIVES = 1 << 10

# Fewer rows than this are swept before a thread has started.
ROWS_PER_THREAD = 1 << 16


@dataclass(frozen=True)
class Sweep:
    """gradient, curvature: shape (n,), up to the factor of the row's class. sums: tn, fp, fn, tp, and each class's slope sum."""

    gradient: np.ndarray
    curvature: np.ndarray
    positives: np.ndarray
    sums: np.ndarray

    def scaled(self, factor_tn: float, factor_tp: float) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and curvature, each class's rows times its factor (in place: a sweep is used once)."""
        for values, sign_tn, sign_tp in ((self.gradient, factor_tn, factor_tp), (self.curvature, abs(factor_tn), abs(factor_tp))):
            of_positives = sign_tp * values[self.positives].astype(np.float64)
            np.multiply(values, sign_tn, out=values)
            values[self.positives] = of_positives
        return self.gradient, self.curvature


def sweep(
    y: np.ndarray, x: np.ndarray, weight: np.ndarray | None, slope: float, *, coupled: bool, with_slope: bool, n_threads: int | None
) -> Sweep:
    """Both classes' rows at the scores x.

    With w a row's weight, σ(m) its probability of being wrong, g′ = ∂g/∂x and c = σ(−m) where `coupled` (the loss sees the counts),
    otherwise 1: gradient ±w c σ(m) g′, curvature w c σ(m) σ(−m) g′², slope sum Σ ±w c σ(m) ∂g/∂b; − for a positive.
    """
    n = x.shape[0]
    gradient, curvature = np.empty_like(x), np.empty_like(x)
    is_negative = y == 0
    positives = np.flatnonzero(~is_negative)

    size = BLOCK_BYTES // x.itemsize
    local = threading.local()

    def negatives(block: slice) -> np.ndarray:
        rows = block.stop - block.start
        if not hasattr(local, "buffers"):
            local.buffers = np.empty((BUFFERS + 2, size), x.dtype)
        buffers = local.buffers[:, :rows]
        terms = row_terms(x[block], slope, with_slope=with_slope, buffers=buffers)
        w, scaled = buffers[BUFFERS:]
        np.multiply(1.0 if weight is None else weight[block], is_negative[block], out=w)
        np.multiply(w, terms.right if coupled else 1.0, out=scaled)
        np.multiply(scaled, terms.pull, out=gradient[block])
        np.multiply(gradient[block], terms.right, out=curvature[block])
        if slope != 1.0 or with_slope:
            curvature[block] *= terms.steepness
        slope_sum = 0.0 if terms.slope_pull is None else scaled @ terms.slope_pull
        return np.asarray([w @ terms.right, w @ terms.wrong, 0.0, 0.0, slope_sum, 0.0], np.float64)

    blocks = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    sums = np.zeros(6)
    for part in _mapped(negatives, blocks, n, n_threads):
        sums += part
    for start in range(0, len(positives), POSITIVES):
        sums += _positives(x, weight, slope, positives[start : start + POSITIVES], gradient, curvature, coupled)
    return Sweep(gradient, curvature, positives, sums)


def _positives(
    x: np.ndarray, weight: np.ndarray | None, slope: float, rows: np.ndarray, gradient: np.ndarray, curvature: np.ndarray, coupled: bool
) -> np.ndarray:
    """Writes the positives' derivatives and returns their part of the sums."""
    scores = x[rows].astype(np.float64)
    g = rebalanced_logit(scores, slope, xp=np)
    right, wrong = right_and_wrong(-g, np)
    steepness = rebalanced_logit_dx(scores, slope, xp=np)
    w = np.ones_like(scores) if weight is None else weight[rows].astype(np.float64)
    pull = (w * right if coupled else w) * wrong
    gradient[rows] = -pull * steepness
    curvature[rows] = pull * steepness * (right * steepness)
    slope_sum = -(pull @ rebalanced_logit_db(scores, np.float64(slope), xp=np))
    return np.asarray([0.0, 0.0, w @ wrong, w @ right, 0.0, slope_sum])


def _mapped(function, blocks, n: int, n_threads: int | None) -> Iterator[np.ndarray]:  # type: ignore[no-untyped-def]
    """In order, whatever the number of threads: sums are the same to the last bit."""
    threads = min(n_threads or available_cores(), n // ROWS_PER_THREAD)
    if threads < 2:
        yield from map(function, blocks)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(function, blocks)


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
