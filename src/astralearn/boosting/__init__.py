"""ASTra and the soft confusion matrix in LightGBM, XGBoost and CatBoost.

Objectives (`ASTraObjective`, `ConfusionObjective`) need none of the libraries; each classifier
imports its own when it is first named.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from astralearn.boosting.objective import ASTraObjective, ConfusionObjective, Objective
from astralearn.boosting.scores import SCORES
from astralearn.boosting.training import LightGBMObjective, XGBoostObjective

if TYPE_CHECKING:
    from astralearn.boosting.catboost import ASTraCatBoostClassifier
    from astralearn.boosting.lightgbm import ASTraLGBMClassifier
    from astralearn.boosting.xgboost import ASTraXGBClassifier

__all__ = [
    "ASTraObjective",
    "ConfusionObjective",
    "Objective",
    "LightGBMObjective",
    "XGBoostObjective",
    "SCORES",
    "ASTraLGBMClassifier",
    "ASTraXGBClassifier",
    "ASTraCatBoostClassifier",
]

_LIBRARY_OF = {
    "ASTraLGBMClassifier": "lightgbm",
    "ASTraXGBClassifier": "xgboost",
    "ASTraCatBoostClassifier": "catboost",
}


def __getattr__(name: str) -> Any:
    if name not in _LIBRARY_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    library = _LIBRARY_OF[name]
    try:
        importlib.import_module(library)
    except ImportError as error:
        raise ImportError(
            f"{name} needs {library}: pip install 'astralearn[boosting]'", name=library
        ) from error
    return getattr(importlib.import_module(f"{__name__}.{library}"), name)
