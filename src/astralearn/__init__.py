"""astralearn: learning from a handful of positives.

`ASTraClassifier` is the scikit-learn classifier. The paper's maths on arrays of any framework is here too (`astra`, `rebalanced_logit`,
`gmn_loss`, …; see `astralearn.core`). Importing this module imports no framework; the classifier is imported when it is first used.
"""

from typing import TYPE_CHECKING, Any

from astralearn import core
from astralearn.core import *  # noqa: F403

if TYPE_CHECKING:
    from astralearn.classifier import ASTraClassifier

__version__ = "0.1.0"

__all__ = ["ASTraClassifier", "__version__"]
__all__ += core.__all__


def __getattr__(name: str) -> Any:
    if name == "ASTraClassifier":
        from astralearn.classifier import ASTraClassifier

        return ASTraClassifier
    raise AttributeError(f"module 'astralearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), "ASTraClassifier"])
