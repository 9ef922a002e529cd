import copy

import numpy as np
import pytest

from astralearn.onnx import to_onnx
from astralearn.tabular import TabularASTraClassifier
from rare_problems import quick, rare

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("probability", ["balanced", "risk"])
def test_the_graph_says_what_the_committee_says(committee, run, probability):
    model, X = committee
    model = copy.copy(model).set_params(probability=probability)
    label, found = run(to_onnx(model), {"X": X})
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(label, model.predict(X))


def test_networks_alone_with_texts_for_labels(run):
    X, y = rare(300, 8)
    model = quick(hidden_layer_sizes=(4, 3), distance=False).fit(X, np.where(y == 1, "a", "b"))
    label, found = run(to_onnx(model), {"X": X})
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-9)
    assert label.tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("probability", ["balanced", "risk"])
def test_columns_of_every_kind_go_in_as_they_come(table, run, probability, tmp_path):
    model, frame, feeds = table
    model = copy.copy(model).set_params(probability=probability)
    model.to_onnx(tmp_path / "model.onnx")
    from onnx import load

    label, found = run(load(tmp_path / "model.onnx"), feeds)
    np.testing.assert_allclose(found, model.predict_proba(frame), rtol=0, atol=1e-9)
    assert label.tolist() == model.predict(frame).tolist()


def test_another_classifier_inside_is_named(table):
    from sklearn.tree import DecisionTreeClassifier

    _, frame, _ = table
    y = np.arange(len(frame)) < 10
    other = TabularASTraClassifier(DecisionTreeClassifier()).fit(frame, y)
    with pytest.raises(
        ValueError, match=r"classifier must be an ASTraClassifier .* found Decision"
    ):
        to_onnx(other)
