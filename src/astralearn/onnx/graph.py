"""A fitted classifier as one ONNX graph: inputs, outputs, and the file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from astralearn.model_file import replacing
from astralearn.onnx.columns import column_kinds, encoded
from astralearn.onnx.nodes import (
    IR_VERSION,
    ML_DOMAIN,
    ML_OPSET,
    OPSET,
    Nodes,
    Value,
    concatenated,
    where,
)
from astralearn.onnx.scores import logits
from astralearn.tabular import TabularASTraClassifier

OUTPUTS = ("label", "probabilities")


def to_onnx(model: Any, path: str | os.PathLike[str] | None = None) -> Any:
    """A fitted classifier as an ONNX model, written where a path is given.

    Its outputs are `label`, (rows,), and `probabilities`, (rows, 2). Its input is `X`, (rows,
    features), float64, of an ASTraClassifier; of a TabularASTraClassifier one (rows, 1) for each
    column that it learned from, of the column's name: see `astralearn.onnx.columns`.

    model: an ASTraClassifier, or a TabularASTraClassifier with one inside.
    path: the file.

    Raises ValueError for a table with a group, which a row alone does not tell.

    >>> from astralearn import ASTraClassifier
    >>> X, y = np.random.default_rng(0).normal(size=(200, 3)), np.repeat([1, 0], [5, 195])
    >>> model = ASTraClassifier(epochs=5, random_state=0).fit(X + 3 * y[:, None], y)
    >>> graph = to_onnx(model).graph
    >>> [each.name for each in graph.input], [each.name for each in graph.output]
    (['X'], ['label', 'probabilities'])
    """
    from onnx import checker, helper

    nodes = Nodes()
    kinds = input_kinds(model)
    values = {name: Value(nodes, name) for name in kinds}
    made = outputs(model, values)
    for name, value in zip(OUTPUTS, made, strict=True):
        nodes.nodes.append(helper.make_node("Identity", [value.name], [name]))
    width = None if is_table(model) else model.n_features_in_
    element = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        nodes.nodes,
        "astralearn",
        [
            helper.make_tensor_value_info(
                name, element(np.dtype(object if kind is str else kind)), [None, width or 1]
            )
            for name, kind in kinds.items()
        ],
        [
            helper.make_tensor_value_info(OUTPUTS[0], element(labels_of(model).dtype), [None]),
            helper.make_tensor_value_info(OUTPUTS[1], element(np.dtype(float)), [None, 2]),
        ],
        initializer=nodes.constants,
    )
    written = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML_DOMAIN, ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="astralearn",
    )
    checker.check_model(written)
    if path is not None:
        with replacing(path) as file:
            file.write(written.SerializeToString())
    return written


def is_table(model: Any) -> bool:
    """Whether the model takes columns of every kind."""
    return isinstance(model, TabularASTraClassifier)


def input_kinds(model: Any) -> dict[str, type]:
    """The inputs' names and their elements: float or str."""
    return column_kinds(model.encoder_) if is_table(model) else {"X": float}


def outputs(model: Any, inputs: dict[str, Value]) -> tuple[Value, Value]:
    """Labels, (rows,), and probabilities, (rows, 2). inputs: by their names."""
    from astralearn.classifier import ASTraClassifier

    classifier = model.classifier_ if is_table(model) else model
    if not isinstance(classifier, ASTraClassifier):
        kind = type(classifier).__name__
        raise ValueError(f"classifier must be an ASTraClassifier to become ONNX; found {kind}")
    X = encoded(model.encoder_, inputs) if is_table(model) else inputs["X"]
    score = logits(classifier, X)
    is_risk = is_table(model) and model.probability == "risk"
    at_half = classifier.prior_shift_ if is_risk else classifier._logit_at_half()
    z = X.nodes.add("Sigmoid", score - at_half).as_column()
    not_z = X.nodes.add("Sigmoid", at_half - score).as_column()
    classes = classifier._labels()
    is_minority = score - classifier._steepness * classifier.cut_ >= 0.0
    of_label = where(is_minority, np.int64(classes.positive), np.int64(1 - classes.positive))
    label = X.nodes.add("Gather", labels_of(model), of_label)
    return label, concatenated(*((not_z, z) if classes.positive else (z, not_z)))


def labels_of(model: Any) -> np.ndarray:
    """Both labels as ONNX has them: whole numbers, or texts."""
    classes = model.classes_
    if classes.dtype.kind in "iub" or (classes.dtype.kind == "f" and (classes % 1 == 0).all()):
        return np.asarray(classes, np.int64)
    return np.asarray([str(label) for label in classes], dtype=object)
