from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, confusion_matrix
from sklearn.svm import LinearSVC

from astralearn.datasets import Problem
from astralearn.study import Method, make_splits, unit
from astralearn.study.unit import HISTORY_POINTS, units
from classifiers import Nearest, Raising, Stacked


def problem(rows=101, seed=0):
    random = np.random.default_rng(seed)
    y = (np.arange(rows) < 12).astype(np.int8)
    return Problem("p", random.normal(size=(rows, 3)) + y[:, None], y)


def outcomes(method, data=None, *, folds=5, repetitions=2, stack=50, seed=0):
    data = data or problem()
    splits = make_splits(data, folds=folds, repetitions=repetitions)
    return splits, [
        o for unit in units(data, method, splits, seed=seed, stack=stack) for o in unit.run()
    ]


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(class_weight="balanced"), LinearSVC(), DummyClassifier(strategy="prior")],
)
def test_a_record_is_what_scikit_learn_counts(estimator):
    data = problem()
    splits, found = outcomes(Method("m", estimator), data)
    for split, (record, history) in zip(splits, found, strict=True):
        model = estimator.fit(data.X[split.learn], data.y[split.learn])
        truth, test = data.y[split.test], data.X[split.test]
        assert [record.tn, record.fp, record.fn, record.tp] == confusion_matrix(
            truth, model.predict(test)
        ).ravel().tolist()
        scores = (
            model.decision_function(test)
            if hasattr(model, "decision_function")
            else model.predict_proba(test)[:, 1]
        )
        assert record.average_precision == pytest.approx(average_precision_score(truth, scores))
        assert (record.learned, record.tested) == (len(split.learn), len(split.test))
        assert history == {}
        assert record.error is None


def test_no_scores_no_average_precision():
    class Mute(Nearest):
        decision_function = property()  # raises AttributeError, as an absent method does

        def predict(self, X):
            return np.zeros(len(X))

    _, found = outcomes(Method("m", Mute()))
    assert found[0].record.average_precision is None


def test_a_stack_trains_in_one_call_and_is_split_into_records():
    before = Stacked.calls
    splits, found = outcomes(Method("m", Stacked()), stack=7)
    assert Stacked.calls - before == 2  # ten folds, at most seven a call
    _, one_by_one = outcomes(Method("m", Nearest()))
    assert [(o.record.tp, o.record.fp) for o in found] == [
        (o.record.tp, o.record.fp) for o in one_by_one
    ]
    assert [(o.record.repetition, o.record.fold) for o in found] == [
        (s.repetition, s.fold) for s in splits
    ]


def test_a_stack_of_encoded_folds_is_bounded_in_memory(monkeypatch):
    complete = problem()
    gaps = Problem("p", np.where(complete.X > 2.0, np.nan, complete.X), complete.y)
    splits, whole = outcomes(Method("m", Stacked()), gaps)

    def sizes(data, stack):
        return [
            len(u.splits) for u in units(data, Method("m", Stacked()), splits, seed=0, stack=stack)
        ]

    monkeypatch.setattr(unit, "MOST_STACKED", 4 * 101 * 3)
    assert sizes(gaps, 50) == [4, 4, 2]
    assert sizes(gaps, 3) == [3, 3, 3, 1]
    assert sizes(complete, 50) == [4, 4, 2]
    _, bounded = outcomes(Method("m", Stacked()), gaps)
    assert [replace(o.record, fit_seconds=0.0) for o in bounded] == [
        replace(o.record, fit_seconds=0.0) for o in whole
    ]
    monkeypatch.setattr(unit, "MOST_STACKED", 1)
    assert sizes(gaps, 50) == [1] * 10


def test_histories_are_thinned_and_keep_both_ends():
    _, found = outcomes(Method("m", Stacked()), repetitions=1)
    history = found[0].history
    assert set(history) == {"epoch", "e_ratio"}
    assert len(history["epoch"]) == HISTORY_POINTS
    assert (history["epoch"][0], history["epoch"][-1]) == (1, 1000)
    np.testing.assert_allclose(history["e_ratio"], 1000.0 / history["epoch"], rtol=1e-6)


@pytest.mark.parametrize(("validates", "roles"), [(True, [60, 20, 20]), (False, [80, 20])])
def test_roles(validates, roles):
    seen = []

    class Watching(Stacked):
        def fit_many(self, X, y, splits, sample_weight=None):
            models = super().fit_many(X, y, splits)
            seen.extend(model.roles_ for model in models)
            return models

    _, found = outcomes(
        Method("m", Watching(), validates=validates), problem(rows=100), repetitions=1
    )
    assert [o.record.error for o in found] == [None] * 5
    assert seen == [roles] * 5
    assert found[0].record.learned == 80


