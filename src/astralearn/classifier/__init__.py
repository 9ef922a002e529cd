"""ASTraClassifier, a scikit-learn classifier for a handful of positives.

A fit walks through `checks`, `labels`, `rows`, the plan of `committee` and `fitting` to its
members: networks (`prediction`), `trees`, `neighbours` and a `linear` score. `evidence` makes their
scores comparable, `committee` joins them, `decision` cuts. Of all these, `fitting` alone imports
JAX. The classifier is imported when it is first asked for, so that `labels` and `left_whole`,
which other rooms use too, stay light.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from astralearn.classifier.estimator import ASTraClassifier

__all__ = ["ASTraClassifier"]


def __getattr__(name: str) -> Any:
    if name == "ASTraClassifier":
        from astralearn.classifier.estimator import ASTraClassifier

        return ASTraClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
