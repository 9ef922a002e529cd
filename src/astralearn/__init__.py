"""astralearn: learning from a handful of positives.

`ASTraClassifier` is the scikit-learn classifier, `load` reads a saved one. The paper's maths on
arrays of any framework is here too (`astra`, `rebalanced_logit`, `gmn_loss`, …; see
`astralearn.core`). Importing this module imports no framework; what needs one is imported when it
is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from astralearn import core
from astralearn.core import *  # noqa: F403

if TYPE_CHECKING:
    from astralearn.classifier import ASTraClassifier
    from astralearn.model_file import load

    __version__: str

__all__ = ["ASTraClassifier", "load", "__version__"]
__all__ += core.__all__

_LATER = {"ASTraClassifier": "astralearn.classifier", "load": "astralearn.model_file"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name == "__version__":
        return _version()
    raise AttributeError(f"module 'astralearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER, "__version__"])


def _version() -> str:
    """The installed version: the tag that it was built from, or the commit after it."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("astralearn")
    except PackageNotFoundError:
        return "0+unknown"