def test_seeds_differ_between_folds_and_units_but_not_between_runs():
    def tried(seed):
        return [o.record for o in outcomes(Method("m", Nearest(noise=2.0)), seed=seed)[1]]

    def counts(records):
        return [(r.tp, r.fp) for r in records]

    assert counts(tried(1)) == counts(tried(1))
    assert counts(tried(1)) != counts(tried(2))


def test_a_stack_that_takes_seeds_starts_every_fold_from_its_own():
    seen = []

    class Seeded(Stacked):
        def fit_many(self, X, y, splits, sample_weight=None, random_states=None):
            seen.append(random_states)
            return super().fit_many(X, y, splits)

    outcomes(Method("m", Seeded()), stack=4)
    together = [seed for seeds in seen for seed in seeds]
    assert [len(seeds) for seeds in seen] == [4, 4, 2]
    assert len(set(together)) == 10
    seen.clear()
    outcomes(Method("m", Seeded()), stack=10)
    assert seen == [together]  # however the folds are stacked


def test_a_method_that_raises_has_missed_the_fold_and_says_why():
    data = problem(rows=101)  # folds of 20 or 21 test rows, so 81 or 80 learn
    splits, found = outcomes(Method("m", Raising()), data)
    failed = [o.record for s, o in zip(splits, found, strict=True) if len(s.learn) % 2]
    fine = [o.record for s, o in zip(splits, found, strict=True) if len(s.learn) % 2 == 0]
    assert len(failed) == 8
    for record in failed:
        assert record.error == (
            "ValueError: BaseClassifier in ensemble is worse than random, ensemble cannot be fit."
        )
        assert (record.tp, record.fp, record.g_mean, record.mcc) == (0, 0, 0.0, 0.0)
        assert record.tn + record.fn == record.tested
        assert record.fn >= 2
    assert all(record.error is None for record in fine)


def test_when_and_from_where_xgboost_raised_is_no_part_of_the_message():
    class Dated(Nearest):
        def fit(self, X, y):
            raise RuntimeError(
                f"[10:05:{len(X) % 60:02}] /src/data.cc:1: Check failed: inf\nStack trace:\n  "
                f"[bt] (0) {id(X):#x}"
            )

    data = problem()
    _, found = outcomes(Method("m", Dated()), data)
    assert {o.record.error for o in found} == {"RuntimeError: /src/data.cc:1: Check failed: inf"}


def test_where_a_stack_raises_only_the_bad_folds_are_missed():
    class Fragile(Stacked):
        def fit_many(self, X, y, splits, sample_weight=None):
            if any(len(split[0]) % 2 for split in splits):
                raise RuntimeError("odd")
            return super().fit_many(X, y, splits)

    splits, found = outcomes(Method("m", Fragile()), problem(rows=101))
    assert [o.record.error for o in found] == [
        "RuntimeError: odd" if len(s.learn) % 2 else None for s in splits
    ]


def test_an_interruption_is_not_a_miss():
    class Interrupted(Nearest):
        def fit(self, X, y):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        outcomes(Method("m", Interrupted()))


@pytest.mark.parametrize("estimator", [Nearest(), Stacked()])
def test_encoding_is_fitted_inside_the_fold(estimator):
    """The test rows' only category and their huge numbers must not reach what is fitted."""
    seen = []

    class Watching(type(estimator)):
        def fit(self, X, y):
            seen.append(X.copy())
            return super().fit(X, y)

    data = problem()
    frame = pd.DataFrame(data.X, columns=list("abc"))
    frame["kind"] = ["u", "v"] * 50 + ["u"]
    frame.loc[::7, "a"] = np.nan
    mixed = Problem("p", frame, data.y)
    splits, found = outcomes(Method("m", Watching()), mixed)
    assert [o.record.error for o in found] == [None] * 10
    for split, X in zip(splits, seen, strict=True):
        a = frame["a"].to_numpy()[split.learn]
        filled = X[np.isnan(a), 0]
        assert len(filled)
        np.testing.assert_array_equal(filled, np.nanmedian(a))


def test_ctrl_c_that_a_library_made_an_error_of_is_no_miss():
    class Interrupted(Nearest):
        def fit(self, X, y):
            raise RuntimeError("in a callback: KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        outcomes(Method("m", Interrupted()))
