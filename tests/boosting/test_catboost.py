"""What only CatBoost has: blocks of rows, its files and stages, and what it cannot do here."""

import itertools
import os
import signal
import subprocess
import sys
import threading

import catboost as cb
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from astralearn.boosting import (
    ASTraCatBoostClassifier,
    ASTraLGBMClassifier,
    ConfusionObjective,
    Objective,
)
from astralearn.boosting import catboost as adapter
from astralearn.boosting.objective import make_objective

BLOCKS = {"learning_rate": 0.2, "thread_count": 2}


def recorded(catboost, monkeypatch, X, y, **options):
    """Every block that CatBoost asked for: its scores, labels and −gradient."""
    blocks = []
    plain = adapter._Rounds.calc_ders_range

    def calc_ders_range(self, approxes, targets, weights):
        derivatives = plain(self, approxes, targets, weights)
        blocks.append((np.array(approxes), np.array(targets), derivatives[:, 0].copy()))
        return derivatives

    monkeypatch.setattr(adapter._Rounds, "calc_ders_range", calc_ders_range)
    catboost.make(12, learnable=False, **BLOCKS, **options).fit(X, y)
    return blocks


def worst_error(blocks, n, loss):
    """Against the exact gradient of n rows, in units of its largest entry."""
    objective = make_objective(loss, "astra", learnable=False)
    worst, start = 0.0, 0
    while start < len(blocks):
        stop, seen = start, 0
        while seen < n and stop < len(blocks):
            seen += len(blocks[stop][0])
            stop += 1
        if seen == n:
            x, y, given = map(np.concatenate, zip(*blocks[start:stop], strict=True))
            exact, _ = objective.round(y, x)
            worst = max(worst, float(np.max(np.abs(-given - exact)) / np.max(np.abs(exact))))
        start = stop
    return worst


@pytest.mark.parametrize("loss", ["bce", "gmn", "mcc", "f1"])
def test_plain_boosting_with_one_leaf_step_is_exact(catboost, loss, rare, monkeypatch):
    X, y = rare
    blocks = recorded(catboost, monkeypatch, X, y, loss=loss)
    assert max(len(x) for x, _, _ in blocks) < len(y)  # It is blocks indeed.
    assert worst_error(blocks, len(y), loss) < 1e-10


def test_more_leaf_steps_freeze_the_counts(catboost, rare, monkeypatch):
    X, y = rare
    blocks = recorded(catboost, monkeypatch, X, y, loss="gmn", leaf_estimation_iterations=5)
    error = worst_error(blocks, len(y), "gmn")
    print(f"GMN-ASTra, 5 leaf steps: worst relative error of a gradient entry {error:.3f}")
    assert 1e-6 < error < 0.5


def test_the_result_is_that_of_a_loop_with_exact_gradients(catboost, rare):
    """The training loss falls with every tree, and the model is as good as LightGBM's."""
    X, y = rare
    ours = catboost.make(40, loss="gmn", learnable=False, **BLOCKS).fit(X, y)
    theirs = ASTraLGBMClassifier(
        n_estimators=40, learning_rate=0.2, loss="gmn", learnable=False, verbose=-1, n_jobs=1
    ).fit(X, y)
    objective = ConfusionObjective("gmn", activation="astra", learnable=False)
    path = [objective.value(y, ours.predict(X, "RawFormulaVal", ntree_end=k)) for k in range(1, 41)]
    assert all(later < earlier + 1e-9 for earlier, later in itertools.pairwise(path))
    assert path[-1] < objective.value(y, theirs.predict(X, raw_score=True)) + 0.05


def test_the_slope_path_is_that_of_the_other_libraries(catboost, rare):
    """Same scores, same steps: replay CatBoost's trees through the objective."""
    X, y = rare
    model = catboost.make(12, loss="gmn", slope_rate_min=0.5, **BLOCKS).fit(X, y)
    objective = ConfusionObjective("gmn", activation="astra", slope_rate_min=0.5)
    objective.round(y, np.zeros(len(y)))
    for k in range(1, 12):
        objective.round(y, model.predict(X, "RawFormulaVal", ntree_end=k))
    np.testing.assert_allclose(model.slope_path_, objective.slope_path, rtol=1e-8)


