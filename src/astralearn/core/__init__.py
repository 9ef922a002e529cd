"""The maths of the paper, written once for every array library.

`curve` and `derivatives` are exact functions of (x, b), `confusion` and `losses` functions of
(logits, y, sample_weight). `warp` is the training kernel, `class_means` what losses are functions
of. Arrays of one library go in and come out; `xp` names it where it is taken as given (`inputs`).
"""

from astralearn.core.confusion import SoftConfusion, soft_confusion
from astralearn.core.curve import (
    astra,
    astra_complement,
    raw_from_slope,
    rebalance,
    rebalanced_logit,
    slope,
    slope_from_raw,
    threshold,
)
from astralearn.core.derivatives import (
    astra_dx,
    rebalanced_logit_db,
    rebalanced_logit_dx,
    rebalanced_logit_dx2,
    slope_from_raw_dbeta,
)
from astralearn.core.loss_functions import (
    balanced_accuracy_gradient,
    balanced_accuracy_loss,
    bce_gradient,
    bce_loss,
    f1_gradient,
    f1_loss,
    gmn_gradient,
    gmn_loss,
    mcc_gradient,
    mcc_loss,
    root_gmn_gradient,
    root_gmn_loss,
)
from astralearn.core.losses import LOSSES, Loss
from astralearn.core.slope_rate import slope_rate

__all__ = [
    "LOSSES",
    "Loss",
    "SoftConfusion",
    "astra",
    "astra_complement",
    "astra_dx",
    "balanced_accuracy_gradient",
    "balanced_accuracy_loss",
    "bce_gradient",
    "bce_loss",
    "f1_gradient",
    "f1_loss",
    "gmn_gradient",
    "gmn_loss",
    "mcc_gradient",
    "mcc_loss",
    "raw_from_slope",
    "rebalance",
    "rebalanced_logit",
    "rebalanced_logit_db",
    "rebalanced_logit_dx",
    "rebalanced_logit_dx2",
    "root_gmn_gradient",
    "root_gmn_loss",
    "slope",
    "slope_from_raw",
    "slope_from_raw_dbeta",
    "slope_rate",
    "soft_confusion",
    "threshold",
]
