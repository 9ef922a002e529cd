"""Means over the replicas of tf.distribute: a few numbers per step travel.

JAX needs nothing of this: with keras.distribution the batch is one array, however it is laid out
over devices, and so are its means.
"""

from __future__ import annotations

import functools

import keras
from keras import ops

from astralearn.core.class_means import Means
from astralearn.core.losses import Loss


def over_replicas(loss: Loss, means: Means) -> tuple[Means, int]:
    """The means of all replicas joined, the same on each, and the number of replicas."""
    if keras.config.backend() != "tensorflow":
        return means, 1
    import tensorflow as tf

    replica = tf.distribute.get_replica_context()
    if replica is None or replica.num_replicas_in_sync == 1:
        return means, 1
    like = means.negatives.total
    # Everyone's means go in a row of their own: all_reduce cannot join means, but rows of zeros.
    own_row = tf.one_hot(
        replica.replica_id_in_sync_group, replica.num_replicas_in_sync, dtype=like.dtype
    )
    mine = tf.stack([tf.reshape(part, (-1,)) for part in means.flat])
    everyone = replica.all_reduce(tf.distribute.ReduceOp.SUM, own_row[:, None, None] * mine)
    parts = (
        Means.of_flat([tf.reshape(part, like.shape) for part in tf.unstack(row)])
        for row in tf.unstack(everyone)
    )
    add = functools.partial(loss.add, xp=ops)
    return functools.reduce(add, parts), replica.num_replicas_in_sync
