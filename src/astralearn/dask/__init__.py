"""The classifier on a Dask cluster: the same fit, and lazy predictions.

`DaskASTraClassifier` takes Dask arrays and frames. docs/scale.md says what is exact and what it
costs.
"""

try:
    import dask  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"astralearn.dask needs Dask ({error}): pip install 'astralearn[cluster]'"
    ) from None

from astralearn.dask.estimator import DaskASTraClassifier

__all__ = ["DaskASTraClassifier"]
