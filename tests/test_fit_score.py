import os

import numpy as np
import pandas as pd
import pytest

from astralearn import ASTraClassifier, fit_score, load
from astralearn.datasets import NotTwoClassesError
from astralearn.fit_score import fit_table, score_table, show, suggest
from astralearn.tabular import TabularASTraClassifier
from astralearn.tabular.choosing import FlagRule

ROWS = 1500
QUICK = ASTraClassifier(committee=False, epochs=60, n_estimators=2, random_state=0)


def table(seed, positives):
    """Rows in which a positive's amount is the culprit, and nothing else tells."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": np.arange(ROWS),
            "amount": random.lognormal(3, 0.5, ROWS).round(2),
            "age": random.normal(40, 10, ROWS).round(1),
            "shop": random.choice(["a", "b", "c"], ROWS),
            "fraud": np.where(np.arange(ROWS) < positives, "yes", "no"),
        }
    )
    frame.loc[: positives - 1, "amount"] += 800
    return frame.sample(frac=1, random_state=seed)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fitted model, and a table to score: row 5 is bad."""
    folder = tmp_path_factory.mktemp("tables")
    table(0, 12).to_csv(folder / "cards.csv", index=False)
    fitted = fit_table(
        folder / "cards.csv",
        "fraud",
        model=TabularASTraClassifier(QUICK),
        out=folder / "cards.astra",
    )
    assert fitted.model.minority_class_ == "yes"
    assert any("'id' has another whole number" in note for note in fitted.notes)
    new = table(1, 60).drop(columns="fraud")
    new.to_parquet(folder / "new.parquet")
    new["amount"] = new["amount"].astype(object)
    new.iloc[5, 1] = "oops"
    new.to_csv(folder / "new.csv", index=False)
    return folder


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(fit_score, "ROWS_AT_ONCE", 400)


def scored_csv(folder, **options):
    scored = score_table(folder / "cards.astra", folder / "new.csv", folder / "out.csv", **options)
    return scored, pd.read_csv(folder / "out.csv")


def test_a_scored_table_has_risk_rank_flag_and_reasons(folder, small_blocks):
    read = []
    scored, out = scored_csv(folder, explain=True, progress=read.append)
    original = pd.read_csv(folder / "new.csv")
    pd.testing.assert_frame_equal(out[original.columns], original)
    assert out.columns[-4:].tolist() == ["risk", "rank", "flag", "reasons"]
    assert (scored.rows, scored.bad, sum(read)) == (ROWS, 1, 2 * ROWS)
    assert scored.notes == ["row 5 is not scored: 'amount' is 'oops'"]
    assert out.loc[5, ["risk", "rank", "flag", "reasons"]].isna().all()
    known = out.drop(index=5)
    in_order = known.sort_values("rank")
    assert in_order["rank"].tolist() == list(range(1, ROWS))
    assert in_order["risk"].is_monotonic_decreasing
    assert known["flag"].sum() == scored.flagged
    assert scored.expected_positives == pytest.approx(known["risk"].sum())
    is_positive = known["amount"].astype(float) > 500
    assert known.loc[is_positive, "flag"].mean() >= 0.95
    assert known.loc[known["flag"] == 0, "reasons"].isna().all()
    named_first = known.loc[is_positive & (known["flag"] == 1), "reasons"].str.startswith("amount ")
    assert named_first.mean() >= 0.95


def test_scores_agree_however_they_are_made(folder, small_blocks):
    model = load(folder / "cards.astra")
    new = pd.read_parquet(folder / "new.parquet")
    score_table(model, folder / "new.parquet", folder / "out.parquet")
    out = pd.read_parquet(folder / "out.parquet")
    pd.testing.assert_frame_equal(out[new.columns], new)
    np.testing.assert_allclose(out["risk"], model.predict_risk(new), atol=1e-12)
    assert out["flag"].tolist() == (model.predict(new) == "yes").astype(int).tolist()
    _, from_csv = scored_csv(folder)
    known = from_csv["risk"].notna()
    np.testing.assert_allclose(from_csv["risk"][known], out["risk"][known.to_numpy()], atol=1e-12)


