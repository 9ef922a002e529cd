"""Large tensors on a CPU go through the core in blocks: each formula is some thirty passes over memory with as many temporary arrays,
and fresh memory costs more than arithmetic. Elementwise formulas do not notice, and sums are added as those of shards are."""

from __future__ import annotations

import torch

# Elements per block: a MB in float32. Smaller ones spend their time between the operations, larger ones leave the cache.
BLOCK = 262_144


def blocks(x: torch.Tensor) -> list[slice]:
    """Slices of the first dimension, of a block each; one slice of everything where they do not pay or shapes are being traced."""
    is_traced = torch.compiler.is_compiling() or torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    if is_traced or x.device.type != "cpu" or x.ndim == 0 or x.numel() < 2 * BLOCK:
        return [slice(None)]
    rows = max(1, BLOCK * x.shape[0] // x.numel())
    return [slice(start, start + rows) for start in range(0, x.shape[0], rows)]
