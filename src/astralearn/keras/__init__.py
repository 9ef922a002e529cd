"""Keras 3 on TensorFlow, JAX and PyTorch: ASTra as a layer, GMN as the loss.

`ASTra` warps a model's logits, the losses and metrics take logits, `SlopeRateOptimizer` and the
callback `SlopeRate` give the slope its own learning rate inside fit() (Eq. 10). Formulas are those
of `astralearn.core`; this package holds state, serialisation and what each backend needs.
"""

try:
    import keras as _keras
except ImportError as error:
    if error.name == "keras":
        raise ImportError(
            "astralearn.keras needs Keras 3: pip install 'astralearn[keras]'. "
            "Set KERAS_BACKEND to jax, which astralearn brings, or install tensorflow or torch"
        ) from None
    raise ImportError(
        f"Keras cannot be imported ({error}): install the backend that it asks for, "
        "or set KERAS_BACKEND to tensorflow, jax or torch"
    ) from None

if int(_keras.__version__.split(".")[0]) < 3:
    raise ImportError(
        f"astralearn.keras needs Keras 3; found Keras {_keras.__version__}: "
        "pip install --upgrade 'keras>=3.6'"
    )
if _keras.config.backend() not in ("tensorflow", "jax", "torch"):
    raise ImportError(
        "astralearn.keras works on the backends tensorflow, jax and torch; "
        f"found {_keras.config.backend()}: set KERAS_BACKEND before Keras is first imported"
    )

from astralearn.keras.callbacks import BestAfterBurnIn, SlopeRate
from astralearn.keras.decide import decide
from astralearn.keras.layer import ASTra
from astralearn.keras.losses import (
    BalancedAccuracyLoss,
    F1Loss,
    GMNLoss,
    MCCLoss,
    RootGMNLoss,
    SummedLoss,
)
from astralearn.keras.metrics import ERatio, SoftFNR, SoftFPR, SoftGMean, SoftMCC
from astralearn.keras.optimizer import SlopeRateOptimizer
from astralearn.keras.rare_head import AdjustedCrossentropy, rare_head, rare_weight_decay
from astralearn.keras.stratified import StratifiedBatches

__all__ = [
    "ASTra",
    "AdjustedCrossentropy",
    "BalancedAccuracyLoss",
    "BestAfterBurnIn",
    "ERatio",
    "F1Loss",
    "GMNLoss",
    "MCCLoss",
    "RootGMNLoss",
    "SlopeRate",
    "SlopeRateOptimizer",
    "SoftFNR",
    "SoftFPR",
    "SoftGMean",
    "SoftMCC",
    "StratifiedBatches",
    "SummedLoss",
    "decide",
    "rare_head",
    "rare_weight_decay",
]
