import numpy as np
from scipy.special import log1p as exact_log1p

from astralearn.onnx.nodes import (
    IR_VERSION,
    OPSET,
    Nodes,
    Value,
    log1p,
    log_of_exp_less_one,
    softplus,
)
from onnx import TensorProto, helper


def computed(function, x, run):
    nodes = Nodes()
    found = function(Value(nodes, "x"))
    info = [
        helper.make_tensor_value_info(of, TensorProto.DOUBLE, [None]) for of in ("x", found.name)
    ]
    graph = helper.make_graph(nodes.nodes, "g", info[:1], info[1:], initializer=nodes.constants)
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION)
    return run(model, {"x": x})[0]


def test_logarithms_do_not_cancel(run):
    x = np.asarray([1e-300, 1e-20, 1e-9, 0.3, 1.0, 50.0, 1e6])
    np.testing.assert_allclose(computed(log1p, x, run), exact_log1p(x), rtol=1e-14)
    small = x[x < 100]
    expected = np.where(small < 1e-15, np.log(small), np.log(np.expm1(small)))
    np.testing.assert_allclose(computed(log_of_exp_less_one, small, run), expected, rtol=1e-13)
    both = np.concatenate([-x, x])
    np.testing.assert_allclose(computed(softplus, both, run), np.logaddexp(0, both), rtol=1e-14)
    np.testing.assert_allclose(computed(lambda v: 1.0 / (2.0 - v), x, run), 1 / (2 - x))
