import re
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from astralearn.classifier import fitting
from astralearn.engine.stack import Trained
from rare_problems import quick, rare


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


@pytest.mark.slow
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
            match=(
                f'selection="fnr" needs validation rows of both classes; found none of the {name}'
            ),
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


@pytest.mark.slow
@pytest.mark.parametrize("committee", [True, False])
def test_ctrl_c_leaves_a_fitted_classifier(committee):
    code = f"""
        import warnings, numpy as np, sys
        from astralearn import ASTraClassifier
        rng = np.random.default_rng(0)
        y = np.zeros(600, int); y[:9] = 1
        X = rng.normal(size=(600, 3)) + 2 * y[:, None]
        options = dict(committee={committee}, n_estimators=2, random_state=0)
        model = ASTraClassifier(epochs=10_000_000, **options)
        ASTraClassifier(epochs=10_000, **options).fit(X, y)  # compiles what the long fit runs
        print("ready", flush=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
        print(caught[0].message)
        print(model.predict(X).shape, 0 < model.n_iter_ < 10_000_000)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    said = r"fit was interrupted at epoch \d+ of 10000000; the classifier is fitted"
    assert re.search(said, out)
    assert "(600,) True" in out


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


@pytest.mark.filterwarnings("ignore:.* are not recognised")
def test_networks_that_lbfgs_cannot_better_stay():
    X, y = rare(300)
    model = quick(
        loss="gmn", solver="lbfgs", standardize=False, alpha=0.0, n_estimators=8, epochs=50
    ).fit(1000 * X, y)
    assert len(model.coefs_) == len(model.slope_) == 8


def test_progress_bar(capsys):
    X, y = rare()
    quick(verbose=1).fit(X, y)
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("epoch", "60/60", "loss", "FNR", "e-ratio", "τ"))
    quick().fit(X, y)
    assert capsys.readouterr().out == ""
