"""What only LightGBM has: its metrics, evaluation sets, class weights and kinds of trees."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from astralearn.boosting import Objective


@pytest.mark.parametrize(
    ("options", "ratio"),
    [
        ({"scale_pos_weight": 9.0}, 9.0),
        ({"class_weight": {0: 0.5, 1: 4.5}}, 9.0),
        ({"class_weight": "balanced"}, None),
        ({"is_unbalance": True}, None),
    ],
)
def test_class_weights_are_in_the_start_of_bce(lightgbm, options, ratio, rare):
    """One round at a learning rate of almost 0: z is the share of positives as weighted.

    A ratio of None balances the classes.
    """
    X, y = rare
    model = lightgbm.make(1, loss="bce", learning_rate=1e-6, **options).fit(X, y)
    negatives = (1 - y).sum()
    positives = negatives if ratio is None else ratio * y.sum()
    share = positives / (positives + negatives)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], share, rtol=1e-3)


def test_is_unbalance_weighs_positives_in_bce(lightgbm, rare):
    X, y = rare
    unbalanced = lightgbm.make(loss="bce", is_unbalance=True).fit(X, y)
    weighted = lightgbm.make(loss="bce", scale_pos_weight=(1 - y).sum() / y.sum()).fit(X, y)
    np.testing.assert_array_equal(unbalanced.predict_proba(X), weighted.predict_proba(X))
    with pytest.raises(
        ValueError, match="scale_pos_weight must be left out where is_unbalance is set"
    ):
        lightgbm.make(loss="bce", is_unbalance=True, scale_pos_weight=2.0).fit(X, y)


@pytest.mark.parametrize("sample_weight", [None, np.linspace(0.5, 2, 1500)], ids=["", "weighted"])
def test_class_weight_weighs_rows_in_bce(lightgbm, sample_weight, rare):
    """Once, whether rows have weights of their own or not."""
    X, y = rare
    rows = np.where(y == 1, 4.5, 0.5)
    given = lightgbm.make(loss="bce", class_weight={0: 0.5, 1: 4.5})
    given.fit(X, y, sample_weight=sample_weight)
    weight = rows if sample_weight is None else rows * sample_weight
    weighted = lightgbm.make(loss="bce").fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(given.predict_proba(X), weighted.predict_proba(X))


def test_a_class_weight_of_0_is_named(lightgbm, rare):
    with pytest.raises(
        ValueError, match=r"class_weight must be above 0 and finite; found 0\.0 for 0"
    ):
        lightgbm.make(3, class_weight={0: 0.0, 1: 1.0}).fit(*rare)


def test_rounds_that_leave_no_tree_leave_no_slope(lightgbm, rare, monkeypatch):
    """LightGBM keeps no tree of a round without a split, and goes on."""
    options = {
        "loss": "bce",
        "colsample_bytree": 0.2,
        "min_split_gain": 8.0,
        "slope_rate_min": 0.5,
        "random_state": 1,
    }
    slopes, trees = [], []

    def recorded(objective, *args):
        factors = advance(objective, *args)
        slopes.append(objective.slope)
        return factors

    advance = Objective.advance
    monkeypatch.setattr(Objective, "advance", recorded)
    count = [lambda training: trees.append(training.model.num_trees())]
    model = lightgbm.make(20, **options).fit(*rare, callbacks=count)
    assert 1 < trees[-1] < len(slopes) == 20
    slope_after = dict(zip(trees, slopes, strict=True))
    assert model.slope_path_[1:].tolist() == [slope_after[k] for k in range(1, trees[-1] + 1)]
    assert model.slope_ == slopes[-1]


def test_the_slope_survives_rounds_in_which_all_scores_are_equal(lightgbm, rare):
    """DART drops all trees of some rounds."""
    dart = {"boosting_type": "dart", "drop_rate": 0.5, "skip_drop": 0.0}
    model = lightgbm.make(50, loss="bce", slope_rate_min=0.5, random_state=3, **dart).fit(*rare)
    assert len(model.slope_path_) == model._n_trees_used() + 1 == 51
    assert np.abs(np.diff(np.log(model.slope_path_))).max() < 0.01


def test_training_goes_on_from_a_path(lightgbm, rare, tmp_path):
    X, y = rare
    first = lightgbm.make(3).fit(X, y)
    first.save_model(path := Path(tmp_path / "model.txt"))
    models = [lightgbm.make(2).fit(X, y, init_model=form) for form in (first, path)]
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    np.testing.assert_array_equal(models[0].slope_path_, models[1].slope_path_)


def test_without_a_varying_feature_the_start_stays(lightgbm):
    """LightGBM's own objectives survive it; custom ones only without its feature filter."""
    X, y = np.ones((50, 2)), np.arange(50) % 5 == 0
    with pytest.warns(UserWarning, match="the fitted trees hold no split"):
        model = lightgbm.make(loss="bce").fit(X, y)
    assert not model.predict(X).any()


def test_features_of_zeros_alone_are_named(lightgbm):
    with pytest.raises(ValueError, match="X must hold a feature that varies"):
        lightgbm.make().fit(np.zeros((50, 2)), np.arange(50) % 5 == 0)


