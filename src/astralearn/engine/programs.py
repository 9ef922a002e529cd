"""Compiled programs, of which the last few are kept: each takes some megabytes.

Whoever fits many tables, or one table with ever fewer features, meets a new shape each time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

from astralearn.engine.epoch import Static, compile_options
from astralearn.engine.places import Places

KEPT = 16


def program(
    function: Callable[..., Any],
    like: tuple[Any, ...],
    *,
    static: Static,
    thorough: bool,
    places: Places | None = None,
) -> Callable[..., Any]:
    """The function, compiled for one core, of arguments of these shapes.

    At the sizes here XLA's threads cost more than they give.

    function: of arrays, the second of them rows, with the keyword `static`.
    like: arguments but for the last, or what has their shapes and dtypes.
    thorough: take twice as long to compile what then runs a fifth faster.
    places: that hold the rows; None for one.
    """
    leaves, tree = jax.tree.flatten(like)
    shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
    return _program(function, tree, shapes, static, thorough, places, len(like) + 1)


@functools.lru_cache(maxsize=KEPT)
def _program(
    function: Callable[..., Any],
    _tree: Any,
    _shapes: Any,
    static: Static,
    thorough: bool,
    places: Places | None,
    n_arguments: int,
) -> Callable[..., Any]:
    # JAX keeps what it traced and compiled as long as the very function that it was given lives,
    # so each program has a function of its own.
    own: Callable[..., Any] = functools.partial(function, static=static)
    if places is not None:
        own = places.everywhere(own, n_arguments)
    return jax.jit(own, compiler_options=compile_options(thorough))
