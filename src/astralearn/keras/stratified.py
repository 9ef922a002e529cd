"""Mini-batches that always hold positives, for fit()."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from astralearn.core.inputs import check_whole_numbers


class StratifiedBatches(keras.utils.PyDataset):
    """Batches (x, y) that hold positives, for fit().

    Each epoch goes through all negatives once, in an order of its own. It deals the positives out
    and starts again when they run out, so the class proportions differ from the data's:
    `AdjustedCrossentropy` corrects for the batch's own, and the losses of `SummedLoss`, made of
    rates within each class, do not notice. A last incomplete batch is left out.

    x: an array of rows.
    y: 0 and 1, one per row.
    batch_size: rows per batch, positives included.
    positives_per_batch: positives in each batch.
    seed: of the orders.
    settings: those of keras.utils.PyDataset.

    >>> batches = StratifiedBatches(np.arange(12.0), np.r_[np.zeros(10), 1, 1], batch_size=6)
    >>> len(batches), batches[1][1].tolist()
    (2, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        *,
        batch_size: int = 64,
        positives_per_batch: int = 1,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        check_whole_numbers(batch_size=batch_size, positives_per_batch=positives_per_batch)
        if isinstance(x, dict):
            raise TypeError("x must be one array of rows; found a dict of inputs")
        self.x, self.y = np.asarray(x), np.asarray(y)
        labels = self.y.reshape(-1)
        if len(self.x) != len(labels) or len(self.y) != len(labels):
            raise ValueError(
                "x and y must have as many rows, y one label for each; "
                f"found {self.x.shape} and {self.y.shape}"
            )
        self.positives, self.negatives = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
        if len(self.positives) + len(self.negatives) < len(labels) or not len(self.positives):
            raise ValueError(
                f"y must be 0 and 1 and hold a 1; found {len(self.positives)} positives and "
                f"{len(self.negatives)} negatives among {len(labels)}"
            )
        if not 1 <= positives_per_batch < batch_size:
            raise ValueError(
                f"positives_per_batch must be in [1, batch_size={batch_size}); "
                f"found {positives_per_batch}"
            )
        self.batch_size, self.positives_per_batch = batch_size, positives_per_batch
        if len(self) == 0:
            raise ValueError(f"{len(self.negatives)} negatives fill no batch: lower batch_size")
        self._rng = np.random.default_rng(seed)
        self.on_epoch_end()

    def __len__(self) -> int:
        return len(self.negatives) // (self.batch_size - self.positives_per_batch)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        few, many = self.positives_per_batch, self.batch_size - self.positives_per_batch
        positives = self._dealt[index * few : (index + 1) * few]
        negatives = self._shuffled[index * many : (index + 1) * many]
        rows = np.concatenate([positives, negatives])
        return self.x[rows], self.y[rows]

    def on_epoch_end(self) -> None:
        """Draw the orders of the next epoch."""
        packs = -(-len(self) * self.positives_per_batch // len(self.positives))
        self._dealt = np.concatenate([self._rng.permutation(self.positives) for _ in range(packs)])
        self._shuffled = self._rng.permutation(self.negatives)