@pytest.mark.parametrize(
    ("options", "ratio"),
    [
        ({"scale_pos_weight": 9.0}, 9.0),
        ({"class_weights": [0.5, 4.5]}, 9.0),
        ({"auto_class_weights": "Balanced"}, None),
    ],
)
def test_class_weights_are_in_the_start_of_bce(catboost, options, ratio, rare):
    """One round at a learning rate of almost 0: z is the share of positives as weighted."""
    X, y = rare
    model = catboost.make(1, loss="bce", **options | {"learning_rate": 1e-6}).fit(X, y)
    negatives = (1 - y).sum()
    positives = negatives if ratio is None else ratio * y.sum()
    share = positives / (positives + negatives)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], share, rtol=1e-3)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0, 1], "class_weight must be above 0 and finite; found 0 for 0"),
        ([1], r"class_weights must have a weight for each of the classes \[0, 1\]; found \[1\]"),
    ],
)
def test_class_weights_that_cannot_be_are_named(catboost, weights, message, rare):
    with pytest.raises(ValueError, match=message):
        catboost.make(3, class_weights=weights).fit(*rare)


def test_it_fits_again_after_reading_a_file(catboost, rare, tmp_path):
    X, y = rare
    model = catboost.make(5).fit(X, y)
    model.save_model(path := str(tmp_path / "model.cbm"))
    loaded = ASTraCatBoostClassifier(verbose=0, allow_writing_files=False).load_model(path)
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)
    for again in (clone(loaded), loaded):
        np.testing.assert_array_equal(again.fit(X, y).predict_proba(X), model.predict_proba(X))
    chosen = ASTraCatBoostClassifier(eval_metric="mcc", metric_period=2).load_model(path)
    names = ("loss_function", "eval_metric", "metric_period")
    assert [chosen.get_params().get(name) for name in names] == [None, "mcc", 2]


def test_importances_are_those_of_the_file_read_last(catboost, rare, tmp_path):
    X, y = rare
    model = catboost.make(5).fit(X, y)
    model.save_model(path := str(tmp_path / "model.cbm"))
    other = catboost.make(5).fit(X[:, ::-1], y).load_model(path)
    np.testing.assert_array_equal(other.feature_importances_, model.feature_importances_)


def test_it_scores_columns_and_weights(catboost, rare):
    X, y = rare
    model = catboost.make(5).fit(X, y)
    right = model.predict(X) == y
    assert model.score(X, y[:, None]) == model.score(X, y) == right.mean()
    weight = np.where(y == 1, 5.0, 1.0)
    assert model.score(X, y, weight) == pytest.approx(np.average(right, weights=weight))


def test_a_score_is_reported_by_its_name(catboost, rare):
    X, y = rare
    model = catboost.make(5, eval_metric="soft_mcc").fit(X, y, eval_set=(X, y))
    assert {name: list(scores) for name, scores in model.get_evals_result().items()} == {
        "learn": ["soft_mcc"],
        "validation": ["soft_mcc"],
    }


@pytest.mark.parametrize("where", ["swept", "advance"])
def test_an_interruption_in_the_objective_comes_out(catboost, where, rare, monkeypatch):
    """Ctrl-C met in the objective ("swept", from its third call) or in the metric."""
    calls = []

    def interrupted(*args, **options):
        calls.append(where)
        if len(calls) > 2:
            signal.raise_signal(signal.SIGINT)
        return plain(*args, **options)

    plain = getattr(Objective, where)
    monkeypatch.setattr(Objective, where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        catboost.make(5).fit(*rare)
    assert len(calls) < 6
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    "callback", ["calc_ders_range", "evaluate", "is_max_optimal", "get_final_error"]
)
def test_an_interruption_at_the_first_line_of_a_callback_comes_out(
    catboost, callback, rare, monkeypatch
):
    def interrupted(*args):
        signal.raise_signal(signal.SIGINT)
        return plain(*args)

    plain = getattr(adapter._Rounds, callback)
    monkeypatch.setattr(adapter._Rounds, callback, interrupted)
    with pytest.raises(KeyboardInterrupt):
        catboost.make(5).fit(*rare)


@pytest.mark.long
def test_interruptions_at_any_time_come_out(catboost, rare):
    """Sixty signals at random times of long fits."""

    def interrupted(seconds):
        threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
        catboost.make(5000).fit(*rare)

    for seconds in np.random.default_rng(0).uniform(0.01, 0.3, 60):
        with pytest.raises(KeyboardInterrupt):
            interrupted(seconds)


