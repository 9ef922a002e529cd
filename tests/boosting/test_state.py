"""Models in files and pickles, and training that goes on from an earlier one."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from astralearn.boosting.labels import MinorityLabels
from astralearn.boosting.state import LearnedState

METHODS = pytest.mark.parametrize(
    ("loss", "activation"),
    [("bce", "astra"), ("gmn", "sigmoid"), ("gmn", "astra"), ("mcc", "sigmoid")],
)


def file_of(library, tmp_path):
    return str(tmp_path / f"model.{library.suffix}")


def loaded(library, path):
    model = library.ours()
    model.load_model(path)
    return model


def stopped_early(library, rare):
    """A model whose first rounds are the best: what it learns is wrong where it is evaluated."""
    X, y = rare
    model = library.make(60, learning_rate=0.3, slope_rate_min=0.5)
    return library.fit_stopping_early(model, X[:1000], y[:1000], -X[1000:], y[1000:], "soft_g_mean")


def in_every_form(library, model, path):
    """The forms in which a library takes the model to go on from."""
    return [{library.continue_from: form} for form in (model, library.booster(model), path)]


def earlier_models(library, model, tmp_path):
    model.save_model(path := file_of(library, tmp_path))
    return in_every_form(library, model, path)


def plain_models(library, X, y, tmp_path):
    """Models of 30 trees that know of no slope."""
    model = library.make_plain(30).fit(X, y)
    library.save_plain(model, path := file_of(library, tmp_path))
    return in_every_form(library, model, path)


def test_a_state_survives_its_text_and_is_cut():
    state = LearnedState(
        MinorityLabels.of(["fraud", "ok", "ok"]), [7.4, 7.5, 7.6], [0.01, 0.011, 0.012]
    )
    again = LearnedState.of_text(state.as_text())
    assert again.labels.minority == "fraud"
    assert again.labels.labels.tolist() == ["fraud", "ok"]
    assert (again.slope_path, again.rates) == (state.slope_path, state.rates)
    assert again.cut(1).slope_path == [7.4, 7.5]
    assert again.cut(1).rates == [0.01, 0.011]


@METHODS
def test_pickle_joblib_deepcopy_and_model_file(library, loss, activation, rare, tmp_path):
    X, y = rare
    labels = np.where(y == 1, "fraud", "ok")
    model = library.make(loss=loss, activation=activation).fit(X, labels)
    joblib.dump(model, tmp_path / "model.joblib")
    model.save_model(path := file_of(library, tmp_path))
    for again in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        joblib.load(tmp_path / "model.joblib"),
        loaded(library, path),
    ):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.minority_class_ == "fraud"
        np.testing.assert_array_equal(again.slope_path_, model.slope_path_)
        assert again.slope_ == model.slope_


def test_an_early_stopped_model_survives_its_file(library, rare, tmp_path):
    model = stopped_early(library, rare)
    model.save_model(path := file_of(library, tmp_path))
    again = loaded(library, path)
    assert again.slope_ == model.slope_ != model.slope_path_[-1]
    np.testing.assert_array_equal(again.predict_proba(rare[0]), model.predict_proba(rare[0]))


def test_the_library_itself_reads_the_model_file(library, rare, tmp_path):
    X, y = rare
    model = library.make(loss="bce").fit(X, y)
    model.save_model(path := file_of(library, tmp_path))
    x = library.scores_of_file(path, X)
    np.testing.assert_allclose(x, library.scores(model, X), rtol=1e-6, atol=1e-7)


def test_a_foreign_model_file_is_refused(library, rare, tmp_path):
    path = file_of(library, tmp_path)
    library.save_plain(library.make_plain(2).fit(*rare), path)
    with pytest.raises(ValueError, match="holds no slope and no class labels"):
        library.ours().load_model(path)


def test_trees_that_know_no_slope_count_in_its_path(continuing, rare, tmp_path):
    X, y = rare
    for earlier in plain_models(continuing, X, y, tmp_path):
        model = continuing.make(7, slope_rate_min=0.5).fit(X, y, **earlier)
        assert len(model.slope_path_) == model._n_trees_used() + 1 == 38
        assert set(model.slope_path_[:31]) == {continuing.make(1).fit(X, y).slope_path_[0]}
        assert model.slope_ == model.slope_path_[-1] != model.slope_path_[30]
        assert len(model._state.rates) == 38


def test_early_stopping_after_trees_that_know_no_slope_takes_that_of_its_best_round(
    continuing, rare, tmp_path
):
    X, y = rare
    options = {"loss": "bce", "tau_init": 0.1, "slope_rate_min": 20, "slope_rate_max": 50}
    for earlier in plain_models(continuing, X[:1000], y[:1000], tmp_path):
        model = continuing.make(60, **options)
        continuing.fit_stopping_early(model, X[:1000], y[:1000], X[1000:], y[1000:], **earlier)
        assert len(model.slope_path_) == model._n_trees_used() + 6
        z = model.predict_proba(X[1000:])[:, 1]
        g_mean = np.sqrt(z[y[1000:] == 1].mean() * (1 - z[y[1000:] == 0]).mean())
        assert g_mean == pytest.approx(continuing.best_soft_g_mean(model), abs=2e-6)


def test_continued_training_keeps_the_activation(continuing, rare, tmp_path):
    X, y = rare
    for then, now in (("astra", "sigmoid"), ("sigmoid", "astra")):
        first = continuing.make(3, activation=then).fit(X, y)
        message = f'activation must be "{then}", that of the earlier model .*; found "{now}"'
        for earlier in earlier_models(continuing, first, tmp_path):
            with pytest.raises(ValueError, match=message):
                continuing.make(3, activation=now).fit(X, y, **earlier)
            second = continuing.make(3, activation=then, tau_init=0.4).fit(X, y, **earlier)
            assert len(second.slope_path_) == 7
    flat = continuing.make(3, tau_init=0.5).fit(X, y)
    for activation in ("astra", "sigmoid"):
        model = continuing.make(3, activation=activation, tau_init=0.5)
        assert model.fit(X, y, **earlier_models(continuing, flat, tmp_path)[0]).slope_ == 1.0


def test_trees_without_a_split_count_in_the_slope_path(continuing, rare):
    X, y = rare
    with pytest.warns(UserWarning, match="the fitted trees hold no split"):
        first = continuing.make(3, **continuing.without_splits).fit(X, y)
    kept = first._n_trees_used()
    assert len(first.slope_path_) == kept + 1
    model = continuing.make(5, **continuing.with_splits)
    second = model.fit(X, y, **{continuing.continue_from: first})
    assert len(second.slope_path_) == second._n_trees_used() + 1 == kept + 6


def test_continued_training_keeps_the_positive_class(continuing, rare, tmp_path):
    """In the second batch the other class is rarer; the old trees still mean the first one's."""
    X, y = rare
    labels = np.where(y == 1, "fraud", "ok")
    first = continuing.make(loss="bce").fit(X, labels)
    batch = np.concatenate([np.flatnonzero(y == 1), np.flatnonzero(y == 0)[: y.sum() // 2]])
    assert y[batch].mean() > 0.6
    message = r"y must hold the classes of the earlier model .*\['fraud', 'ok'\]; found \[0, 1\]"
    for earlier in earlier_models(continuing, first, tmp_path):
        second = continuing.make(2, loss="bce").fit(X[batch], labels[batch], **earlier)
        assert second.minority_class_ == "fraud"
        assert roc_auc_score(y, second.predict_proba(X)[:, 0]) > 0.9
        with pytest.raises(ValueError, match=message):
            continuing.make(2).fit(X, y, **earlier)


def test_the_slope_goes_on_from_every_form_of_an_earlier_model(continuing, rare, tmp_path):
    X, y = rare
    first = continuing.make(8, slope_rate_min=0.5).fit(X, y)
    models = [
        continuing.make(7, slope_rate_min=0.5).fit(X, y, **earlier)
        for earlier in earlier_models(continuing, first, tmp_path)
    ]
    for model in models:
        np.testing.assert_array_equal(model.slope_path_[:9], first.slope_path_)
        np.testing.assert_array_equal(model.slope_path_, models[0].slope_path_)
        np.testing.assert_array_equal(model.predict_proba(X), models[0].predict_proba(X))


def test_training_goes_on_from_the_trees_that_early_stopping_kept(continuing, rare, tmp_path):
    X, y = rare
    first = stopped_early(continuing, rare)
    kept = first._n_trees_used()
    assert kept + 1 < len(first.slope_path_)
    for earlier in earlier_models(continuing, first, tmp_path):
        second = continuing.make(7, slope_rate_min=0.5).fit(X, y, **earlier)
        assert second._n_trees_used() == kept + 7
        assert len(second.slope_path_) == kept + 8
        np.testing.assert_array_equal(second.slope_path_[: kept + 1], first.slope_path_[: kept + 1])


def test_training_goes_on_where_an_earlier_model_ended(continuing, rare):
    X, y = rare
    first = continuing.make(8, loss="bce").fit(X, y)
    second = continuing.make(7, loss="bce").fit(X, y, **{continuing.continue_from: first})
    whole = continuing.make(15, loss="bce").fit(X, y)
    assert len(second.slope_path_) == 16
    np.testing.assert_array_equal(second.slope_path_[:9], first.slope_path_)
    np.testing.assert_allclose(continuing.scores(second, X), continuing.scores(whole, X), atol=0.05)


def test_continued_training_is_one_training(continuing, rare, tmp_path):
    """The slope goes on at the rate at which it had stopped, from the model and from its file."""
    X, y = rare
    through, first = continuing.make(20).fit(X, y), continuing.make(10).fit(X, y)
    for earlier in earlier_models(continuing, first, tmp_path):
        second = continuing.make(10).fit(X, y, **earlier)
        np.testing.assert_allclose(second.slope_path_, through.slope_path_, rtol=1e-5)
        np.testing.assert_allclose(
            second.predict_proba(X), through.predict_proba(X), rtol=1e-4, atol=1e-5
        )
