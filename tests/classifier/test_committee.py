import numpy as np
import pytest

from astralearn.classifier import committee, trees
from astralearn.classifier.committee import (
    LEAST_SHARE,
    POWER,
    convene,
    plan,
    pool_of,
    seen_by,
)
from astralearn.classifier.decision import usual_mean
from astralearn.classifier.evidence import evidence_of
from astralearn.classifier.linear import fit_linear
from astralearn.classifier.neighbours import take_neighbours
from astralearn.classifier.prediction import Networks
from astralearn.classifier.rows import ViewOptions, view_of
from astralearn.engine.network import Architecture, initialise
from astralearn.engine.rows import Fold, Rows


def fold_of(n=300, positives=12, seed=0, weight=None, shift=2.0):
    rng = np.random.default_rng(seed)
    positive = rng.permutation(n) < positives
    X = rng.normal(size=(n, 3)) + shift * positive[:, None]
    rows = Rows(X, positive, np.ones(n) if weight is None else weight)
    options = ViewOptions(standardize=True, clip=5.0, distance=True)
    return Fold(rows, view_of(rows, options))


def networks_of(fold, n=5):
    """Networks of random weights: whatever they say, the committee takes it."""
    architecture = Architecture(fold.view.n_inputs, (4,))
    drawn = [initialise(architecture, np.random.default_rng([1, k])) for k in range(n)]
    return Networks(architecture, np.stack(drawn), np.full(n, 1.5), fold.view)


def convened(of_plan, networks, n_jobs=1, kept=None, networks_only=False):
    kept = np.arange(len(of_plan.seen)) if kept is None else np.asarray(kept)
    return convene(
        of_plan, networks.take(kept), kept, guests={}, n_jobs=n_jobs, networks_only=networks_only
    )


@pytest.fixture(scope="module")
def made():
    fold = fold_of()
    of_plan, networks = plan(fold, 5, 0, committee=True), networks_of(fold)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "TREES", 20)
        return of_plan, networks, *convened(of_plan, networks)


def row_set(rows):
    return {row.tobytes() for row in rows}


@pytest.mark.parametrize("n_networks", [2, 3, 5, 10])
def test_no_network_trains_on_rows_that_it_judges(n_networks):
    fold = fold_of()
    of_plan = plan(fold, n_networks, 0, committee=True)
    rows = of_plan.fold.train
    assert len(of_plan.folds) == n_networks
    assert of_plan.fold_of == list(range(n_networks))
    for trained, seen in zip(of_plan.folds, of_plan.seen, strict=True):
        assert row_set(trained.train.X) == row_set(rows.X[seen])
        assert trained.view is fold.view
    judges = (~of_plan.seen).sum(axis=0)
    assert (judges >= 1).all()
    of_positives = judges[rows.positive]
    assert of_positives.max() - of_positives.min() <= 1


