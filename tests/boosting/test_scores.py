import numpy as np
import pytest
from sklearn import metrics

from astralearn.boosting import ASTraObjective
from astralearn.boosting.scores import (
    SCORES,
    LightGBMScore,
    XGBoostScore,
    score_value,
    with_scores,
)
from astralearn.core import rebalanced_logit, soft_confusion


def data():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.1).astype(float)
    return rng.normal(-0.5, 1, 300) + y, y, rng.uniform(0.5, 2, 300)


@pytest.mark.parametrize("weighted", [False, True])
def test_hard_scores_against_scikit_learn(weighted):
    x, y, w = data()
    weight = w if weighted else None
    said = x >= 0
    recall = [
        metrics.recall_score(y, said, pos_label=label, sample_weight=weight) for label in (0, 1)
    ]
    assert score_value("g_mean", x, y, weight, 3.0) == pytest.approx(np.sqrt(recall[0] * recall[1]))
    assert score_value("mcc", x, y, weight, 3.0) == pytest.approx(
        metrics.matthews_corrcoef(y, said, sample_weight=weight)
    )
    assert score_value("fnr", x, y, weight, 3.0) == pytest.approx(1 - recall[1])


@pytest.mark.parametrize("name", [name for name, score in SCORES.items() if score.soft])
def test_soft_scores_are_those_of_the_soft_counts(name):
    x, y, w = data()
    counts = soft_confusion(rebalanced_logit(x, 3.0), y, w)
    assert score_value(name, x, y, w, 3.0) == pytest.approx(
        float(getattr(counts, SCORES[name].attribute))
    )


@pytest.mark.parametrize("name", list(SCORES))
def test_libraries_learn_which_way_is_better(name):
    x, y, w = data()
    objective = ASTraObjective(tau_init=0.5)
    shown, value, higher = LightGBMScore(name, objective)(y, x, w)
    assert (shown, higher) == (name, SCORES[name].higher_is_better)
    loss = XGBoostScore(name, objective)
    assert loss(y, x, sample_weight=w) == pytest.approx(1 - value if higher else value)
    assert loss.__name__ == (f"1-{name}" if higher else name)


def test_names_of_scores_become_functions_beside_a_librarys_own():
    first, second, third = with_scores(["auc", "mcc", max], LightGBMScore, ASTraObjective())
    assert (first, second.name, third) == ("auc", "mcc", max)
    (alone,) = with_scores("soft_fnr", XGBoostScore, ASTraObjective())
    assert alone.name == "soft_fnr"


def test_unknown_score():
    with pytest.raises(ValueError, match=r"eval_metric must be one of soft_g_mean.*found 'auc'"):
        LightGBMScore("auc", ASTraObjective())
