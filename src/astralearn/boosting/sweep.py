"""One sweep over the rows: every row's derivatives up to one factor per class, and the eight sums that fix these factors.

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
from astralearn.engine.fork import check_fork

# Bytes per array and block: small enough for the allocator to give a temporary the pages of the last one, and for the cache.
BLOCK_BYTES = 1 << 15

# Float32 rows from which on the compiled sweep pays for its compilation: within 100 rounds.
COMPILED_ROWS = 1 << 18

# Fewer rows than this are swept before a thread has started.
ROWS_PER_THREAD = 1 << 16


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


class Found(NamedTuple):
    """Of rows of one class. gradient, curvature: up to the factor of the class, shape (k,). sums: right, wrong (a positive's: wrong,
    right), curvature and, unless plain, the slope sum, block by block, shape (blocks, 3 or 4)."""

    gradient: np.ndarray
    curvature: np.ndarray
    sums: np.ndarray


class Factors(NamedTuple):
    """What makes a class's derivatives the loss's. gradient, own ≥ 0: multiply the sweep's gradient and curvature. shared > 0: times a
    row's weight, the curvature that it gets beside its own."""

    gradient: float
    own: float
    shared: float


@dataclass(frozen=True)
class Sweep:
    """What one sweep found. negatives: each thread's share of all rows, in order and 0 for positives. positives: in double precision."""

    rows: Rows
    negatives: list[Found]
    positives: Found

    @property
    def sums(self) -> np.ndarray:
        """tn, fp, fn, tp, then of negatives and of positives the curvature and the slope sum."""
        tn, fp, curvature_tn, *slope_tn = np.concatenate(
            [found.sums for found in self.negatives]
        ).sum(axis=0)
        fn, tp, curvature_tp, slope_tp = self.positives.sums.sum(axis=0)
        return np.asarray([tn, fp, fn, tp, curvature_tn, curvature_tp, sum(slope_tn), slope_tp])

    def scaled(self, of_negatives: Factors, of_positives: Factors) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and curvature of the loss, shape (n,) (in place where possible: a sweep is used once)."""
        gradient = _multiplied([found.gradient for found in self.negatives], of_negatives.gradient)
        curvature = _multiplied([found.curvature for found in self.negatives], of_negatives.own)
        curvature += (
            of_negatives.shared
            if self.rows.weight is None
            else of_negatives.shared * self.rows.weight
        )
        gradient[self.rows.positives] = of_positives.gradient * self.positives.gradient
        curvature[self.rows.positives] = (
            of_positives.own * self.positives.curvature
            + of_positives.shared * self.rows.of_positives
        )
        return gradient, curvature


def _multiplied(shares: list[np.ndarray], factor: float) -> np.ndarray:
    """In one array. JAX's arrays may not be written to."""
    products = [
        np.multiply(share, factor, out=share if share.flags.writeable else None) for share in shares
    ]
    return products[0] if len(products) == 1 else np.concatenate(products)


