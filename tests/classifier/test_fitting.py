import dataclasses
import re
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from astralearn.classifier import fitting, tuning
from astralearn.engine.stack import Trained
from rare_problems import apart, overlapping, quick, rare


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "bce", "activation": "sigmoid"},
        {"validation_fraction": 0.3, "selection": "g_mean"},
    ],
)
def test_same_seed_same_bits_whatever_the_number_of_threads(options):
    X, y = rare()
    one, two = (quick(n_jobs=n, n_estimators=4, **options).fit(X, y) for n in (1, 2))
    assert one.coefs_.tobytes() == two.coefs_.tobytes()
    assert one.decision_function(X).tobytes() == two.decision_function(X).tobytes()


def test_warm_start_goes_on():
    X, y = rare()
    through = quick(epochs=80).fit(X, y)
    model = quick(epochs=40, warm_start=True).fit(X, y)
    model.fit(X, y)
    assert model.n_iter_ == 80
    assert model.coefs_.tobytes() == through.coefs_.tobytes()


def choosing(**options):
    return quick(alpha="auto", epochs=200, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "bce", "class_weight": "balanced"},
        {"activation": "sigmoid"},
        {"distance": False},
    ],
)
def test_much_l2_is_for_classes_that_overlap(options):
    for (X, y), alphas in ((overlapping(), {32, 128}), (rare(), {2})):
        model = choosing(**options).fit(X, y)
        assert model.alpha_ in alphas
        given = quick(alpha=model.alpha_, epochs=200, **options).fit(X, y)
        assert model.coefs_.tobytes() == given.coefs_.tobytes()


def test_alpha_is_chosen_for_every_split_by_its_own_rows():
    X, y = overlapping()
    clear, _ = rare(features=8)
    X, y = np.concatenate([X, clear[:6]]), np.r_[y, np.ones(6, int)]
    splits = [(np.arange(600), []), (np.arange(20, 606), [])]
    assert [model.alpha_ for model in choosing().fit_many(X, y, splits)] == [128, 2]
    assert [choosing().fit(X[train], y[train]).alpha_ for train, _ in splits] == [128, 2]


def test_alpha_is_chosen_alike_by_any_number_of_threads():
    one, two = (choosing(n_jobs=n).fit(*overlapping()) for n in (1, 2))
    assert one.coefs_.tobytes() == two.coefs_.tobytes()


def test_alpha_with_lbfgs_and_with_a_single_positive():
    assert choosing(solver="lbfgs").fit(*overlapping()).alpha_ == 128
    assert choosing().fit(*rare(positives=1)).alpha_ == 2


def test_warm_start_goes_on_with_the_alpha_that_was_chosen(monkeypatch):
    X, y = overlapping()
    through = quick(epochs=400, alpha=128.0).fit(X, y)
    model = choosing(warm_start=True).fit(X, y)
    monkeypatch.setattr(tuning, "trials", lambda *_: pytest.fail("alpha was chosen anew"))
    assert model.fit(X, y).n_iter_ == 400
    assert model.coefs_.tobytes() == through.coefs_.tobytes()


def moving(**options):
    return quick(**{"margin": "auto", "epochs": 200, **options})


@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_where_the_classes_lie_apart_the_boundary_moves_into_the_gap(solver):
    X, y = apart()
    model, still = moving(solver=solver).fit(X, y), quick(epochs=200, solver=solver).fit(X, y)
    assert model.alpha_ == 2
    assert model.coefs_.tobytes() == still.coefs_.tobytes()
    assert still.margin_ == 0
    assert 0 < model.margin_ < still.decision_function(X[y == 1]).min()
    np.testing.assert_allclose(
        model.decision_function(X), still.decision_function(X) - model.margin_, rtol=1e-5, atol=1e-4
    )
    np.testing.assert_array_equal(model.predict(X), y)
    both = moving(solver=solver, alpha="auto").fit(X, y)
    assert both.alpha_ == tuning.ALPHA_WITH_ROOM
    np.testing.assert_allclose(both.margin_, model.margin_, rtol=1e-3)


def test_a_margin_may_be_given():
    X, y = rare()
    still = quick().fit(X, y)
    for margin in (-1.5, 2.0):
        moved = quick(margin=margin).fit(X, y)
        assert moved.margin_ == margin
        np.testing.assert_allclose(
            moved.decision_function(X), still.decision_function(X) - margin, rtol=1e-5, atol=1e-4
        )


@pytest.mark.parametrize(
    "options", [{"activation": "sigmoid"}, {"slope_limit": 0.0}, {"margin": 0.0}, {"margin": 1.0}]
)
def test_nothing_is_tried_where_nothing_is_to_be_chosen(options, monkeypatch):
    monkeypatch.setattr(tuning, "trials", lambda *_: pytest.fail("rows were left out"))
    assert moving(**options).fit(*apart()).margin_ == options.get("margin", 0.0)


