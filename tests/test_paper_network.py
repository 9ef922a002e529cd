"""The study's networks against ASTraClassifier.paper, and what their epochs decide."""

import numpy as np
import pytest

from astralearn import ASTraClassifier
from astralearn.paper_network import PaperNetwork

pytestmark = pytest.mark.slow

EPOCHS = {"epochs": 60, "burn_in": 10}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = (np.arange(400) < 20).astype(int)
    X = rng.normal(size=(400, 4)) + 2.0 * y[:, None]
    order = rng.permutation(400)
    splits = [(order[i : i + 240], order[i + 240 : i + 320], order[:80]) for i in (0, 80)]
    return X, y, splits


@pytest.fixture(scope="module")
def fitted(rows):
    X, y, splits = rows
    model = PaperNetwork("bce", "astra", starts=2, looks=12, **EPOCHS)
    return model.fit_many(X, y, splits, random_states=[3, 4])


@pytest.mark.filterwarnings("ignore:.*not recognised")
def test_they_are_the_classifiers_networks(rows, fitted):
    X, y, splits = rows
    settings = {"n_estimators": 2, "validation_fraction": 0.0, **EPOCHS}
    models = ASTraClassifier.paper("bce", "astra", **settings).fit_many(
        X, y, splits, random_states=[3, 4]
    )
    for starts, model in zip(fitted, models, strict=True):
        np.testing.assert_allclose(starts.trained.parameters, model.coefs_, rtol=2e-4, atol=2e-5)


def test_starts_differ_and_the_trail_leads_to_the_last_epoch(rows, fitted):
    X, _, splits = rows
    for starts in fitted:
        first, second = starts.trained.history
        assert not np.allclose(first["parameters"][0], second["parameters"][0])
        state = starts.trained.states[0]
        # The last look is before the last of the steps, each of about the learning rate.
        gap = np.abs(first["parameters"][-1] - state.parameters).max()
        assert 0 < gap < 2e-3
        decided = starts.decisions(X[splits[0][2]])
        assert [one.looks.shape for one in decided] == [(12, 80)] * 2
        assert (decided[0].looks[-1] != decided[0].last).mean() < 0.05
        assert decided[0].history["epoch"].tolist() == list(range(4, 60, 5))


def test_the_paper_chooses_the_epoch_of_the_lowest_soft_fnr_after_the_burn_in(rows):
    X, y, splits = rows
    model = PaperNetwork("gmn", "sigmoid", looks=60, **EPOCHS)
    (starts,) = model.fit_many(X, y, splits[:1], random_states=[0])
    (decided,) = starts.decisions(X[splits[0][2]])
    late = decided.history["epoch"] >= 10
    best = decided.history["epoch"][late][np.argmin(decided.history["val_fnr"][late])]
    assert decided.chosen_epoch == best
    assert np.array_equal(decided.chosen, decided.looks[list(decided.history["epoch"]).index(best)])
