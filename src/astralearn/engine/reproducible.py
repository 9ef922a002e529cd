"""Linear algebra that is the same to the bit however many threads it has.

OpenBLAS, which comes with NumPy, splits large products among its threads, and how it splits them
decides how sums are rounded. joblib's workers have fewer threads than their parent. Below SINGLE
multiplications a product stays on one thread.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

SINGLE = 1 << 18
PANEL = 64  # columns a Cholesky factor grows by; LAPACK takes such a block on one thread


def tiled_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a·b, (m, k) times (k, n), in tiles."""
    (m, k), n = a.shape, b.shape[1]
    depth = max(1, min(k, 4 * PANEL))
    columns = max(1, min(n, int((SINGLE / depth) ** 0.5)))
    rows = max(1, SINGLE // (depth * columns))
    out = np.empty((m, n), np.result_type(a, b))
    for j in range(0, n, columns):
        for i in range(0, m, rows):
            tile = out[i : i + rows, j : j + columns]
            np.matmul(a[i : i + rows, :depth], b[:depth, j : j + columns], out=tile)
            for f in range(depth, k, depth):
                tile += a[i : i + rows, f : f + depth] @ b[f : f + depth, j : j + columns]
    return out


def cholesky(a: np.ndarray) -> np.ndarray:
    """The lower triangular L with L·Lᵀ = a, positive definite."""
    lower = np.zeros_like(a)
    for start in range(0, len(a), PANEL):
        stop = min(start + PANEL, len(a))
        rest = a[start:, start:stop] - tiled_product(
            lower[start:, :start], lower[start:stop, :start].T
        )
        block = np.linalg.cholesky(rest[: stop - start])
        lower[start:stop, start:stop] = block
        lower[stop:, start:stop] = solve_triangular(block, rest[stop - start :].T, lower=True).T
    return lower
