"""Sums over the replicas of tf.distribute: a few numbers per step travel, whatever the batch.

JAX needs nothing of this: with keras.distribution the batch is one array, however it is laid out
over devices, and so are its sums.
"""

from __future__ import annotations

import functools

import keras
from keras import ops

from astralearn.core.sums import SUMMED, Sums

# Every loss sends as many numbers: a second strategy in one process counts its reductions from the
# first again, and TensorFlow refuses one whose shape has changed.
MOST_SUMS = 6


def joined(kind: str, sums: Sums) -> tuple[Sums, int]:
    """The sums of all replicas added up, the same on each, and the number of replicas."""
    if keras.config.backend() != "tensorflow":
        return sums, 1
    import tensorflow as tf

    replica = tf.distribute.get_replica_context()
    if replica is None or replica.num_replicas_in_sync == 1:
        return sums, 1
    # Everyone's sums go in a row of their own: all_reduce cannot add logarithms, but rows of zeros.
    own_row = tf.one_hot(
        replica.replica_id_in_sync_group, replica.num_replicas_in_sync, dtype=sums[0].dtype
    )
    mine = tf.stack([tf.reshape(part, (-1,)) for part in sums])
    mine = tf.pad(mine, [[0, MOST_SUMS - len(sums)], [0, 0]])
    everyone = replica.all_reduce(tf.distribute.ReduceOp.SUM, own_row[:, None, None] * mine)
    parts = (
        tuple(tf.reshape(part, sums[0].shape) for part in tf.unstack(row)[: len(sums)])
        for row in tf.unstack(everyone)
    )
    add = functools.partial(SUMMED[kind].add, xp=ops)
    return functools.reduce(add, parts), replica.num_replicas_in_sync
