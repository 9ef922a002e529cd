from datetime import date

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.utils.class_weight import compute_class_weight

from astralearn import ASTraClassifier
from astralearn.classifier.checks import (
    LabelSums,
    check_class_weight,
    costs_of,
    positive_share,
    two_classes,
)
from astralearn.classifier.labels import TwoClasses
from astralearn.core import LOSSES
from astralearn.engine.rows import RowCosts
from rare_problems import quick, rare


@pytest.mark.parametrize("weight", [1e-320, 1e-40, 1e-30, 1e30, 1e308])
def test_weights_that_float32_loses_are_refused(weight):
    X, y = rare()
    for label in (0, 1):
        some = np.where(y == label, weight, 1.0)
        with pytest.raises(
            ValueError,
            match=rf"sample_weight must add up to 1e-15 at least and .* for class {label}\. Scale",
        ):
            quick(alpha=0.0).fit(X, y, some)
        with pytest.raises(
            ValueError,
            match=rf"the weights in validation must add up to .* for class {label}\. Scale",
        ):
            quick(alpha=0.0).fit(X, y, validation=(X, y, some))


@pytest.mark.filterwarnings("ignore:.* are not recognised")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weight", [2.0**-49, 2.0**40])
@pytest.mark.slow
def test_weights_within_the_limits_are_relative(loss, weight):
    X, y = rare()
    one, other = (
        quick(loss=loss, alpha=0.0, epochs=20).fit(X, y, np.full(len(y), w)) for w in (1.0, weight)
    )
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-5)


def test_features_beyond_any_scale_are_spoken_of():
    X, y = rare()
    with pytest.warns(
        UserWarning,
        match=r"with standardize=False, features beyond ±1e\+09 are taken there; X reaches 2e\+09",
    ):
        quick(standardize=False).fit(X + 2e9, y)


def test_labels_as_bytes_are_refused_by_name():
    with pytest.raises(ValueError, match=r"y: .*bytes"):
        ASTraClassifier().fit(np.zeros((10, 2)), np.asarray([b"yes"] * 3 + [b"no"] * 7))


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        (5, r"splits must be \(train, test\) pairs of row indices, .*found 5"),
        ([5], r"splits\[0\] must be a \(train, test\) pair .*found 5"),
        ([(np.ones(60, bool), [])], r"splits\[0\] must hold masks of 400 rows; found one of 60"),
        ([(np.arange(9), [500])], r"splits\[0\] must hold indices of 400 rows; found 500"),
        (
            [(np.arange(9.0), [])],
            r"splits\[0\] must hold row indices or masks, .*; found float64 of shape \(9,\)",
        ),
        (
            [(np.arange(400), []), (np.arange(100, 400), [])],
            r"splits\[1\]: y must contain two classes .*StratifiedKFold",
        ),
    ],
)
def test_fit_many_says_which_split_is_wrong(splits, message):
    with pytest.raises(ValueError, match=message):
        quick().fit_many(*rare(), splits)


LABELS = TwoClasses(np.asarray(["no", "yes"]), 1)
Y = np.asarray(["no"] * 9 + ["yes"] * 3)


def test_balanced_is_scikit_learns():
    expected = compute_class_weight("balanced", classes=LABELS.labels, y=Y)
    np.testing.assert_allclose(costs_of("balanced", LABELS, LabelSums.of(Y, np.ones(12))), expected)


def test_balanced_takes_weights_for_repetitions():
    weight = np.r_[np.zeros(3), np.full(8, 0.1), 7.0]
    expected = compute_class_weight("balanced", classes=LABELS.labels, y=Y, sample_weight=weight)
    np.testing.assert_allclose(costs_of("balanced", LABELS, LabelSums.of(Y, weight)), expected)


def test_a_label_that_is_not_named_costs_one():
    assert costs_of({"yes": 5}, LABELS, LabelSums.of(Y, np.ones(12))) == RowCosts(1.0, 5.0)
    assert costs_of(
        {"yes": 5}, LABELS._replace(positive=0), LabelSums.of(Y, np.ones(12))
    ) == RowCosts(5.0, 1.0)
    assert costs_of(None, LABELS, LabelSums.of(Y, np.ones(12))) == RowCosts(1.0, 1.0)


