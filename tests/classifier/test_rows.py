import numpy as np
import pytest
from scipy.spatial.distance import mahalanobis

from astralearn.classifier import rows as rows_of_user
from astralearn.classifier.committee import plan
from astralearn.classifier.rows import (
    MOST_FEATURES,
    Part,
    ViewOptions,
    make_fold,
    make_folds,
    merged,
    view_of,
    with_distance,
)
from astralearn.engine.rows import RowCosts, Rows
from astralearn.engine.view import FAR, View

SCALED = ViewOptions(standardize=True, clip=None, distance=False)
MIX = np.array([[2.0, 0.5, 0.0], [0.0, 1.0, -3.0], [0.0, 0.0, 1.0]])


def whole(rows, held_out=None, fraction=0.0, seed=0):
    return make_fold(rows, held_out, SCALED, fraction=fraction, seed=seed, costs=RowCosts())


def part(numbers, seed=0):
    return Part(train=numbers, held_out=None, seed=seed, inverted=False, costs=RowCosts())


@pytest.fixture
def many(monkeypatch):
    """More rows than are sorted, four copies of each of three positives among them."""
    monkeypatch.setattr(rows_of_user, "MERGED_UP_TO", 100)
    rng = np.random.default_rng(0)
    positives = rng.normal(size=(3, 2)) + 3
    X = np.concatenate([rng.normal(size=(200, 2)), np.repeat(positives, 4, axis=0)])
    order = rng.permutation(len(X))
    return Rows(X[order], (np.arange(212) >= 200)[order], np.ones(212))


def test_of_many_rows_the_rarer_class_is_merged_and_nothing_copied(many):
    found = merged(many)
    assert found.X is many.X
    assert sorted(found.weight[many.positive]) == [0.0] * 9 + [4.0] * 3
    np.testing.assert_array_equal(found.weight[~many.positive], 1.0)


def test_of_many_rows_without_copies_of_positives_not_even_weights_are_copied(many):
    rows = Rows(many.X + np.arange(212)[:, None], many.positive, many.weight)
    assert merged(rows) is rows


def test_of_many_rows_no_network_trains_on_a_copy_of_a_positive_that_it_judges(many):
    of_plan = plan(whole(many), 3, 0, committee=True)
    rows = of_plan.fold.train
    assert len(of_plan.folds) == 3
    for fold, seen in zip(of_plan.folds, of_plan.seen, strict=True):
        judged = {tuple(x) for x in rows.X[~seen & rows.positive]}
        trained_on = {tuple(x) for x in fold.train.X[fold.train.positive]}
        assert (len(trained_on), len(judged)) == (2, 1)
        assert not trained_on & judged


def test_of_many_rows_each_part_has_its_own_merged(many):
    parts = [part(np.flatnonzero(np.arange(212) % 3 != k)) for k in range(3)]
    for one, found in zip(parts, make_folds(many, parts, SCALED, fraction=0.0), strict=True):
        alone = merged(many.take(one.train))
        assert found.train.weight.sum() == len(one.train)
        assert np.count_nonzero(found.train.weight) == np.count_nonzero(alone.weight)


def test_many_rows_of_both_classes_stay_as_they_are(many):
    rows = Rows(many.X, np.arange(212) % 2 == 0, many.weight)
    assert merged(rows) is rows


def mixed(n=400, positives=6, dtype=np.float64):
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(n, 3)) @ MIX + [5, -100, 0.1]).astype(dtype)
    return Rows(X, np.arange(n) < positives, np.ones(n))


def seen(some, standardize=True, clip=None, distance=True):
    return view_of(merged(some), ViewOptions(standardize, clip, distance))


def test_the_last_input_is_the_mahalanobis_distance_from_the_majority():
    some = mixed()
    view = seen(some)
    majority = some.X[~some.positive]
    shrink = 4 / (len(majority) + 4)
    u = (majority - view.mean[:-1]) / view.scale[:-1]
    covariance = np.cov(u.T, bias=True)
    covariance = (1 - shrink) * covariance + shrink * np.trace(covariance) / 3 * np.eye(3)
    inverse = np.linalg.inv(covariance)
    expected = np.array(
        [
            mahalanobis((x - view.mean[:-1]) / view.scale[:-1], u.mean(axis=0), inverse)
            for x in some.X
        ]
    )
    found = view.inputs(some.X)[-1]
    np.testing.assert_allclose(found * view.scale[-1] + view.mean[-1], expected, rtol=1e-9)
    assert found.mean() == pytest.approx(0, abs=1e-9)
    assert found.std() == pytest.approx(1)


def test_features_are_taken_within_the_limit_also_for_the_distance():
    some = mixed()
    some.X[-1, 0] += 1e4
    view = seen(some, clip=2.0)
    assert view.limit == 2.0
    u = np.clip((some.X - view.mean[:-1]) / view.scale[:-1], -2, 2)
    assert (np.abs(u) == 2).sum() > 1
    inputs = view.inputs(some.X)
    np.testing.assert_allclose(inputs[:-1], u.T, rtol=1e-12)
    majority = u[~some.positive]
    np.testing.assert_allclose(view.centre, majority.mean(axis=0), rtol=1e-9)
    shrink = 4 / (len(majority) + 4)
    covariance = np.cov(majority.T, bias=True)
    covariance = (1 - shrink) * covariance + shrink * np.trace(covariance) / 3 * np.eye(3)
    expected = [mahalanobis(x, majority.mean(axis=0), np.linalg.inv(covariance)) for x in u]
    np.testing.assert_allclose(inputs[-1] * view.scale[-1] + view.mean[-1], expected, rtol=1e-9)


