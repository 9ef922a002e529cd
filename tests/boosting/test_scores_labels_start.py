import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn import metrics

from astralearn.boosting import ASTraObjective
from astralearn.boosting.labels import MinorityLabels
from astralearn.boosting.scores import SCORES, LightGBMScore, XGBoostScore, score_value
from astralearn.boosting.start import inverse_warp, start_score
from astralearn.core import LOSSES, rebalanced_logit, soft_confusion


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


def test_unknown_score():
    with pytest.raises(ValueError, match=r"eval_metric must be one of soft_g_mean.*found 'auc'"):
        LightGBMScore("auc", ASTraObjective())


@pytest.mark.parametrize(
    ("y", "minority"),
    [
        (["ok", "ok", "fraud"], "fraud"),
        (["a", "a", "b"], "b"),
        ([1, -1, 1], -1),
        ([True, True, False], False),
        ([0, 1, 1, 0], 1),  # a tie: the class that sorts last
        (["x", "y"], "y"),
        ([2.0, 7.0, 7.0], 2.0),
    ],
)
def test_the_rarer_class_is_positive(y, minority):
    labels = MinorityLabels.of(y)
    assert labels.minority == minority
    binary = labels.to_binary(y)
    assert binary.tolist() == [int(label == minority) for label in y]
    assert labels.from_binary(binary).tolist() == y
    again = MinorityLabels.from_plain(labels.as_plain())
    assert again.from_binary(binary).tolist() == y
    columns = labels.probabilities(np.asarray([0.9]), np.asarray([0.1]))
    assert columns[0, labels.classes.tolist().index(minority)] == 0.9


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1], "found one class only"),
        ([0, 1, 2], "Only binary classification is supported"),
        ([0.5, 0.1], "Unknown label type"),
        ([0.0, np.nan], "NaN"),
        ([], "sample"),
    ],
)
def test_labels_that_cannot_be_learned(y, message):
    with pytest.raises(ValueError, match=message):
        MinorityLabels.of(y)


def test_a_label_that_training_never_saw():
    with pytest.raises(ValueError, match="only the classes seen in training"):
        MinorityLabels.of(["a", "a", "b"]).to_binary(["a", "c"])


def test_class_weight_keys():
    labels = MinorityLabels.of(["ok", "ok", "fraud"])
    assert labels.weights_by_binary({"fraud": 3.0, "ok": 1.0}) == {1: 3.0, 0: 1.0}
    assert labels.weights_by_binary("balanced") == "balanced"
    with pytest.raises(ValueError, match="class_weight must name"):
        labels.weights_by_binary({"spam": 1.0})


@pytest.mark.parametrize("slope", [1.0, 2.0, 7.396, 500.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_start_is_the_best_constant(slope, weighted):
    _, y, w = data()
    weight = w if weighted else None

    def loss(x):
        return float(LOSSES["bce"].value(rebalanced_logit(np.full(len(y), x), slope), y, weight))

    best = minimize_scalar(loss, bounds=(-10, 10), method="bounded", options={"xatol": 1e-10})
    assert start_score("bce", y, weight, slope) == pytest.approx(best.x, abs=1e-5)
    assert start_score("gmn", y, weight, slope) == 0.0
    steps = [float(LOSSES["gmn"].value(np.full(len(y), x), y, weight)) for x in (-0.1, 0.0, 0.1)]
    assert min(steps) == steps[1]


@pytest.mark.parametrize("g", [-30.0, -1.0, 0.0, 2.0, 25.0])
@pytest.mark.parametrize("slope", [1.0, 7.396, 1e4])
def test_inverse_warp(g, slope):
    assert float(rebalanced_logit(inverse_warp(g, slope), slope)) == pytest.approx(g, abs=1e-9)
