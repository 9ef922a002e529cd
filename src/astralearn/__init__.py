"""astralearn: learning from a handful of positives.

The paper's maths on arrays of any framework (`astra`, `rebalanced_logit`, `gmn_loss`, …; see `astralearn.core`).
Importing this module imports no framework.
"""

from astralearn import core
from astralearn.core import *  # noqa: F403

__version__ = "0.1.0"

__all__ = ["__version__"]
__all__ += core.__all__
