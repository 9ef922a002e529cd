import copy
import pickle
import re
import warnings
from decimal import Decimal

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_limits

from astralearn import ASTraClassifier, load
from astralearn.classifier import committee, estimator, rows, trees
from astralearn.core import LOSSES
from rare_problems import apart, quick, quick_committee, rare

COMBINATIONS = [(loss, activation) for loss in LOSSES for activation in ("astra", "sigmoid")]
IN_EVERY_RUN = [("root_gmn", "astra")]


@pytest.fixture(scope="module")
def fitted():
    X, y = rare()
    return quick(epochs=300).fit(X, y), X, y


@pytest.mark.slow
def check_contract(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's own, about data it makes
        results = check_estimator(model, on_fail=None)
    assert [
        (r["check_name"], r["exception"])
        for r in results
        if r["status"] not in ("passed", "skipped")
    ] == []
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= {
        "check_array_api_input"
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "activation"),
    [pytest.param(*c, marks=[] if c in IN_EVERY_RUN else [pytest.mark.long]) for c in COMBINATIONS],
)
def test_scikit_learn_contract_of_networks_alone(loss, activation):
    check_contract(quick(loss=loss, activation=activation, epochs=300))


@pytest.mark.slow
def test_scikit_learn_contract_of_a_committee(few_trees):
    check_contract(quick_committee())


@pytest.mark.long
def test_scikit_learn_contract_of_the_default():
    check_contract(ASTraClassifier(random_state=0))


def test_it_learns_the_rare_class(fitted):
    model, X, y = fitted
    assert (model.predict(X)[y == 1] == 1).all()
    assert model.predict(X)[y == 0].mean() < 0.05


def test_outputs_agree_with_each_other(fitted):
    model, X, _ = fitted
    g, proba = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-g)), rtol=1e-9)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), (g >= 0).astype(int))


def test_fitted_attributes(fitted):
    model, _, _ = fitted
    assert model.slope_.shape == model.threshold_.shape == (2,)
    assert (model.slope_ >= 1).all()
    assert ((model.threshold_ > 0) & (model.threshold_ <= 0.5)).all()
    assert model.n_iter_ == 300
    assert model.n_features_in_ == 3
    lengths = {len(values) for values in model.history_.values()}
    assert lengths == {31}
    assert {
        "epoch",
        "loss",
        "fnr",
        "fpr",
        "g_mean",
        "mcc",
        "e_ratio",
        "slope",
        "threshold",
        "slope_rate",
    } == set(model.history_)
    arrays = [v for v in vars(model).values() if hasattr(v, "dtype")]
    assert all(isinstance(a, (np.ndarray, np.generic)) for a in arrays)


@pytest.mark.parametrize(
    ("labels", "rare_label"),
    [
        ((0, 1), 1),
        ((1, 0), 0),
        ((-1, 1), 1),
        (("no", "fraud"), "fraud"),
        (("a", "b"), "b"),
        ((False, True), True),
        ((2.0, 7.0), 7.0),
    ],
)
def test_the_rarer_class_is_the_positive_one_whatever_its_name(labels, rare_label):
    X, y = rare()
    named = np.asarray(labels)[y]
    model = quick(epochs=300).fit(X, named)
    assert model.minority_class_ == rare_label
    assert (model.predict(X)[y == 1] == rare_label).all()
    positive = list(model.classes_).index(rare_label)
    assert (model.predict_proba(X)[y == 1, positive] >= 0.5).all()
    assert ((model.decision_function(X)[y == 1] > 0) == bool(positive)).all()


def test_with_equal_counts_the_class_that_sorts_last_is_positive():
    X, y = rare(40, 20)
    assert quick().fit(X, y).minority_class_ == 1


def test_weights_rows_and_order():
    X, y = rare()
    weight = np.ones(len(X))
    weight[[0, 100]] = 2
    weight[7] = 0
    again = np.random.default_rng(0).permutation(
        np.concatenate([np.delete(np.arange(len(X)), 7), [0, 100]])
    )
    weighted, repeated = quick().fit(X, y, weight), quick().fit(X[again], y[again])
    assert weighted.coefs_.tobytes() == repeated.coefs_.tobytes()


def test_a_weight_is_a_repetition_whatever_is_held_out():
    X, y = rare(400, 8)
    times = np.random.default_rng(1).integers(1, 4, len(X))
    again = np.repeat(np.arange(len(X)), times)
    options = {"validation_fraction": 0.25, "selection": "fnr", "burn_in": 5}
    weighted, repeated = quick(**options).fit(X, y, times), quick(**options).fit(X[again], y[again])
    assert weighted.coefs_.tobytes() == repeated.coefs_.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("make", [quick, quick_committee])
def test_of_many_rows_too_a_weight_is_a_repetition_of_a_positive(make, monkeypatch):
    monkeypatch.setattr(rows, "MERGED_UP_TO", 100)
    X, y = apart(positives=6)
    again = np.r_[np.arange(len(X)), np.repeat(np.arange(6), 4)]
    weighted = make(epochs=200).fit(X, y, 1 + 4.0 * y)
    repeated = make(epochs=200).fit(X[again], y[again])
    np.testing.assert_allclose(
        repeated.decision_function(X), weighted.decision_function(X), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize(
    "options", [{"loss": "bce", "class_weight": "balanced"}, {"class_weight": {1: 3.0}}]
)
def test_a_weight_is_a_repetition_whatever_mistakes_cost(options):
    X, y = rare()
    weighted = quick(**options).fit(X, y, 1 + 2.0 * y)
    repeated = quick(**options).fit(np.r_[X, X[y == 1], X[y == 1]], np.r_[y, y[y == 1], y[y == 1]])
    assert weighted.coefs_.tobytes() == repeated.coefs_.tobytes()


def test_class_weight_moves_the_decision():
    X, y = rare()
    plain, eager, loath = (
        quick(class_weight=w).fit(X, y) for w in (None, {0: 1, 1: 100}, {0: 100, 1: 1})
    )
    assert loath.predict(X).sum() <= plain.predict(X).sum() <= eager.predict(X).sum()
    least, middle, most = (
        model.decision_function(X[y == 1]).mean() for model in (loath, plain, eager)
    )
    assert least < middle < most
    assert quick(class_weight="balanced").fit(X, y).coefs_.tobytes() == plain.coefs_.tobytes()
    bce = [quick(loss="bce", class_weight=w).fit(X, y).predict(X).sum() for w in (None, "balanced")]
    assert bce[0] <= bce[1]


@pytest.mark.parametrize("make", [quick, quick_committee])
def test_float32_rows_are_answered_in_float64(make, few_trees):
    X, y = rare()
    X = X.astype(np.float32)
    model = make().fit(X, y)
    found = model.predict_proba(X)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, model.predict_proba(X.astype(np.float64)), atol=1e-3)


