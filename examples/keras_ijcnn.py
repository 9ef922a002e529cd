"""The paper's network in Keras on ijcnn-971: five positives among 4,858 rows, three folds to train,
one to validate, one to test.

    KERAS_BACKEND=jax python examples/keras_ijcnn.py [epochs]     2,000; the paper has 10,000

One hidden layer of ceil((22 + 1)/2) = 12 units, Leaky ReLU 0.3, He and Glorot initialisation, Adam
0.001, full batch, GMN loss, ASTra, the slope's learning rate by Eq. 10, and of all epochs after a
burn-in the one with the best soft FNR on the validation fold. Every fold has one positive, so each
either finds it or not: five yes-or-no trials say little, and the paper averages over many
repetitions (`astralearn reproduce`).
"""

import argparse
import math

import keras
import numpy as np

from astralearn.datasets import load
from astralearn.keras import (
    ASTra,
    BestAfterBurnIn,
    ERatio,
    GMNLoss,
    SlopeRate,
    SlopeRateOptimizer,
    SoftFNR,
)
from astralearn.study.splits import make_splits


def network(features: int) -> keras.Model:
    layers = [
        keras.layers.Dense(math.ceil((features + 1) / 2), kernel_initializer="he_normal"),
        keras.layers.LeakyReLU(0.3),
        keras.layers.Dense(1, kernel_initializer="glorot_uniform"),
        ASTra(tau_init=0.25),
    ]
    model = keras.Sequential([keras.Input((features,)), *layers])
    optimizer = SlopeRateOptimizer(keras.optimizers.Adam(0.001, epsilon=1e-7), slope_rate=0.01)
    model.compile(optimizer, loss=GMNLoss(), metrics=[ERatio(), SoftFNR()])
    return model


def main(epochs: int = 2000, folds: int = 5) -> list[tuple[float, float]]:
    """Prints and returns (TPR, TNR) on the test fold of each split."""
    problem = load("ijcnn-971")
    rates = []
    for split in make_splits(problem, repetitions=1)[:folds]:
        keras.utils.set_random_seed(split.fold)
        mean, scale = problem.X[split.train].mean(0), problem.X[split.train].std(0)
        x = ((problem.X - mean) / np.where(scale > 0, scale, 1)).astype("float32")
        model = network(problem.features)
        model.fit(
            x[split.train],
            problem.y[split.train],
            batch_size=len(split.train),
            epochs=epochs,
            verbose=0,
            validation_data=(x[split.validation], problem.y[split.validation]),
            validation_batch_size=len(split.validation),
            callbacks=[SlopeRate(), BestAfterBurnIn("val_soft_fnr", burn_in=epochs // 10)],
        )
        y = problem.y[split.test]
        positive = model.predict(x[split.test], verbose=0, batch_size=len(y))[:, 0] >= 0
        rates.append((float(positive[y == 1].mean()), float((~positive[y == 0]).mean())))
        threshold = float(keras.ops.convert_to_numpy(model.layers[-1].threshold)[0])
        print(
            f"fold {split.fold}: TPR {rates[-1][0]:.0f}, TNR {rates[-1][1]:.4f}, threshold "
            f"{threshold:.3f}",
            flush=True,
        )
    print(
        f"G-Mean {np.mean([math.sqrt(tpr * tnr) for tpr, tnr in rates]):.3f} over {len(rates)} "
        "folds"
    )
    return rates


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("epochs", type=int, nargs="?", default=2_000)
    main(parser.parse_args().epochs)
