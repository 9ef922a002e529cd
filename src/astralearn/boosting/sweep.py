"""One sweep over the rows: every row's derivatives up to one factor per class, and the six sums that fix these factors.

Negatives, the many, share their exponentials (`core.row_terms`), in blocks and on several threads: NumPy's, or, where there are enough of
them to repay half a second of compiling, JAX's. Positives, the few, are swept in double precision.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from astralearn.core.confusion import right_and_wrong
from astralearn.core.inputs import Array
from astralearn.core.row_terms import STEEP, SlopeNumbers, plain_row_terms, row_terms, slope_numbers
from astralearn.core.warp import Warp, of_slope, slope_derivative, warp

# Bytes per array and block: small enough for the allocator to give a temporary the pages of the last one, and for the cache.
BLOCK_BYTES = 1 << 15

# Positives at a time, for the same reasons.
POSITIVES = BLOCK_BYTES // 8

# Float32 rows from which on the compiled sweep pays for its compilation: within 100 rounds.
COMPILED_ROWS = 1 << 18

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


class Kind(NamedTuple):
    """What a compiler has to know of a sweep. coupled: the loss sees the counts. plain: z = σ(x). steep: see `row_terms`."""

    coupled: bool
    plain: bool
    steep: bool


@dataclass(frozen=True)
class Rows:
    """Labels and weights as a sweep needs them, the same in every round.

    weight: shape (n,), None where every row weighs 1. of_negatives: weights (or just yes and no), 0 for positives, shape (n,).
    positives: their places. of_positives: their weights.
    """

    weight: np.ndarray | None
    of_negatives: np.ndarray
    positives: np.ndarray
    of_positives: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray | None) -> Rows:
        is_negative = y == 0
        positives = np.flatnonzero(~is_negative)
        if weight is None:
            return cls(None, is_negative, positives, np.ones(len(positives)))
        return cls(weight, weight * is_negative, positives, weight[positives].astype(np.float64))


def sweep(rows: Rows, x: np.ndarray, slope: float, *, coupled: bool, with_slope: bool, n_threads: int | None) -> Sweep:
    """Both classes' rows at the scores x.

    With w a row's weight, σ(m) its probability of being wrong, g′ = ∂g/∂x and c = σ(−m) where `coupled` (the loss sees the counts),
    otherwise 1: gradient ±w c σ(m) g′, curvature w c σ(m) σ(−m) g′², slope sum Σ ±w c σ(m) ∂g/∂b; − for a positive.
    """
    n = x.shape[0]
    gradient, curvature = np.empty_like(x), np.empty_like(x)
    kind = Kind(coupled, plain=slope == 1.0 and not with_slope, steep=slope > STEEP)
    at = slope_numbers(slope)
    size, block_of = _block_size_and_function(n, x.dtype)

    def negatives(start: int) -> np.ndarray:
        block = slice(start, min(start + size, n))
        gradient[block], curvature[block], sums = block_of(x[block], rows.of_negatives[block], at, kind)
        return np.asarray(sums, np.float64)

    sums = np.zeros(6)
    for tn_fp_and_slope in _mapped(negatives, range(0, n, size), n, n_threads):
        sums[[0, 1, 4][: len(tn_fp_and_slope)]] += tn_fp_and_slope
    for start in range(0, len(rows.positives), POSITIVES):
        some, w = (of[start : start + POSITIVES] for of in (rows.positives, rows.of_positives))
        gradient[some], curvature[some], of_some = _positives(x[some].astype(np.float64), w, slope, kind)
        sums += of_some
    return Sweep(gradient, curvature, rows.positives, sums)


def _block_size_and_function(n: int, dtype: Any) -> tuple[int, Callable[..., Any]]:
    if n < COMPILED_ROWS or dtype != np.float32:
        return BLOCK_BYTES // dtype.itemsize, _negatives
    from astralearn.boosting import compiled_sweep

    return compiled_sweep.BLOCK, compiled_sweep.negatives


def negatives_of(x: Array, w: Array, at: SlopeNumbers, kind: Kind, *, xp: Any) -> tuple[Array, Array, list[Array]]:
    """Gradient and curvature of rows labelled 0, and what each adds to tn, fp and, unless plain, the slope sum; no weight, no row."""
    terms = plain_row_terms(x, xp=xp) if kind.plain else row_terms(x, at, steep=kind.steep, xp=xp)
    right = w * terms.right
    pulled = right if kind.coupled else w
    gradient = pulled * terms.pull
    summands = [right, w * terms.wrong]
    if kind.plain:
        return gradient, gradient * terms.right, summands
    return gradient, gradient * terms.right * terms.steepness, [*summands, pulled * terms.slope_pull]


def _negatives(x: np.ndarray, w: np.ndarray, at: SlopeNumbers, kind: Kind) -> tuple[np.ndarray, np.ndarray, list[float]]:
    gradient, curvature, summands = negatives_of(x, w, at, kind, xp=np)
    return gradient, curvature, [summand.sum() for summand in summands]


def _positives(x: np.ndarray, w: np.ndarray, slope: float, kind: Kind) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradient, curvature and sums of rows labelled 1."""
    one = np.ones_like(x)
    g, steepness, lag = Warp(x, one, one) if kind.plain else warp(x, slope, xp=np)
    right, wrong = right_and_wrong(-g, np)
    pull = (w * right if kind.coupled else w) * wrong
    along = pull * steepness
    shared = of_slope(np.float64(slope), xp=np)
    slope_sum = 0.0 if kind.plain else -slope_derivative(shared, along @ x, along.sum(), pull @ lag, pull.sum())
    return -along, along * (right * steepness), np.asarray([0.0, 0.0, w @ wrong, w @ right, 0.0, slope_sum])


def _mapped(function: Callable[[int], np.ndarray], starts: range, n: int, n_threads: int | None) -> Iterator[np.ndarray]:
    """In order, whatever the number of threads: sums are the same to the last bit."""
    threads = min(n_threads or available_cores(), n // ROWS_PER_THREAD)
    if threads < 2:
        yield from map(function, starts)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(function, starts)


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
