"""The committee's score as ONNX nodes: what `classifier` computes in NumPy.

Every function here mirrors the one that its docstring names, from the same fitted arrays, in
float64 where that is.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from astralearn.classifier.neighbours import SOFTENING
from astralearn.core.elementary import TINY
from astralearn.core.warp import of_slope
from astralearn.engine.network import unflatten
from astralearn.engine.view import FAR
from astralearn.onnx.nodes import (
    ML_DOMAIN,
    Value,
    absolute,
    clip,
    concatenated,
    log,
    log1p,
    log_of_exp_less_one,
    maximum,
    minimum,
    sign,
    softplus,
    sqrt,
    square,
    where,
)

if TYPE_CHECKING:
    from astralearn.classifier import ASTraClassifier
    from astralearn.classifier.committee import Committee
    from astralearn.classifier.evidence import Evidence
    from astralearn.classifier.linear import Linear
    from astralearn.classifier.neighbours import Neighbours
    from astralearn.classifier.prediction import Networks
    from astralearn.classifier.trees import Forest
    from astralearn.engine.view import View

DIGITS = 3  # of a vote
LEAST_EXPONENT = -600.0  # below it e^x is too small to compute with


def logits(model: ASTraClassifier, X: Value) -> Value:
    """`ASTraClassifier._logits`, (rows,). X: (rows, features), float64."""
    networks = model._networks()
    if model.committee_ is None:
        return network_scores(networks, X)
    return committee_scores(model.committee_, networks, X) * model._steepness


def committee_scores(committee: Committee, networks: Networks, X: Value) -> Value:
    """`Committee.scores`, (rows,)."""
    guests = [name for name in committee.members if name not in _MEMBERS]
    if guests:
        raise ValueError(f"members of your own, {guests}, have no ONNX here: fit without them")
    u = features(networks.view, X)
    scores = {name: _MEMBERS[name](member, u) for name, member in committee.members.items()}
    scores["networks"] = network_scores(networks, X)
    total = X.nodes.value(np.zeros(1))
    for name, score in scores.items():
        total = total + evidence(committee.evidence[name], score) * committee.weight[name]
    return evidence(committee.of_sum, total)


def scaled(view: View, X: Value) -> Value:
    """Features less their mean, over their scale."""
    return (X - view._features(view.mean)) / view._features(view.scale)


def features(view: View, X: Value) -> Value:
    """`View.features`, (rows, features), float32."""
    u = scaled(view, X)
    far = absolute(u)
    beyond = log1p(maximum(minimum(far, FAR) - view.limit, 0.0))
    size = (minimum(far, view.limit) + beyond).astype(np.float32)
    return sign(u).astype(np.float32) * size


def inputs(view: View, X: Value) -> Value:
    """`View.inputs`, (rows, inputs): a row's inputs along the second axis."""
    u = clip(scaled(view, X), view.limit)
    if view.root is None:
        return u
    from_centre = (u - view.centre) @ view.root
    distance = sqrt(square(from_centre).sum(1, keepdims=True))
    return concatenated(u, clip((distance - view.mean[-1]) / view.scale[-1], FAR))


def network_scores(networks: Networks, X: Value) -> Value:
    """`Networks.scores`, (rows,): the logit of the networks' mean output."""
    nodes, architecture = X.nodes, networks.architecture
    h = nodes.add("Unsqueeze", inputs(networks.view, X), np.zeros(1, np.int64))
    for place, layer in enumerate(unflatten(networks.parameters.astype(np.float64), architecture)):
        if place:
            h = maximum(h, h * architecture.leak)
        h = h @ layer[:, :, :-1].transpose(0, 2, 1) + layer[:, None, :, -1]
    x = nodes.add("Squeeze", h, np.asarray([2], np.int64))
    g = warp(x, networks.slope.astype(np.float64)[:, None])
    yes = (-softplus(-g)).reduced("ReduceLogSumExp", 0)
    no = (-softplus(g)).reduced("ReduceLogSumExp", 0)
    return yes - no


def warp(x: Value, b: np.ndarray) -> Value:
    """`core.rebalanced_logit`.

    ln(e^s − 1) less its value at x = 0, s = ln(1 + b e^bx)/b.
    """
    shared = of_slope(b, xp=np)
    at = x * b + shared.log_b
    is_shallow = at > LEAST_EXPONENT
    s = softplus(where(is_shallow, at, 0.0)) / b
    return where(is_shallow, log_of_exp_less_one(s), at - shared.log_b) - shared.origin


