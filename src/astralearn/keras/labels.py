"""Logits, labels and weights as Keras hands them over, aligned and checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from astralearn.core.inputs import Array
from astralearn.keras.tensors import few, is_known

try:
    from keras.src.backend import get_keras_mask as _mask_of
except ImportError:
    # It is not part of Keras's public interface.
    def _mask_of(values: Any) -> Any:
        return getattr(values, "_keras_mask", None)


class Batch(NamedTuple):
    """Logits, labels and weights, ready to be counted."""

    g: Array
    y: Array  # of the shape of g
    weight: Array  # which broadcasts to it, or None
    valid: Array  # a scalar: whether labels and weights are good; None where that is known


def checked_batch(y_true: Any, y_pred: Any, sample_weight: Any, dtype: str) -> Batch:
    """The batch to count.

    A mask that layers attached to y_pred multiplies the weights. In a compiled step values are
    not known yet and cannot raise: `valid` then says whether all are good, and where it is False
    every label and weight is 0, so that none of them reaches a gradient.

    y_true: 0 and 1 of the logits' shape, or without a last dimension of 1; NaN marks a missing
        label, which counts for nothing.
    y_pred: logits in floating point, (N, …).
    sample_weight: ≥ 0, of the logits' shape or of its first dimensions, as Keras makes it of
        class_weight too.
    dtype: of the result.
    """
    mask = _mask_of(y_pred)
    g = ops.convert_to_tensor(y_pred)
    if not keras.backend.is_float_dtype(g.dtype):
        found = keras.backend.standardize_dtype(g.dtype)
        raise TypeError(f"y_pred must be logits in floating point; found {found}")
    g = _cast(g, dtype)
    labels = ops.convert_to_tensor(y_true)
    may_lack = keras.backend.is_float_dtype(labels.dtype)
    y = _shaped(_cast(labels, dtype), g)
    if len(y.shape) != len(g.shape) or any(
        mine != theirs for mine, theirs in zip(y.shape, g.shape, strict=True) if mine and theirs
    ):
        raise ValueError(
            f"y_true must have the shape of the logits y_pred, {tuple(g.shape)}; "
            f"found {tuple(labels.shape)}"
        )
    y = _fitted(y, g)
    weight = None
    for name, factor in (("sample_weight", sample_weight), ("the mask of y_pred", mask)):
        if factor is not None:
            part = _weight(name, _cast(ops.convert_to_tensor(factor), dtype), g)
            weight = part if weight is None else weight * part
    known = is_known(y) and (weight is None or is_known(weight))
    if known and _all_labels(y) and _all_weights(weight):
        return Batch(g, y, weight, None)
    if may_lack:
        absent = ops.isnan(y)
        weight = ops.where(
            absent, 0.0, ops.ones_like(y) if weight is None else weight * ops.ones_like(y)
        )
        g, y = ops.where(absent, 0.0, g), ops.where(absent, 0.0, y)
    if not known:
        valid = ops.logical_and(_all_labels(y), _all_weights(weight))
        weight = None if weight is None else ops.where(valid, weight, 0.0)
        return Batch(g, ops.where(valid, y, 0.0), weight, valid)
    if not _all_labels(y):
        values = ops.convert_to_numpy(y).ravel()
        wrong = values[(values != 0) & (values != 1)][0]
        raise ValueError(f"y_true must hold 0, 1 or NaN (missing); found {wrong:g}")
    if not _all_weights(weight):
        values = ops.convert_to_numpy(weight).ravel()
        wrong = values[~((values >= 0) & (values < np.inf))][0]
        raise ValueError(f"sample_weight must be finite and at least 0; found {wrong:g}")
    return Batch(g, y, weight, None)


def _cast(values: Array, dtype: str) -> Array:
    is_cast = keras.backend.standardize_dtype(values.dtype) == dtype
    return values if is_cast else ops.cast(values, dtype)


def _shaped(values: Array, g: Array) -> Array:
    """With a last dimension of 1 more or less, as the logits have it."""
    if len(values.shape) == len(g.shape) - 1 and g.shape[-1] == 1:
        return ops.expand_dims(values, -1)
    if len(values.shape) == len(g.shape) + 1 and values.shape[-1] == 1:
        return ops.squeeze(values, -1)
    return values


def _weight(name: str, weight: Array, g: Array) -> Array:
    """Aligned with the logits' first dimensions."""
    shape = tuple(weight.shape)
    weight = _shaped(weight, g)
    while len(weight.shape) < len(g.shape):
        weight = ops.expand_dims(weight, -1)
    fits = len(weight.shape) == len(g.shape) and all(
        mine in (1, theirs)
        for mine, theirs in zip(weight.shape, g.shape, strict=True)
        if mine and theirs
    )
    if not fits:
        raise ValueError(
            f"{name} must have the shape of the logits, {tuple(g.shape)}, "
            f"or of its first dimensions; found {shape}"
        )
    return weight if _are_shapes_known(weight, g) else ops.broadcast_to(weight, ops.shape(g))


def _fitted(y: Array, g: Array) -> Array:
    """y, if it has the logits' shape; otherwise a step of TensorFlow fails.

    Only what has 1 or the logits' size in each dimension can be broadcast, and only what has as
    many numbers be given its own shape again.
    """
    if _are_shapes_known(y, g):
        return y
    return ops.reshape(ops.broadcast_to(y, ops.shape(g)), ops.shape(y))


def _are_shapes_known(*arrays: Array) -> bool:
    return all(None not in tuple(array.shape) for array in arrays)


def _all_labels(y: Array) -> Array:
    """Whether all are 0 or 1, the zeros of y(1 − y)."""
    ((values,), xp) = few([y])
    return (values * (1.0 - values) == 0).all() if xp is np else ops.all(y * (1.0 - y) == 0)


def _all_weights(weight: Array) -> Array:
    """Whether all are at least 0 and finite; NaN is neither."""
    return True if weight is None else ops.all(ops.logical_and(weight >= 0, weight < float("inf")))
