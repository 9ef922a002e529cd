import pickle

import numpy as np
import pytest

from astralearn.classifier import trees
from astralearn.classifier.trees import Bootstrap, grow_forest
from astralearn.model_file import is_tree, tree_from_state, tree_state


def rows(n=80, positives=6, features=3, seed=0):
    rng = np.random.default_rng(seed)
    positive = np.arange(n) < positives
    u = (rng.normal(size=(n, features)) + 2 * positive[:, None]).astype(np.float32)
    return u, positive, np.ones(n)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(trees, "TREES", 25)


def grown(*arguments, seed=0, n_jobs=1):
    return grow_forest(*arguments, seed=seed, n_jobs=n_jobs)


def draws(positive, weight, seed):
    """What each tree sees, drawn as `grow_forest` says."""
    classes = [np.flatnonzero(positive == label) for label in (False, True)]
    boots = [Bootstrap(members, np.cumsum(weight[members])) for members in classes]
    for k in range(trees.TREES):
        rng = np.random.default_rng([seed, k])
        yield [boot.draw(rng) for boot in boots]


def leaf_of(tree, row):
    """Walk from the root."""
    node = 0
    while tree.children_left[node] != -1:
        is_left = row[tree.feature[node]] <= tree.threshold[node]
        node = tree.children_left[node] if is_left else tree.children_right[node]
    return node


def test_votes_and_out_of_bag_scores_are_those_of_a_walk_by_hand(few):
    u, positive, weight = rows()
    forest, left_out = grown(u, positive, weight)
    votes = np.full((trees.TREES, len(u)), np.nan)
    everyone = np.zeros((trees.TREES, len(u)))
    for k, (negatives, positives) in enumerate(draws(positive, weight, 0)):
        tree, one_row = forest.trees[k], 0.5 / len(negatives)
        leaves = np.asarray([leaf_of(tree, row) for row in u])
        for i, leaf in enumerate(leaves):
            share = np.mean(leaves[positives] == leaf) / 2
            other = np.mean(leaves[negatives] == leaf) / 2
            everyone[k, i] = (share + one_row) / (share + other + 2 * one_row)
        unseen = np.setdiff1d(np.arange(len(u)), np.r_[negatives, positives])
        assert len(unseen) > 10
        votes[k, unseen] = everyone[k, unseen]
    np.testing.assert_allclose(forest.score(u), everyone.mean(axis=0), rtol=1e-9)
    unknown = np.isnan(votes).all(axis=0)
    assert not unknown[~positive].any()
    assert np.isnan(left_out[unknown]).all()
    np.testing.assert_allclose(
        left_out[~unknown], np.nanmean(votes[:, ~unknown], axis=0), rtol=1e-9
    )


def test_a_positive_that_every_tree_saw_has_no_score(few):
    u, positive, weight = rows(positives=1)
    _, left_out = grown(u, positive, weight)
    assert np.isnan(left_out[0])
    assert np.isfinite(left_out[1:]).all()


def test_a_single_majority_row_has_a_score(few):
    u, positive, weight = rows(n=7, positives=6)
    forest, left_out = grown(u, positive, weight)
    assert left_out[~positive] == forest.score(u[~positive])
    assert np.isfinite(left_out[positive]).any()


def test_the_same_seed_grows_the_same_trees_in_any_number_of_threads(few):
    u, positive, weight = rows()
    (one, left), (two, again) = (grown(u, positive, weight, n_jobs=n) for n in (1, 3))
    assert one.score(u).tobytes() == two.score(u).tobytes()
    assert left.tobytes() == again.tobytes()
    other, _ = grown(u, positive, weight, seed=1)
    assert other.score(u).tobytes() != one.score(u).tobytes()


def test_heavy_rows_are_drawn_often_and_large_classes_in_part(monkeypatch):
    monkeypatch.setattr(trees, "ROWS_PER_TREE", 50)
    weight = np.ones(100)
    weight[7] = 100
    boot = Bootstrap(np.arange(1000, 1100), np.cumsum(weight))
    assert boot.size == 50
    drawn = np.concatenate([boot.draw(np.random.default_rng(k)) for k in range(40)])
    assert drawn.min() >= 1000
    assert drawn.max() < 1100
    assert np.mean(drawn == 1007) == pytest.approx(100 / 199, abs=0.05)


def test_trees_tell_classes_apart():
    u, positive, weight = rows(n=600, positives=12)
    forest, left_out = grown(u, positive, weight, n_jobs=2)
    assert ((forest.score(u) > 0) & (forest.score(u) < 1)).all()
    assert left_out[positive].mean() > left_out[~positive].mean() + 0.3


@pytest.mark.parametrize("same", [0.0, 1.0])
def test_rows_that_are_all_alike_are_voted_on_evenly(same, few):
    u, positive, weight = rows()
    forest, _ = grown(np.full_like(u, same), positive, weight)
    np.testing.assert_allclose(forest.score(u), 0.5)


def one_tree():
    u, positive, weight = rows()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "TREES", 1)
        forest, _ = grown(u, positive, weight)
    return forest.trees[0], u


def test_a_tree_goes_through_plain_values():
    tree, u = one_tree()
    assert is_tree(tree)
    assert not is_tree(u)
    state = pickle.loads(pickle.dumps(tree_state(tree)))
    assert pickle.dumps(state) == pickle.dumps(tree_state(pickle.loads(pickle.dumps(tree))))
    again = tree_from_state(state)
    np.testing.assert_array_equal(again.apply(u), tree.apply(u))
    np.testing.assert_array_equal(again.value, tree.value)


def itself(nodes):
    nodes["left_child"][0] = 0


def back(nodes):
    inner = np.flatnonzero(nodes["left_child"] != -1)[-1]
    nodes["right_child"][inner] = 0


def beyond(nodes):
    nodes["right_child"][0] = len(nodes)


def below(nodes):
    nodes["right_child"][0] = -2


def half_a_leaf(nodes):
    nodes["right_child"][0] = -1


def other_feature(nodes):
    nodes["feature"][0] = 3


def no_feature(nodes):
    nodes["feature"][0] = -1


@pytest.mark.parametrize(
    "damage", [itself, back, beyond, below, half_a_leaf, other_feature, no_feature]
)
def test_nodes_that_lead_nowhere_are_refused(damage):
    state = tree_state(one_tree()[0])
    state["nodes"] = state["nodes"].copy()
    damage(state["nodes"])
    with pytest.raises(ValueError, match="a tree's nodes lead nowhere"):
        tree_from_state(state)


@pytest.mark.parametrize("change", ["none", "fewer", "more"])
def test_a_tree_has_the_nodes_that_it_says(change):
    state = tree_state(one_tree()[0])
    if change == "none":
        state["nodes"], state["node_count"] = state["nodes"][:0], 0
    else:
        state["node_count"] += 1 if change == "more" else -1
    with pytest.raises(ValueError, match="a tree's nodes lead nowhere"):
        tree_from_state(state)


def test_values_of_another_shape_are_refused():
    state = tree_state(one_tree()[0])
    state["values"] = state["values"][:-1]
    with pytest.raises(ValueError, match="array"):
        tree_from_state(state)


def test_rows_of_other_features_than_the_trees_know_are_refused(few):
    """A file may say so of itself; compiled code would read beyond the row."""
    u, positive, weight = rows()
    forest, _ = grown(u, positive, weight)
    with pytest.raises(ValueError, match=r"trees of \[3\] features cannot judge 2"):
        forest.score(u[:, :2])
