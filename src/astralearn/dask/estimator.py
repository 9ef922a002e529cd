"""DaskASTraClassifier: ASTraClassifier for Dask collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import dask
import dask.array as da
import numpy as np
from sklearn.base import _fit_context

from astralearn.classifier.estimator import ASTraClassifier
from astralearn.classifier.shard_fit import Spread, fit_pieces
from astralearn.dask.partitions import Partitions
from astralearn.dask.workers import fit_in_workers


class DaskASTraClassifier(ASTraClassifier):
    """`ASTraClassifier` for tables in partitions, with its parameters and attributes.

    `fit` takes Dask arrays and frames, also straight from `dask.dataframe.read_parquet`, and gives
    the model that `ASTraClassifier.fit` would give if the table were in one place. What predicts
    gives Dask collections: nothing is computed until they are. Rows in memory are predicted at
    once, as by `ASTraClassifier`; `local` gives that.

    Examples
    --------
    >>> import numpy as np
    >>> from dask import array as da
    >>> rng = np.random.default_rng(0)
    >>> X = da.from_array(rng.normal(size=(2000, 4)) + 4 * (np.arange(2000) < 5)[:, None], 500)
    >>> y = da.from_array((np.arange(2000) < 5).astype(int), 500)
    >>> model = DaskASTraClassifier(random_state=0).fit(X, y)
    >>> model.predict(X)[:5].compute().tolist()
    [1, 1, 1, 1, 1]
    """

    __module__ = "astralearn.dask"  # where users and pickles find it

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, validation: Sequence[Any] | None = None
    ) -> Self:
        """Train on (X, y).

        X: a Dask array or frame, (rows, features).
        y: a Dask array or series with two classes, in the partitions of X.
        sample_weight: the same, ≥ 0.
        validation: (X_val, y_val) in memory, as for `ASTraClassifier.fit`.
        """
        spread = Spread.of(Partitions.of(X, y, sample_weight))
        if self.committee or spread.is_small:
            end = fit_pieces(self, spread, validation)
        else:
            end = fit_in_workers(self, spread, validation)
        self._warn_of_the_end(*end)
        return self

    def local(self) -> ASTraClassifier:
        """The plain classifier with the same parameters and the same fit."""
        model = ASTraClassifier(**self.get_params(deep=False))
        model.__dict__.update(self.__dict__)
        return model

    def save(self, path: Any) -> None:
        """Write the plain classifier to one file; `astralearn.load` reads it."""
        self.local().save(path)

    def decision_function(self, X: Any) -> Any:
        """How far rows lie beyond the cut: above 0 predicts `classes_[1]`, (rows,)."""
        return self._lazily("decision_function", X, np.dtype(np.float64))

    def predict(self, X: Any) -> Any:
        """The label of each row."""
        return self._lazily("predict", X, self._labels().labels.dtype)

    def predict_proba(self, X: Any) -> Any:
        """z and 1−z in the order of `classes_`, (rows, 2); of a frame, as its columns."""
        return self._lazily("predict_proba", X, np.dtype(np.float64), list(self._labels().labels))

    def predict_risk(self, X: Any) -> Any:
        """The minority's probability at the training prior, whatever the decision."""
        return self._lazily("predict_risk", X, np.dtype(np.float64))

    def _lazily(
        self, method: str, X: Any, dtype: np.dtype[Any], columns: list[Any] | None = None
    ) -> Any:
        """What a method of the plain classifier says of each partition.

        columns: names of what it says of each row, where that is several numbers.
        """
        if not dask.is_dask_collection(X):
            return getattr(super(), method)(X)
        model = dask.delayed(self.local(), pure=True)
        if isinstance(X, da.Array):
            shape = {"drop_axis": 1} if columns is None else {"chunks": (X.chunks[0], 2)}
            X = X.rechunk({1: -1})
            return X.map_blocks(_of_array, model, method, columns, dtype, dtype=dtype, **shape)
        meta = _of_frame(X._meta, None, method, columns, dtype)
        return X.map_partitions(_of_frame, model, method, columns, dtype, meta=meta)


def _of_array(
    X: np.ndarray, model: ASTraClassifier, method: str, columns: list[Any] | None, dtype: Any
) -> np.ndarray:
    if not len(X):
        return np.empty(0 if columns is None else (0, len(columns)), dtype)
    return getattr(model, method)(X)


def _of_frame(X: Any, model: Any, method: str, columns: list[Any] | None, dtype: Any) -> Any:
    """The same with the frame's index; an empty frame needs no model."""
    import pandas as pd

    values = _of_array(X, model, method, columns, dtype)
    if columns is None:
        return pd.Series(values, index=X.index)
    return pd.DataFrame(values, index=X.index, columns=columns)
