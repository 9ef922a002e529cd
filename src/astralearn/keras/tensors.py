"""What differs between the backends: namespaces, known values, gradients.

JAX and PyTorch have namespaces of their own, which cost less per call than keras.ops; TensorFlow's
tensors are served by keras.ops.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
from keras import ops

from astralearn.core import elementary
from astralearn.core.inputs import Array, namespace

Gradients = Callable[[Array], tuple[Array, ...]]

# Numbers up to which NumPy, having less to do per call, is quicker than PyTorch.
FEW = 2048


def backend_namespace(x: Array) -> Any:
    """The namespace of x: a tensor of the backend, or one of the numbers of `few`."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np
    if keras.config.backend() == "torch":
        return _torch(sys.modules["torch"].compiler.is_compiling())
    return namespace(x)


@functools.cache
def _torch(compiled: bool) -> Any:
    """PyTorch's own functions, for a small step calls so many that wrappers show.

    compiled: whether to take the expm1 and log1p that survive TorchInductor.
    """
    torch = sys.modules["torch"]
    names = "abs all exp expm1 log log1p logaddexp maximum minimum ones_like sigmoid sqrt stack sum"
    xp = SimpleNamespace(
        **{name: getattr(torch, name) for name in f"{names} where zeros_like".split()},
        clip=torch.clamp,
        max=torch.amax,
        min=torch.amin,
    )
    if compiled:
        xp.expm1 = lambda v: elementary.expm1(v, xp)
        xp.log1p = lambda u: elementary.log1p(u, xp)
    return xp


def read(variable: Any) -> Array:
    """A variable's value.

    For TensorFlow it is a tensor: tf.custom_gradient takes no tf.Variable, which keras.ops gives.
    """
    if keras.config.backend() == "tensorflow":
        return sys.modules["tensorflow"].convert_to_tensor(ops.convert_to_tensor(variable))
    return variable.value


def few(values: Sequence[Array]) -> tuple[tuple[Array, ...], Any]:
    """The same values, and the namespace to go on with.

    A small step is dozens of operations, and on a CPU PyTorch takes longer for each than NumPy:
    values of `FEW` numbers at most become NumPy's, in double precision.
    """
    first = values[0]
    if isinstance(first, np.ndarray):
        return tuple(values), np
    is_torch = keras.config.backend() == "torch"
    if is_torch and first.numel() <= FEW and is_known(first) and first.device.type == "cpu":
        return tuple(value.detach().numpy().astype(np.float64) for value in values), np
    return tuple(values), backend_namespace(first)


def as_tensor(value: Array, like: Array) -> Array:
    """What was made of the values of `few`, as a tensor of the dtype of `like`."""
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    torch = sys.modules["torch"]
    # This is as below, with less to do.
    if like.dtype == torch.float32:
        return torch.from_numpy(np.asarray(value, np.float32))
    return torch.as_tensor(value, dtype=like.dtype)


def as_factors(numbers: Sequence[Array], like: Array) -> Sequence[Array | float]:
    """What was made of the values of `few`, to compute with beside `like`.

    Single numbers become Python's, the cheapest.
    """
    if not isinstance(numbers[0], (np.ndarray, np.generic)) or isinstance(like, np.ndarray):
        return numbers
    if numbers[0].size == 1:
        return [number.item() for number in numbers]
    return [as_tensor(number, like) for number in numbers]


def is_known(x: Array) -> bool:
    """Whether the values of x can be looked at: not in a trace, nor on "meta"."""
    backend = keras.config.backend()
    if backend == "jax":
        return not isinstance(x, sys.modules["jax"].core.Tracer)
    if backend == "torch":
        return x.device.type != "meta" and not sys.modules["torch"].compiler.is_compiling()
    return hasattr(x, "numpy")


def units_first(values: Array) -> Array:
    """With the last dimension as the first.

    TensorFlow's sums over leading dimensions are less exact than over trailing ones.
    """
    return ops.moveaxis(values, -1, 0)


def wide_dtype(dtype: Any) -> Any:
    """The dtype or policy to compute in: as configured, but no half precision.

    Half precision becomes float32, for g reaches b times x.
    """
    policy = keras.dtype_policies.get(dtype or keras.config.dtype_policy())
    return "float32" if policy.compute_dtype in ("float16", "bfloat16") else policy


def dtype_of_loss(dtype: Any) -> Any:
    """The dtype that a loss or a metric computes in, by default Keras's floatx."""
    return keras.dtype_policies.get(wide_dtype(dtype or keras.config.floatx())).compute_dtype


def with_gradient(
    forward: Callable[..., tuple[Array, Gradients]],
    again: Callable[..., tuple[Array, ...]],
    *arguments: Array,
) -> Array:
    """forward(*arguments)[0], differentiated by closed forms.

    forward: (*arguments) → (value, gradients), where gradients(upstream) gives one gradient for
        each argument from what forward kept.
    again: (upstream, *arguments) → the same from the arguments alone, for PyTorch, where what
        forward kept is a constant and could not be differentiated a second time.
    """

    def traced(*arguments: Array) -> tuple[Array, Callable[..., Any]]:
        value, gradients = forward(*arguments)

        def backward(*saved: Array, upstream: Array = None) -> Any:
            # TensorFlow and JAX hand over the gradient of the value alone.
            if upstream is None:
                found = gradients(*saved)
            elif sys.modules["torch"].is_grad_enabled():
                found = again(upstream, *saved)
            else:
                found = gradients(upstream)
            return found if len(found) > 1 else found[0]

        return value, backward

    return ops.custom_gradient(traced)(*arguments)


def unless_differentiated(
    value: Callable[..., Array], differentiable: Callable[..., Array], *arguments: Array
) -> Array:
    """value(*arguments), or differentiable(*arguments) where a gradient is wanted.

    Both are the same up to rounding. TensorFlow does not say where that is: it gets the value of
    the one and the gradient of the other.
    """
    backend = keras.config.backend()
    if backend == "torch":
        torch = sys.modules["torch"]
        is_recorded = torch.is_grad_enabled() and any(
            argument.requires_grad for argument in arguments
        )
        is_traced = torch.compiler.is_exporting() or torch.jit.is_tracing()
        return (differentiable if is_recorded and not is_traced else value)(*arguments)
    if backend == "jax":
        vjp, either = sys.modules["jax"].vjp, sys.modules["jax"].custom_vjp(value)
        either.defvjp(
            lambda *saved: vjp(differentiable, *saved),
            lambda pull_back, upstream: pull_back(upstream),
        )
        return either(*arguments)
    return _value_of_one(value, differentiable)(*arguments)


def _value_of_one(
    value: Callable[..., Array], differentiable: Callable[..., Array]
) -> Callable[..., Array]:
    def traced(*saved: Array) -> tuple[Array, Gradients]:
        def gradients(upstream: Array) -> tuple[Array, ...]:
            tf = sys.modules["tensorflow"]
            with tf.GradientTape() as tape:
                tape.watch(saved)
                found = differentiable(*saved)
            gradient: tuple[Array, ...] = tuple(tape.gradient(found, saved, upstream))
            return gradient

        return value(*saved), gradients

    return ops.custom_gradient(traced)
