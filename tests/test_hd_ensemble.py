"""HD-Ensemble as rebuilt: a scikit-learn classifier that finds rare rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from astralearn.hd_ensemble import HDEnsembleClassifier


def rare(seed: int, positives: int = 8, negatives: int = 2_000) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    y = np.repeat([1, 0], [positives, negatives])
    return random.normal(size=(len(y), 4)) + 2.0 * y[:, None], y


def test_finds_the_rare_class_whatever_it_is_called() -> None:
    X, y = rare(0)
    test_X, test_y = rare(1, positives=300)
    model = HDEnsembleClassifier(random_state=0).fit(X, y)
    assert roc_auc_score(test_y, model.predict_proba(test_X)[:, 1]) > 0.9
    named = HDEnsembleClassifier(random_state=0).fit(X, np.where(y == 1, "a", "b"))
    np.testing.assert_array_equal(named.predict(test_X) == "a", model.predict(test_X) == 1)
    np.testing.assert_allclose(named.predict_proba(test_X)[:, 0], model.predict_proba(test_X)[:, 1])


def test_rounds_keep_hard_negatives_more_often() -> None:
    model = HDEnsembleClassifier()
    model.trees_ = [None] * 10
    votes = np.zeros(1_000)
    votes[:50] = 9.0
    random = np.random.RandomState(0)
    kept = [model._kept(votes, 100, random) for _ in range(20)]
    assert all(len(np.unique(rows)) == 100 for rows in kept)
    shares = np.mean([(rows < 50).mean() for rows in kept])
    assert shares > 0.3


def test_small_tables_and_one_class() -> None:
    X, y = rare(0, positives=2, negatives=6)
    assert len(HDEnsembleClassifier(5, random_state=0).fit(X, y).trees_) == 5
    with pytest.raises(ValueError, match="two classes; found 1"):
        HDEnsembleClassifier().fit(X, np.zeros(len(y)))
