"""An existing Keras model for a rare class, with rare_head as the last layer and a cut by decide.

    KERAS_BACKEND=jax python examples/keras_three_lines.py          or tensorflow, or torch

Lines marked (1) to (4) are all that changes.

Synthetic data: 20 positives among 10,000 rows, judged on 200 positives and 10,000 negatives of the
same two clouds.
"""

import keras
import numpy as np

from astralearn.keras import (
    AdjustedCrossentropy,
    ERatio,
    SlopeRateOptimizer,
    SoftFNR,
    SoftFPR,
    StratifiedBatches,
    decide,
    rare_head,
    rare_weight_decay,
)


def cloud(positives: int, negatives: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    y = np.r_[np.ones(positives), np.zeros(negatives)].astype("float32")
    return (np.random.default_rng(seed).normal(size=(len(y), 10)) + 0.6 * y[:, None]).astype(
        "float32"
    ), y


def network(*last: keras.Layer) -> keras.Model:
    keras.utils.set_random_seed(0)
    dense = [keras.layers.Dense(16, "leaky_relu"), keras.layers.Dense(1)]
    return keras.Sequential([keras.Input((10,)), *dense, *last])


def train_plainly(epochs: int = 10) -> tuple[keras.Model, float]:
    """Cross-entropy with a weight for the rare class, cut at logit 0."""
    x, y = cloud(20, 10_000, seed=0)
    model = network()
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(1e-3), loss=loss)
    model.fit(x, y, batch_size=128, epochs=epochs, verbose=0, class_weight={0: 1.0, 1: 500.0})
    return model, 0.0


def train(epochs: int = 10, callbacks: tuple = ()) -> tuple[keras.Model, float]:
    """The recipe, cut for the G-Mean; keras.callbacks.TensorBoard shows its readings."""
    x, y = cloud(20, 10_000, seed=0)
    model = network(rare_head(y))  # (1)
    inner = keras.optimizers.AdamW(1e-3, weight_decay=rare_weight_decay(y))
    readings = [SoftFNR(), SoftFPR(), ERatio()]
    model.compile(  # (2)
        SlopeRateOptimizer(inner), loss=AdjustedCrossentropy(), metrics=readings
    )
    batches = StratifiedBatches(x[:8_020], y[:8_020], batch_size=128, positives_per_batch=8)  # (3)
    model.fit(batches, epochs=epochs, verbose=0, callbacks=list(callbacks))
    # (4) Negatives that were left out, and the 20 positives, which were not.
    rows = np.r_[:20, 8_020 : len(y)]
    cut = decide(model, x[rows], y[rows], "g_mean", seen=True, prior=float(y.mean()))
    print(cut)
    return model, cut.score


def judge(model: keras.Model, cut: float) -> str:
    x, y = cloud(200, 10_000, seed=1)
    predicted = model.predict(x, verbose=0, batch_size=len(x))[:, 0] >= cut
    recall, specificity = predicted[y == 1].mean(), (~predicted[y == 0]).mean()
    g_mean = np.sqrt(recall * specificity)
    return f"recall {recall:.3f}, specificity {specificity:.3f}, G-Mean {g_mean:.3f}"


if __name__ == "__main__":
    print("weighted BCE", judge(*train_plainly()))
    print("rare_head   ", judge(*train()))