@pytest.mark.slow
def test_fit_many_is_many_fits():
    X, y = rare(300, 12)
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    for options in (
        {"n_estimators": 1},
        {"n_estimators": 2},
        {"n_estimators": 1, "validation_fraction": 0.25, "selection": "fnr"},
    ):
        models = quick(**options).fit_many(X, y, splits)
        assert len(models) == 4
        for model, (train, test) in zip(models, splits, strict=True):
            alone = quick(**options).fit(X[train], y[train])
            np.testing.assert_allclose(
                model.decision_function(X[test]),
                alone.decision_function(X[test]),
                rtol=1e-3,
                atol=1e-3,
            )


@pytest.mark.slow
def test_fit_many_where_an_outlier_stretches_some_folds():
    X, y = rare(300, 12)
    X[np.flatnonzero(y == y[0])[0], 0] = 1e9
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    options = {"n_estimators": 1, "distance": False}
    for model, (train, test) in zip(quick(**options).fit_many(X, y, splits), splits, strict=True):
        alone = quick(**options).fit(X[train], y[train])
        np.testing.assert_allclose(
            model.decision_function(X[test]), alone.decision_function(X[test]), rtol=1e-3, atol=1e-3
        )


def test_fit_many_takes_masks_and_finds_each_splits_own_minority():
    X, _ = rare(300, 12)
    y = np.arange(300) < 140
    X[y] += 1
    splits = [
        (np.arange(300) >= 100, np.arange(300) < 100),
        (np.arange(300) < 250, np.arange(300) >= 250),
    ]
    options = {"n_estimators": 1, "distance": False}
    models = quick(**options).fit_many(X, y, splits)
    assert [bool(model.minority_class_) for model in models] == [True, False]
    for model, (train, _) in zip(models, splits, strict=True):
        alone = quick(**options).fit(X[train], y[train])
        np.testing.assert_allclose(
            model.decision_function(X), alone.decision_function(X), rtol=1e-3, atol=1e-3
        )


@pytest.mark.parametrize("loss", ["bce", "gmn"])
@pytest.mark.slow
def test_fit_many_with_costs_where_the_minority_is_not_the_same_in_each_split(loss):
    X, y = rare(300, 40)
    usual = [
        (np.arange(300) >= 20, np.arange(300) < 20),
        (np.arange(300) < 250, np.arange(300) >= 250),
    ]
    inverted = (np.arange(300) < 60, np.arange(300) >= 60)
    model = quick(loss=loss, class_weight={0: 5.0}, n_estimators=1, distance=False)
    splits = [*usual, inverted] if loss == "bce" else usual
    for of_many, (train, _) in zip(model.fit_many(X, y, splits), splits, strict=True):
        alone = clone(model).fit(X[train], y[train])
        np.testing.assert_allclose(
            of_many.decision_function(X), alone.decision_function(X), rtol=1e-3, atol=1e-3
        )
    if loss == "gmn":  # whose costs all networks of a stack share
        with pytest.raises(
            ValueError,
            match=r"split 1 has another minority \(0\) than the whole data \(1\), which",
        ):
            model.fit_many(X, y, [usual[0], inverted])


def test_fit_many_with_validation_rows_of_the_callers_choice():
    X, y = rare(300, 12)
    fold = np.arange(300) % 5
    splits = [(np.flatnonzero(fold > 1), np.flatnonzero(fold == 1), np.flatnonzero(fold == 0))]
    options = {"selection": "fnr", "epochs": 100, "burn_in": 10}
    (model,) = quick(**options).fit_many(X, y, splits)
    train, validation, _ = splits[0]
    alone = quick(**options).fit(X[train], y[train], validation=(X[validation], y[validation]))
    np.testing.assert_allclose(model.coefs_, alone.coefs_, rtol=1e-3, atol=1e-4)
    assert "val_fnr" in model.history_


@pytest.mark.slow
def test_fit_many_with_a_seed_for_each_split():
    X, y = rare(300, 12)
    splits = list(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y))
    models = quick().fit_many(X, y, splits, random_states=[3, 4])
    for seed, model, (train, test) in zip((3, 4), models, splits, strict=True):
        alone = quick(random_state=seed).fit(X[train], y[train])
        assert model.random_state == seed
        np.testing.assert_allclose(
            model.decision_function(X[test]), alone.decision_function(X[test]), rtol=1e-3, atol=1e-3
        )
    with pytest.raises(
        ValueError, match=r"a list of one seed per split, of which there are 2; found \[3\]"
    ):
        quick().fit_many(X, y, splits, random_states=[3])


def test_paper_settings():
    model = ASTraClassifier.paper("bce", "sigmoid", epochs=2_000)
    assert (model.loss, model.activation, model.epochs, model.learning_rate) == (
        "bce",
        "sigmoid",
        2_000,
        0.001,
    )
    assert (model.selection, model.burn_in, model.n_estimators, model.tau_init) == (
        "fnr",
        1_000,
        1,
        0.25,
    )


@pytest.mark.filterwarnings("ignore:.* are not recognised")
@pytest.mark.parametrize(
    ("loss", "activation"), [("bce", "astra"), ("gmn", "astra"), ("bce", "sigmoid")]
)
@pytest.mark.slow
def test_lbfgs_reaches_adams_loss_here_in_a_hundredth_of_the_steps(loss, activation):
    X, y = rare(1500, 8, seed=3)
    X[y == 1] -= 1.2  # so that the classes overlap
    small = {
        "hidden_layer_sizes": None,
        "alpha": 0.0,
        "slope_limit": None,
        "distance": False,
        "n_estimators": 1,
    }  # the paper's problem
    adam = quick(loss=loss, activation=activation, epochs=5_000, learning_rate=0.001, **small).fit(
        X, y
    )
    lbfgs = quick(loss=loss, activation=activation, epochs=50, solver="lbfgs", **small).fit(X, y)
    assert lbfgs.n_iter_ <= 50
    assert lbfgs.history_["loss"][-1] <= adam.history_["loss"][-1] * 1.05
    assert lbfgs.history_["epoch"].tolist() == list(range(1, lbfgs.n_iter_ + 1))
    assert np.isfinite(lbfgs.decision_function(X)).all()


def test_lbfgs_is_reproducible_watches_validation_and_says_what_it_lacks():
    X, y = rare()
    one, two = (
        quick(solver="lbfgs", epochs=20, validation_fraction=0.3, n_jobs=n).fit(X, y)
        for n in (1, 2)
    )
    assert one.coefs_.tobytes() == two.coefs_.tobytes()
    assert "val_fnr" in one.history_
    with pytest.raises(ValueError, match='solver="lbfgs" goes with selection="last"'):
        quick(solver="lbfgs", selection="fnr", validation_fraction=0.3).fit(X, y)


