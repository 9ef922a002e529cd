"""Columns of every kind as numbers, fitted on training rows only.

`TableEncoder` turns a data frame of numbers, words, dates and gaps into numbers, and
`TabularASTraClassifier` learns from such a frame as it comes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from astralearn.tabular.classifier import TabularASTraClassifier
    from astralearn.tabular.encoder import TableEncoder, encoder_for

__all__ = ["TableEncoder", "TabularASTraClassifier", "encoder_for"]

_LATER = {
    "TableEncoder": "astralearn.tabular.encoder",
    "TabularASTraClassifier": "astralearn.tabular.classifier",
    "encoder_for": "astralearn.tabular.encoder",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'astralearn.tabular' has no attribute {name!r}")
