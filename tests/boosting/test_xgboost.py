"""What only XGBoost has: its base score, linear models and callbacks."""

import numpy as np
import pytest
import xgboost as xgb


def test_class_weights_are_in_the_start_of_bce(xgboost, rare):
    """One round at a learning rate of almost 0: z is the share of positives as weighted."""
    X, y = rare
    model = xgboost.make(1, loss="bce", learning_rate=1e-6, scale_pos_weight=9.0).fit(X, y)
    share = 9 * y.sum() / (9 * y.sum() + (1 - y).sum())
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], share, rtol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale_pos_weight": 0}, "scale_pos_weight must be above 0; found 0"),
        (
            {"start": -1000.0},
            "start must be within ±13, for XGBoost keeps it as a probability; found -1000",
        ),
        ({"tau_init": 1e-300}, r"tau_init must be in \[1e-05, 0\.5\]; found 1e-300"),
    ],
)
def test_numbers_that_cannot_be_are_named(xgboost, options, message, rare):
    with pytest.raises(ValueError, match=message):
        xgboost.make(3, **options).fit(*rare)


def test_the_start_is_its_own_and_not_that_of_a_file(xgboost, rare, tmp_path):
    X, y = rare
    xgboost.make(3).fit(X, y).save_model(path := tmp_path / "model.ubj")
    model = xgboost.make(1, start=1.0, loss="bce", min_child_weight=1e9)
    model.load_model(path)
    with pytest.warns(UserWarning, match="no split"):
        model.fit(X, y)
    np.testing.assert_allclose(model.predict(X, output_margin=True), 1.0, rtol=1e-5)


def test_labels_of_more_rows_are_refused(xgboost, rare):
    """XGBoost itself takes them for a hundred and fifty outputs."""
    X, y = rare
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[10, 1500\]"):
        xgboost.make(5).fit(X[:10], y)


def test_several_metrics_may_mix_ours_and_xgboosts(xgboost, rare):
    X, y = rare
    model = xgboost.make(3, eval_metric=["soft_g_mean", "auc"])
    model.fit(X, y, eval_set=[(X, y)], verbose=False)
    assert list(model.evals_result()["validation_0"]) == ["auc", "1-soft_g_mean"]


def test_the_slope_survives_rounds_in_which_all_scores_are_equal(xgboost, rare):
    """DART drops all trees of some rounds."""
    dart = {"booster": "dart", "rate_drop": 0.5}
    model = xgboost.make(50, loss="bce", slope_rate_min=0.5, random_state=3, **dart).fit(*rare)
    assert len(model.slope_path_) == model._n_trees_used() + 1 == 51
    assert np.abs(np.diff(np.log(model.slope_path_))).max() < 0.01


def test_training_goes_on_from_a_model_that_saved_its_best(xgboost, rare):
    X, y = rare
    stop = xgb.callback.EarlyStopping(rounds=5, save_best=True)
    first = xgboost.make(60, eval_metric="soft_g_mean", callbacks=[stop], learning_rate=0.3)
    first.fit(X[:1000], y[:1000], eval_set=[(-X[1000:], y[1000:])], verbose=False)
    second = xgboost.make(7).fit(X, y, xgb_model=first)
    held = second.get_booster().num_boosted_rounds()
    assert len(second.slope_path_) == held + 1 == first._n_trees_used() + 8


def test_linear_models_go_on_although_they_cannot_be_cut(xgboost, rare):
    X, y = rare
    first = xgboost.fit_stopping_early(
        xgboost.make(60, booster="gblinear"),
        X[:1000],
        y[:1000],
        -X[1000:],
        y[1000:],
        "soft_g_mean",
    )
    held = first.get_booster().num_boosted_rounds()
    second = xgboost.make(7, booster="gblinear").fit(X, y, xgb_model=first)
    assert len(second.slope_path_) == held + 8