@pytest.mark.parametrize("dump", [pickle.dumps, joblib.hash], ids=["pickle", "joblib"])
def test_state_is_plain(dump, fitted):
    model, X, _ = fitted
    assert dump(model) == dump(copy.deepcopy(model))
    if dump is pickle.dumps:
        assert (
            pickle.loads(dump(model)).decision_function(X).tobytes()
            == model.decision_function(X).tobytes()
        )


@pytest.mark.slow
def test_skops_round_trip(fitted):
    skops = pytest.importorskip("skops.io")
    model, X, _ = fitted
    data = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=data)
    assert unknown == ["astralearn.classifier.ASTraClassifier"]
    assert (
        skops.loads(data, trusted=unknown).decision_function(X).tobytes()
        == model.decision_function(X).tobytes()
    )


def test_data_frames_and_their_names():
    X, y = rare()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = quick().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])
    polars = pytest.importorskip("polars")
    other = quick().fit(polars.DataFrame({name: frame[name].to_numpy() for name in frame}), y)
    np.testing.assert_array_equal(model.coefs_, other.coefs_)


@pytest.mark.slow
def test_inside_scikit_learns_tools():
    X, y = rare(200, 24)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    pipe = make_pipeline(StandardScaler(), quick(epochs=30))
    assert cross_validate(pipe, X, y, cv=cv, scoring="balanced_accuracy")["test_score"].mean() > 0.7
    assert (
        GridSearchCV(quick(epochs=30), {"loss": ["bce", "gmn"]}, cv=cv, n_jobs=2)
        .fit(X, y)
        .best_score_
        > 0.8
    )
    assert CalibratedClassifierCV(quick(epochs=30), cv=cv).fit(X, y).predict_proba(X).shape == (
        200,
        2,
    )
    assert TunedThresholdClassifierCV(quick(epochs=30), cv=cv).fit(X, y).predict(X).shape == (200,)
    imblearn = pytest.importorskip("imblearn.pipeline")
    from imblearn.under_sampling import RandomUnderSampler

    assert (
        imblearn.make_pipeline(RandomUnderSampler(random_state=0), quick(epochs=30))
        .fit(X, y)
        .score(X, y)
        > 0.8
    )


@pytest.mark.slow
def test_balanced_data_are_no_trouble():
    X, y = load_breast_cancer(return_X_y=True)
    scores = cross_validate(
        ASTraClassifier(random_state=0, epochs=300),
        X,
        y,
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
    )
    assert scores["test_score"].mean() > 0.94


X_BAD, Y_BAD = rare()


@pytest.mark.parametrize(
    ("options", "X", "y", "message"),
    [
        (
            {},
            X_BAD,
            np.zeros(400),
            r"y must contain two classes to tell apart; found one class only: \[0\.0\]",
        ),
        (
            {},
            X_BAD,
            np.arange(400) % 3,
            r"Only binary classification is supported\. y has 3 classes",
        ),
        (
            {"validation_fraction": 0.2},
            X_BAD,
            np.eye(400)[0],
            r"validation_fraction=0\.2 needs at least two distinct rows of the minority.*found 1",
        ),
        ({}, np.where(X_BAD > 2, np.nan, X_BAD), Y_BAD, r"Input X contains NaN"),
        ({}, np.where(X_BAD > 2, np.inf, X_BAD), Y_BAD, r"Input X contains infinity"),
        (
            {"loss": "hinge"},
            X_BAD,
            Y_BAD,
            r"'loss' parameter of ASTraClassifier must be a str among \{.*'gmn'.*\}\. Got 'hinge'",
        ),
        (
            {"epochs": 0},
            X_BAD,
            Y_BAD,
            r"'epochs' parameter .* must be an int in the range \[1, 2147483647\]\. Got 0",
        ),
        ({"tau_init": 0.7}, X_BAD, Y_BAD, r"'tau_init' parameter"),
        (
            {"alpha": "much"},
            X_BAD,
            Y_BAD,
            r"'alpha' parameter .* must be a float in the range \[0\.0, 3\.4.*\]\. Got 'much'",
        ),
        ({}, X_BAD, Y_BAD[:-1], r"inconsistent numbers of samples: \[400, 399\]"),
        (
            {"selection": "fnr"},
            X_BAD,
            Y_BAD,
            r'selection="fnr" needs validation rows: set validation_fraction',
        ),
        (
            {"selection": "fnr", "validation_fraction": 0.3, "burn_in": 60},
            X_BAD,
            Y_BAD,
            r"burn_in must be below epochs.*60 and 60",
        ),
        (
            {"slope_rate_min": 1.0},
            X_BAD,
            Y_BAD,
            r"slope_rate_min must not exceed slope_rate_max; found 1\.0 and 0\.5",
        ),
        (
            {"hidden_layer_sizes": (3, 0)},
            X_BAD,
            Y_BAD,
            r"hidden_layer_sizes must be positive integers; found \(3, 0\)",
        ),
        (
            {"hidden_layer_sizes": [2.9]},
            X_BAD,
            Y_BAD,
            r"hidden_layer_sizes must be positive integers; found \[2\.9\]",
        ),
        (
            {"hidden_layer_sizes": ["a"]},
            X_BAD,
            Y_BAD,
            r"hidden_layer_sizes must be positive integers; found \['a'\]",
        ),
        (
            {"hidden_layer_sizes": [[3], [4]]},
            X_BAD,
            Y_BAD,
            r"hidden_layer_sizes must be positive integers; found \[\[3\], \[4\]\]",
        ),
        (
            {},
            X_BAD,
            np.where(Y_BAD == 1, "yes", None),
            r"y must hold labels of one kind, without missing ones; found NoneType, str",
        ),
        (
            {},
            X_BAD,
            np.where(np.arange(400) < 1, None, "yes"),
            r"y must hold labels of one kind, .*; found NoneType, str",
        ),
        (
            {},
            X_BAD,
            np.asarray(Y_BAD == 1, dtype=object),
            r"y must hold labels .*; found objects of type bool: use np.asarray\(y, bool\)",
        ),
        (
            {},
            X_BAD,
            np.asarray([Decimal(int(label)) for label in Y_BAD]),
            r"y must hold labels .*; found objects of type Decimal: use np.asarray\(y, float\)",
        ),
    ],
)
def test_bad_input_has_its_own_message(options, X, y, message):
    with pytest.raises(ValueError, match=message):
        quick(**options).fit(X, y)


@pytest.mark.parametrize("number", [10**30, 10**400])
@pytest.mark.parametrize("name", ["epochs", "burn_in"])
def test_more_epochs_than_can_be_counted_are_refused_by_name(name, number):
    with pytest.raises(ValueError, match=rf"'{name}' parameter .* 2147483647\]"):
        quick(**{name: number}).fit(X_BAD, Y_BAD)


