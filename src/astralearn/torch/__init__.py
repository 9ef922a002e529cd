"""PyTorch: ASTra as the last layer, GMN as the loss, exact at any scale.

`ASTra` warps a model's logits, the losses take logits, `full_batch_backward` and `process_group=`
keep a loss of the whole batch exact over micro-batches and ranks. Formulas are those of
`astralearn.core`; this package holds state, autograd and collectives. What only one compiler or
processor needs stands in `inductor` and `cpu`.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"astralearn.torch needs PyTorch ({error}): pip install 'astralearn[torch]'",
        name=error.name,
    ) from None

from astralearn.torch.decide import decide
from astralearn.torch.full_batch import full_batch_backward
from astralearn.torch.layer import ASTra
from astralearn.torch.losses import (
    BalancedAccuracyLoss,
    BCELoss,
    F1Loss,
    GMNLoss,
    MCCLoss,
    RootGMNLoss,
    SummedLossModule,
)
from astralearn.torch.monitor import SoftConfusionMonitor
from astralearn.torch.rare_head import RareHead
from astralearn.torch.sampler import StratifiedBatchSampler
from astralearn.torch.slope_rate import SlopeRate, parameter_groups

__all__ = [
    "ASTra",
    "BCELoss",
    "BalancedAccuracyLoss",
    "F1Loss",
    "GMNLoss",
    "MCCLoss",
    "RareHead",
    "RootGMNLoss",
    "SlopeRate",
    "SoftConfusionMonitor",
    "StratifiedBatchSampler",
    "SummedLossModule",
    "decide",
    "full_batch_backward",
    "parameter_groups",
]
