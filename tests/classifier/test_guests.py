import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from astralearn import ASTraClassifier
from astralearn.classifier import guests
from astralearn.classifier.guests import fit_guest, seeded


def rows(n=300, positives=10, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.permutation(n) < positives
    u = (rng.normal(size=(n, 3)) + 1.5 * positive[:, None]).astype(np.float32)
    return u, positive, np.ones(n)


def small(**parameters):
    return ASTraClassifier(epochs=5, n_estimators=2, random_state=0, **parameters)


class Spy(ClassifierMixin, BaseEstimator):
    """A classifier that says what it is given. Parameter: a list that clones share."""

    given = ()

    def fit(self, X, y):
        type(self).given = (*type(self).given, (X, y))
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]


@pytest.fixture
def spied():
    Spy.given = ()
    return Spy


def test_each_row_is_judged_by_a_clone_that_did_not_see_it(spied):
    u, positive, weight = rows()
    u[:, 1] = np.arange(len(u))
    fit_guest("spy", spied(), u, positive, weight, seed=0)
    whole, *parts = [set(X[:, 1].astype(int)) for X, _ in spied.given]
    assert whole == set(range(300))
    left_out = [whole - seen for seen in parts]
    assert sorted(row for part in left_out for row in part) == list(range(300))
    assert all(sum(positive[list(part)]) == 2 for part in left_out)


@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB(), SVC()])
def test_scores_are_those_of_the_model_alone(model):
    u, positive, weight = rows()
    guest, left_out = fit_guest("alone", model, u, positive, weight, seed=0)
    alone = seeded(model, 0).fit(u, positive.astype(int))
    if hasattr(alone, "decision_function"):
        expected = alone.decision_function(u)
    else:
        expected = np.diff(np.log(alone.predict_proba(u)))[:, 0]
    np.testing.assert_allclose(guest.score(u), expected, rtol=1e-4)
    assert np.isfinite(left_out).all()


def test_sure_probabilities_have_finite_scores():
    u, positive, weight = rows()
    guest, _ = fit_guest("tree", DecisionTreeClassifier(), u, positive, weight, seed=0)
    assert np.isfinite(guest.score(u)).all()


def test_a_weight_is_a_repetition_where_the_model_takes_weights():
    u, positive, _ = rows()
    times = np.random.default_rng(1).integers(1, 4, len(u))
    weighted, _ = fit_guest("nb", GaussianNB(), u, positive, times.astype(float), seed=0)
    repeated = GaussianNB().fit(u.repeat(times, axis=0), positive.repeat(times).astype(int))
    np.testing.assert_allclose(weighted.model.theta_, repeated.theta_, rtol=1e-5)


def test_rows_are_drawn_by_weight_where_the_model_takes_none():
    u, positive, weight = rows(n=1000, positives=100)
    weight[:500] = 1e-9
    guest, _ = fit_guest("knn", KNeighborsClassifier(), u, positive, weight, seed=0)
    u_seen = guest.model._fit_X
    assert len(u_seen) == 1000
    assert not (u_seen[:, None] == u[:500][None]).all(axis=2).any()


def test_of_many_rows_some_are_drawn(monkeypatch, spied):
    monkeypatch.setattr(guests, "ROWS_PER_GUEST", 20)
    u, positive, weight = rows()
    fit_guest("spy", spied(), u, positive, weight, seed=0)
    assert [len(y) for _, y in spied.given] == [30, *[28] * 5]


def test_every_random_state_is_seeded_in_a_copy():
    pipeline = make_pipeline(StandardScaler(), AdaBoostClassifier(DecisionTreeClassifier()))
    copy = seeded(pipeline, 7)
    assert copy["adaboostclassifier"].random_state == 7
    assert copy["adaboostclassifier"].estimator.random_state == 7
    assert pipeline["adaboostclassifier"].random_state is None
    assert seeded(StandardScaler(), 7).get_params() == StandardScaler().get_params()


def test_a_guest_joins_the_committee_and_has_a_say():
    u, positive, _ = rows(n=600, positives=20)
    model = small(members={"boundary": SVC(C=1.0)}).fit(u, positive)
    assert isinstance(model.committee_.members["boundary"].model, SVC)
    assert model.committee_.weight["boundary"] > 0
    alone = small().fit(u, positive)
    assert alone.committee_.members.keys() == {"trees", "neighbours", "linear"}
    assert not np.array_equal(model.decision_function(u), alone.decision_function(u))
    again = small(members={"boundary": SVC(C=1.0)}).fit(u, positive)
    np.testing.assert_array_equal(again.decision_function(u), model.decision_function(u))


def test_a_guest_that_knows_nothing_has_next_to_no_say():
    u, positive, _ = rows(n=600, positives=20)
    model = small(members={"noise": KNeighborsClassifier(1)})
    model.fit(np.c_[u, np.random.default_rng(5).normal(size=(600, 40))], positive)
    assert model.committee_.weight["noise"] < 0.05 * model.committee_.weight["trees"]


@pytest.mark.parametrize(
    ("members", "error", "said"),
    [
        ({"trees": SVC()}, ValueError, "names other than networks, trees.*found 'trees'"),
        ({3: SVC()}, ValueError, "found 3"),
        ({"svm": SVC}, TypeError, r"members\['svm'\] must be a classifier with fit"),
        ({"scaler": StandardScaler()}, TypeError, r"members\['scaler'\] must be a classifier"),
    ],
)
def test_what_cannot_join_is_named(members, error, said):
    u, positive, _ = rows()
    with pytest.raises(error, match=said):
        small(members=members).fit(u, positive)


def test_members_need_a_committee():
    u, positive, _ = rows()
    with pytest.raises(ValueError, match="use committee=True"):
        small(members={"svm": SVC()}, committee=False).fit(u, positive)


def test_an_error_of_a_guest_names_it():
    u, positive, _ = rows()
    with pytest.raises(ValueError, match="Negative values") as raised:
        small(members={"counts": MultinomialNB()}).fit(u, positive)
    assert raised.value.__notes__ == ["This was members['counts'] of ASTraClassifier."]


def test_scores_that_are_not_finite_are_refused(spied):
    u, positive, weight = rows()

    class Lost(spied):
        def decision_function(self, X):
            return np.full(len(X), np.nan)

    with pytest.raises(ValueError, match=r"members\['lost'\] scores rows"):
        fit_guest("lost", Lost(), u, positive, weight, seed=0)


def test_a_model_file_cannot_hold_a_guest(tmp_path):
    u, positive, _ = rows()
    model = small(members={"svm": SVC()}).fit(u, positive)
    with pytest.raises(TypeError, match="SVC, which a model file cannot hold"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_onnx_cannot_hold_a_guest():
    pytest.importorskip("onnx")
    u, positive, _ = rows()
    model = small(members={"svm": SVC()}).fit(u, positive)
    with pytest.raises(ValueError, match=r"members of your own, \['svm'\], have no ONNX"):
        model.to_onnx(None)