@pytest.mark.parametrize(
    "name", ["learning_rate", "slope_rate_min", "slope_rate_max", "alpha", "sam_radius", "clip"]
)
def test_numbers_beyond_any_float_are_refused_by_name(name):
    with pytest.raises(ValueError, match=rf"'{name}' parameter"):
        quick(**{name: 10**400}).fit(X_BAD, Y_BAD)


def test_labels_may_be_dates():
    X, y = (
        X_BAD,
        np.where(Y_BAD == 1, np.datetime64("2024-01-01", "ns"), np.datetime64("2024-01-02", "ns")),
    )
    model = quick().fit(X, y)
    np.testing.assert_array_equal(
        model.predict(X) == model.minority_class_, quick().fit(X, Y_BAD).predict(X) == 1
    )


def test_more_bad_input(fitted):
    model, X, y = fitted
    with pytest.raises(
        ValueError, match="X has 2 features, but ASTraClassifier is expecting 3 features"
    ):
        model.predict(X[:, :2])
    with pytest.raises(TypeError, match="Sparse data was passed"):
        quick().fit(sparse.csr_matrix(X), y)
    with pytest.raises(ValueError, match=r"validation labels must be among \[0, 1\]; found \[5\]"):
        quick().fit(X, y, validation=(X, y + 5 * (y == 1) - (y == 1)))
    with pytest.raises(
        ValueError, match=r"validation labels must be among \[0, 1\]; found \['a', None\]"
    ):
        quick().fit(X, y, validation=(X[:2], ["a", None]))
    with pytest.raises(
        ValueError,
        match=r"validation must be \(X_val, y_val\) or \(X_val, y_val, weights\); found ndarray",
    ):
        quick().fit(X, y, validation=X)
    with pytest.raises(ValueError, match="y must contain two classes to tell apart; found none"):
        quick().fit_many(X, y, [([], np.arange(10))])
    with pytest.raises(ValueError, match="validation must have as many labels as rows"):
        quick().fit(X, y, validation=(X, y[:-1]))
    with pytest.raises(ValueError, match=r"splits must all be .* found lengths \[1\]"):
        quick().fit_many(X, y, [(np.arange(10),)])
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        quick().fit(X, y, -np.ones(len(X)))


def test_clone_keeps_the_parameters():
    model = ASTraClassifier.paper("gmn", hidden_layer_sizes=(4, 2))
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("constant", [0.35, 0.1, 19.99, 1e30, 1e300])
@pytest.mark.parametrize("n", [400, 3000])
def test_a_constant_feature_says_nothing(constant, n):
    X, y = rare(n, 8)
    with_it = np.column_stack([X, np.full(n, constant)])
    model = quick().fit(with_it, y)
    assert model.scale_[X.shape[1]] == 1
    assert model.mean_[X.shape[1]] == constant
    moved = np.column_stack([X, np.full(n, constant * (1 + 1e-6) if constant < 1e3 else constant)])
    np.testing.assert_allclose(
        model.decision_function(moved), model.decision_function(with_it), atol=0.01
    )


@pytest.mark.filterwarnings("ignore:.* are not recognised")
def test_rows_without_a_distance_to_tell_them_by():
    """One-hot rows of equally frequent categories lie equally far from their centre."""
    X = np.tile(np.eye(5), (80, 1))
    y = np.r_[np.ones(10), np.zeros(390)]
    model = quick().fit(X, y)
    assert model.scale_[-1] == 1
    assert np.abs(model.decision_function(np.zeros((1, 5)))).max() < 1e3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_finite_row_overflows(dtype):
    X, y = rare()
    X = X.astype(dtype)
    model = quick().fit(X, y)
    largest = float(np.finfo(dtype).max)
    for factor in (1, -1, 1e-3, -1e-10):
        far = np.full((1, X.shape[1]), largest * factor, dtype)
        assert np.isfinite(model.decision_function(far)).all()
        assert np.isfinite(model.predict_proba(far)).all()
    for factor in (largest / 100, float(np.finfo(dtype).tiny) * 1e9):
        other = X * dtype(factor)
        stretched = quick().fit(other, y)
        np.testing.assert_allclose(
            stretched.decision_function(other), model.decision_function(X), rtol=0.05, atol=0.05
        )


@pytest.mark.parametrize("class_weight", ["balanced", {1: 7.0}])
def test_fit_many_takes_each_splits_own_class_weights(class_weight):
    """Of 200 positives a split draws five: "balanced" is about those, as in a fit of them alone."""
    X, y = rare(2000, 200)
    positives, negatives = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    splits = [
        (np.r_[positives[:5], negatives[:900]], positives),
        (np.r_[positives[:100], negatives[:200]], positives),
    ]
    options = {"loss": "bce", "class_weight": class_weight, "n_estimators": 1, "distance": False}
    for model, (train, _) in zip(quick(**options).fit_many(X, y, splits), splits, strict=True):
        alone = quick(**options).fit(X[train], y[train])
        np.testing.assert_allclose(
            model.decision_function(X), alone.decision_function(X), rtol=1e-3, atol=1e-3
        )


def test_class_weights_that_mean_nothing_are_refused():
    X, y = rare()
    for loss in ("bce", "gmn"):
        with pytest.raises(
            ValueError,
            match=r"class_weight must name labels of y, which has \[0, 1\]; found \['fraud'\]",
        ):
            quick(loss=loss, class_weight={"fraud": 10}).fit(X, y)
        for cost in (np.nan, np.inf, -1.0, "high"):
            with pytest.raises(
                ValueError,
                match=r"class_weight must be finite and at least 0 for every label; found \{1: ",
            ):
                quick(loss=loss, class_weight={1: cost}).fit(X, y)


@pytest.mark.slow
def test_warm_start_selects_anew_and_says_what_does_not_fit():
    X, y = rare(600, 30)
    validated = {"validation_fraction": 0.3, "burn_in": 1}
    model = quick(warm_start=True, selection="g_mean", **validated).fit(X, y)
    before = model.coefs_
    model.set_params(selection="last").fit(X, y)
    assert model.n_iter_ == 120
    assert not np.array_equal(model.coefs_, before)
    model.set_params(selection="fnr").fit(X, y)
    then, anew = "2 of 4 inputs and (16,) hidden units", "Set warm_start=False to start anew"
    for option, found in (
        ({"n_estimators": 3}, "3 of 4 inputs and (16,)"),
        ({"hidden_layer_sizes": 5}, "2 of 4 inputs and (5,)"),
    ):
        with pytest.raises(
            ValueError,
            match=rf"{re.escape(then)}; .* now ask for {re.escape(found)} hidden units\. {anew}",
        ):
            copy.deepcopy(model).set_params(**option).fit(X, y)
    with pytest.raises(
        ValueError,
        match=rf"that tell 1 from the rest, which y no longer has; found \[0, 2\]\. {anew}",
    ):
        copy.deepcopy(model).fit(X, 2 * y)
    model.set_params(warm_start=False).fit(X, y)
    assert model.n_iter_ == 60
    assert model.set_params(warm_start=True).fit(X, y).n_iter_ == 120