def sweep(
    rows: Rows,
    x: np.ndarray,
    slope: float,
    *,
    coupled: bool,
    with_slope: bool,
    n_threads: int | None,
) -> Sweep:
    """Both classes' rows at the scores x.

    With w a row's weight, σ(m) its probability of being wrong, g′ = ∂g/∂x and c = σ(−m) where `coupled` (the loss sees the counts),
    otherwise 1: gradient ±w c σ(m) g′, curvature w c σ(m) σ(−m) g′², slope sum Σ ±w c σ(m) ∂g/∂b; − for a positive.
    """
    n = len(x)
    kind = Kind(coupled, plain=slope == 1.0 and not with_slope, steep=slope > STEEP)
    at = slope_numbers(slope)
    threads = max(1, min(n_threads or available_cores(), n // ROWS_PER_THREAD))
    size, negatives = _block_size_and_function(n, x.dtype)
    share = size * max(
        1, -(-n // (size * threads))
    )  # whole blocks, whose sums are then the same for any number of threads

    def of_share(start: int) -> Found:
        some = slice(start, start + share)
        return negatives(x[some], rows.of_negatives[some], at, kind)

    many = list(_mapped(of_share, range(0, max(n, 1), share), threads))
    return Sweep(
        rows, many, _positives(x[rows.positives].astype(np.float64), rows.of_positives, slope, kind)
    )


def _block_size_and_function(n: int, dtype: Any) -> tuple[int, Callable[..., Found]]:
    if not is_compiled(n, dtype):
        return BLOCK_BYTES // dtype.itemsize, _negatives
    from astralearn.boosting import compiled_sweep

    return compiled_sweep.STRIPE, compiled_sweep.negatives


def negatives_of(
    x: Array, w: Array, at: SlopeNumbers, kind: Kind, *, xp: Any
) -> tuple[Array, Array, list[Array]]:
    """Gradient and curvature of rows labelled 0, and what each adds to the sums (see `Found`); no weight, no row."""
    terms = plain_row_terms(x, xp=xp) if kind.plain else row_terms(x, at, steep=kind.steep, xp=xp)
    right = w * terms.right
    pulled = right if kind.coupled else w
    gradient = pulled * terms.pull
    curvature = gradient * terms.right if kind.plain else gradient * terms.right * terms.steepness
    slope_sum = [] if kind.plain else [pulled * terms.slope_pull]
    return gradient, curvature, [right, w * terms.wrong, curvature, *slope_sum]


def _negatives(x: np.ndarray, w: np.ndarray, at: SlopeNumbers, kind: Kind) -> Found:
    def block(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[float]]:
        gradient, curvature, summands = negatives_of(x, w, at, kind, xp=np)
        return gradient, curvature, [summand.sum() for summand in summands]

    return _in_blocks(block, x, w)


def _positives(x: np.ndarray, w: np.ndarray, slope: float, kind: Kind) -> Found:
    """Of rows labelled 1."""
    shared = of_slope(np.float64(slope), xp=np)

    def block(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[float]]:
        one = np.ones_like(x)
        g, steepness, lag = Warp(x, one, one) if kind.plain else warp(x, slope, xp=np)
        right, wrong = right_and_wrong(-g, np)
        pull = (w * right if kind.coupled else w) * wrong
        along = pull * steepness
        slope_sum = (
            0.0
            if kind.plain
            else -slope_derivative(shared, along @ x, along.sum(), pull @ lag, pull.sum())
        )
        curvature = along * (right * steepness)
        return -along, curvature, [w @ wrong, w @ right, curvature.sum(), slope_sum]

    return _in_blocks(block, x, w)


def _in_blocks(
    function: Callable[..., tuple[np.ndarray, np.ndarray, list[float]]],
    x: np.ndarray,
    w: np.ndarray,
) -> Found:
    """BLOCK_BYTES at a time; no rows are one block of none."""
    gradient, curvature = np.empty_like(x), np.empty_like(x)
    size = BLOCK_BYTES // x.itemsize
    sums = []
    for start in range(0, max(len(x), 1), size):
        block = slice(start, start + size)
        gradient[block], curvature[block], of_block = function(x[block], w[block])
        sums.append(of_block)
    return Found(gradient, curvature, np.asarray(sums, np.float64))


def _mapped(function: Callable[[int], Found], starts: range, threads: int) -> Iterator[Found]:
    """In order."""
    if threads < 2:
        yield from map(function, starts)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(function, starts)


def is_compiled(n: int, dtype: Any) -> bool:
    """Whether so many rows are swept by JAX."""
    return n >= COMPILED_ROWS and dtype == np.float32


def check_process(n: int, dtype: Any) -> None:
    """Refuse now what the first sweep would: a library's own threads may hang before it."""
    if is_compiled(n, dtype):
        check_fork()


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
