"""What a caller passes, made into arrays of one namespace and dtype, and checked.

Every function of the core ends in `*, xp=None`. Left out, the namespace is found from the arrays,
numbers and lists become arrays, and values out of range raise ValueError. Given (adapters do, in
their inner loops), the arrays are used as they are: nothing is converted and nothing is checked.
"""

from __future__ import annotations

import sys
from numbers import Integral, Number
from typing import Any

import array_api_compat as compat
import numpy as np

Array = Any  # an array of any namespace
ArrayLike = Any  # an array, a number or a nested list of numbers
OPTIONAL = "sample_weight"  # the argument that may be None
Axis = int | tuple[int, ...] | None


def as_arrays(**values: ArrayLike) -> tuple[Any, ...]:
    """(xp, first, second, …): the values as floating arrays; weights may be None.

    They must broadcast against each other. Numbers take the dtype of the arrays beside them, so
    float32 stays float32 beside 7.396 and beside np.float64(7.396). Half precision becomes float32:
    g reaches b times x, and odds far below what it holds.
    """
    given = {
        name: value if _is_number(value) else _as_array(name, value)
        for name, value in values.items()
    }
    arrays = [value for value in given.values() if value is not None and not _is_number(value)]
    try:
        xp: Any = compat.array_namespace(*arrays) if arrays else np
    except TypeError as error:
        kinds = ", ".join(
            f"{name} is a {type(value).__name__}"
            for name, value in given.items()
            if value is not None
        )
        raise TypeError(
            f"all arrays must come from one library, but {kinds}: convert them first"
        ) from error
    for name, value in given.items():
        if value is not None and not _is_real(value, xp):
            found = getattr(value, "dtype", None) or repr(value)
            raise TypeError(f"{name} must hold real numbers; found {found}")
    dtype = _floating_dtype(xp, arrays)
    device = compat.device(arrays[0]) if arrays else None

    def cast(value: Any) -> Any:
        if value is None:
            return None
        if _is_number(value):
            return xp.asarray(value, dtype=dtype, device=device)
        return xp.astype(value, dtype, copy=False)

    cast_values = {name: cast(value) for name, value in given.items()}
    _check_shapes(cast_values)
    return (xp, *cast_values.values())


def namespace(*values: Array) -> Any:
    """The namespace of values used as they are.

    NumPy for numbers; keras.ops for TensorFlow's tensors, which have none.
    """
    if all(_is_number(value) for value in values):
        return np
    if any(type(value).__module__.startswith(("tensorflow", "keras")) for value in values):
        return sys.modules["keras"].ops
    torch = sys.modules.get("array_api_compat.torch")
    # At once: torch.compile warns of what is called below.
    if torch and all(isinstance(value, torch.Tensor) for value in values):
        return torch
    return compat.array_namespace(*values)


def check(xp: Any, name: str, value: Array, ok: Array, rule: str) -> None:
    """Raise ValueError that names the argument, its first wrong value and the rule.

    Traced arrays pass unseen, and known ones too inside a traced function.
    """
    if _is_traced(value) or _is_traced(ok) or bool(xp.all(ok)):
        return
    broken = xp.reshape(value, (-1,))[xp.reshape(~ok, (-1,))][0]
    found = broken.tolist() if hasattr(broken, "tolist") else float(broken)
    raise ValueError(f"{name} must be {rule}; found {found}")


def _is_number(value: object) -> bool:
    """NumPy's array of no dimensions is one too: what the core makes of a number."""
    if isinstance(value, np.ma.MaskedArray):
        return False
    return isinstance(value, (Number, np.generic)) or (
        isinstance(value, np.ndarray) and value.ndim == 0
    )


def _is_real(value: Any, xp: Any) -> bool:
    """Whether a value holds real numbers: no complex ones, dates or text."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.dtype.kind in "biufO"
    if _is_number(value):
        return not isinstance(value, complex)
    return not xp.isdtype(value.dtype, "complex floating")


def _as_array(name: str, value: ArrayLike) -> Any:
    if isinstance(value, np.ma.MaskedArray):  # whose mask the operations of the core would lose
        raise TypeError(
            f"{name} must have no mask; found a MaskedArray: take what is not masked, x[~mask], "
            f"or weights of 0"
        )
    if value is None and name != OPTIONAL:
        raise TypeError(f"{name} must be an array or a number; found None")
    if value is None or compat.is_array_api_obj(value):
        return value
    try:
        return np.asarray(value, dtype=None if hasattr(value, "dtype") else float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be an array or a number; found {value!r:.80}") from error


def _floating_dtype(xp: Any, arrays: list[Any]) -> Any:
    floating = [a for a in arrays if xp.isdtype(a.dtype, "real floating")] if arrays else []
    if not floating:
        return xp.asarray(0.0).dtype
    dtype = xp.result_type(*floating)
    return dtype if xp.finfo(dtype).bits >= 32 else xp.float32


def _check_shapes(arrays: dict[str, Any]) -> None:
    shapes = {name: tuple(array.shape) for name, array in arrays.items() if array is not None}
    for name, shape in shapes.items():
        if 0 in shape:
            raise ValueError(f"{name} must hold at least one value; found shape {shape}")
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError as error:
        found = " and ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"shapes must broadcast; found {found}") from error


def _is_traced(value: Array) -> bool:
    """Whether the values are not known yet.

    Inside jax.jit, grad or vmap, torch.compile, torch.export or torch.vmap.
    """
    if compat.is_jax_array(value):
        return isinstance(value, sys.modules["jax"].core.Tracer)
    if compat.is_torch_array(value):
        torch = sys.modules["torch"]
        return bool(
            torch.compiler.is_compiling() or torch._C._functorch.is_functorch_wrapped_tensor(value)
        )
    return False


def check_whole_numbers(**sizes: Any) -> None:
    """Refuse sizes that are no whole numbers, by their names.

    >>> check_whole_numbers(batch_size=6.4)
    Traceback (most recent call last):
    TypeError: batch_size must be a whole number; found 6.4
    """
    for name, size in sizes.items():
        if not isinstance(size, Integral):
            raise TypeError(f"{name} must be a whole number; found {size!r}")