def test_warm_start_wants_the_same_layers_not_as_many_numbers():
    X, y = rare(features=4)
    model = quick(hidden_layer_sizes=(2, 9), distance=False, warm_start=True).fit(X, y)
    with pytest.raises(
        ValueError, match=r"2 of 4 inputs and \(2, 9\) .* ask for 2 of 4 inputs and \(5, 3\)"
    ):
        model.set_params(hidden_layer_sizes=(5, 3)).fit(X, y)


def test_warm_start_sees_other_rows_as_it_saw_the_first():
    X, y = rare()
    model = quick(epochs=200, warm_start=True).fit(X, y)
    before = model.decision_function(X)
    others = X.copy()
    others[10:20] *= 30
    model.set_params(epochs=1, learning_rate=1e-12).fit(others, y)
    np.testing.assert_allclose(
        model.decision_function(X), before, rtol=1e-2, atol=1e-2
    )  # the slope made a step
    for option in ({"standardize": False}, {"clip": None}, {"distance": False}):
        with pytest.raises(
            ValueError, match=r"\(True, 5\.0, True\); found .*Set warm_start=False to start anew"
        ):
            copy.deepcopy(model).set_params(**option).fit(X, y)
    with pytest.raises(ValueError, match="ask for 2 of 3 inputs"):
        copy.deepcopy(model).fit(X[:, :2], y)


def test_warm_start_keeps_the_positive_class():
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(200, int), np.zeros(201, int)]
    X = rng.normal(size=(401, 3)) + 4 * y[:, None]
    model = quick(epochs=200, warm_start=True).fit(X, y)
    model.set_params(epochs=1).fit(X[:-2], y[:-2])
    assert model.minority_class_ == 1
    assert model.score(X, y) > 0.99


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_refit_that_fails_leaves_the_last_fit():
    X, y = rare()
    model = quick().fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="coefficients that are not finite"):
        model.set_params(learning_rate=1e38).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_an_outlying_feature_is_taken_at_the_limit():
    X, y = rare()
    model = quick().fit(X, y)
    far = np.repeat(X[-1:], 3, axis=0)
    far[:, 0] = model.mean_[0] + model.scale_[0] * np.asarray([5.0, 50.0, 1e12])
    assert len(np.unique(model.decision_function(far))) == 1
    free = quick(clip=None).fit(X, y)
    assert len(np.unique(free.decision_function(far))) == 3
    assert ASTraClassifier.paper().clip is None


@pytest.mark.slow
def test_fit_many_clips_as_fit_does():
    X, y = rare()
    X[-1] *= 30
    splits = list(StratifiedKFold(3).split(X, y))
    model = quick(distance=False, clip=2.0)
    for one, (train, test) in zip(model.fit_many(X, y, splits), splits, strict=True):
        alone = clone(model).fit(X[train], y[train])
        np.testing.assert_allclose(
            one.decision_function(X[test]), alone.decision_function(X[test]), rtol=1e-3
        )


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.full(X_BAD.shape, np.nan), "in validation: Input X contains NaN"),
        (X_BAD[:, :1], "in validation: X has 1 features"),
        (np.full(X_BAD.shape, "a"), "in validation: X must hold numbers only"),
        (np.ma.masked_array(X_BAD), "in validation: X must have no mask"),
    ],
)
def test_validation_rows_that_are_bad_are_named(X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        quick().fit(X_BAD, Y_BAD, validation=(X, Y_BAD))


def test_validation_rows_have_weights():
    X, y = rare(600, 30)
    train, validation = np.arange(600) % 3 > 0, np.arange(600) % 3 == 0
    weight = np.random.default_rng(0).uniform(0.5, 2, 600)
    options = {"selection": "g_mean", "burn_in": 1, "epochs": 60}
    (many,) = quick(**options).fit_many(X, y, [(train, validation, validation)], weight)
    alone = quick(**options).fit(
        X[train],
        y[train],
        weight[train],
        validation=(X[validation], y[validation], weight[validation]),
    )
    np.testing.assert_allclose(
        alone.decision_function(X), many.decision_function(X), rtol=1e-4, atol=1e-4
    )


def test_diverging_is_said():
    X, y = rare()
    with pytest.raises(
        ValueError,
        match=r"training ended with coefficients that are not finite: learning_rate=1e\+38",
    ):
        quick(learning_rate=1e38, slope_limit=0).fit(X, y)


def test_a_class_that_costs_nothing_leaves_the_callers_weights_alone():
    X, y = rare()
    X, y = np.r_[X, X[-10:] + 9], np.r_[y, np.full(10, 2)]
    weight = np.ones(len(y))
    model = quick(loss="bce", class_weight={2: 0.0}).fit(X, y, weight)
    assert model.classes_.tolist() == [0, 1]
    assert (weight == 1).all()


def test_a_fit_that_fails_leaves_the_last_one_whole():
    X, y = rare()
    model = quick(selection="mcc", validation_fraction=0.3).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="needs validation rows"):
        model.set_params(validation_fraction=0.0).fit(X[:, :2], 1 - y)
    with pytest.raises(ValueError, match="not finite: learning_rate=1e\\+38"):
        model.set_params(selection="last", learning_rate=1e38).fit(X, np.where(y == 1, "a", "b"))
    assert (model.minority_class_, model.n_features_in_) == (1, 3)
    np.testing.assert_array_equal(model.decision_function(X), before)
    unfitted = quick(selection="mcc")
    with pytest.raises(ValueError, match="needs validation rows"):
        unfitted.fit(X, y)
    assert not hasattr(unfitted, "classes_")


def test_predictions_have_the_kind_of_the_labels():
    X, y = rare()
    labels = np.where(y == 1, "yes", "no").astype(object)
    assert quick().fit(X, labels).predict(X).dtype == object
    assert quick().fit(X, y.astype(np.int8)).predict(X).dtype == np.int8


@pytest.mark.parametrize(("n", "features"), [(3000, 200), (40_000, 10), (30_000, 60)])
@pytest.mark.slow
def test_the_library_of_linear_algebra_may_have_any_number_of_threads(n, features):
    rng = np.random.default_rng(0)
    y = np.arange(n) < 60
    X, weight = rng.normal(size=(n, features)) + 0.5 * y[:, None], rng.uniform(0.5, 2, n)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            model = quick(epochs=3, n_estimators=1).fit(X, y, weight)
            arrays = {name: np.asarray(of) for name, of in vars(model).items() if name[-1] == "_"}
            arrays |= {"decision": model.decision_function(X), "risk": model.predict_risk(X)}
            arrays.pop("history_")
            found.append({name: array.tobytes() for name, array in arrays.items()})
    assert [name for name in found[0] if found[0][name] != found[1][name]] == []


