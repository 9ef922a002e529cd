"""Classifiers as ONNX graphs, and their converters for skl2onnx.

The graph computes what `predict` and `predict_proba` do, in float64.
"""

from astralearn.onnx.converters import register
from astralearn.onnx.graph import to_onnx

__all__ = ["to_onnx", "register"]