def test_there_is_no_margin_where_classes_overlap_or_neither_is_rare():
    assert moving().fit(*overlapping()).margin_ == 0
    assert moving().fit(*rare(positives=1)).margin_ == 0
    X, y = apart(positives=300)
    np.testing.assert_allclose(moving().fit(X, y).margin_, 0, atol=1e-4)


def test_the_margin_is_chosen_for_every_split_by_its_own_rows():
    X, y = apart()
    far = np.flatnonzero(y)[:12]
    near = np.where((y == 1)[:, None], X - 7, X)
    X, y = np.concatenate([X, near[y == 1]]), np.r_[y, np.ones(20, int)]
    negatives = np.flatnonzero(y == 0)
    splits = [(np.r_[far, negatives], []), (np.r_[negatives, np.arange(600, 620)], [])]
    margins = [model.margin_ for model in moving().fit_many(X, y, splits)]
    assert margins[0] > 0 == margins[1]
    np.testing.assert_allclose(
        margins, [moving().fit(X[train], y[train]).margin_ for train, _ in splits], rtol=1e-3
    )


def test_warm_start_keeps_the_margin(monkeypatch):
    X, y = apart()
    model = moving(warm_start=True).fit(X, y)
    margin = model.margin_
    monkeypatch.setattr(tuning, "trials", lambda *_: pytest.fail("the margin was chosen anew"))
    assert model.fit(X, y).margin_ == margin > 0


def test_a_warm_start_takes_the_margin_that_was_chosen_where_there_is_a_slope():
    X, y = apart()
    model = moving(warm_start=True).fit(X, y)
    chosen = model.margin_
    assert model.set_params(activation="sigmoid").fit(X, y).margin_ == 0
    assert model.set_params(activation="astra", margin=3.0).fit(X, y).margin_ == 3
    assert model.set_params(margin="auto").fit(X, y).margin_ == chosen > 0


def test_the_slope_stays_below_a_power_of_the_classes_ratio_whatever_mistakes_cost():
    X, y = rare(positives=80, seed=1)
    for options in (
        {},
        {"loss": "bce"},
        {"loss": "bce", "class_weight": "balanced"},
        {"loss": "bce", "class_weight": {0: 3.0}},
    ):
        for power, highest in ((0.25, 2**0.5), (0.5, 2.0), (1, 4.0)):  # of 320/80
            (of_many,) = quick(slope_limit=power, **options).fit_many(
                X, y, [(np.arange(400), np.arange(400))]
            )
            for model in (quick(slope_limit=power, **options).fit(X, y), of_many):
                assert model.history_["slope"].max() == pytest.approx(
                    highest
                )  # where it starts, instead of at tau_init's 7.4
    weighted = quick(slope_limit=1).fit(X, y, sample_weight=np.where(y == 1, 2.0, 1.0))
    assert weighted.history_["slope"].max() == pytest.approx(2)
    unlimited = quick(slope_limit=None).fit(X, y)
    assert unlimited.history_["slope"][0] == pytest.approx(7.396, rel=1e-3)
    third = np.r_[np.full(10, 2), y]  # a label without weight counts for nothing
    model = quick(loss="bce", slope_limit=1, class_weight={0: 1, 1: 1, 2: 0}).fit(
        np.r_[X[-10:], X], third
    )
    assert model.history_["slope"].max() == pytest.approx(320 / 80)
    warm = quick(
        slope_limit=None, warm_start=True, validation_fraction=0.3, selection="g_mean"
    ).fit(X, y)
    assert warm.slope_.max() > 2
    warm.set_params(slope_limit=0.5).fit(X, y)
    assert warm.slope_.max() <= 2 * (1 + 1e-5)
    assert warm.history_["slope"].max() <= 2 * (1 + 1e-5)
    balanced = quick().fit(X[:160], y[:160])
    np.testing.assert_allclose(balanced.slope_, 1, rtol=1e-6)
    np.testing.assert_allclose(
        balanced.coefs_,
        quick(activation="sigmoid").fit(X[:160], y[:160]).coefs_,
        rtol=1e-4,
        atol=1e-4,
    )


def test_a_threshold_that_starts_at_a_half_stays_there():
    model = quick(tau_init=0.5, slope_limit=None).fit(*rare())
    np.testing.assert_array_equal(model.slope_, 1.0)