@pytest.mark.parametrize("labels", [("a", "b"), ("b", "a")])
def test_a_decision_of_exactly_0_is_the_minoritys(labels):
    X, y = rare()
    model = quick().fit(X, np.where(y == 1, *labels))
    model.coefs_ = np.zeros_like(model.coefs_)
    assert (model.decision_function(X) == 0).all()
    assert (model.predict(X) == labels[0]).all()


def test_a_weight_is_a_repetition_and_the_order_of_rows_is_nothing_to_a_committee(few_trees):
    X, y = rare()
    weight = np.ones(len(X))
    weight[[0, 100]] = 2
    weight[7] = 0
    again = np.random.default_rng(0).permutation(
        np.concatenate([np.delete(np.arange(len(X)), 7), [0, 100]])
    )
    weighted = quick_committee().fit(X, y, weight)
    repeated = quick_committee().fit(X[again], y[again])
    assert weighted.coefs_.tobytes() == repeated.coefs_.tobytes()
    assert weighted.decision_function(X).tobytes() == repeated.decision_function(X).tobytes()
    assert weighted.cut_ == repeated.cut_


@pytest.mark.slow
def test_threads_are_nothing_to_a_committee(few_trees):
    X, y = rare(3000, 12)
    one, two = (quick_committee(n_jobs=n).fit(X, y) for n in (1, 2))
    assert one.coefs_.tobytes() == two.coefs_.tobytes()
    for method in ("decision_function", "predict_risk"):
        assert getattr(one, method)(X).tobytes() == getattr(two, method)(X).tobytes()
    assert one.expectations_.recall == two.expectations_.recall


@pytest.mark.slow
def test_fit_many_is_many_fits_of_committees(few_trees):
    X, y = rare(300, 12)
    splits = list(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y))
    for model, (train, test) in zip(quick_committee().fit_many(X, y, splits), splits, strict=True):
        alone = quick_committee().fit(X[train], y[train])
        np.testing.assert_allclose(
            model.decision_function(X[test]), alone.decision_function(X[test]), rtol=1e-3, atol=1e-3
        )
        assert model.cut_ == pytest.approx(alone.cut_, rel=1e-3, abs=1e-3)
        np.testing.assert_array_equal(model.predict(X[test]), alone.predict(X[test]))


@pytest.fixture(scope="module")
def convened():
    X, y = rare(1200, 10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "TREES", 20)
        return quick_committee().fit(X, y), X, y


def test_a_committee_s_outputs_agree_with_each_other(convened):
    model, X, y = convened
    g, proba = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-g)), rtol=1e-9)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), (g >= 0).astype(int))
    assert model.predict(X)[y == 1].mean() >= 0.9
    assert model.predict(X)[y == 0].mean() < 0.1
    score, risk = model.score_and_risk(X)
    np.testing.assert_array_equal(score, g)
    np.testing.assert_array_equal(risk, model.predict_risk(X))
    assert (np.diff(risk[np.argsort(g, kind="stable")]) >= 0).all()


def test_a_committee_is_pickled(convened, tmp_path):
    model, X, _ = convened
    joblib.dump(model, tmp_path / "model.joblib")
    for again in (
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model.joblib"),
        copy.deepcopy(model),
    ):
        assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
        assert again.decide("mcc").cut_ == model.decide("mcc").cut_
    assert not hasattr(clone(model), "committee_")


@pytest.mark.parametrize("dump", [pickle.dumps, joblib.hash], ids=["pickle", "joblib"])
def test_equal_committees_are_equal_byte_for_byte(dump, convened, few_trees):
    model, X, y = convened
    assert dump(model) == dump(copy.deepcopy(model))
    assert dump(model) == dump(quick_committee().fit(X, y))


def test_a_committee_goes_through_skops(convened):
    skops = pytest.importorskip("skops.io")
    model, X, _ = convened
    data = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=data)
    assert all(name.startswith(("astralearn.classifier.", "sklearn.tree.")) for name in unknown)
    again = skops.loads(data, trusted=unknown)
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert again.expectations_.recall == model.expectations_.recall


def test_a_committee_is_saved_to_one_file(convened, tmp_path):
    model, X, _ = convened
    model.save(tmp_path / "model.astra")
    again = load(tmp_path / "model.astra")
    again.save(tmp_path / "again.astra")
    assert (tmp_path / "again.astra").read_bytes() == (tmp_path / "model.astra").read_bytes()
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert again.decide({"alerts": 0.01}).cut_ == model.decide({"alerts": 0.01}).cut_


DECISIONS = [
    "g_mean",
    "mcc",
    "f1",
    {"cost": {0: 1.0, 1: 50.0}},
    {"alerts": 0.01},
    {"recall": 0.9},
    {"precision": 0.5},
]


@pytest.mark.parametrize("aim", DECISIONS, ids=str)
def test_another_decision_needs_no_fit_and_leaves_the_first_as_it_was(aim, convened, monkeypatch):
    model, X, _ = convened
    before = model.decision_function(X), model.cut_, model.get_params()
    monkeypatch.setattr(ASTraClassifier, "_fit_plans", lambda *_: pytest.fail("it was fitted"))
    other = model.decide(aim)
    assert other.decision == aim
    assert model.decision == "g_mean"
    assert (model.cut_, model.get_params()) == before[1:]
    np.testing.assert_array_equal(model.decision_function(X), before[0])
    np.testing.assert_array_equal(other.predict_risk(X), model.predict_risk(X))
    order = np.argsort(model.decision_function(X), kind="stable")
    assert (np.diff(other.decision_function(X)[order]) >= 0).all()
    assert (other.predict_proba(X)[:, 1] >= 0.5).tolist() == (other.predict(X) == 1).tolist()
    back = other.decide("g_mean")
    np.testing.assert_array_equal(back.decision_function(X), before[0])


def test_a_decision_may_be_given_to_the_fit(convened, few_trees):
    model, X, y = convened
    fitted = quick_committee(decision="mcc").fit(X, y)
    np.testing.assert_array_equal(
        fitted.decision_function(X), model.decide("mcc").decision_function(X)
    )
    assert model.decide("mcc").predict(X).sum() <= model.predict(X).sum()
    few = model.decide({"alerts": 0.02}).predict(X).mean()
    assert few <= 0.03


def test_a_half_at_the_cut(convened):
    model, X, _ = convened
    other = copy.copy(model)
    logits = model._logits(X[:1])
    other.cut_ = float(logits[0]) / model._steepness
    np.testing.assert_allclose(other.predict_proba(X[:1]), 0.5, atol=1e-9)


