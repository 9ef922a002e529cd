"""Gradients by the backend's own means, and marks: what the checks in tests/keras share.

Import after KERAS_BACKEND is set.
"""

from __future__ import annotations

import keras
import numpy as np
import pytest

BACKEND = keras.config.backend()

# What no backend computes otherwise, and further values of a parameter, are checked on the one that
# compiles nothing. On the others they run with `make test-long`.
OTHERS_LONG = [] if BACKEND == "torch" else [pytest.mark.long]


def once(test):
    """Mark a test that is long on every backend but PyTorch."""
    return pytest.mark.long(test) if OTHERS_LONG else test


def values(f, *arguments):
    """f(*arguments) in NumPy, where no gradient is wanted.

    JAX compiles it, which takes a tenth of the time that it needs to compile every operation alone.
    """
    tensors = [keras.ops.convert_to_tensor(a) for a in arguments]
    if BACKEND == "jax":
        import jax

        f = jax.jit(f)
    if BACKEND == "torch":
        import torch

        with torch.no_grad():
            return keras.ops.convert_to_numpy(f(*tensors))
    return keras.ops.convert_to_numpy(f(*tensors))


def recorded_values(f, x):
    """f(x) in NumPy, as it is computed where it will be differentiated."""
    tensor = keras.ops.convert_to_tensor(x)
    if BACKEND == "jax":
        import jax

        return np.asarray(jax.jit(lambda a: jax.vjp(f, a)[0])(tensor))
    if BACKEND == "torch":
        return f(tensor.requires_grad_()).detach().numpy()
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(tensor)
        return f(tensor).numpy()


def gradients(f, *arguments):
    """d(sum of f)/d(argument), in NumPy, for each argument."""
    tensors = [keras.ops.convert_to_tensor(a) for a in arguments]
    if BACKEND == "jax":
        import jax

        found = jax.jit(
            jax.grad(lambda *a: keras.ops.sum(f(*a)), argnums=tuple(range(len(tensors))))
        )(*tensors)
    elif BACKEND == "torch":
        import torch

        leaves = [t.detach().clone().requires_grad_() for t in tensors]
        found = torch.autograd.grad(f(*leaves).sum(), leaves)
    else:
        import tensorflow as tf

        with tf.GradientTape() as tape:
            for tensor in tensors:
                tape.watch(tensor)
            value = tf.reduce_sum(f(*tensors))
        found = tape.gradient(value, tensors)
    return [keras.ops.convert_to_numpy(gradient) for gradient in found]


def second_derivatives(f, x):
    """d²(sum of f)/dx² summed over the other entries, in NumPy."""
    tensor = keras.ops.convert_to_tensor(x)
    if BACKEND == "jax":
        import jax

        inner = jax.grad(lambda a: keras.ops.sum(f(a)))
        return np.asarray(jax.jit(jax.grad(lambda a: keras.ops.sum(inner(a))))(tensor))
    if BACKEND == "torch":
        import torch

        leaf = tensor.detach().clone().requires_grad_()
        (first,) = torch.autograd.grad(f(leaf).sum(), leaf, create_graph=True)
        return torch.autograd.grad(first.sum(), leaf)[0].numpy()
    import tensorflow as tf

    with tf.GradientTape() as outer:
        outer.watch(tensor)
        with tf.GradientTape() as inner:
            inner.watch(tensor)
            value = tf.reduce_sum(f(tensor))
        first = tf.reduce_sum(inner.gradient(value, tensor))
    return outer.gradient(first, tensor).numpy()


def model_gradients(model, loss, x, y, sample_weight=None):
    """The loss, and its gradient in each trainable variable, in NumPy."""
    x = keras.ops.convert_to_tensor(x)
    if BACKEND == "jax":
        import jax

        def value(trainable):
            logits, _ = model.stateless_call(
                trainable, [v.value for v in model.non_trainable_variables], x
            )
            return loss(y, logits, sample_weight)

        found, gradient = jax.jit(jax.value_and_grad(value))(
            [v.value for v in model.trainable_variables]
        )
        return float(found), [np.asarray(g) for g in gradient]
    if BACKEND == "torch":
        model.zero_grad()
        found = loss(y, model(x, training=True), sample_weight)
        found.backward()
        return found.item(), [v.value.grad.numpy().copy() for v in model.trainable_variables]
    import tensorflow as tf

    with tf.GradientTape() as tape:
        found = loss(y, model(x, training=True), sample_weight)
    return float(found), [
        g.numpy() for g in tape.gradient(found, [v.value for v in model.trainable_variables])
    ]
