import numpy as np
import pytest

from astralearn.classifier.crossed import PARTS, cross_scored


class Seen:
    """A model whose score of a row is whether it saw the row."""

    def __init__(self, rows):
        self.rows = set(np.concatenate(rows).tolist())

    def score(self, u):
        assert len(u)
        return np.asarray([float(row in self.rows) for row in u[:, 0]])


def scored(negatives, positives):
    positive = np.arange(negatives + positives) >= negatives
    u = np.arange(len(positive), dtype=np.float32)[:, None]
    model, scores = cross_scored(Seen, u, positive, np.random.default_rng(0))
    return model, scores, positive


@pytest.mark.parametrize("positives", [2, 3, PARTS, 12])
def test_rows_are_judged_by_models_that_did_not_see_them(positives):
    model, scores, _ = scored(60, positives)
    assert len(model.rows) == 60 + positives
    np.testing.assert_array_equal(scores, 0.0)


def test_a_single_positive_has_no_score():
    _, scores, positive = scored(60, 1)
    assert np.isnan(scores[positive]).all()
    np.testing.assert_array_equal(scores[~positive], 1.0)


def test_a_very_few_majority_rows_are_judged_by_all():
    _, scores, positive = scored(2 * PARTS - 1, 6)
    np.testing.assert_array_equal(scores, np.where(positive, 0.0, 1.0))