def test_bad_decisions_are_refused(convened):
    model, X, y = convened
    with pytest.raises(ValueError, match=r"decision must be one of 'g_mean', 'mcc', 'f1'"):
        model.decide("gmean")
    with pytest.raises(ValueError, match=r"decision=\{'recall': …\} must be in \(0, 1\); found 2"):
        model.decide({"recall": 2})
    with pytest.raises(ValueError, match="'decision' parameter of ASTraClassifier"):
        quick_committee(decision="gmean").fit(X, y)
    with pytest.raises(ValueError, match=r"must name the cost .* 0 and 1; found \{'a': 1\}"):
        quick_committee(decision={"cost": {"a": 1}}).fit(X, y)
    with pytest.raises(ValueError, match="decision needs rows left out: use committee=True"):
        quick(decision="mcc").fit(X, y)
    with pytest.raises(NotFittedError):
        quick_committee().decide("mcc")


def test_costs_by_labels_that_are_dates(few_trees):
    X, y = rare(300, 8)
    days = np.where(y == 1, np.datetime64("2024-01-02"), np.datetime64("2024-01-01"))
    costs = {np.datetime64("2024-01-02"): 50.0, np.datetime64("2024-01-01"): 1.0}
    model = quick_committee(decision={"cost": costs}).fit(X, days.astype("datetime64[ns]"))
    assert model.decide({"cost": dict.fromkeys(costs, 1.0)}).cut_ > model.cut_
    with pytest.raises(ValueError, match=r"must name the cost .* np.datetime64\('2024-01-01T"):
        model.decide({"cost": {"2024-01-02": 50.0, "2024-01-01": 1.0}})


@pytest.mark.parametrize(
    "absurd",
    [
        {"n_estimators": 10**30},
        {"n_estimators": 10**9},
        {"hidden_layer_sizes": 10**30},
        {"hidden_layer_sizes": (10**6, 10**6)},
        {"epochs": 10**30},
        {"decision": {"cost": {0: 10**400, 1: 1}}},
        {"class_weight": {0: 10**400, 1: 1}},
    ],
    ids=str,
)
def test_absurd_sizes_are_refused_by_name(absurd):
    X, y = rare(50, 5)
    with pytest.raises(ValueError, match=next(iter(absurd))):
        ASTraClassifier(**absurd).fit(X, y)


@pytest.mark.slow
def test_a_probability_that_is_the_risk(convened, few_trees):
    model, X, y = convened
    risky = copy.copy(model).set_params(probability="risk")
    risk = model.predict_risk(X)
    np.testing.assert_allclose(risky.predict_proba(X), np.stack([1 - risk, risk], 1), rtol=1e-12)
    np.testing.assert_array_equal(risky.predict(X), model.predict(X))
    alone = quick(probability="risk").fit(X, y)
    np.testing.assert_allclose(alone.predict_proba(X)[:, 1], alone.predict_risk(X), rtol=1e-12)
    # A threshold that follows from costs flags what expected costs say.
    pipe = make_pipeline(StandardScaler(), quick_committee(probability="risk"))
    cheap = FixedThresholdClassifier(pipe, threshold=1 / 51, response_method="predict_proba")
    in_pipe = cheap.fit(X, y).estimator_.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(cheap.predict(X), 50 * in_pipe >= 1 - in_pipe)
    cv = StratifiedKFold(2, shuffle=True, random_state=0)
    cost = make_scorer(lambda y, found: -np.dot(found != y, np.where(y == 1, 50, 1)))
    tuned = TunedThresholdClassifierCV(pipe, cv=cv, scoring=cost)
    assert tuned.fit(X, y).best_threshold_ < 0.5


def test_networks_alone_expect_nothing(fitted):
    model, _, _ = fitted
    assert (model.cut_, model.committee_) == (0.0, None)
    with pytest.raises(AttributeError, match="expectations_ needs rows left out"):
        _ = model.expectations_
    with pytest.raises(ValueError, match="decision needs rows left out"):
        model.decide("mcc")
    assert not ASTraClassifier.paper().committee


def test_class_weights_move_a_committee_s_cut(convened):
    model, X, y = convened
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "TREES", 20)
        eager, loath = (
            quick_committee(class_weight=w).fit(X, y) for w in ({1: 50.0}, {0: 1.1, 1: 1.0})
        )
    assert loath.predict(X).sum() <= eager.predict(X).sum()
    assert eager.cut_ < model.cut_


def test_warm_starts_go_on_with_a_committee(few_trees):
    X, y = rare(400, 10)
    through = quick_committee(epochs=80).fit(X, y)
    model = quick_committee(epochs=40, warm_start=True).fit(X, y).fit(X, y)
    assert model.n_iter_ == 80
    assert model.coefs_.tobytes() == through.coefs_.tobytes()
    assert model.decision_function(X).tobytes() == through.decision_function(X).tobytes()


@pytest.mark.parametrize("options", [{}, {"committee": False, "validation_fraction": 0.3}])
def test_a_warm_start_keeps_what_was_left_out(options, few_trees, monkeypatch):
    """Without a seed as well: networks that go on would else judge rows that they trained on."""
    dealt = []

    def noted(fold, *arguments, **keywords):
        dealt.append(committee.plan(fold, *arguments, **keywords))
        return dealt[-1]

    monkeypatch.setattr(estimator, "plan", noted)
    model = quick_committee(
        epochs=5, warm_start=True, random_state=None, decision="g_mean", **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*rare(400, 10)).fit(*rare(400, 10))
    first, second = dealt
    assert first.seen.tobytes() == second.seen.tobytes()
    assert first.fold.train.X.tobytes() == second.fold.train.X.tobytes()
    assert [fold.train.X.tobytes() for fold in first.folds] == [
        fold.train.X.tobytes() for fold in second.folds
    ]


@pytest.mark.parametrize("factor", [2.0**-20, 1 / 400])
def test_of_weights_that_are_shares_only_the_ratios_matter(factor, few_trees):
    X, y = rare()
    weight = np.where(np.arange(400) % 2 == 0, 1.0, 0.25)
    one, other = (quick_committee(epochs=20).fit(X, y, weight * w) for w in (1.0, factor))
    assert other.cut_ == pytest.approx(one.cut_)
    assert other.expectations_.recall == pytest.approx(one.expectations_.recall)
    np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=1e-3)
    np.testing.assert_allclose(other.predict_risk(X), one.predict_risk(X), atol=1e-4)
    if factor == 2.0**-20:
        assert other.decision_function(X).tobytes() == one.decision_function(X).tobytes()
        splits = [(np.arange(0, 400, 3), [0])]
        (one,), (other,) = (
            quick(epochs=30).fit_many(X, y, splits, weight * w) for w in (1.0, factor)
        )
        assert other.decision_function(X).tobytes() == one.decision_function(X).tobytes()