def test_rules_of_flags(folder):
    for rule, expected in [(FlagRule(top=7), 7), (FlagRule(share=0.01), 15), (FlagRule(top=0), 0)]:
        scored, out = scored_csv(folder, rule=rule)
        assert scored.flagged == expected
        assert set(out.loc[out["flag"] == 1, "rank"]) == set(range(1, expected + 1))
    _, out = scored_csv(folder, rule=FlagRule(cost_miss=99, cost_alarm=1))
    known = out["risk"].notna()
    assert ((out["risk"] >= 0.01) == (out["flag"] == 1))[known].all()


def test_columns_are_looked_at_before_a_row_is_scored(folder, tmp_path):
    new = pd.read_parquet(folder / "new.parquet")
    for frame, message in [
        (new.drop(columns="age"), "no column age, which was learned from"),
        (new.assign(amount="much"), "'amount' was learned as numbers, and has none here.*'much'"),
        (new.assign(risk=1), "has a column 'risk' already"),
    ]:
        frame.to_csv(tmp_path / "new.csv", index=False)
        with pytest.raises(ValueError, match=message):
            score_table(folder / "cards.astra", tmp_path / "new.csv", tmp_path / "out.csv")
        assert os.listdir(tmp_path) == ["new.csv"]
    new.assign(more=1).to_csv(tmp_path / "new.csv", index=False)
    scored = score_table(folder / "cards.astra", tmp_path / "new.csv", tmp_path / "out.csv")
    assert scored.notes == ["columns that were not learned from are kept and not used: more"]


def test_the_previous_row_of_a_group_is_the_same_in_blocks(tmp_path, small_blocks):
    frame = table(0, 12).drop(columns="id")
    days = np.random.default_rng(0).integers(60, size=ROWS)
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(days, "D")
    frame["card"] = np.random.default_rng(1).choice(["x", "y", "z"], ROWS)
    model = fit_table(frame, "fraud", model=TabularASTraClassifier(QUICK, group="card")).model
    frame.to_parquet(tmp_path / "in.parquet")
    score_table(model, tmp_path / "in.parquet", tmp_path / "out.parquet", explain=True)
    out = pd.read_parquet(tmp_path / "out.parquet")
    np.testing.assert_allclose(out["risk"], model.predict_risk(frame.drop(columns="fraud")))


def test_suggestions(folder):
    new = pd.read_parquet(folder / "new.parquet")
    found = suggest(folder / "cards.astra", new, 20)
    assert len(found.rows) == 20
    assert found.rows.columns.tolist() == [*new.columns, "risk", "reasons"]
    assert (found.rows["amount"] > 500).sum() >= 14
    assert found.rows["reasons"].iloc[0].startswith("amount ")
    risk = load(folder / "cards.astra").predict_risk(new)
    assert found.expected_positives == pytest.approx(risk.sum())
    assert len(suggest(folder / "cards.astra", new.head(3), 20).rows) == 3
    bad = new.head(3).assign(amount=[1.0, "oops", 2.0])
    assert suggest(folder / "cards.astra", bad, 20).rows["age"].isin(bad["age"].iloc[[0, 2]]).all()
    with pytest.raises(ValueError, match="n must be at least 1; found 0"):
        suggest(folder / "cards.astra", new, 0)


def test_the_card_says_what_the_model_is(folder):
    card = (folder / "cards.astra.md").read_text()
    assert card == show(folder / "cards.astra")
    for part in ("`cards.csv`, 1,500 rows, 12 of them positive", "left out: `id`", "class `yes`"):
        assert part in card


def test_labels(folder):
    frame = table(0, 12)
    three = frame.assign(fraud=np.where(frame["age"] > 60, "maybe", frame["fraud"]))
    model = TabularASTraClassifier(QUICK)
    with pytest.raises(NotTwoClassesError, match="3 values"):
        fit_table(three, "fraud", model=model)
    fitted = fit_table(three, "fraud", positive="yes", model=model)
    assert sorted(fitted.model.classes_) == ["not yes", "yes"]
    with pytest.raises(ValueError, match="positive must be the rarer class"):
        fit_table(frame, "fraud", positive="no", model=model)
