"""XGBoost on Dask: the same model as in one process, slope included.

`xgboost.dask.train(..., obj=XGBoostObjective(objective))` alone gives the right trees: each round's six sums are added up over the
workers. But every worker trains its own copy of the objective, so the slope that was learned stays there; `train` brings it back.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xgboost as xgb
import xgboost.dask as xgb_dask

from astralearn.boosting.labels import MinorityLabels
from astralearn.boosting.objective import Objective
from astralearn.boosting.training import XGBoostObjective
from astralearn.boosting.xgboost import STATE_ATTRIBUTE


def train(
    client: Any,
    params: dict[str, Any],
    dtrain: Any,
    num_boost_round: int = 10,
    *,
    objective: Objective,
    callbacks: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """`xgboost.dask.train` with an objective of astralearn, labels 0 and 1 (1 the rare class).

    client, params, dtrain, num_boost_round, options: as in `xgboost.dask.train`; `base_score` is 0.5 (the score 0) unless given.
    Returns its {"booster", "history"}. Afterwards `objective` holds the slope and its path, and the booster carries them too:
    saved, it loads into `ASTraXGBClassifier`. Workers without positives, or without rows, are fine.
    """
    result: dict[str, Any] = xgb_dask.train(
        client,
        {"objective": "binary:logistic", "base_score": 0.5, **params},
        dtrain,
        num_boost_round,
        obj=XGBoostObjective(objective),
        callbacks=[*(callbacks or []), _SlopeRecorder(objective)],
        **options,
    )
    objective.learner.continue_from(json.loads(result["booster"].attr(STATE_ATTRIBUTE))["slope_path"])
    return result


class _SlopeRecorder(xgb.callback.TrainingCallback):
    """Keeps the slope path in the booster's attributes, which travel with it. Pickled together with the objective, it shares it."""

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self.objective = objective

    def after_training(self, model: Any) -> Any:
        state = {**MinorityLabels(np.arange(2), 1).as_plain(), "slope_path": self.objective.slope_path}
        model.set_attr(**{STATE_ATTRIBUTE: json.dumps(state)})
        return model
