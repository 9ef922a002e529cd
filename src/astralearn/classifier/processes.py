"""The rows of this process, as one piece among those of all JAX processes.

Every process runs the same fit: it looks at its own rows, and all of them hear what each found.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from astralearn.classifier.shards import Piece, Pieces

T = TypeVar("T")


_is_alone = ContextVar("is_alone", default=False)


def in_processes() -> bool:
    """Whether a fit here is one with other processes of JAX; does not import it."""
    distributed = getattr(sys.modules.get("jax"), "distributed", None)
    if _is_alone.get() or distributed is None or not distributed.is_initialized():
        return False
    import jax

    return jax.process_count() > 1


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Fits in the block are this process's own."""
    before = _is_alone.set(True)
    try:
        yield
    finally:
        _is_alone.reset(before)


@dataclass(frozen=True)
class Processes(Pieces):
    """The pieces of all processes.

    own: the rows of this one.
    """

    own: Piece
    kind: str = "process"

    @classmethod
    def of(cls, X: Any, y: Any, weight: Any) -> Processes:
        """Each an array or a frame of this process, or a JAX array over all of them."""
        return cls(Piece(*(None if one is None else _own(one) for one in (X, y, weight))))

    def each(
        self, look: Callable[..., T], given: Sequence[tuple[Any, ...]] | None = None
    ) -> list[T]:
        """What a look at every process's rows finds."""
        import jax

        from astralearn.engine.places import gathered

        more = given[jax.process_index()] if given else ()
        return gathered(look(self.own, *more))

    def first(self, value: T) -> T:
        """What the first process has for the value."""
        return self.each(lambda _: value)[0]

    @property
    def number(self) -> int:
        """Of this process among them."""
        import jax

        return jax.process_index()


def _own(rows: Any) -> Any:
    """The rows that this process holds of a JAX array that is cut by rows."""
    shards = getattr(rows, "addressable_shards", None)
    if shards is None:
        return rows
    # Devices may hold copies of one cut.
    cuts = {shard.index[0].start or 0: shard.data for shard in shards}
    return np.concatenate([np.asarray(cuts[start]) for start in sorted(cuts)])