def test_ctrl_c_among_the_trees_leaves_networks(monkeypatch):
    X, y = rare()

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(committee, "grow_forest", stopped)
    with pytest.warns(ConvergenceWarning, match="fit was interrupted"):
        model = quick_committee().fit(X, y)
    assert model.committee_.members == {}
    assert np.isfinite(model.decision_function(X)).all()
    assert model.predict(X)[y == 1].mean() >= 0.5
    with pytest.raises(KeyboardInterrupt):
        quick_committee().fit_many(X, y, [(np.arange(400), np.arange(400))])


@pytest.mark.slow
def test_a_committee_inside_scikit_learns_tools(few_trees):
    X, y = rare(200, 24)
    cv = StratifiedKFold(2, shuffle=True, random_state=0)
    pipe = make_pipeline(StandardScaler(), quick_committee(epochs=30))
    assert cross_validate(pipe, X, y, cv=cv, scoring="balanced_accuracy")["test_score"].mean() > 0.7
    assert TunedThresholdClassifierCV(pipe, cv=cv).fit(X, y).predict(X).shape == (200,)
    model = quick_committee(epochs=30).fit(X, y)
    for method, at in (("predict_proba", 0.5), ("decision_function", 0.0)):
        fixed = FixedThresholdClassifier(
            FrozenEstimator(model), threshold=at, response_method=method
        ).fit(X, y)
        np.testing.assert_array_equal(fixed.predict(X), model.predict(X))


@pytest.mark.filterwarnings("ignore:.* are not recognised")
@pytest.mark.parametrize("positives", [1, 2, 3])
@pytest.mark.parametrize("n_estimators", [1, 5])
def test_a_committee_of_a_handful_of_positives(positives, n_estimators, few_trees):
    X, y = rare(300, positives)
    model = quick_committee(n_estimators=n_estimators).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.decision_function(X[y == 1]).min() > np.median(model.decision_function(X[y == 0]))
    recall = model.expectations_.recall
    assert 0 <= recall.low < recall.mean < recall.high <= 1


@pytest.mark.filterwarnings("ignore:.* are not recognised")
@pytest.mark.parametrize("kind", ["constant", "copies", "two_rows", "one_other"])
def test_a_committee_of_degenerate_rows(kind, few_trees):
    X, y = rare(60, 6)
    if kind == "constant":
        X[:] = 1.0
    elif kind == "copies":
        X = np.repeat(y[:, None], 3, axis=1).astype(float)
    elif kind == "two_rows":
        X, y = X[[0, -1]], y[[0, -1]]
    else:
        X[y == 0] = 0.0
    model = quick_committee().fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.predict_risk(X)).all()
    if kind != "constant":
        assert model.decision_function(X[y == 1]).min() > model.decision_function(X[y == 0]).max()


@pytest.mark.slow
def test_a_fit_that_misses_its_positives_says_how_many(monkeypatch, few_trees):
    X, y = rare(1000, 20)
    X[y == 1] -= 1.5
    with pytest.warns(ConvergenceWarning) as caught:
        model = quick(loss="bce", activation="sigmoid").fit(X, y)
    missed = int((model.predict(X)[y == 1] == 0).sum())
    assert missed > 20 / 3
    (said,) = caught
    assert str(said.message) == f"{missed} of the 20 training rows of 1 are not recognised"
    assert said.filename == __file__
    monkeypatch.setattr(estimator, "cut_for", lambda *_, **__: 1e9)
    said = "20 of the 20 training rows of 1 are not recognised; `expectations_` says what to expect"
    with pytest.warns(ConvergenceWarning, match=said):
        quick_committee().fit(X, y)
    quick_committee(decision="mcc").fit(X, y)  # which may well miss them


def test_splits_that_miss_their_positives_say_so():
    X, y = rare(1000, 20)
    X[y == 1] -= 1.5
    halves = np.arange(0, 1000, 2), np.arange(1, 1000, 2)
    with pytest.warns(ConvergenceWarning) as caught:
        fits = quick(loss="bce", activation="sigmoid").fit_many(X, y, [halves, halves[::-1]])
    each = []
    for i, (model, half) in enumerate(zip(fits, halves, strict=True)):
        missed = int((model.predict(X[half])[y[half] == 1] == 0).sum())
        each.append(f"splits[{i}]: {missed} of the 10 training rows of 1")
    (said,) = caught
    assert str(said.message) == f"{each[0]}; {each[1]} are not recognised"
    assert said.filename == __file__


def test_a_fit_that_finds_its_positives_says_nothing(few_trees):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick_committee().fit(*rare())


def heavy(rows, positives, seed):
    """Three heavy-tailed features; of every eight positives three lie far out, near negatives."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, size=(rows, 3))
    y = np.zeros(rows, int)
    y[:positives] = 1
    near = rng.normal(size=(positives, 3)) * 0.3 + [2.5, -2.5, 2.5]
    direction = np.asarray([1.0, 1.0, 0.0]) / np.sqrt(2)
    far = rng.uniform(8, 15, (positives, 1)) * X.std() * direction
    is_far = np.arange(positives) % 8 < 3
    X[:positives] = np.where(is_far[:, None], far + rng.normal(size=(positives, 3)) * 0.5, near)
    X[positives : positives + rows // 1000] = direction * rng.uniform(
        4, 9, (rows // 1000, 1)
    ) * X.std() + rng.normal(size=(rows // 1000, 3))
    return X, y


def check_heavy(rows, seed):
    X, y = heavy(rows, 8, 0)
    model = ASTraClassifier(random_state=seed).fit(X, y)
    assert (model.predict(X)[y == 1] == 1).all()
    X_new, y_new = heavy(rows, 80, 1)
    assert roc_auc_score(y_new, model.decision_function(X_new)) > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2])
def test_far_positives_are_heard(seed):
    check_heavy(5_000, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_far_positives_are_heard_among_many_rows(seed):
    check_heavy(30_000, seed)


@pytest.mark.slow
def test_expectations_hold_the_truth(few_trees):
    """Of several draws of one problem, the intervals hold most truths."""
    rng = np.random.default_rng(0)

    def drawn(n, positives):
        y = np.r_[np.ones(positives, int), np.zeros(n - positives, int)]
        return rng.normal(size=(n, 3)) + 1.5 * y[:, None], y

    X_new, y_new = drawn(4000, 1000)
    held = {"recall": [], "false_alarms": []}
    for seed in range(8):
        X, y = drawn(1000, 10)
        model = quick_committee(random_state=seed).fit(X, y)
        found, flagged = model.expectations_, model.predict(X_new) == 1
        truth = {
            "recall": flagged[y_new == 1].mean(),
            "false_alarms": 1000 * flagged[y_new == 0].mean(),
        }
        for name, values in held.items():
            expected = getattr(found, name)
            values.append(expected.low <= truth[name] <= expected.high)
    assert np.mean(held["recall"]) >= 0.75
    assert np.mean(held["false_alarms"]) >= 0.75