def test_a_positive_class_that_is_settled_stays_so():
    assert two_classes(LabelSums.of(Y, np.ones(12))).minority == "yes"
    assert two_classes(LabelSums.of(Y, np.ones(12)), "no").minority == "no"
    dates = np.where(
        Y == "no", np.datetime64("2024-01-01", "ns"), np.datetime64("2025-01-01", "ns")
    )
    assert two_classes(LabelSums.of(dates, np.ones(12)), dates[0]).minority == dates[0]


@pytest.mark.parametrize(
    ("class_weight", "share"),
    [
        (None, 0.5),
        ("balanced", 0.5),
        ({"yes": 3}, 0.75),
        ({"no": 4, "yes": 1}, 0.2),
        ({"no": 0}, 1.0),
    ],
)
def test_the_positives_share_of_the_costs(class_weight, share):
    assert positive_share(class_weight, LABELS) == share


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        (
            {"maybe": 2},
            r"class_weight must name labels of y, which has \['no', 'yes'\]; found \['maybe'\]",
        ),
        (
            {"yes": -1},
            r"class_weight must be finite and at least 0 for every label; found \{'yes': -1\}",
        ),
        ({"yes": float("inf")}, r"finite and at least 0 .* found \{'yes': inf\}"),
        ({"yes": "2"}, r"finite and at least 0 .* found \{'yes': '2'\}"),
    ],
)
def test_wrong_costs_are_refused(class_weight, message):
    with pytest.raises(ValueError, match=message):
        check_class_weight(class_weight, LABELS.labels.tolist())


def test_labels_beyond_those_of_y_may_be_named_too():
    check_class_weight({"no": 1, "yes": 2, "maybe": 3}, LABELS.labels.tolist())


def test_two_classes_without_a_cost_are_refused():
    with pytest.raises(
        ValueError, match=r"above 0 for one class at least; found \{'no': 0, 'yes': 0\}"
    ):
        positive_share({"no": 0, "yes": 0}, LABELS)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("x", ValueError),
        ([1, 2], ValueError),
        ({"a": 1}, TypeError),
        (10**400, ValueError),
        (date(2024, 1, 1), TypeError),
    ],
    ids=str,
)
def test_features_that_are_no_numbers_are_named_with_who_takes_them(value, kind):
    X, y = rare()
    wrong = X.astype(object)
    wrong[3, 1] = value
    model = quick()
    said = "X must hold numbers only; .*TabularASTraClassifier takes words, dates and gaps"
    with pytest.raises(kind, match=said):
        model.fit(wrong, y)
    model.fit(X, y)
    with pytest.raises(kind, match=said):
        model.predict(wrong)


def test_what_scikit_learn_says_of_arrays_stays():
    X, y = rare()
    for wrong, said in ((X * 1j, "Complex data"), (csr_array(X), "toarray"), (X[0], "2D array")):
        with pytest.raises((TypeError, ValueError), match=said):
            quick().fit(wrong, y)


@pytest.mark.parametrize(
    ("weight", "kind", "said"),
    [
        (lambda n: np.nan, ValueError, "sample_weight must be finite; found nan"),
        (lambda n: "balanced", ValueError, "sample_weight must hold a number for each row; .*'bal"),
        (lambda n: {0: 1, 1: 2}, TypeError, "sample_weight must hold a number for each row; "),
        (lambda n: [10**400] * n, ValueError, "sample_weight must hold a number for each row; "),
        (lambda n: np.full(n, np.datetime64("2024-01-01")), TypeError, "sample_weight must hold n"),
        (np.ma.ones, TypeError, "sample_weight must have no mask"),
    ],
    ids=["nan", "text", "dict", "long", "dates", "mask"],
)
def test_weights_that_are_none_are_named(weight, kind, said):
    X, y = rare()
    with pytest.raises(kind, match=said):
        quick().fit(X, y, weight(len(y)))


@pytest.mark.parametrize("frame", [np.asarray, pd.DataFrame], ids=["array", "frame"])
@pytest.mark.parametrize("unit", ["M8[ns]", "m8[s]"])
def test_dates_are_no_features_of_an_array(frame, unit):
    X, y = rare()
    dates = frame(X.astype(np.int64).astype(unit))
    with pytest.raises(TypeError, match="X must hold numbers only; found"):
        quick().fit(dates, y)
    with pytest.raises(TypeError, match="X must hold numbers only; found"):
        quick().fit(X, y).predict(dates)


def test_masks_are_refused_as_in_the_core():
    X, y = rare()
    with pytest.raises(TypeError, match="X must have no mask"):
        quick().fit(np.ma.masked_array(X, mask=X > 1), y)
