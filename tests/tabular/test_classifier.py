import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from astralearn import ASTraClassifier, load
from astralearn.tabular import TabularASTraClassifier

ROWS = 2000
QUICK = ASTraClassifier(committee=False, epochs=60, n_estimators=2, random_state=0)


def table(seed=0, rows=ROWS, positives=10):
    """Rows of every kind, in which frauds are large amounts at night, and their labels."""
    random = np.random.default_rng(seed)
    hours = pd.to_timedelta(random.uniform(8, 20, rows) + 24 * random.integers(90, size=rows), "h")
    frame = pd.DataFrame(
        {
            "amount": random.lognormal(3, 1, rows),
            "age": np.where(random.random(rows) < 0.1, np.nan, random.normal(40, 10, rows)),
            "shop": random.choice([f"s{i}" for i in range(100)], rows),
            "kind": random.choice(["web", "till", None], rows),
            "when": pd.Timestamp("2024-01-01") + hours,
        }
    )
    frame.loc[: positives - 1, "amount"] *= 30
    night = pd.to_timedelta(np.arange(positives) * 24 + 3, "h")
    frame.loc[: positives - 1, "when"] = pd.Timestamp("2024-01-01") + night
    return frame, pd.Series(np.where(np.arange(rows) < positives, "fraud", "ok"), name="outcome")


@pytest.fixture(scope="module")
def rows():
    return table()


@pytest.fixture(scope="module")
def model(rows):
    return TabularASTraClassifier(QUICK).fit(*rows)


def test_a_table_of_arrow_is_the_frame(model, rows):
    frame, y = rows
    learned = TabularASTraClassifier(QUICK).fit(pa.Table.from_pandas(frame), y)
    assert learned.feature_names_in_.tolist() == frame.columns.tolist()
    assert (learned.decision_function(frame) == model.decision_function(frame)).all()


def test_scores_are_those_that_the_classifier_has(rows):
    forest = TabularASTraClassifier(RandomForestClassifier(5, random_state=0)).fit(*rows)
    assert not hasattr(forest, "decision_function")
    assert get_scorer("roc_auc")(forest, *rows) > 0.9
    assert not hasattr(TabularASTraClassifier(LinearSVC()), "predict_proba")
    assert hasattr(TabularASTraClassifier(), "predict_proba")


def test_a_mixed_frame_goes_in_as_it_comes(model, rows):
    frame, y = rows
    assert (model.predict(frame) == y).mean() > 0.99
    assert (model.predict(frame)[y == "fraud"] == "fraud").all()
    assert model.minority_class_ == "fraud"
    assert (model.target_, model.n_rows_, model.n_positives_) == ("outcome", ROWS, 10)
    np.testing.assert_allclose(
        model.decision_function(pl.from_pandas(frame)), model.decision_function(frame)
    )


def test_the_next_quarter_is_no_other_world(model):
    """Dates are parts that carry over, so that later rows are found as well."""
    frame, y = table(seed=1, positives=60)
    frame["when"] += pd.Timedelta(days=90)
    assert (model.predict(frame)[y == "fraud"] == "fraud").mean() >= 0.9
    assert (model.predict(frame)[y == "ok"] == "fraud").mean() <= 0.02


def test_a_model_file_and_a_pickle_hold_it(model, rows, tmp_path):
    model.save(tmp_path / "model.astra")
    expected = model.predict_risk(rows[0])
    for again in (load(tmp_path / "model.astra"), pickle.loads(pickle.dumps(model))):
        assert again.predict_risk(rows[0]).tobytes() == expected.tobytes()
        assert again.explain(rows[0].head(3)) == model.explain(rows[0].head(3))


def test_a_fit_that_fails_leaves_the_last_one_whole(rows):
    frame, y = rows
    model = TabularASTraClassifier(QUICK).fit(frame, y)
    before = model.decision_function(frame)
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(frame[["amount"]], y, -np.ones(ROWS))
    np.testing.assert_array_equal(model.decision_function(frame), before)
    unfitted = TabularASTraClassifier(QUICK)
    with pytest.raises(ValueError, match="two classes"):
        unfitted.fit(frame, np.zeros(ROWS))
    assert not hasattr(unfitted, "encoder_")


