"""XGBoost on Dask: the same model as in one process, slope included.

`xgboost.dask.train(..., obj=XGBoostObjective(objective))` alone gives the right trees: each round's
eight sums are added up over the workers. But every worker trains its own copy of the objective, so
the slope that was learned stays there; `train` brings it back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import xgboost as xgb
    import xgboost.dask as xgb_dask
except ImportError as error:
    raise ImportError(
        f"astralearn.boosting.dask needs XGBoost and Dask ({error}): "
        "pip install 'astralearn[boosting,cluster]'"
    ) from None

from astralearn.boosting.labels import MinorityLabels
from astralearn.boosting.objective import Objective
from astralearn.boosting.state import STATE_KEY, LearnedState
from astralearn.boosting.training import XGBoostObjective, checked_objective
from astralearn.boosting.xgboost import as_it_predicts, earlier_of


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
    """`xgboost.dask.train` with an objective of astralearn.

    Returns its {"booster", "history"}. Afterwards `objective` holds the slope and its path, and the
    booster carries them too: saved, it loads into `ASTraXGBClassifier`.

    client, params, num_boost_round, callbacks, options: as in `xgboost.dask.train`; `base_score` is
        0.5 (the score 0) unless given.
    dtrain: labels 0 and 1 (1 the rare class). Workers without positives, or rows, are fine.
    objective: its slope starts afresh.
    xgb_model: the slope goes on from the one that this model carries, or from the objective's own.

    >>> from astralearn.boosting import ASTraObjective
    >>> objective = ASTraObjective()
    >>> found = train(client, {}, dtrain, 50, objective=objective)  # doctest: +SKIP
    >>> found["booster"].save_model("fraud.json")  # doctest: +SKIP
    """
    params = _from_a_probability(params)
    booster = None if xgb_model is None else as_it_predicts(xgb_model)
    if booster is None:
        checked_objective(objective).reset()
    else:
        earlier_of(booster).continue_slope(checked_objective(objective))
    result: dict[str, Any] = xgb_dask.train(
        client,
        params,
        dtrain,
        num_boost_round,
        obj=XGBoostObjective(objective),
        xgb_model=booster,
        callbacks=[*(callbacks or []), _SlopeRecorder(objective)],
        **options,
    )
    state = LearnedState.of_text(result["booster"].attr(STATE_KEY))
    objective.learner.continue_from(state.slope_path, state.rates)
    return result


def _from_a_probability(params: dict[str, Any]) -> dict[str, Any]:
    """XGBoost's parameters with ours, whose start must be a probability."""
    params = {"objective": "binary:logistic", "base_score": 0.5, **params}
    start = params["base_score"]
    if (
        params["objective"] == "binary:logistic"
        and isinstance(start, (int, float))
        and not 0 < start < 1
    ):
        raise ValueError(
            "base_score must be a probability in (0, 1), of which 0.5 is the score 0; "
            f"found {start}"
        )
    return params


class _SlopeRecorder(xgb.callback.TrainingCallback):
    """Keeps the slope path in the booster's attributes, which travel with it.

    Pickled together with the objective, it shares it.
    """

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self.objective = objective

    def after_training(self, model: Any) -> Any:
        learner = self.objective.learner
        state = LearnedState(MinorityLabels(np.arange(2), 1), learner.path, learner.rates)
        model.set_attr(**{STATE_KEY: state.as_text()})
        return model
