"""Converters for skl2onnx, by which pipelines with these classifiers become ONNX.

from astralearn.onnx import register
register()
skl2onnx.to_onnx(make_pipeline(StandardScaler(), model), X, options={"zipmap": False})
"""

from __future__ import annotations

from typing import Any

import numpy as np

from astralearn.onnx.graph import input_kinds, labels_of, outputs
from astralearn.onnx.nodes import ML_DOMAIN, ML_OPSET, OPSET, Nodes, Value


def register() -> None:
    """Tell skl2onnx of ASTraClassifier and TabularASTraClassifier.

    >>> import skl2onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from astralearn import ASTraClassifier
    >>> X, y = np.random.default_rng(0).normal(size=(200, 3)), np.repeat([1, 0], [5, 195])
    >>> model = make_pipeline(StandardScaler(), ASTraClassifier(epochs=5))
    >>> model = model.fit(X + 3 * y[:, None], y)
    >>> register()
    >>> converted = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False})
    >>> [each.name for each in converted.graph.output]
    ['label', 'probabilities']
    """
    from skl2onnx import update_registered_converter

    from astralearn.classifier import ASTraClassifier
    from astralearn.tabular import TabularASTraClassifier

    for kind in (ASTraClassifier, TabularASTraClassifier):
        update_registered_converter(
            kind,
            f"Astralearn{kind.__name__}",
            _set_output_types,
            _convert,
            options={
                "zipmap": [True, False, "columns"],
                "nocl": [True, False],
                "output_class_labels": [False, True],
            },
        )


def _set_output_types(operator: Any) -> None:
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        Int64TensorType,
        StringTensorType,
    )

    rows = operator.inputs[0].get_first_dimension()
    has_numbers = labels_of(operator.raw_operator).dtype != object
    label, probabilities = operator.outputs
    label.type = Int64TensorType([rows]) if has_numbers else StringTensorType([rows])
    of_floats = isinstance(operator.inputs[0].type, FloatTensorType)
    probabilities.type = (FloatTensorType if of_floats else DoubleTensorType)([rows, 2])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the classifier's nodes to skl2onnx's graph."""
    from skl2onnx.common.data_types import FloatTensorType

    from onnx import helper

    nodes = Nodes(f"{scope.get_unique_operator_name('astralearn')}_")
    given = [Value(nodes, variable.full_name) for variable in operator.inputs]
    of_floats = isinstance(operator.inputs[0].type, FloatTensorType)
    if of_floats:
        given = [value.astype(np.float64) for value in given]
    kinds = input_kinds(operator.raw_operator)
    if len(kinds) != len(given):
        raise ValueError(
            f"the inputs must be {', '.join(kinds)}, one for each column; found {len(given)}"
        )
    label, probabilities = outputs(operator.raw_operator, dict(zip(kinds, given, strict=True)))
    if of_floats:
        probabilities = probabilities.astype(np.float32)
    for value, variable in zip((label, probabilities), operator.outputs, strict=True):
        nodes.nodes.append(helper.make_node("Identity", [value.name], [variable.full_name]))
    for constant in nodes.constants:
        container.initializers.append(constant)
    for node in nodes.nodes:
        attributes = {of.name: helper.get_attribute_value(of) for of in node.attribute}
        container.add_node(
            node.op_type,
            list(node.input),
            list(node.output),
            op_domain=node.domain,
            op_version=ML_OPSET if node.domain == ML_DOMAIN else OPSET,
            name=scope.get_unique_operator_name(node.op_type),
            **attributes,
        )