def test_probability_of_two_senses(model, rows):
    frame, _ = rows
    risky = clone(model).set_params(probability="risk").fit(*rows)
    assert risky.classes_.tolist() == ["fraud", "ok"]
    np.testing.assert_allclose(risky.predict_proba(frame)[:, 0], model.predict_risk(frame))
    np.testing.assert_allclose(risky.predict_proba(frame).sum(axis=1), 1)
    assert risky.predict(frame).tolist() == model.predict(frame).tolist()
    assert risky.predict_risk(frame).mean() == pytest.approx(10 / ROWS, rel=1e-3)
    in_pipeline = make_pipeline(risky).fit(*rows)
    np.testing.assert_allclose(in_pipeline.predict_proba(frame), risky.predict_proba(frame))


def test_threshold_tools_see_the_risk(rows):
    risky = TabularASTraClassifier(QUICK, probability="risk")
    frame, y = rows
    tuned = TunedThresholdClassifierCV(
        risky, cv=2, scoring="balanced_accuracy", response_method="predict_proba"
    ).fit(frame, (y == "fraud").astype(int))
    assert tuned.predict(frame)[:10].sum() >= 8


def test_ids_and_copies_are_left_out_unless_kept(rows):
    frame, y = rows
    frame = frame.assign(number=np.arange(ROWS), paid_back=y == "fraud")
    with pytest.warns(UserWarning, match="it is left out") as said:
        model = TabularASTraClassifier(QUICK).fit(frame, y)
    assert [str(warning.message) for warning in said] == [
        "column 'number' has another whole number in every row: it is left out (`keep` keeps it)",
        "column 'paid_back' copies the label: it is left out (`keep` keeps it)",
    ]
    assert {warning.filename for warning in said} == {__file__}
    assert "paid_back" not in model.encoder_.kinds_
    kept = TabularASTraClassifier(QUICK, keep=["paid_back"], drop=["number"]).fit(frame, y)
    assert "paid_back" in kept.encoder_.kinds_
    assert "number" not in kept.encoder_.kinds_
    with pytest.raises(ValueError, match="no 'nothing'"):
        TabularASTraClassifier(QUICK, keep=["nothing"]).fit(frame, y)


def test_columns_that_are_named_by_numbers_are_dropped_and_kept_by_them(rows):
    frame, y = rows
    numbered = frame[["amount", "age", "shop"]].assign(of_row=np.arange(ROWS))
    numbered = numbered.set_axis(range(4), axis=1)
    learned = TabularASTraClassifier(QUICK, drop=[1], keep=[3]).fit(numbered, y)
    assert list(learned.encoder_.kinds_) == ["0", "2", "3"]


def test_a_number_of_rows_stays_where_nothing_else_does(rows):
    frame, y = rows
    frame = frame[["shop"]].assign(number=np.arange(ROWS))
    with pytest.warns(UserWarning, match="`drop` it if it is no feature"):
        learned = TabularASTraClassifier(QUICK, group="shop").fit(frame, y)
    assert list(learned.encoder_.kinds_) == ["number"]


def test_two_spellings_of_a_label_are_refused(rows):
    frame, y = rows
    spelled = y.where(np.arange(ROWS) > 3, "Fraud")
    with pytest.raises(ValueError, match="'outcome' has 'Fraud', 'fraud', which look like"):
        TabularASTraClassifier(QUICK).fit(frame, spelled)


def test_explanations_name_the_culprit(model, rows):
    said = model.explain(rows[0].head(10))
    assert all(sentence.startswith(("amount", "hour of when")) for sentence in said)
    assert all(sentence.count(";") <= 2 for sentence in said)


def test_what_the_classifier_has_is_passed_through(model):
    class Deciding:
        expectations_ = "recall 0.9"

        def decide(self, decision):
            self.decision = decision
            return self

    wrapped = clone(model)
    wrapped.classifier_ = Deciding()
    assert wrapped.expectations_ == "recall 0.9"
    assert wrapped.decide("mcc").classifier_.decision == "mcc"


def test_weights_reach_the_classifier(rows):
    frame, y = rows
    weight = np.where(np.arange(ROWS) % 2, 1.0, 0.0)
    by_weight = TabularASTraClassifier(QUICK).fit(frame, y, sample_weight=weight)
    assert not np.allclose(
        by_weight.decision_function(frame),
        TabularASTraClassifier(QUICK).fit(frame, y).decision_function(frame),
    )


def test_another_classifier_may_learn(rows):
    frame, y = rows
    linear = TabularASTraClassifier(LogisticRegression(class_weight="balanced", max_iter=5000))
    assert (linear.fit(frame, y).predict(frame)[:10] == "fraud").mean() >= 0.5


@pytest.mark.slow
def test_scikit_learns_contract():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(TabularASTraClassifier(QUICK))