def test_a_network_leaves_out_a_fifth_of_the_positives_and_half_of_the_negatives():
    rows = fold_of(n=307, positives=12).train
    seen = seen_by(rows, 10, 0)
    assert set(seen[:, rows.positive].sum(axis=1)) == {9, 10}
    assert set(seen[:, ~rows.positive].sum(axis=1)) == {295 // 2}
    np.testing.assert_array_equal(seen, seen_by(rows, 10, 0))
    assert (seen != seen_by(rows, 10, 1)).any()


def test_of_like_classes_a_network_leaves_out_a_fifth():
    rows = fold_of(n=300, positives=150).train
    seen = seen_by(rows, 10, 0)
    assert (seen.sum(axis=1) == 240).all()
    assert ((~seen).sum(axis=0) == 2).all()


@pytest.mark.parametrize(
    ("positives", "n_networks", "n_judges"), [(1, 10, {0}), (2, 10, {5}), (3, 10, {3, 4})]
)
def test_of_few_positives_there_are_few_parts(positives, n_networks, n_judges):
    of_plan = plan(fold_of(positives=positives), n_networks, 0, committee=True)
    of_positives = (~of_plan.seen[:, of_plan.fold.train.positive]).sum(axis=0)
    assert set(of_positives) == n_judges


def test_rows_without_weight_are_not_dealt():
    weight = np.ones(300)
    weight[::3] = 0
    fold = fold_of(weight=weight)
    of_plan = plan(fold, 5, 0, committee=True)
    assert len(of_plan.fold.train.X) == 200
    assert not row_set(fold.train.X[::3]) & row_set(of_plan.fold.train.X)


def test_the_prior_is_that_of_all_rows_by_weight(monkeypatch):
    monkeypatch.setattr(committee, "POOL", 40)
    weight = np.random.default_rng(0).uniform(0.5, 2, 300)
    fold = fold_of(weight=weight)
    of_plan = plan(fold, 5, 0, committee=True)
    expected = weight[fold.train.positive].sum() / weight.sum()
    assert of_plan.prior == pytest.approx(expected)


def test_of_a_large_class_the_committee_sees_some(monkeypatch):
    monkeypatch.setattr(committee, "POOL", 40)
    fold = fold_of(positives=60)
    pool = pool_of(fold, 0).train
    assert pool.positive.sum() == (~pool.positive).sum() == 40
    assert row_set(pool.X) <= row_set(fold.train.X)
    np.testing.assert_array_equal(pool.X, pool_of(fold, 0).train.X)
    assert row_set(pool.X) != row_set(pool_of(fold, 1).train.X)
    of_plan = plan(fold, 5, 0, committee=True)
    assert of_plan.seen.shape == (5, 80)


def test_of_a_large_majority_each_network_sees_its_own_share(monkeypatch):
    monkeypatch.setattr(committee, "MOST_NEGATIVES", 50)
    of_plan = plan(fold_of(), 5, 0, committee=True)
    drawn = [seen.train.X[~seen.train.positive] for seen in of_plan.folds]
    assert {len(X) for X in drawn} == {50}
    assert len(set().union(*map(row_set, drawn))) > 100
    for seen in of_plan.folds:
        assert seen.train.positive.sum() in (9, 10)
    monkeypatch.setattr(committee, "MOST_NEGATIVES", 20)
    several = plan(fold_of(), 5, 0, committee=True).folds
    assert {(~seen.train.positive).sum() for seen in several} == {36, 40}  # four for each positive


def test_networks_alone_train_on_every_row():
    fold = fold_of()
    of_plan = plan(fold, 3, 0, committee=False)
    assert of_plan.folds == [fold]
    assert of_plan.fold_of == [0, 0, 0]


def test_new_rows_are_compared_with_majority_rows_that_all_their_judges_judge():
    fold = fold_of()
    of_plan, networks = plan(fold, 7, 0, committee=True), networks_of(fold, 7)
    made, _, v = convened(of_plan, networks, networks_only=True)
    assert made.members == {}
    assert np.isfinite(v).all()
    rows = of_plan.fold.train
    member, weight = made.evidence["networks"], made.weight["networks"]
    for i in np.flatnonzero(~rows.positive):
        judges = np.flatnonzero(~of_plan.seen[:, i])
        score = networks.take(judges).scores(rows.X[i : i + 1])
        assert v[i] == pytest.approx(made.of_sum(weight * member(score))[0], rel=1e-6, abs=1e-6)


def left_out_by_hand(of_plan, networks):
    """Scores of networks for left-out positives, and for majority rows by as many judges."""
    rows, seed = of_plan.fold.train, of_plan.seed
    judges = (~of_plan.seen[:, rows.positive]).sum(axis=0).min()
    turn = np.random.default_rng([seed, judges]).random(of_plan.seen.shape)
    scores = np.empty(len(rows.positive))
    for i in range(len(scores)):
        waiting = np.flatnonzero(~of_plan.seen[:, i])
        chosen = waiting[np.argsort(turn[waiting, i])[:judges]]
        scores[i] = networks.take(chosen).scores(rows.X[i : i + 1])[0]
    return scores


def test_the_weight_of_a_member_follows_from_its_left_out_positives(made):
    of_plan, networks, found, _, _ = made
    rows = of_plan.fold.train
    positives = rows.positive
    scores = {"networks": left_out_by_hand(of_plan, networks)}
    u = networks.view.features(rows.X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "TREES", 20)
        _, scores["trees"] = trees.grow_forest(
            u, positives, rows.weight, seed=of_plan.seed, n_jobs=1
        )
    for name, of_member in scores.items():
        majority = of_member[~positives]
        known = evidence_of(majority, np.ones(len(majority)), highest=of_member.max())
        evidence = known(of_member[positives])
        mean = usual_mean(evidence, np.ones(len(evidence)))
        expected = max(LEAST_SHARE, 1 - 1 / mean) ** POWER
        assert found.weight[name] == pytest.approx(expected)
    assert found.weight["trees"] > found.weight["networks"]  # whose weights are random


def test_neighbours_have_less_say_the_more_positives_there_are(made):
    of_plan, networks, found, _, _ = made
    rows, u = of_plan.fold.train, networks.view.features(of_plan.fold.train.X)
    _, scores = take_neighbours(u, rows.positive, rows.weight, seed=of_plan.seed)
    majority = scores[~rows.positive]
    known = evidence_of(majority, np.ones(len(majority)), highest=scores.max())
    mean = usual_mean(known(scores[rows.positive]), np.ones(12))
    assert found.weight["neighbours"] == pytest.approx((1 - 1 / mean) ** POWER * np.sqrt(5 / 12))


def test_the_linear_score_has_more_say_the_more_positives_there_are(made):
    of_plan, networks, found, _, _ = made
    rows, u = of_plan.fold.train, networks.view.features(of_plan.fold.train.X)
    _, scores = fit_linear(u, rows.positive, rows.weight, seed=of_plan.seed)
    majority = scores[~rows.positive]
    known = evidence_of(majority, np.ones(len(majority)), highest=scores.max())
    mean = usual_mean(known(scores[rows.positive]), np.ones(12))
    assert found.weight["linear"] == pytest.approx((1 - 1 / mean) ** POWER * 12 / 20)


def test_a_score_s_evidence_is_about_minus_the_logarithm_of_the_false_alarm_rate(made):
    _, networks, found, _, _ = made
    new = fold_of(n=4000, positives=1, seed=5).train
    v = found.scores(new.X[~new.positive], networks, n_jobs=1)
    for cut in (0.5, 1.0, 2.0):
        assert np.mean(v >= cut) == pytest.approx(np.exp(-cut), abs=0.1)
    assert (v >= 0).all()
    assert v.shape == (3999,)
    assert v.dtype == np.float64


def test_scores_in_blocks_and_threads_are_the_same_bits(made, monkeypatch):
    of_plan, networks, found, _, _ = made
    X = of_plan.fold.train.X
    whole = found.scores(X, networks, n_jobs=1)
    monkeypatch.setattr(committee, "BLOCK", 64)
    one, three = (found.scores(X, networks, n_jobs=n) for n in (1, 3))
    assert one.tobytes() == three.tobytes()
    np.testing.assert_allclose(one, whole, rtol=1e-6, atol=1e-6)


def test_what_a_decision_rests_on(made):
    of_plan, _, _, left, v = made
    rows = of_plan.fold.train
    known = np.isfinite(v)
    assert known.mean() > 0.99
    np.testing.assert_allclose(left.positives, np.sort(v[known & rows.positive]))
    assert left.majority == (known & ~rows.positive).sum()
    assert left.prior == pytest.approx(12 / 300)


def test_threads_do_not_change_a_committee(made, monkeypatch):
    monkeypatch.setattr(trees, "TREES", 20)
    of_plan, networks, found, _, v = made
    again, _, also = convened(of_plan, networks, n_jobs=3)
    assert also.tobytes() == v.tobytes()
    assert again.weight == found.weight


@pytest.mark.parametrize("positives", [1, 2, 3])
def test_a_handful_of_positives(positives, few_trees):
    fold = fold_of(positives=positives)
    of_plan, networks = plan(fold, 5, 0, committee=True), networks_of(fold)
    found, left, v = convened(of_plan, networks)
    rows = of_plan.fold.train
    judged = ~of_plan.seen.all(axis=0)
    np.testing.assert_array_equal(np.isfinite(v[~rows.positive]), judged[~rows.positive])
    assert np.isfinite(v[rows.positive]).all() == (positives > 1)
    assert len(left.positives) == (positives if positives > 1 else 0)
    assert np.isfinite(found.scores(rows.X, networks, n_jobs=1)).all()


def test_networks_that_had_not_begun_judge_nothing(few_trees):
    fold = fold_of()
    of_plan, networks = plan(fold, 5, 0, committee=True), networks_of(fold)
    _, left, v = convened(of_plan, networks, kept=[0, 2])
    unseen = (~of_plan.seen[[0, 2]]).any(axis=0)
    positive = of_plan.fold.train.positive
    assert np.isnan(v[~unseen & positive]).all()
    assert np.isfinite(v[unseen]).mean() > 0.95
    assert left.majority == (np.isfinite(v) & ~of_plan.fold.train.positive).sum()


def test_a_single_network_s_positives_are_not_known(few_trees):
    fold = fold_of()
    of_plan, networks = plan(fold, 1, 0, committee=True), networks_of(fold, 1)
    _, left, v = convened(of_plan, networks)
    rows = of_plan.fold.train
    assert of_plan.seen[0, rows.positive].all()
    np.testing.assert_array_equal(np.isfinite(v), ~of_plan.seen[0])
    assert len(left.positives) == 0
