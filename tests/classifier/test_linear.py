import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from astralearn.classifier import linear
from astralearn.classifier.linear import fit_linear


def rows(n=80, positives=12, features=4, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.permutation(n) < positives
    spread = np.linspace(0.5, 2.0, features)
    u = (spread * rng.normal(size=(n, features)) + 0.5 * positive[:, None]).astype(np.float32)
    return u, positive, np.ones(n)


def test_scores_are_those_of_discriminant_analysis(monkeypatch):
    monkeypatch.setattr(linear, "SOFTENING", 0.0)
    u, positive, weight = rows()
    found, _ = fit_linear(u, positive, weight, seed=0)
    peer = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto", priors=[0.5, 0.5])
    expected = peer.fit(u.astype(float), positive).decision_function(u.astype(float))
    np.testing.assert_allclose(found.score(u), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("shape", [(30, 4), (6, 40)])
def test_shrinkage_is_ledoit_and_wolf_s(shape):
    z = np.random.default_rng(1).standard_t(4, size=shape)
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    n = len(z)
    found = linear._shrinkage(z / np.sqrt(n), np.full(n, 1 / n), float(n))
    assert found == pytest.approx(ledoit_wolf_shrinkage(z, assume_centered=True))


@pytest.mark.parametrize("n", [5, 90])
def test_the_smaller_system_has_the_same_solution(n):
    rng = np.random.default_rng(2)
    a, diagonal, d = rng.normal(size=(n, 30)), rng.uniform(0.1, 1, 30), rng.normal(size=30)
    expected = np.linalg.solve(a.T @ a + np.diag(diagonal), d)
    np.testing.assert_allclose(linear._solved(a, diagonal, d), expected, rtol=1e-9)


def test_each_row_is_judged_by_a_model_that_did_not_see_it(monkeypatch):
    seen = []
    of_rows = linear._fit

    def spy(u, weight, classes, rng):
        seen.append(np.concatenate(classes))
        return of_rows(u, weight, classes, rng)

    monkeypatch.setattr(linear, "_fit", spy)
    u, positive, weight = rows()
    _, scores = fit_linear(u, positive, weight, seed=0)
    parts = [np.setdiff1d(np.arange(80), judges) for judges in seen[1:]]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(80))
    for judges, left_out in zip(seen[1:], parts, strict=True):
        classes = [judges[positive[judges] == label] for label in (False, True)]
        model = of_rows(u, weight, classes, np.random.default_rng(0))
        np.testing.assert_allclose(scores[left_out], model.score(u[left_out]), rtol=1e-12)


def test_a_weight_is_a_repetition():
    u, positive, _ = rows()
    weight = np.random.default_rng(3).integers(1, 4, len(u)).astype(float)
    found, _ = fit_linear(u, positive, weight, seed=0)
    times = weight.astype(int)
    repeated, _ = fit_linear(u.repeat(times, axis=0), positive.repeat(times), np.ones(times.sum()),
                             seed=0)  # fmt: skip
    np.testing.assert_allclose(found.direction, repeated.direction, rtol=1e-9)
    assert found.offset == pytest.approx(repeated.offset)


def test_a_single_positive_is_not_left_out():
    u, positive, weight = rows(positives=1)
    found, left_out = fit_linear(u, positive, weight, seed=0)
    assert np.isnan(left_out[positive]).all()
    assert np.isfinite(left_out[~positive]).all()
    assert np.isfinite(found.direction).all()


@pytest.mark.parametrize(("n", "positives"), [(2, 1), (3, 2), (9, 4), (12, 6)])
def test_very_few_rows_have_finite_scores(n, positives):
    u, positive, weight = rows(n=n, positives=positives)
    found, left_out = fit_linear(u, positive, weight, seed=0)
    assert np.isfinite(found.score(u)).all()
    assert np.isfinite(left_out[~positive]).all()
    assert np.isfinite(left_out[positive]).all() == (positives > 1)


def test_constant_and_equal_features_are_no_trouble():
    u, positive, weight = rows()
    u[:, 0] = 1.0
    u[:, 1] = u[:, 2]
    found, left_out = fit_linear(u, positive, weight, seed=0)
    assert found.direction[0] == pytest.approx(0.0, abs=1e-9)
    assert np.isfinite(left_out).all()
    same, _ = fit_linear(np.ones_like(u), positive, weight, seed=0)
    np.testing.assert_allclose(same.direction, 0.0, atol=1e-9)


def test_of_many_rows_some_are_drawn(monkeypatch):
    monkeypatch.setattr(linear, "ROWS_PER_MODEL", 20)
    u, positive, weight = rows(n=300)
    found, left_out = fit_linear(u, positive, weight, seed=0)
    again, same = fit_linear(u, positive, weight, seed=0)
    assert (again.direction.tobytes(), same.tobytes()) == (
        found.direction.tobytes(),
        left_out.tobytes(),
    )
    other, _ = fit_linear(u, positive, weight, seed=1)
    assert other.direction.tobytes() != found.direction.tobytes()
