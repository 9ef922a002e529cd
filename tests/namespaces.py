"""The array libraries that the core must agree on, in one table.

A new library joins it and inherits every test.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import array_api_strict
import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import torch


@dataclass(frozen=True)
class Namespace:
    name: str
    asarray: Callable[[np.ndarray], Any]
    xp: Any = None  # what to pass as xp=; None where it is found from the array
    # d(sum of f)/d(argument), for each argument, by the library's own autodiff, if it has one.
    gradients: Callable[[Callable[..., Any], tuple[Any, ...]], tuple[Any, ...]] | None = None
    flushes_subnormals: bool = False

    def compiled(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """As JAX's users run it: one program, not one for each operation."""
        return jax.jit(f) if self.name == "jax" else f

    def numpy(self, value: Any) -> np.ndarray:
        return np.asarray(value.detach() if isinstance(value, torch.Tensor) else value)

    @property
    def options(self) -> dict[str, Any]:
        return {} if self.xp is None else {"xp": self.xp}

    @contextlib.contextmanager
    def double(self) -> Iterator[None]:
        """JAX knows float64 only inside this context."""
        with jax.enable_x64(True):
            yield


def jax_gradients(f: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    gradient = jax.grad(lambda *a: jnp.sum(f(*a)), argnums=tuple(range(len(arguments))))
    return jax.jit(gradient)(*arguments)


def torch_gradients(f: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    leaves = tuple(a.detach().clone().requires_grad_() for a in arguments)
    return torch.autograd.grad(f(*leaves).sum(), leaves)


NAMESPACES = [
    Namespace("numpy", np.asarray),
    Namespace("jax", jnp.asarray, gradients=jax_gradients, flushes_subnormals=True),
    Namespace("torch", lambda a: torch.tensor(np.asarray(a)), gradients=torch_gradients),
    Namespace(
        "keras.ops",
        keras.ops.convert_to_tensor,
        xp=keras.ops,
        gradients=jax_gradients,
        flushes_subnormals=True,
    ),
    Namespace("array_api_strict", array_api_strict.asarray),
]

# keras.ops computes with JAX here: where a grid is large, JAX in single precision, its own, stands
# for both.
IN_BOTH_PRECISIONS = [
    pytest.param(
        space,
        dtype,
        id=f"{dtype.__name__}-{space.name}",
        marks=[pytest.mark.long]
        if space.name == "keras.ops" or (space.name == "jax" and dtype == np.float64)
        else [],
    )
    for dtype in (np.float64, np.float32)
    for space in NAMESPACES
]