def test_selection_wants_validation_rows_of_both_classes():
    X, y = rare(400, 20)
    for label, name in ((0, "minority"), (1, "majority")):
        with pytest.raises(
            ValueError,
            match=f"needs validation rows of both classes; found none of the {name}",
        ):
            quick(selection="fnr").fit(X, y, validation=(X[y == label], y[y == label]))
    weight = np.where(y == 1, 0.0, 1.0)
    weight[np.flatnonzero(y == 1)[:2]] = 1.0
    for seed in range(6):  # of the two positives with weight, one trains and one validates
        model = quick(
            selection="g_mean", validation_fraction=0.3, burn_in=1, random_state=seed
        ).fit(X, y, weight)
        assert np.isfinite(model.history_["fnr"]).all()
        assert model.history_["fnr"][0] > 0


INTERRUPTED = """
import sys, warnings
import numpy as np
from astralearn import ASTraClassifier
rng = np.random.default_rng(0)
y = np.arange(300) < 9
X = rng.normal(size=(300, 3)) + 2 * y[:, None]
options = {"margin": 0.0, "random_state": 0}
ASTraClassifier(alpha="auto", epochs=10_000, **options).fit(X, y)  # compiles what is run below
for alpha in (2.0, "auto"):
    model = ASTraClassifier(alpha=alpha, epochs=10_000_000, **options)
    print("ready", flush=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    shape, n_iter = model.predict(X).shape, model.n_iter_
    print(caught[-1].message, shape, 0 < n_iter < 10_000_000, flush=True)
"""


@pytest.mark.slow
def test_ctrl_c_leaves_a_fitted_classifier():
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for place in ("10000000", "the trials that choose alpha and margin"):
            assert process.stdout.readline() == "ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(2)
            process.send_signal(signal.SIGINT)
            assert re.fullmatch(
                rf"fit was interrupted at epoch \d+ of {place}; the classifier is fitted .*"
                r" \(300,\) True\n",
                process.stdout.readline(),
            )
        assert process.wait(60) == 0


def test_ctrl_c_before_the_first_epoch_is_passed_on(monkeypatch):
    X, y = rare()
    model = quick().fit(X, y)
    before = model.decision_function(X)

    def stopped(stack, settings, **_):
        k = len(stack.fold_of)
        return Trained(
            stack.parameters,
            stack.slope,
            np.zeros(k, int),
            np.zeros(k, int),
            [{}] * k,
            [],
            interrupted=True,
        )

    monkeypatch.setattr(fitting, "train", stopped)
    with pytest.raises(KeyboardInterrupt, match="nothing had been learned yet"):
        model.fit(X, 1 - y)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_ctrl_c_among_the_trials_keeps_networks_of_one_alpha(monkeypatch):
    X, y = rare()
    seen, run = [], fitting.train

    def stopped(stack, settings, **options):
        seen.append(stack.alpha)
        return dataclasses.replace(run(stack, settings, **options), interrupted=True)

    monkeypatch.setattr(fitting, "train", stopped)
    with pytest.warns(ConvergenceWarning, match="the trials that choose alpha and margin"):
        model = quick(alpha="auto", n_estimators=8).fit(X, y)
    assert len(model.coefs_) == len(model.slope_) == np.sum(seen[0] == 2) == 5
    assert model.alpha_ == 2
    assert np.isfinite(model.decision_function(X)).all()


def test_networks_that_lbfgs_cannot_better_stay():
    X, y = rare(300)
    model = quick(
        loss="gmn", solver="lbfgs", standardize=False, alpha=0.0, n_estimators=8, epochs=50
    ).fit(1000 * X, y)
    assert len(model.coefs_) == len(model.slope_) == 8


def test_a_message_about_processes_is_kept_from_users_of_threads(monkeypatch):
    def effective(n_jobs):
        warnings.warn(
            "Loky-backed parallel loops cannot be called in a multiprocessing, setting n_jobs=1",
            stacklevel=2,
        )
        return abs(n_jobs)

    monkeypatch.setattr("joblib.effective_n_jobs", effective)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick(epochs=2).fit(*rare(60))


@pytest.mark.parametrize(
    ("n_jobs", "parent", "threads"),
    [(None, None, 8), (-1, None, 8), (-2, None, 7), (-9, None, 1), (None, 1, 1), (3, 1, 3)],
)
def test_how_many_threads_there_are_is_found_without_touching_the_filters_of_warnings(
    n_jobs, parent, threads, monkeypatch
):
    monkeypatch.setattr("joblib.cpu_count", lambda: 8)
    monkeypatch.setattr("multiprocessing.parent_process", lambda: parent)
    with monkeypatch.context() as patch:
        patch.setattr(
            "warnings.catch_warnings",
            lambda *_, **__: pytest.fail("other threads lose their filters"),
        )
        found = fitting.threads(n_jobs)
    assert found == threads


def test_no_threads_are_refused():
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        quick(n_jobs=0).fit(*rare(60))
