"""XGBoost on Dask: the same model as in one process, slope included.

`xgboost.dask.train(..., obj=XGBoostObjective(objective))` alone gives the right trees: each round's eight sums are added up over the
workers. But every worker trains its own copy of the objective, so the slope that was learned stays there; `train` brings it back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import xgboost as xgb
    import xgboost.dask as xgb_dask
except ImportError as error:
    raise ImportError(
        f"astralearn.boosting.dask needs XGBoost and Dask ({error}): pip install 'astralearn[boosting,cluster]'"
    ) from None

from astralearn.boosting.estimator import State, continue_slope
from astralearn.boosting.labels import MinorityLabels
from astralearn.boosting.objective import Objective
from astralearn.boosting.training import XGBoostObjective
from astralearn.boosting.xgboost import STATE_ATTRIBUTE, as_it_predicts, state_of


def train(
    client: Any,
    params: dict[str, Any],
    dtrain: Any,
    num_boost_round: int = 10,
    *,
    objective: Objective,
    xgb_model: Any = None,
    callbacks: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """`xgboost.dask.train` with an objective of astralearn, labels 0 and 1 (1 the rare class).

    client, params, dtrain, num_boost_round, options: as in `xgboost.dask.train`; `base_score` is 0.5 (the score 0) unless given.
    Returns its {"booster", "history"}. The slope starts afresh; with `xgb_model` it goes on from the one that this model carries, or
    from the objective's own. Afterwards `objective` holds the slope and its path, and the booster carries them too:
    saved, it loads into `ASTraXGBClassifier`. Workers without positives, or without rows, are fine.
    """
    earlier = None if xgb_model is None else as_it_predicts(xgb_model)
    if earlier is None:
        objective.reset()
    else:
        continue_slope(objective, state_of(earlier), earlier.num_boosted_rounds())
    result: dict[str, Any] = xgb_dask.train(
        client,
        {"objective": "binary:logistic", "base_score": 0.5, **params},
        dtrain,
        num_boost_round,
        obj=XGBoostObjective(objective),
        xgb_model=earlier,
        callbacks=[*(callbacks or []), _SlopeRecorder(objective)],
        **options,
    )
    state = State.of_text(result["booster"].attr(STATE_ATTRIBUTE))
    objective.learner.continue_from(state.slope_path, state.rates)
    return result


class _SlopeRecorder(xgb.callback.TrainingCallback):
    """Keeps the slope path in the booster's attributes, which travel with it. Pickled together with the objective, it shares it."""

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self.objective = objective

    def after_training(self, model: Any) -> Any:
        state = State(
            MinorityLabels(np.arange(2), 1), self.objective.slope_path, self.objective.learner.rates
        )
        model.set_attr(**{STATE_ATTRIBUTE: state.as_text()})
        return model
