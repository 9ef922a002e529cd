import numpy as np
import pytest

from astralearn.keras import StratifiedBatches

Y = (np.arange(50) < 3).astype("float32")


def test_every_batch_holds_positives_and_each_negative_comes_once():
    batches = StratifiedBatches(np.arange(50), Y, batch_size=12, positives_per_batch=2, seed=1)
    epochs = []
    for _ in range(2):
        parts = [batches[i] for i in range(len(batches))]
        assert all(y.sum() == 2 and len(y) == 12 for _, y in parts)
        assert all((y == Y[x]).all() for x, y in parts)
        rows = np.concatenate([x[y == 0] for x, y in parts])
        assert len(np.unique(rows)) == len(rows) == 40
        positives = np.concatenate([x[y == 1] for x, y in parts])
        assert np.bincount(positives, minlength=3).min() >= 2
        epochs.append(rows)
        batches.on_epoch_end()
    assert (epochs[0] != epochs[1]).any()


@pytest.mark.parametrize(
    ("y", "settings", "message"),
    [
        (Y[:4], {}, r"as many rows, y one label for each; found \(50,\) and \(4,\)"),
        (0 * Y, {}, "hold a 1; found 0 positives and 50 negatives among 50"),
        (Y + 1, {}, "must be 0 and 1"),
        (Y, {"batch_size": 4, "positives_per_batch": 4}, r"in \[1, batch_size=4\); found 4"),
        (Y, {"batch_size": 64}, "47 negatives fill no batch: lower batch_size"),
    ],
)
def test_mistakes_are_named(y, settings, message):
    with pytest.raises(ValueError, match=message):
        StratifiedBatches(np.arange(50), y, **settings)


@pytest.mark.parametrize(
    ("x", "settings", "message"),
    [
        ({"a": np.arange(50)}, {}, "x must be one array of rows; found a dict of inputs"),
        (np.arange(50), {"batch_size": 12.5}, "batch_size must be a whole number; found 12.5"),
        (np.arange(50), {"positives_per_batch": 1.5}, "positives_per_batch must be a whole"),
    ],
)
def test_wrong_kinds_are_named(x, settings, message):
    with pytest.raises(TypeError, match=message):
        StratifiedBatches(x, Y, **settings)
