import numpy as np
import pytest

from astralearn.boosting.labels import MinorityLabels, negatives_per_positive


@pytest.mark.parametrize(
    ("y", "minority"),
    [
        (["ok", "ok", "fraud"], "fraud"),
        (["a", "a", "b"], "b"),
        ([1, -1, 1], -1),
        ([True, True, False], False),
        ([0, 1, 1, 0], 1),  # A tie: the class that sorts last.
        (["x", "y"], "y"),
        ([2.0, 7.0, 7.0], 2.0),
    ],
)
def test_the_rarer_class_is_positive(y, minority):
    labels = MinorityLabels.of(y)
    assert labels.minority == minority
    binary = labels.to_binary(y)
    assert binary.tolist() == [int(label == minority) for label in y]
    assert labels.decided(binary == 1).tolist() == y
    again = MinorityLabels.from_plain(labels.as_plain())
    assert again.decided(binary == 1).tolist() == y
    columns = labels.columns(minority=np.asarray([0.9]), majority=np.asarray([0.1]))
    assert columns[0, labels.labels.tolist().index(minority)] == 0.9


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1], "found one class only"),
        ([0, 1, 2], "Only binary classification is supported"),
        ([0.5, 0.1], "Unknown label type"),
        ([0.0, np.nan], "NaN"),
        (np.asarray(["a", None], object), "of one kind, without missing ones; found NoneType, str"),
        ([None, "a"], "of one kind, without missing ones; found NoneType, str"),
        (np.asarray(["a", 1], object), "of one kind, without missing ones; found int, str"),
        ([], "sample"),
    ],
)
def test_labels_that_cannot_be_learned(y, message):
    with pytest.raises(ValueError, match=message):
        MinorityLabels.of(y)


def test_a_label_that_training_never_saw():
    with pytest.raises(ValueError, match="only the classes seen in training"):
        MinorityLabels.of(["a", "a", "b"]).to_binary(["a", "c"])


def test_class_weights_of_0_and_1_come_from_those_of_labels():
    labels = MinorityLabels.of(["ok", "ok", "fraud"])
    assert labels.class_weights({"fraud": 3.0, "ok": 1.0}) == (1.0, 3.0)
    assert labels.class_weights({"ok": 2}) == (2.0, 1.0)
    with pytest.raises(ValueError, match="class_weight must name"):
        labels.class_weights({"spam": 1.0})
    with pytest.raises(ValueError, match="above 0 and finite; found inf for 'ok'"):
        labels.class_weights({"ok": np.inf})


def test_negatives_per_positive():
    assert negatives_per_positive(np.asarray([0, 0, 0, 1])) == 3.0
