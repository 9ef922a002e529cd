"""Formulas as nodes of an ONNX graph, written as NumPy writes them."""

from __future__ import annotations

from typing import Any

import numpy as np

OPSET, ML_OPSET = 18, 3
IR_VERSION = 8
ML_DOMAIN = "ai.onnx.ml"  # of trees and of encoders of words


class Nodes:
    """Nodes and constants, collected in the order in which they are computed.

    prefix: of their names, where others' stand in the same graph.
    """

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def name(self, stem: str) -> str:
        """A fresh name for a value."""
        return f"{self.prefix}{stem}_{len(self.nodes) + len(self.constants)}"

    def value(self, of: Any) -> Value:
        """A value as it is, or a constant: numbers are float64, arrays what they are."""
        if isinstance(of, Value):
            return of
        from onnx import numpy_helper

        name = self.name("constant")
        self.constants.append(numpy_helper.from_array(np.asarray(of), name))
        return Value(self, name)

    def add(self, kind: str, *inputs: Any, domain: str = "", **attributes: Any) -> Value:
        """One more node and the value that it computes."""
        from onnx import helper

        names = [self.value(of).name for of in inputs]
        made = Value(self, self.name(kind))
        self.nodes.append(
            helper.make_node(kind, names, [made.name], name=made.name, domain=domain, **attributes)
        )
        return made


class Value:
    """What a node computes, or an input, by its name."""

    __array_ufunc__ = None  # so that an array beside a value leaves the operation to it

    def __init__(self, nodes: Nodes, name: str) -> None:
        self.nodes, self.name = nodes, name

    def __add__(self, other: Any) -> Value:
        return self.nodes.add("Add", self, other)

    def __sub__(self, other: Any) -> Value:
        return self.nodes.add("Sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.nodes.add("Sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.nodes.add("Mul", self, other)

    def __truediv__(self, other: Any) -> Value:
        return self.nodes.add("Div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.nodes.add("Div", other, self)

    def __matmul__(self, other: Any) -> Value:
        return self.nodes.add("MatMul", self, other)

    def __neg__(self) -> Value:
        return self.nodes.add("Neg", self)

    def __ge__(self, other: Any) -> Value:
        return self.nodes.add("GreaterOrEqual", self, other)

    def __gt__(self, other: Any) -> Value:
        return self.nodes.add("Greater", self, other)

    def astype(self, dtype: Any) -> Value:
        from onnx import helper

        return self.nodes.add("Cast", self, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def sum(self, axis: int, *, keepdims: bool = False) -> Value:
        return self.reduced("ReduceSum", axis, keepdims=keepdims)

    def reduced(self, kind: str, axis: int, *, keepdims: bool = False) -> Value:
        axes = np.asarray([axis], np.int64)
        return self.nodes.add(kind, self, axes, keepdims=int(keepdims))

    def as_column(self) -> Value:
        return self.nodes.add("Unsqueeze", self, np.asarray([1], np.int64))


def absolute(x: Value) -> Value:
    return x.nodes.add("Abs", x)


def sign(x: Value) -> Value:
    return x.nodes.add("Sign", x)


def floor(x: Value) -> Value:
    return x.nodes.add("Floor", x)


def sqrt(x: Value) -> Value:
    return x.nodes.add("Sqrt", x)


def square(x: Value) -> Value:
    return x * x


def minimum(x: Value, most: Any) -> Value:
    return x.nodes.add("Min", x, most)


def maximum(x: Value, least: Any) -> Value:
    return x.nodes.add("Max", x, least)


def clip(x: Value, limit: float) -> Value:
    """x within ±limit."""
    return maximum(minimum(x, limit), -limit)


def where(condition: Value, yes: Any, no: Any) -> Value:
    return condition.nodes.add("Where", condition, yes, no)


def log(x: Value) -> Value:
    return x.nodes.add("Log", x)


def exp(x: Value) -> Value:
    return x.nodes.add("Exp", x)


def log1p(x: Value) -> Value:
    """ln(1 + x) for x ≥ 0, however small: ONNX has no such node.

    The rounding of 1 + x is taken back by the factor x/((1 + x) − 1).
    """
    rounded = x + 1.0
    apart = rounded - 1.0
    is_apart = apart > 0.0
    return where(is_apart, log(rounded) * (x / where(is_apart, apart, 1.0)), x)


def log_of_exp_less_one(s: Value) -> Value:
    """ln(e^s − 1) for s > 0, however small or large: s + ln(1 − e^−s).

    1 − e^−s = 2 t/(1 + t) with t = tanh(s/2), which does not cancel.
    """
    t = s.nodes.add("Tanh", s * 0.5)
    return s + log(t * 2.0 / (t + 1.0))


def softplus(x: Value) -> Value:
    """ln(1 + e^x)."""
    return maximum(x, 0.0) + log1p(exp(-absolute(x)))


def concatenated(*values: Value) -> Value:
    """Side by side, along the columns."""
    return values[0].nodes.add("Concat", *values, axis=1)