@pytest.mark.parametrize("version", ["installed", "4.6"])
@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_evaluation_sets_in_both_spellings(lightgbm, version, rare, monkeypatch):
    if version == "4.6":
        monkeypatch.setattr("astralearn.boosting.lightgbm._TAKES_EVAL_X", False)
    X, y = rare
    labels = np.where(y == 1, "fraud", "ok")
    results = [
        lightgbm.make(5, loss="bce")
        .fit(X[:1000], labels[:1000], eval_metric=["soft_g_mean", "auc"], **spelled)
        .evals_result_
        for spelled in (
            {"eval_set": [(X[1000:], labels[1000:])]},
            {"eval_set": (X[1000:], labels[1000:])},
            {"eval_X": X[1000:], "eval_y": labels[1000:]},
            {"eval_X": (X[1000:],), "eval_y": (labels[1000:],)},
        )
    ]
    assert results[0]["valid_0"]["auc"][-1] > 0.9
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize(
    ("spelled", "message"),
    [
        ({"eval_X": 0}, "eval_X and eval_y must be given together; found eval_X only"),
        ({"eval_y": 0}, "eval_X and eval_y must be given together; found eval_y only"),
        ({"eval_X": 0, "eval_y": 0, "eval_set": []}, "eval_set must be left out"),
        ({"eval_X": (0, 0), "eval_y": (0,)}, "must be one array each, or tuples of one length"),
        ({"eval_X": (0,), "eval_y": 0}, "must be one array each, or tuples of one length"),
    ],
)
def test_evaluation_sets_that_do_not_fit_together(lightgbm, spelled, message, rare):
    with pytest.raises(ValueError, match=message):
        lightgbm.make().fit(*rare, **spelled)


def test_the_training_set_is_known_among_the_evaluation_sets(lightgbm, rare):
    X, y = rare
    model = lightgbm.make(2).fit(X, y, eval_X=(X, X[:500]), eval_y=(y, y[:500]))
    assert list(model.evals_result_) == ["training", "valid_1"]


def test_linear_trees_need_a_start_of_0(lightgbm, rare):
    X, y = rare
    with pytest.raises(ValueError, match=r"linear_tree must be left out, or start set to 0\.0"):
        lightgbm.make(loss="bce", linear_tree=True).fit(X, y)
    for options in ({}, {"loss": "bce", "start": 0.0}):
        model = lightgbm.make(linear_tree=True, **options).fit(X, y)
        assert roc_auc_score(y, model.predict_proba(X)[:, 1]) > 0.9


def test_per_row_starting_scores_are_the_callers(lightgbm, rare):
    X, y = rare
    model = lightgbm.make(3).fit(X, y, init_score=X[:, 0].copy())
    assert np.abs(model.predict(X, raw_score=True).mean()) < 1


def test_leaves_and_contributions_are_lightgbms(lightgbm, rare):
    X, y = rare
    model = lightgbm.make(3).fit(X, y)
    for option in ("pred_leaf", "pred_contrib", "raw_score"):
        theirs = model.booster_.predict(X, **{option: True})
        np.testing.assert_array_equal(model.predict(X, **{option: True}), theirs)
        np.testing.assert_array_equal(model.predict_proba(X, **{option: True}), theirs)


def test_forests_are_refused(lightgbm, rare):
    for option in ({"boosting_type": "rf"}, {"boosting": "rf"}):
        model = lightgbm.make(5, bagging_freq=1, bagging_fraction=0.5, **option)
        with pytest.raises(ValueError, match="boosting_type must not be 'rf'"):
            model.fit(*rare)


def test_metrics_that_nobody_has_are_named(lightgbm, rare):
    X, y = rare

    def evaluated(metric):
        return lightgbm.make(3).fit(X, y, eval_set=[(X, y)], eval_metric=metric).evals_result_

    message = r"eval_metric must be one of soft_g_mean, .*or a metric of LightGBM's; found 'gmean'"
    with pytest.raises(ValueError, match=message):
        evaluated("gmean")
    for metric in ("auc", "binary_logloss", "average_precision", "mae"):
        assert evaluated(metric)
    assert evaluated("None") == {}


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["soft_g_mean"]),
        ({"metric": None}, ["soft_g_mean"]),
        ({"metric": "auc"}, ["auc"]),
        ({"metrics": ["auc", "average_precision"]}, ["auc", "average_precision"]),
    ],
)
def test_the_soft_g_mean_is_evaluated_where_no_metric_is_named(lightgbm, options, names, rare):
    X, y = rare
    model = lightgbm.make(3, **options).fit(X, y, eval_set=[(X, y)])
    assert list(model.evals_result_["training"]) == names


def test_our_scores_are_no_metric_of_the_constructor(lightgbm, rare):
    X, y = rare
    message = (
        "metric must be one of LightGBM's, those of SCORES go into fit's eval_metric; "
        "found 'soft_mcc'"
    )
    with pytest.raises(ValueError, match=message):
        lightgbm.make(3, metric="soft_mcc").fit(X, y, eval_set=[(X, y)])
