"""CatBoost hands over blocks: are the derivatives that it gets those of all rows? Each claim of docs/boosting.md, measured."""

import itertools

import numpy as np
import pytest

from astralearn.boosting import ASTraCatBoostClassifier, ConfusionObjective
from astralearn.boosting import catboost as adapter
from astralearn.boosting.objective import make_objective

OPTIONS = {
    "iterations": 12,
    "learning_rate": 0.2,
    "thread_count": 2,
    "verbose": 0,
    "allow_writing_files": False,
}


def recorded(monkeypatch, X, y, **options):
    """Every block that CatBoost asked for: (round, scores, labels, −gradient)."""
    blocks = []
    plain = adapter._Rounds.calc_ders_range

    def calc_ders_range(self, approxes, targets, weights):
        derivatives = plain(self, approxes, targets, weights)
        blocks.append(
            (
                len(self.objective.slope_path),
                np.array(approxes),
                np.array(targets),
                derivatives[:, 0].copy(),
            )
        )
        return derivatives

    monkeypatch.setattr(adapter._Rounds, "calc_ders_range", calc_ders_range)
    ASTraCatBoostClassifier(**{**OPTIONS, **options}).fit(X, y)
    return blocks


def worst_error(blocks, n, loss, activation):
    """Against the exact gradient, of the size of its largest entry. A sweep is n rows; the slope is that of the round."""
    objective = make_objective(loss, activation, learnable=False)
    worst, start = 0.0, 0
    while start < len(blocks):
        stop, seen = start, 0
        while seen < n and stop < len(blocks):
            seen += len(blocks[stop][1])
            stop += 1
        if seen == n:
            x, y, given = (
                np.concatenate([block[k] for block in blocks[start:stop]]) for k in (1, 2, 3)
            )
            exact, _ = objective.round(y, x)
            worst = max(worst, float(np.max(np.abs(-given - exact)) / np.max(np.abs(exact))))
        start = stop
    return worst


@pytest.mark.parametrize("loss", ["bce", "gmn", "mcc", "f1"])
def test_plain_boosting_with_one_leaf_step_is_exact(loss, rare, monkeypatch):
    X, y = rare
    blocks = recorded(monkeypatch, X, y, loss=loss, learnable=False)
    assert max(len(block[1]) for block in blocks) < len(y)  # it is blocks indeed
    assert worst_error(blocks, len(y), loss, "astra") < 1e-10


def test_more_leaf_steps_freeze_the_counts(rare, monkeypatch):
    X, y = rare
    blocks = recorded(monkeypatch, X, y, loss="gmn", learnable=False, leaf_estimation_iterations=5)
    error = worst_error(blocks, len(y), "gmn", "astra")
    print(
        f"GMN-ASTra, 5 leaf steps: frozen against exact coefficients, worst relative error {error:.3f}"
    )
    assert 1e-6 < error < 0.5


def test_the_result_is_that_of_a_loop_with_exact_gradients(rare):
    """The training loss after each tree keeps falling, and the model is as good as LightGBM's on the same loss."""
    lightgbm = pytest.importorskip("astralearn.boosting.lightgbm")
    X, y = rare
    ours = ASTraCatBoostClassifier(
        **{**OPTIONS, "iterations": 40}, loss="gmn", learnable=False
    ).fit(X, y)
    theirs = lightgbm.ASTraLGBMClassifier(
        n_estimators=40, learning_rate=0.2, loss="gmn", learnable=False, verbose=-1, n_jobs=1
    ).fit(X, y)
    objective = ConfusionObjective("gmn", activation="astra", learnable=False)
    path = [objective.value(y, ours.predict(X, "RawFormulaVal", ntree_end=k)) for k in range(1, 41)]
    assert all(later < earlier + 1e-9 for earlier, later in itertools.pairwise(path))
    assert path[-1] < objective.value(y, theirs.predict(X, raw_score=True)) + 0.05


def test_the_slope_path_is_that_of_the_other_libraries(rare):
    """Same scores, same steps: replay CatBoost's trees through the objective."""
    X, y = rare
    model = ASTraCatBoostClassifier(**OPTIONS, loss="gmn", slope_rate_min=0.5).fit(X, y)
    objective = ConfusionObjective("gmn", activation="astra", slope_rate_min=0.5)
    objective.round(y, np.zeros(len(y)))
    for k in range(1, OPTIONS["iterations"]):
        objective.round(y, model.predict(X, "RawFormulaVal", ntree_end=k))
    np.testing.assert_allclose(model.slope_path_, objective.slope_path, rtol=1e-8)
