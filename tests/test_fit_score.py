import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from astralearn import load
from astralearn.datasets import NotTwoClassesError
from astralearn.datasets.errors import UnwritableError
from astralearn.fit_score import fit_table, show, suggest
from astralearn.tabular import TabularASTraClassifier
from card_tables import QUICK, table, write_cards

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_cards(tmp_path_factory.mktemp("tables"))


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
    with pytest.raises(TypeError, match=r"n must be a whole number; found 2\.5"):
        suggest(folder / "cards.astra", new, 2.5)


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


def test_frames_of_polars_are_tables_too(folder):
    frame = pl.from_pandas(table(0, 12))
    fitted = fit_table(frame, "fraud", model=TabularASTraClassifier(QUICK))
    new = pd.read_parquet(folder / "new.parquet")
    risk = load(folder / "cards.astra").predict_risk(new)
    np.testing.assert_allclose(fitted.model.predict_risk(pl.from_pandas(new)), risk, atol=1e-12)
    found = suggest(fitted.model, pl.from_pandas(new), 5).rows
    assert found["amount"].tolist() == suggest(fitted.model, new, 5).rows["amount"].tolist()


def test_a_place_that_cannot_be_written_is_said_before_the_fit(tmp_path):
    with pytest.raises(UnwritableError, match="use another `out`"):
        fit_table(tmp_path / "no such file.csv", "fraud", out=tmp_path / "none" / "m.astra")


def test_dirty_columns(tmp_path):
    frame = table(0, 12).astype(object)
    frame.iloc[7, 1] = "n/a?"
    days = pd.Timestamp("2024-01-31") + pd.to_timedelta(np.arange(len(frame)) % 60, "D")
    frame["when"] = days.strftime("%d.%m.%Y")
    frame.to_csv(tmp_path / "dirty.csv", index=False)
    fitted = fit_table(tmp_path / "dirty.csv", "fraud", model=TabularASTraClassifier(QUICK))
    assert "amount is read as numbers, and as a gap where it is 'n/a?'" in fitted.notes
    assert "when is read as dates like 31.12.2024" in fitted.notes
    again = pd.read_csv(tmp_path / "dirty.csv").drop(columns="fraud")
    assert np.isfinite(fitted.model.predict_risk(again)).all()


def test_what_is_no_table_or_no_model_of_one_is_named(folder):
    frame = table(0, 12)
    with pytest.raises(TypeError, match="found ASTraClassifier: pass it as its `classifier`"):
        fit_table(frame, "fraud", model=QUICK)
    with pytest.raises(TypeError, match=r"X must be a data frame or an array .*; found dict"):
        fit_table({"a": [1]}, "fraud")
    with pytest.raises(TypeError, match="model must be a TabularASTraClassifier or its file"):
        show(QUICK)
    features = frame.drop(columns=["fraud", "id"])
    lines = TabularASTraClassifier(LogisticRegression(max_iter=9000)).fit(features, frame["fraud"])
    with pytest.raises(TypeError, match="which LogisticRegression does not give"):
        suggest(lines, features)


def test_a_pool_without_a_row_to_look_at_is_said(folder):
    new = pd.read_parquet(folder / "new.parquet")
    with pytest.raises(ValueError, match="pool has no rows"):
        suggest(folder / "cards.astra", new.iloc[:0])
    with pytest.raises(ValueError, match="no row that can be read: column 'amount' was learned as"):
        suggest(folder / "cards.astra", new.assign(amount="oops"))


def test_names_of_a_pool_may_be_numbers(folder):
    frame = table(0, 12).drop(columns=["id", "shop"]).rename(columns={"amount": 7})
    fitted = fit_table(frame, "fraud", model=TabularASTraClassifier(QUICK))
    pool = frame.drop(columns="fraud").set_axis(range(1000, 1000 + len(frame)))
    found = suggest(fitted.model, pool, 5)
    assert found.rows.index.min() >= 1000
    assert "7" in found.rows
