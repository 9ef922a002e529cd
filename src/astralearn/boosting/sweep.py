"""Rows' derivatives up to a factor per class, and the sums that fix it.

Negatives, the many, are swept in blocks and on several threads: by NumPy or, where there are enough
of them to repay compiling, by JAX. Positives, the few, are swept in double precision.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from astralearn.core.inputs import Array
from astralearn.core.warp import OfSlope, Pulls, negatives, of_slope, positives
from astralearn.engine.fork import check_fork
from astralearn.engine.interrupts import interrupts_deferred

# Bytes per array and block: small enough for the allocator to give a temporary the pages of the
# last one, and for the cache.
BLOCK_BYTES = 1 << 15

# Float32 rows from which on the compiled sweep pays for its compilation: within 100 rounds.
COMPILED_ROWS = 1 << 18

# Fewer rows than this are swept before a thread has started.
ROWS_PER_THREAD = 1 << 16

# Of the compiled sweep: rows that stay in one core's cache, and running totals kept side by side,
# so that summing is done in vectors and rounds less.
STRIPE, _LANES = 1 << 14, 64

KEPT_SWEEPS = 16  # compiled sweeps, each of a megabyte or so

# JAX reads an array where it lies if its address is a multiple of this, and otherwise copies it.
_ALIGNMENT = 64


class Kind(NamedTuple):
    """What a compiler has to know of a sweep.

    coupled: the loss sees the counts.
    plain: z = σ(x).
    """

    coupled: bool
    plain: bool


@dataclass(frozen=True)
class LabelledRows:
    """Labels and weights as a sweep needs them, the same in every round.

    weight: shape (n,), None where every row weighs 1.
    of_negatives: weights (or just yes and no), 0 for positives, shape (n,).
    positives: their places.
    of_positives: their weights.
    """

    weight: np.ndarray | None
    of_negatives: np.ndarray
    positives: np.ndarray
    of_positives: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray | None) -> LabelledRows:
        is_negative = y == 0
        positives = np.flatnonzero(~is_negative)
        if weight is None:
            return cls(None, is_negative, positives, np.ones(len(positives)))
        return cls(weight, weight * is_negative, positives, weight[positives].astype(np.float64))


class Found(NamedTuple):
    """Of rows of one class.

    gradient, curvature: up to the factor of the class, shape (k,).
    sums: of right, wrong, curvature and, unless plain, the slope's pull; (blocks, 3 or 4).
    """

    gradient: np.ndarray
    curvature: np.ndarray
    sums: np.ndarray


class Factors(NamedTuple):
    """What makes a class's derivatives the loss's.

    gradient, own ≥ 0: multiply the sweep's gradient and curvature.
    shared > 0: times a row's weight, the curvature that it gets beside its own.
    """

    gradient: float
    own: float
    shared: float


@dataclass(frozen=True)
class Sweep:
    """What one sweep found.

    negatives: each thread's share of all rows, in order and 0 for positives.
    positives: in double precision.
    """

    rows: LabelledRows
    negatives: list[Found]
    positives: Found

    @property
    def sums(self) -> np.ndarray:
        """tn, fp, fn, tp, then each class's curvature, then each one's slope sum."""
        many = np.concatenate([found.sums for found in self.negatives]).sum(axis=0)
        tn, fp, curvature_tn, *slope_tn = many
        tp, fn, curvature_tp, *slope_tp = self.positives.sums.sum(axis=0)
        by_slope = sum(slope_tn), sum(slope_tp)
        return np.asarray([tn, fp, fn, tp, curvature_tn, curvature_tp, *by_slope])

    def scaled(self, of_negatives: Factors, of_positives: Factors) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and curvature of the loss, (n,); in place: a sweep is used once."""
        rows, few = self.rows, self.positives
        gradient = _multiplied([found.gradient for found in self.negatives], of_negatives.gradient)
        curvature = _multiplied([found.curvature for found in self.negatives], of_negatives.own)
        curvature += of_negatives.shared * (1.0 if rows.weight is None else rows.weight)
        gradient[rows.positives] = of_positives.gradient * few.gradient
        curvature[rows.positives] = (
            of_positives.own * few.curvature + of_positives.shared * rows.of_positives
        )
        return gradient, curvature


def _multiplied(shares: list[np.ndarray], factor: float) -> np.ndarray:
    """In one array. JAX's arrays may not be written to."""
    products = [
        np.multiply(share, factor, out=share if share.flags.writeable else None) for share in shares
    ]
    return products[0] if len(products) == 1 else np.concatenate(products)


