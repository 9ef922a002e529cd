"""A cut for a trained model's logits, by the decisions of `ASTraClassifier`."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from astralearn.classifier.model_cut import Cut, cut_scores


def decide(
    model: keras.Model,
    x: Any,
    y: Any,
    decision: Any = "g_mean",
    *,
    seen: bool = False,
    prior: float | None = None,
    batch_size: int = 1_024,
) -> Cut:
    """Find the cut of a model's logits for an aim, and what to expect of it.

        cut = decide(model, x_left_out, y_left_out, "g_mean")
        cut.flags(model.predict(x))    # which rows are positive
        print(cut.expectations)        # recall, false alarms and precision to expect

    model: gives one logit per row.
    x, y: rows and their labels 0 and 1, NaN where missing. Negatives should be rows that the model
        did not train on. Positives too, where there are some to spare; if not, pass the training
        positives and `seen=True`.
    decision: "g_mean", "mcc", "f1", {"cost": {0: 1, 1: 100}}, {"alerts": 0.01}, {"recall": 0.9} or
        {"precision": 0.5}.
    seen: whether the model trained on these positives, which then count for less.
    prior: the positives' share where the model is used; None takes that of these rows.
    batch_size: rows that the model sees at once.

    >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Identity()])
    >>> x = np.linspace(-3, 3, 200).reshape(-1, 1)
    >>> cut = decide(model, x, x[:, 0] > 2.5, "g_mean")
    >>> bool(cut.flags(x)[-1]), bool(cut.flags(x)[0])
    (True, False)
    """
    scores = np.asarray(model.predict(x, batch_size=batch_size, verbose=0))
    if scores.size != len(scores):
        raise ValueError(f"decide takes one logit per row; found logits of shape {scores.shape}")
    return cut_scores(
        scores.reshape(-1), np.asarray(y, np.float64).reshape(-1), decision, seen=seen, prior=prior
    )
