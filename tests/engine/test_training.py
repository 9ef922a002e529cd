import dataclasses
import threading

import jax
import numpy as np
import pytest

import torch_reference
from astralearn.core import LOSSES
from astralearn.engine import epoch
from astralearn.engine.network import Architecture, initialise
from astralearn.engine.packing import Chunks
from astralearn.engine.rows import Fold, Rows
from astralearn.engine.stack import Settings, Stack
from astralearn.engine.training import train
from astralearn.engine.view import View

FEATURES = 4


def in_long_runs(*cases):
    """Parameters that `make test` leaves out."""
    return [pytest.param(*case, marks=pytest.mark.long) for several in cases for case in several]


AS_IT_IS = View(np.zeros(FEATURES), np.ones(FEATURES))


def rows(n=150, positives=9, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    positive = np.arange(n) < positives
    X = rng.normal(size=(n, FEATURES)) + 1.5 * positive[:, None]
    order = rng.permutation(n)
    return Rows(X[order].astype(dtype), positive[order], rng.uniform(0.2, 2, n))


def fold(n=150, positives=9, seed=0, dtype=np.float64, held_out=None):
    return Fold(rows(n, positives, seed, dtype), AS_IT_IS, held_out)


def stack(n_networks=3, dtype=np.float64, hidden=(3,), folds=None, **extra):
    architecture = Architecture(FEATURES, hidden)
    folds = folds or [fold(dtype=dtype)]
    parameters = np.stack(
        [initialise(architecture, np.random.default_rng([7, k]), dtype) for k in range(n_networks)]
    )
    fold_of = [0] * n_networks if len(folds) == 1 else list(range(n_networks))
    return Stack(
        architecture,
        folds,
        fold_of,
        parameters,
        np.full(n_networks, 7.396),
        **extra,
    )


def by_pytorch(s, k, **options):
    """Parameters and slope of the k-th network, trained on the first fold."""
    r, start = s.folds[0].train, s.parameters[k]
    return torch_reference.train(s.architecture, r.X, r.positive, r.weight, start, 7.396, **options)


def close(a, b, rtol):
    np.testing.assert_allclose(a.parameters, b.parameters, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(a.slope, b.slope, rtol=rtol)


@pytest.mark.parametrize(
    ("loss", "activation", "dtype"),
    [
        *((loss, "astra", np.float64) for loss in LOSSES),
        ("root_gmn", "sigmoid", np.float64),
        ("bce", "sigmoid", np.float32),
        ("gmn", "astra", np.float32),
        *in_long_runs(
            [("bce", "sigmoid", np.float64), ("gmn", "sigmoid", np.float64)],
            [("bce", "astra", np.float32), ("gmn", "sigmoid", np.float32)],
            [("root_gmn", "astra", np.float32)],
        ),
    ],
)
@pytest.mark.slow
def test_agrees_with_pytorch_after_200_epochs(loss, activation, dtype):
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    s, astra = stack(2, dtype), activation == "astra"
    trained = train(s, Settings(loss=loss, activation=activation, epochs=200))
    for k in range(2):
        parameters, slope = by_pytorch(s, k, loss=loss, astra=astra, epochs=200)
        np.testing.assert_allclose(trained.parameters[k], parameters, atol=tolerance)
        if astra:
            assert trained.slope[k] == pytest.approx(slope, rel=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [(), (3,), (4, 3), (3, 2, 2)])
def test_any_depth_agrees_with_pytorch(hidden):
    s = stack(2, hidden=hidden, alpha=np.asarray([0.01, 3.0]))
    trained = train(s, Settings(loss="gmn", epochs=50, learning_rate=0.01))
    for k in range(2):
        options = {"loss": "gmn", "astra": True, "epochs": 50, "learning_rate": 0.01}
        parameters, _ = by_pytorch(s, k, alpha=s.alpha[k], **options)
        np.testing.assert_allclose(trained.parameters[k], parameters, atol=1e-10)


@pytest.mark.parametrize(
    "loss", ["bce", "gmn", "root_gmn", *in_long_runs([("f1",), ("mcc",), ("balanced_accuracy",)])]
)
@pytest.mark.slow
def test_chunks_change_only_rounding(loss):
    s = stack(2, folds=[fold(900, 40)])
    settings = Settings(loss=loss, epochs=60)
    close(train(s, settings), train(s, settings, chunks=Chunks(512)), 1e-9)


@pytest.mark.parametrize("loss", ["gmn", *in_long_runs([("bce",), ("root_gmn",)])])
def test_group_size_changes_only_rounding(loss):
    s = stack(
        4,
        folds=[fold(n=140 + k, seed=k, held_out=rows(60, seed=10 + k)) for k in range(4)],
    )
    settings = Settings(loss=loss, epochs=60, selection="fnr", burn_in=5)
    alone, together = train(s, settings, group=1), train(s, settings, group=3)
    close(alone, together, 1e-9)
    np.testing.assert_array_equal(alone.chosen_epoch, together.chosen_epoch)


@pytest.mark.parametrize(
    ("loss", "sam", "hidden"),
    [("bce", "off", (3,)), ("gmn", "off", ()), ("gmn", "off", (4, 3)), ("gmn", "positives", (3,))],
)
@pytest.mark.slow
def test_folds_over_the_same_rows_train_as_they_would_apart(loss, sam, hidden):
    whole, rng = rows(300, 20), np.random.default_rng(3)
    folds = []
    for _ in range(4):
        role = rng.integers(0, 3, 300)  # trained on, held out or unseen
        view = View(rng.normal(size=FEATURES), rng.uniform(0.5, 2, FEATURES))
        trained_on, held_out = (
            dataclasses.replace(whole, weight=whole.weight * (role == part)) for part in (0, 1)
        )
        folds.append(Fold(trained_on, view, held_out))
    together = stack(4, folds=folds, hidden=hidden, alpha=np.geomspace(0.01, 1, 4))
    copied = [
        dataclasses.replace(f, train=dataclasses.replace(f.train, X=f.train.X.copy()))
        for f in folds
    ]
    apart = dataclasses.replace(together, folds=copied)
    settings = Settings(loss=loss, epochs=60, selection="fnr", burn_in=5, sam=sam, sam_radius=0.05)
    one, other = train(together, settings), train(apart, settings, group=1)
    close(one, other, 1e-9)
    np.testing.assert_array_equal(one.chosen_epoch, other.chosen_epoch)


def test_the_number_of_workers_changes_nothing():
    s = stack(5, np.float32, folds=[fold(seed=k, dtype=np.float32) for k in range(5)])
    one, two = train(s, Settings(epochs=100), n_jobs=1), train(s, Settings(epochs=100), n_jobs=3)
    assert one.parameters.tobytes() == two.parameters.tobytes()
    assert one.slope.tobytes() == two.slope.tobytes()
    for a, b in zip(one.history, two.history, strict=True):
        assert all(a[name].tobytes() == b[name].tobytes() for name in a)


def test_going_on_from_a_state_is_training_through():
    s = stack(2, np.float32)
    through = train(s, Settings(epochs=80))
    half = train(s, Settings(epochs=40))
    rest = train(dataclasses.replace(s, states=half.states), Settings(epochs=40))
    assert through.parameters.tobytes() == rest.parameters.tobytes()
    assert rest.n_epochs.tolist() == [80, 80]


def test_rows_without_weight_teach_nothing():
    r = rows()
    weight = r.weight.copy()
    weight[::3] = 0
    masked = stack(1, folds=[Fold(dataclasses.replace(r, weight=weight), AS_IT_IS)])
    cut = stack(1, folds=[Fold(r.take(weight > 0), AS_IT_IS)])
    close(train(masked, Settings(epochs=50)), train(cut, Settings(epochs=50)), 1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.slow
def test_a_class_without_weight_leaves_the_other_to_learn(loss, label):
    r = rows()
    of_one = dataclasses.replace(r, weight=r.weight * (r.positive == label))
    alone = stack(1, folds=[Fold(of_one, AS_IT_IS)])
    trained = train(alone, Settings(loss=loss, epochs=20))
    assert np.isfinite(trained.parameters).all()
    wrong = trained.history[0]["fpr" if label == 0 else "fnr"]
    assert wrong[-1] < wrong[0]


def test_validation_is_watched_but_not_learned_from():
    watched = stack(1, folds=[fold(held_out=rows(seed=5))])
    settings = Settings(epochs=50, records=10)
    a, b = train(watched, settings), train(stack(1), settings)
    close(a, b, 1e-12)
    assert {"val_loss", "val_fnr", "val_g_mean", "val_mcc", "val_e_ratio", "val_fpr"} <= set(
        a.history[0]
    )
    assert not any(name.startswith("val_") for name in b.history[0])


def test_history_is_what_the_core_counts():
    from astralearn.core import rebalanced_logit, soft_confusion
    from astralearn.engine.network import predict_logits

    s = stack(1, folds=[fold(held_out=rows(seed=5))])
    history = train(s, Settings(epochs=1)).history[0]
    for prefix, r in (("", s.folds[0].train), ("val_", s.folds[0].held_out)):
        x = predict_logits(s.parameters, s.architecture, r.X, AS_IT_IS)[0]
        counts = soft_confusion(rebalanced_logit(x, 7.396), r.positive.astype(float), r.weight)
        for name in ("fnr", "fpr", "g_mean", "mcc", "e_ratio"):
            assert history[prefix + name][0] == pytest.approx(
                float(getattr(counts, name)), rel=1e-9
            )
        assert history[prefix + "loss"][0] == pytest.approx(1 - float(counts.g_mean), rel=1e-9)
    assert history["epoch"].tolist() == [0]
    assert history["slope"][0] == pytest.approx(7.396)
    assert history["threshold"][0] == pytest.approx(0.25, abs=1e-4)


def test_history_is_thinned():
    history = train(stack(1), Settings(epochs=100, records=20)).history[0]
    assert all(len(values) == 20 for values in history.values())
    assert history["epoch"].tolist() == list(range(4, 100, 5))


@pytest.mark.parametrize(("epochs", "n"), [(1, 1), (45, 6), (500, 51), (4_000, 201)])
def test_a_history_has_the_first_epoch_and_every_tenth_or_200(epochs, n):
    history = train(stack(1), Settings(epochs=epochs)).history[0]
    assert len(history["epoch"]) == n
    assert history["epoch"][0] == 0
    assert history["epoch"][-1] == epochs - 1


def test_slow_epochs_are_recorded_one_by_one():
    history = train(stack(1, folds=[fold(600_000)], dtype=np.float32), Settings(epochs=3)).history[
        0
    ]
    assert history["epoch"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(("selection", "sign"), [("fnr", 1), ("g_mean", -1), ("mcc", -1)])
@pytest.mark.slow
def test_selection_keeps_the_best_epoch_after_the_burn_in(selection, sign):
    s = stack(1, folds=[fold(held_out=rows(seed=5))])
    trained = train(
        s,
        Settings(
            loss="bce", epochs=120, selection=selection, burn_in=30, records=120, learning_rate=0.01
        ),
    )
    scores = sign * trained.history[0][f"val_{selection}"]
    expected = 30 + int(np.argmin(scores[30:]))
    assert trained.chosen_epoch.tolist() == [expected]
    stopped_there = train(s, Settings(loss="bce", epochs=expected, learning_rate=0.01))
    np.testing.assert_allclose(trained.parameters, stopped_there.parameters, rtol=1e-9)


@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
@pytest.mark.parametrize("highest", [(9.0, 2.0), (1.5, np.inf), (1.0, 1.0)])
@pytest.mark.slow
def test_each_slope_stays_below_its_limit(solver, highest):
    """Each network of a stack has its own limit, and one of b = 1 is the plain sigmoid."""
    folds = [fold(positives=9), fold(positives=30)]
    settings = Settings(loss="gmn", epochs=100, slope_rate_min=0.5, solver=solver)
    trained = train(stack(2, folds=folds, slope_max=np.asarray(highest)), settings)
    unlimited = train(stack(2, folds=folds), settings)
    assert (unlimited.slope > highest).any()
    if highest[1] == np.inf and solver == "adam":
        np.testing.assert_allclose(trained.slope[1], unlimited.slope[1], rtol=1e-9)
    for k in range(2):
        seen = np.append(trained.history[k]["slope"], trained.slope[k])
        assert (seen <= highest[k] * (1 + 1e-12)).all()
        if solver == "adam":  # whose record begins before the first step
            assert seen[0] == pytest.approx(min(7.396, highest[k]))
    if highest == (1.0, 1.0) and solver == "adam":
        plain = train(stack(2, folds=folds), dataclasses.replace(settings, activation="sigmoid"))
        np.testing.assert_allclose(trained.parameters, plain.parameters, rtol=1e-9, atol=1e-9)


def test_every_positive_lost_still_gives_a_gradient():
    f = fold(dtype=np.float32)
    s = stack(1, np.float32, hidden=(), folds=[f])
    lost = dataclasses.replace(
        s, parameters=np.asarray([[0, 0, 0, 0, -13.0]], np.float32)
    )  # g near -95: σ(g) is 0 in float32
    trained = train(lost, Settings(loss="gmn", epochs=1))
    assert np.isfinite(trained.parameters).all()
    assert trained.states[0].mean[-2] < 0  # the gradient that Adam saw raises the bias
    further = train(
        dataclasses.replace(lost, parameters=np.asarray([[0, 0, 0, 0, -1e4]], np.float32)),
        Settings(loss="gmn", epochs=5),
    )
    assert np.isfinite(further.parameters).all()


@pytest.mark.slow
def test_sharpness_aware_step_is_the_gradient_at_the_perturbed_weights():
    s = stack(1)
    plain = train(s, Settings(epochs=5))
    for sam in ("all", "positives"):
        near = train(s, Settings(epochs=5, sam=sam, sam_radius=1e-9))
        close(plain, near, 1e-6)
        far = train(s, Settings(epochs=5, sam=sam, sam_radius=0.5))
        assert np.isfinite(far.parameters).all()
        assert np.abs(far.parameters - plain.parameters).max() > 1e-5


@pytest.mark.slow
def test_sharpness_aware_step_at_a_zero_gradient_is_finite():
    s = stack(1, hidden=())
    r = rows()
    flat = dataclasses.replace(
        s, folds=[Fold(dataclasses.replace(r, X=np.zeros_like(r.X)), AS_IT_IS)]
    )
    assert np.isfinite(train(flat, Settings(epochs=3, sam="all", sam_radius=0.1)).parameters).all()


@pytest.mark.slow
def test_time_limit_ends_training_between_segments():
    trained = train(stack(1), Settings(epochs=10_000_000, records=1_000_000, time_limit=0.5))
    assert 0 < trained.n_epochs[0] < 10_000_000
    assert not trained.interrupted


def test_an_error_in_one_thread_reaches_the_caller():
    with pytest.raises(RuntimeError, match="no more"):
        train(
            stack(4),
            Settings(epochs=1000),
            n_jobs=2,
            progress=lambda p: (_ for _ in ()).throw(RuntimeError("no more")),
        )


def test_progress_is_told_every_segment():
    told, main = [], threading.main_thread()
    train(stack(1), Settings(epochs=50, records=10), progress=told.append)
    assert [p.epoch for p in told] == list(range(5, 51, 5))
    assert main.is_alive()
    assert all(0 <= p.fnr <= 1 and 0 < p.threshold <= 0.5 and p.epochs == 50 for p in told)


def test_what_was_compiled_is_not_compiled_again(monkeypatch):
    traced, original = [], epoch.epoch
    monkeypatch.setattr(
        epoch, "epoch", lambda *arguments: traced.append(arguments) or original(*arguments)
    )
    s = stack(3, folds=[fold(171)], hidden=(5,))
    train(s, Settings(epochs=20))
    first = len(traced)
    assert first > 0
    train(s, Settings(epochs=20))
    assert len(traced) == first
    train(dataclasses.replace(s, folds=[fold(700)]), Settings(epochs=20))
    assert len(traced) > first  # other shapes are


@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_a_history_goes_on_counting(solver):
    s, settings = stack(2, np.float32), Settings(epochs=5, records=5, solver=solver)
    first = train(s, settings)
    rest = train(dataclasses.replace(s, states=first.states), settings)
    epochs = [trained.history[0]["epoch"] for trained in (first, rest)]
    np.testing.assert_array_equal(epochs[1], epochs[0] + 5)


@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("numpy_dtype_promotion", "strict"),
        ("numpy_rank_promotion", "raise"),
        ("transfer_guard", "disallow"),
        ("enable_x64", True),
    ],
)
def test_what_the_caller_has_set_in_jax_changes_nothing(name, value, solver):
    s, settings, before = (
        stack(2, np.float32),
        Settings(epochs=3, solver=solver),
        getattr(jax.config, f"jax_{name}"),
    )
    expected = train(s, settings)
    jax.config.update(f"jax_{name}", value)
    try:
        found = train(s, settings)
    finally:
        jax.config.update(f"jax_{name}", before)
    assert found.parameters.tobytes() == expected.parameters.tobytes()
