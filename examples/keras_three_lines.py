"""The three-line change: an existing Keras model for a rare class, with ASTra as the last layer and GMN as the loss.

    KERAS_BACKEND=jax python examples/keras_three_lines.py          or tensorflow, or torch; lines marked (1), (2), (3) are all that changes

Synthetic data: 20 positives among 10,000 rows, judged on 200 positives and 10,000 negatives of the same two clouds.
"""

import keras
import numpy as np

from astralearn.keras import ASTra, ERatio, GMNLoss, SlopeRate, SlopeRateOptimizer


def cloud(positives: int, negatives: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    y = np.r_[np.ones(positives), np.zeros(negatives)].astype("float32")
    return (np.random.default_rng(seed).normal(size=(len(y), 10)) + 0.6 * y[:, None]).astype(
        "float32"
    ), y


def train(rebalanced: bool, epochs: int = 300) -> keras.Model:
    x, y = cloud(20, 10_000, seed=0)
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input((10,)), keras.layers.Dense(16, "leaky_relu"), keras.layers.Dense(1)]
    )
    loss, optimizer = keras.losses.BinaryCrossentropy(from_logits=True), keras.optimizers.Adam(1e-3)
    metrics, callbacks = [], []
    if rebalanced:
        model = keras.Sequential([model, ASTra()])  # (1)
        loss = GMNLoss()  # (2)
        optimizer = SlopeRateOptimizer(optimizer)  # (3)
        metrics, callbacks = [ERatio()], [SlopeRate()]  # optional: the paper's Eq. 10
    model.compile(optimizer, loss=loss, metrics=metrics)
    model.fit(x, y, batch_size=len(x), epochs=epochs, verbose=0, callbacks=callbacks)
    return model


def judge(model: keras.Model) -> str:
    x, y = cloud(200, 10_000, seed=1)
    predicted = model.predict(x, verbose=0, batch_size=len(x))[:, 0] >= 0
    recall, specificity = predicted[y == 1].mean(), (~predicted[y == 0]).mean()
    return f"recall {recall:.3f}, specificity {specificity:.3f}, G-Mean {np.sqrt(recall * specificity):.3f}"


if __name__ == "__main__":
    print("BCE       ", judge(train(rebalanced=False)))
    model = train(rebalanced=True)
    print(
        "GMN-ASTra ",
        judge(model),
        f"(threshold {keras.ops.convert_to_numpy(model.layers[-1].threshold)[0]:.3f})",
    )
