import numpy as np
import pytest

from astralearn.classifier import rows as preparation
from astralearn.classifier.rows import Part, Rows, merged, prepare, prepare_many
from astralearn.classifier.tuning import trials

OPTIONS = {"standardize": True, "clip": None, "distance": False}


@pytest.fixture
def many(monkeypatch):
    """More rows than are sorted, four copies of each of three positives among them."""
    monkeypatch.setattr(preparation, "MERGED_UP_TO", 100)
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


def test_of_many_rows_no_trial_trains_on_a_copy_of_a_positive_that_it_leaves_out(many):
    found = trials(prepare(many, None, **OPTIONS).train, seed=0)
    assert len(found) == 3
    for trial in found:
        seen, left_out = ({tuple(x) for x in rows.X[rows.y]} for rows in trial)
        assert (len(seen), len(left_out)) == (2, 1)
        assert not seen & left_out


def test_of_many_rows_each_part_has_its_own_merged(many):
    parts = [Part(np.flatnonzero(np.arange(212) % 3 != k), None, False) for k in range(3)]
    for part, found in zip(parts, prepare_many(many, parts, **OPTIONS), strict=True):
        alone = merged(many.take(part.train))
        assert found.train.weight.sum() == len(part.train)
        assert np.count_nonzero(found.train.weight) == np.count_nonzero(alone.weight)


def test_many_rows_of_both_classes_stay_as_they_are(many):
    rows = Rows(many.X, np.arange(212) % 2 == 0, many.weight)
    assert merged(rows) is rows
