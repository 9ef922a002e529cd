import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from astralearn.class_costs import Costs, check_class_weight, costs_of, positive_share
from astralearn.engine.rows import Fold
from astralearn.engine.view import View

LABELS = ("no", "yes")
Y = np.asarray(["no"] * 9 + ["yes"] * 3)


def test_balanced_is_scikit_learns():
    expected = compute_class_weight("balanced", classes=np.asarray(LABELS), y=Y)
    np.testing.assert_allclose(costs_of("balanced", LABELS, Y, np.ones(12)), expected)


def test_balanced_takes_weights_for_repetitions():
    weight = np.r_[np.zeros(3), np.full(8, 0.1), 7.0]
    expected = compute_class_weight(
        "balanced", classes=np.asarray(LABELS), y=Y, sample_weight=weight
    )
    np.testing.assert_allclose(costs_of("balanced", LABELS, Y, weight), expected)


def test_a_label_that_is_not_named_costs_one():
    assert costs_of({"yes": 5}, LABELS, Y, np.ones(12)) == Costs(1.0, 5.0)
    assert costs_of({"yes": 5}, LABELS[::-1], Y, np.ones(12)) == Costs(5.0, 1.0)
    assert costs_of(None, LABELS, Y, np.ones(12)) == Costs(1.0, 1.0)


def test_costs_multiply_the_weights_of_their_class():
    fold = Fold(np.zeros((12, 1)), Y == "yes", np.arange(12.0), View(np.zeros(1), np.ones(1)))
    np.testing.assert_array_equal(
        Costs(0.5, 3.0).on(fold).weight, np.arange(12) * np.where(Y == "yes", 3.0, 0.5)
    )
    assert Costs().on(fold) is fold


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
        check_class_weight(class_weight, list(LABELS))


def test_labels_beyond_those_of_y_may_be_named_too():
    check_class_weight({"no": 1, "yes": 2, "maybe": 3}, list(LABELS))


def test_two_classes_without_a_cost_are_refused():
    with pytest.raises(
        ValueError, match=r"above 0 for one class at least; found \{'no': 0, 'yes': 0\}"
    ):
        positive_share({"no": 0, "yes": 0}, LABELS)
