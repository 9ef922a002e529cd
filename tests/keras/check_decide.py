import keras
import numpy as np
import pytest

from astralearn.classifier.model_cut import cut_scores
from astralearn.keras import (
    AdjustedCrossentropy,
    ERatio,
    SlopeRateOptimizer,
    StratifiedBatches,
    decide,
    rare_head,
)

pytestmark = pytest.mark.usefixtures("few")


def cloud(positives, negatives, seed):
    y = np.r_[np.ones(positives), np.zeros(negatives)].astype("float32")
    x = np.random.default_rng(seed).normal(size=(len(y), 6)) + 1.2 * y[:, None]
    return x.astype("float32"), y


def test_the_recipe_trains_and_its_cut_finds_new_positives():
    """As docs/keras.md has it: the cut is that of the logits, and beats logit 0."""
    x, y = cloud(6, 1500, seed=0)
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input((6,)), keras.layers.Dense(8, "tanh"), keras.layers.Dense(1), rare_head(y)]
    )
    inner = keras.optimizers.AdamW(1e-2, weight_decay=1.0, use_ema=True, ema_momentum=0.98)
    model.compile(SlopeRateOptimizer(inner), loss=AdjustedCrossentropy(), metrics=[ERatio()])
    batches = StratifiedBatches(x[:1200], y[:1200], batch_size=64, positives_per_batch=4)
    history = model.fit(batches, epochs=3, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]
    rows = np.r_[np.arange(6), np.arange(1200, 1506)]
    cut = decide(model, x[rows], y[rows], "g_mean", seen=True, prior=6 / 1506)
    scores = model.predict(x[rows], verbose=0).reshape(-1)
    expected = cut_scores(scores, y[rows], "g_mean", seen=True, prior=6 / 1506)
    assert cut.score == pytest.approx(expected.score, rel=1e-4, abs=1e-4)
    x_new, y_new = cloud(500, 500, seed=1)
    flagged = cut.flags(model.predict(x_new, verbose=0).reshape(-1))
    assert np.sqrt(flagged[y_new == 1].mean() * (1 - flagged[y_new == 0].mean())) > 0.75


def test_mistakes_are_named():
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match=r"one logit per row; found logits of shape \(5, 2\)"):
        decide(model, np.zeros((5, 6)), np.zeros(5))
