import numpy as np

from astralearn.core import rebalanced_logit
from astralearn.onnx.nodes import IR_VERSION, ML_DOMAIN, ML_OPSET, OPSET, Nodes, Value
from astralearn.onnx.scores import evidence, rounded_down, tree_scores, warp
from onnx import TensorProto, helper


def computed(function, x, run):
    kind = TensorProto.FLOAT if x.dtype == np.float32 else TensorProto.DOUBLE
    nodes = Nodes()
    found = function(Value(nodes, "x"))
    graph = helper.make_graph(
        nodes.nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, x.shape)],
        [helper.make_tensor_value_info(found.name, TensorProto.DOUBLE, None)],
        initializer=nodes.constants,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML_DOMAIN, ML_OPSET)]
    return run(helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION), {"x": x})[0]


def test_the_warp_is_the_core_s(run):
    x = np.concatenate([-np.logspace(-9, 4, 60), [0.0], np.logspace(-9, 4, 60)])
    slopes = np.asarray([1.0, 1.5, 7.0, 60.0])[:, None]
    x = np.tile(x, (4, 1))
    found = computed(lambda v: warp(v, slopes), x, run)
    np.testing.assert_allclose(found, rebalanced_logit(x, slopes, xp=np), rtol=1e-9, atol=1e-12)


def test_rows_on_a_threshold_go_where_they_go_in_scikit_learn(committee, run):
    """Values that lie at, just below and just above every threshold of the first trees."""
    model, X = committee
    forest = model.committee_.members["trees"]
    edges = np.unique(
        np.concatenate([tree.threshold[tree.children_left >= 0] for tree in forest.trees])
    )
    at = edges.astype(np.float32)
    near = np.concatenate([np.nextafter(at, np.float32(s)) for s in (-np.inf, np.inf)] + [at])
    u = np.repeat(near[:, None], X.shape[1], axis=1)
    found = computed(lambda v: tree_scores(forest, v), u, run)
    np.testing.assert_allclose(found, forest.score(u), rtol=0, atol=1e-13)
    assert (rounded_down(edges) <= edges).all()
    assert (np.nextafter(rounded_down(edges), np.float32(np.inf)) > edges).all()


def test_evidence_below_among_and_beyond_the_knots(committee, run):
    of_sum = committee[0].committee_.of_sum
    ends = of_sum.knots[[0, -1]]
    x = np.concatenate([of_sum.knots, np.linspace(ends[0] - 1, ends[1] + 5, 200)])
    found = computed(lambda v: evidence(of_sum, v), x, run)
    np.testing.assert_allclose(found, of_sum(x), rtol=1e-12, atol=1e-12)