def test_other_errors_are_catboosts(catboost, rare, monkeypatch):
    def failing(*_args):
        raise ZeroDivisionError

    monkeypatch.setattr(adapter._Rounds, "evaluate", failing)
    with pytest.raises(cb.CatBoostError, match="ZeroDivisionError"):
        catboost.make(5).fit(*rare)


WITHOUT_NUMBA = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "numba":
            raise ModuleNotFoundError("No module named 'numba'", name=name)

sys.meta_path.insert(0, Absent())
import numpy as np
from astralearn.boosting import ASTraCatBoostClassifier

X = np.arange(60.0)[:, None]
ASTraCatBoostClassifier(iterations=2, verbose=0, allow_writing_files=False).fit(X, X[:, 0] > 49)
"""


@pytest.mark.slow
def test_it_is_quiet_without_numba():
    """As after `pip install 'astralearn[boosting]'`; None in sys.modules would not make it warn."""
    command = [sys.executable, "-W", "always::UserWarning", "-c", WITHOUT_NUMBA]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "numba" not in done.stderr


def test_what_cannot_be_recoded_is_refused(catboost, rare):
    X, y = rare
    with pytest.raises(ValueError, match="X and y must be given separately"):
        catboost.make().fit(cb.Pool(X, y))
    message = r"eval_set must be \(X, y\) or a list of such pairs.*; found Pool"
    for eval_set in (cb.Pool(X, y), [cb.Pool(X, y)]):
        with pytest.raises(ValueError, match=message):
            catboost.make().fit(X, y, eval_set=eval_set)


def test_what_trains_past_the_objective_is_refused(catboost, rare):
    X, y = rare
    with pytest.raises(ValueError, match="init_model is not supported"):
        catboost.make().fit(X, y, init_model=object())
    with pytest.raises(ValueError, match="save_snapshot is not supported"):
        catboost.make().fit(X, y, save_snapshot=True)
    with pytest.raises(ValueError, match="save_snapshot is not supported"):
        catboost.make(save_snapshot=True).fit(X, y)
    for name in ("grid_search", "randomized_search", "select_features"):
        with pytest.raises(ValueError, match=f"{name} is not supported: .*use sklearn"):
            getattr(catboost.make(), name)({"depth": [2, 4]}, X, y)


def test_text_features_with_an_evaluation_set(catboost, rare):
    X, y = rare
    words = np.where(X[:, 0] > 1, "good day sir", "bad night madam")
    frame = pd.DataFrame({"words": words, "second": X[:, 1]})
    of_class = catboost.make(3, text_features=["words"]).fit(frame, y, eval_set=(frame, y))
    of_fit = catboost.make(3).fit(frame, y, eval_set=(frame, y), text_features=["words"])
    np.testing.assert_array_equal(of_class.predict_proba(frame), of_fit.predict_proba(frame))


def test_log_probabilities_and_stages(catboost, rare):
    X, y = rare
    model = catboost.make(10, loss="bce", slope_rate_min=0.5)
    model.fit(X, np.where(y == 1, "fraud", "ok"))
    for log_proba in (model.predict_log_proba(X), model.predict(X, "LogProbability")):
        np.testing.assert_allclose(log_proba, np.log(model.predict_proba(X)), rtol=1e-9)
    with pytest.raises(ValueError, match=r"prediction_type must be one of Class, .*; found 'Rank'"):
        model.predict(X, "Rank")
    for first, period, ends in ((0, 1, range(1, 11)), (0, 4, (4, 8, 10)), (2, 5, (7, 10))):
        options = {"ntree_start": first, "eval_period": period}
        stages = [
            model.staged_predict(X, **options),
            model.staged_predict_proba(X, **options),
            model.staged_predict_log_proba(X, **options),
        ]
        for end, labels, proba, log_proba in zip(ends, *stages, strict=True):
            trees = {"ntree_start": first, "ntree_end": end}
            np.testing.assert_array_equal(labels, model.predict(X, **trees))
            np.testing.assert_allclose(proba, model.predict_proba(X, **trees), rtol=1e-9)
            np.testing.assert_allclose(log_proba, np.log(proba), rtol=1e-9)