def tree_scores(forest: Forest, u: Value) -> Value:
    """`Forest.score`, (rows,). u: float32.

    Trees of ONNX are float32. So is u, and where it is at most a float64 threshold it is at most
    the next lower float32. Votes are added digit by digit, in whole numbers that float32 holds.
    """
    n = len(forest.trees)
    step = 2.0 ** (23 - math.ceil(math.log2(n)))
    digits = u.nodes.add(
        "TreeEnsembleRegressor",
        u,
        domain=ML_DOMAIN,
        n_targets=DIGITS,
        aggregate_function="SUM",
        **_flattened(forest, step),
    )
    return (digits.astype(np.float64) * (step ** -np.arange(1.0, DIGITS + 1) / n)).sum(1)


def neighbour_scores(neighbours: Neighbours, u: Value) -> Value:
    """`Neighbours.score`, (rows,). u: float32."""
    inverse = np.float32(1.0) / _squared(u, neighbours.majority).astype(np.float32)
    fourth = square(square(inverse)).astype(np.float64)
    crowd = fourth.reduced("ReduceMean", 1)
    to_positives = _squared(u, neighbours.positives).astype(np.float32).astype(np.float64)
    near = (neighbours.weight / to_positives).sum(1)
    return log(near) * 0.5 - log(maximum(crowd, TINY)) * 0.125


def linear_scores(linear: Linear, u: Value) -> Value:
    """`Linear.score`, (rows,). u: float32."""
    return (u.astype(np.float64) * linear.direction).sum(1) + linear.offset


# Each member beside the networks scores rows by one of these.
_MEMBERS: dict[str, Callable[[Any, Value], Value]] = {
    "trees": tree_scores,
    "neighbours": neighbour_scores,
    "linear": linear_scores,
}


def _squared(u: Value, references: np.ndarray) -> Value:
    """`neighbours.squared`, (rows, references), float64."""
    a, b = u.astype(np.float64), references.astype(np.float64)
    lengths = square(a).sum(1, keepdims=True) + np.sum(b * b, axis=1)
    least = SOFTENING * b.shape[1]
    return maximum(lengths - (a @ b.T) * 2.0 + least, least)


def evidence(of: Evidence, scores: Value) -> Value:
    """`Evidence.__call__`, (rows,): interpolation between knots, and the tail."""
    nodes = scores.nodes
    is_beyond = scores.as_column() >= of.knots
    place = is_beyond.astype(np.int64).sum(1)
    rise = np.diff(of.values) / np.diff(of.knots)
    knot, value, slope = (
        nodes.add("Gather", array, place)
        for array in (
            np.append(of.knots[0], of.knots),
            np.append(of.values[0], of.values),
            np.concatenate([[0.0], rise, [0.0]]),
        )
    )
    excess = maximum(scores - of.knots[-1], 0.0) / of.scale
    return value + slope * (scores - knot) + excess


def _flattened(forest: Forest, step: float) -> dict[str, Any]:
    """The trees as the attributes of one node. step: the base of the votes' digits."""
    found: dict[str, list[Any]] = defaultdict(list)
    for number, (tree, votes) in enumerate(zip(forest.trees, forest.votes, strict=True)):
        is_leaf = tree.children_left < 0
        found["nodes_treeids"] += [number] * tree.node_count
        found["nodes_nodeids"] += range(tree.node_count)
        found["nodes_modes"] += np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist()
        for name, values in (
            ("nodes_featureids", tree.feature),
            ("nodes_values", rounded_down(tree.threshold)),
            ("nodes_truenodeids", tree.children_left),
            ("nodes_falsenodeids", tree.children_right),
        ):
            found[name] += np.where(is_leaf, 0, values).tolist()
        leaves = np.flatnonzero(is_leaf)
        rest = votes[leaves]
        for place in range(DIGITS):
            digit = np.floor(rest * step)
            rest = rest * step - digit
            found["target_treeids"] += [number] * len(leaves)
            found["target_nodeids"] += leaves.tolist()
            found["target_ids"] += [place] * len(leaves)
            found["target_weights"] += digit.tolist()
    return dict(found)


def rounded_down(thresholds: np.ndarray) -> np.ndarray:
    """The highest float32 that is at most each threshold, which is finite."""
    nearest = thresholds.astype(np.float32)
    return np.where(nearest > thresholds, np.nextafter(nearest, np.float32(-np.inf)), nearest)