def sweep(
    rows: LabelledRows,
    x: np.ndarray,
    slope: float,
    *,
    coupled: bool,
    with_slope: bool,
    n_threads: int | None,
) -> Sweep:
    """Both classes' rows at the scores x.

    With w a row's weight, σ(m) its probability of being wrong, g′ = ∂g/∂x and c = σ(−m) where
    coupled, otherwise 1: gradient ±w c σ(m) g′, curvature w c σ(m) σ(−m) g′², slope sum
    Σ ±w c σ(m) ∂g/∂b; − for a positive.

    slope: b.
    coupled: whether the loss sees the counts.
    with_slope: whether the slope sum is wanted.
    """
    n = len(x)
    kind = Kind(coupled, plain=slope == 1.0 and not with_slope)
    shared = _numbers_of(slope)
    threads = max(1, min(n_threads or available_cores(), n // ROWS_PER_THREAD))
    compiled = is_compiled(n, x.dtype)
    of_rows = _compiled_negatives if compiled else _negatives
    size = STRIPE if compiled else BLOCK_BYTES // x.itemsize
    # Whole blocks, whose sums are then the same for any number of threads.
    share = size * max(1, -(-n // (size * threads)))

    def of_share(start: int) -> Found:
        some = slice(start, start + share)
        return of_rows(x[some], rows.of_negatives[some], shared, kind)

    many = list(_mapped(of_share, range(0, max(n, 1), share), threads))
    few = _positives(x[rows.positives].astype(np.float64), rows.of_positives, shared, kind)
    return Sweep(rows, many, few)


def is_compiled(n: int, dtype: Any) -> bool:
    """Whether so many rows are swept by JAX."""
    return n >= COMPILED_ROWS and dtype == np.float32


def check_process(n: int, dtype: Any) -> None:
    """Refuse now what the first sweep would: the library may hang before it."""
    if is_compiled(n, dtype):
        check_fork()


@functools.lru_cache(maxsize=16)  # CatBoost asks for the same slope a hundred times a round.
def _numbers_of(slope: float) -> OfSlope:
    """What all rows share, in Python's floats: they keep the rows' precision."""
    return OfSlope(*map(float, of_slope(np.float64(slope), xp=np)))


def _derivatives(pulls: Pulls, w: Array, kind: Kind) -> tuple[Array, Array, list[Array]]:
    """Gradient and curvature of rows, and what each adds to the sums."""
    right = w * pulls.right
    pulled = right if kind.coupled else w
    gradient = pulled * pulls.dx
    curvature = gradient * pulls.right
    if kind.plain:
        return gradient, curvature, [right, w * pulls.wrong, curvature]
    curvature = curvature * pulls.steepness
    return gradient, curvature, [right, w * pulls.wrong, curvature, pulled * pulls.db]


def _of_negatives(x: Array, w: Array, shared: OfSlope, kind: Kind, xp: Any) -> Any:
    own = None if kind.plain else shared
    return _derivatives(negatives(x, own, with_steepness=True, xp=xp), w, kind)


def _negatives(x: np.ndarray, w: np.ndarray, shared: OfSlope, kind: Kind) -> Found:
    return _in_blocks(lambda x, w: _of_negatives(x, w, shared, kind, np), x, w)


def _positives(x: np.ndarray, w: np.ndarray, shared: OfSlope, kind: Kind) -> Found:
    def block(x: np.ndarray, w: np.ndarray) -> Any:
        pulls = positives(x, None if kind.plain else shared, xp=np)
        if not kind.plain:
            # Exact however far a positive is lost, where its share of all that are counts.
            pulls = pulls._replace(right=np.exp(pulls.log_right))
        pulls = pulls._replace(dx=-pulls.dx)
        gradient, curvature, summands = _derivatives(pulls, w, kind)
        return -gradient, curvature, summands

    return _in_blocks(block, x, w)


def _in_blocks(function: Callable[..., Any], x: np.ndarray, w: np.ndarray) -> Found:
    """BLOCK_BYTES at a time; no rows are one block of none."""
    gradient, curvature = np.empty_like(x), np.empty_like(x)
    size = BLOCK_BYTES // x.itemsize
    sums = []
    for start in range(0, max(len(x), 1), size):
        block = slice(start, start + size)
        gradient[block], curvature[block], summands = function(x[block], w[block])
        sums.append([summand.sum() for summand in summands])
    return Found(gradient, curvature, np.asarray(sums, np.float64))


def _mapped(function: Callable[[int], Found], starts: range, threads: int) -> Iterator[Found]:
    """In order."""
    if threads < 2:
        yield from map(function, starts)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(function, starts)


def _compiled_negatives(x: np.ndarray, w: np.ndarray, shared: OfSlope, kind: Kind) -> Found:
    """Any number of float32 rows in one pass over memory; always on the CPU.

    Each number of stripes compiles once, and the last few are kept. A stripe's sums are its own,
    so that it does not matter which stripes share a call.
    """
    check_fork()
    with interrupts_deferred():
        import jax

    n = len(x)
    with jax.default_device(jax.devices("cpu")[0]):
        x, w = _in_stripes(x), _in_stripes(w)
        gradient, curvature, lanes = _compiled(kind, len(x))(x, w, shared)
    sums = np.asarray(lanes).sum(axis=2, dtype=np.float64)
    return Found(np.asarray(gradient)[:n], np.asarray(curvature)[:n], sums)


def _in_stripes(values: np.ndarray) -> np.ndarray:
    """Copied to where JAX reads them, (stripes, STRIPE), with zeros at the end."""
    size = -(-len(values) // STRIPE) * STRIPE
    room = np.empty(size + _ALIGNMENT, values.dtype)
    start = -room.ctypes.data % _ALIGNMENT // values.itemsize
    padded = room[start : start + size]
    padded[: len(values)] = values
    padded[len(values) :] = 0
    return padded.reshape(-1, STRIPE)


@functools.lru_cache(maxsize=KEPT_SWEEPS)
def _compiled(kind: Kind, _n_stripes: int) -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def stripe(shared: OfSlope, _: None, rows: tuple[Any, Any]) -> tuple[None, Any]:
        x, w = rows
        gradient, curvature, summands = _of_negatives(x, w, shared, kind, jnp)
        lanes = [summand.reshape(-1, _LANES).sum(axis=0) for summand in summands]
        return None, (gradient, curvature, jnp.stack(lanes))

    def stripes(x: Any, w: Any, shared: OfSlope) -> tuple[Any, Any, Any]:
        _, found = jax.lax.scan(functools.partial(stripe, shared), None, (x, w))
        gradient, curvature, totals = found
        return gradient.reshape(-1), curvature.reshape(-1), totals

    return jax.jit(stripes)


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