def test_nothing_is_clipped_that_is_not_scaled():
    assert seen(mixed(), standardize=False, clip=2.0, distance=False).limit == FAR


def test_a_weight_of_two_is_a_row_given_twice():
    some = mixed()
    twice = some.weight + (np.arange(400) % 3 == 0)
    again = np.repeat(np.arange(400), twice.astype(int))
    weighted = seen(Rows(some.X, some.positive, twice))
    repeated = seen(some.take(again))
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "case", ["constant", "copied", "one row", "huge", "more features than rows"]
)
def test_finite_whatever_the_majority_is(case, dtype):
    some = mixed(dtype=dtype)
    X = some.X.copy()
    if case == "constant":
        X[:] = 3
    elif case == "copied":
        X[:, 1] = X[:, 0]
    elif case == "huge":
        X *= dtype(1e30 if dtype == np.float32 else 1e150)
    elif case == "more features than rows":
        X = np.random.default_rng(2).normal(size=(400, 500)).astype(dtype)
    keep = slice(0, 7) if case == "one row" else slice(None)
    some = Rows(X[keep], some.positive[keep], some.weight[keep])
    inputs = seen(some).inputs(some.X)
    assert np.isfinite(inputs).all()
    assert inputs.dtype == dtype


def test_left_out_of_very_wide_data():
    X = np.random.default_rng(0).normal(size=(20, MOST_FEATURES + 1))
    assert seen(Rows(X, np.arange(20) < 3, np.ones(20))).root is None


def test_blocks_do_not_show(monkeypatch):
    some = mixed()
    view = View(np.zeros(3), np.ones(3))
    whole = with_distance(view, some)
    monkeypatch.setattr("astralearn.classifier.rows.BLOCK", 37)
    for one, other in zip(whole, with_distance(view, some), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def copied(rows, seed=0):
    """The rows and up to three copies of each, in any order; and the rows weighed as often."""
    rng = np.random.default_rng(seed)
    times = rng.integers(1, 5, len(rows.X))
    again = rng.permutation(np.repeat(np.arange(len(rows.X)), times))
    return rows.take(again), Rows(rows.X, rows.positive, rows.weight * times)


def sides(fold):
    """The distinct rows that are trained on and those held out, as tuples."""
    return [{tuple(x) for x in rows.X[rows.weight > 0]} for rows in (fold.train, fold.held_out)]


@pytest.mark.parametrize("seed", range(4))
def test_a_weight_is_a_repetition_also_for_rows_held_out(seed):
    repeated, weighted = copied(mixed(), seed)
    one, other = (whole(rows, fraction=0.25, seed=seed) for rows in (repeated, weighted))
    for mine, theirs in zip(one.parts, other.parts, strict=True):
        np.testing.assert_array_equal(mine.X, theirs.X)
        np.testing.assert_array_equal(mine.weight, theirs.weight)


@pytest.mark.parametrize("merged_up_to", [100_000, 10])
def test_no_copy_of_a_row_held_out_is_trained_on(merged_up_to, monkeypatch):
    monkeypatch.setattr(rows_of_user, "MERGED_UP_TO", merged_up_to)
    repeated, _ = copied(mixed(positives=8))
    trained_on, held_out = sides(whole(repeated, fraction=0.25))
    assert not trained_on & held_out
    assert len(held_out) == 2 + 98
    numbers = np.flatnonzero(np.random.default_rng(1).uniform(size=len(repeated.X)) < 0.7)
    alone = whole(repeated.take(numbers), fraction=0.25)
    (of_many,) = make_folds(repeated, [part(numbers)], SCALED, fraction=0.25)
    assert sides(of_many) == sides(alone)


def test_two_copies_of_one_positive_are_not_enough_to_hold_one_out():
    rows = mixed(positives=2)
    rows.X[1] = rows.X[0]
    with pytest.raises(ValueError, match=r"two distinct rows of the minority class, .* found 1\."):
        whole(rows, fraction=0.25)


def test_the_view_of_many_rows_is_the_same_to_the_bit_in_any_order_and_any_parts(monkeypatch):
    monkeypatch.setattr(rows_of_user, "MERGED_UP_TO", 100)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 5)) * 10.0 ** np.arange(-4, 6, 2) + [0, 1, -50, 1e5, 3e6]
    whole = Rows(X, rng.uniform(size=3_000) < 0.01, rng.uniform(0.5, 2, 3_000))
    options = rows_of_user.ViewOptions(standardize=True, clip=None, distance=True)
    expected = rows_of_user.view_of(whole, options)
    np.testing.assert_allclose(expected.scale[:5], X.std(axis=0), rtol=0.1)
    reordered = rows_of_user.view_of(whole.take(rng.permutation(3_000)), options)
    for found, of_whole in zip(reordered, expected, strict=True):
        np.testing.assert_array_equal(found, of_whole)
    monkeypatch.setattr(rows_of_user, "MERGED_UP_TO", 3_000)
    few = rows_of_user.view_of(whole, options)
    np.testing.assert_allclose((expected.mean - few.mean) / few.scale, 0, atol=1e-6)
    np.testing.assert_allclose(few.scale, expected.scale, rtol=1e-7)


def test_the_first_of_equal_rows_stands_for_all():
    X = np.asarray([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0], [2.0, 0.0], [3.0, 1.0]])
    assert rows_of_user.first_of_equals(X).tolist() == [0, 1, 0, 1, 4]
