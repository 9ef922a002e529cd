import numpy as np
import pandas as pd
import pytest

from astralearn.boosting.labels import MinorityLabels
from astralearn.classifier.checks import LabelSums, two_classes
from astralearn.classifier.labels import TwoClasses, positive_index
from astralearn.datasets.problem import problem_from_frame


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        (["a"] * 3 + ["b"] * 7, "a"),
        (["a"] * 7 + ["b"] * 3, "b"),
        (["b", "a", "a", "b"], "b"),
        ([1, 0, 0], 1),
        ([0, 1, 1], 0),
        ([1, 0], 1),
    ],
)
def test_networks_trees_and_files_have_one_rule(labels, positive):
    y = np.asarray(labels)
    assert two_classes(LabelSums.of(y, np.ones(len(y)))).minority == positive
    assert MinorityLabels.of(y).minority == positive
    frame = pd.DataFrame({"x": range(len(y)), "y": y})
    assert problem_from_frame(frame, "y", name="any").labels[1] == str(positive)


@pytest.mark.parametrize("positive", [0, 1])
def test_decisions_and_columns_are_in_the_order_of_the_labels(positive):
    classes = TwoClasses(np.asarray(["no", "yes"], object), positive)
    rare, frequent = [("no", "yes"), ("yes", "no")][positive]
    assert (classes.minority, classes.majority) == (rare, frequent)
    assert classes.decided(np.asarray([True, False])).tolist() == [rare, frequent]
    columns = classes.columns(minority=np.asarray([0.9, 0.2]), majority=np.asarray([0.1, 0.8]))
    np.testing.assert_array_equal(columns[:, positive], [0.9, 0.2])
    np.testing.assert_array_equal(columns[:, 1 - positive], [0.1, 0.8])


def test_more_or_fewer_than_two_classes_have_no_positive_one():
    with pytest.raises(ValueError, match="unpack"):
        positive_index([1, 2, 3])
