import gzip
import os

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from astralearn import ASTraClassifier, load, scoring
from astralearn.datasets.errors import UnreadableError, UnwritableError
from astralearn.fit_score import fit_table
from astralearn.model_file import ModelFileError
from astralearn.scoring import score_table
from astralearn.tabular import TabularASTraClassifier
from astralearn.tabular.choosing import FlagRule
from card_tables import QUICK, ROWS, table, write_cards

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_cards(tmp_path_factory.mktemp("tables"))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(scoring, "SCORED_AT_ONCE", 400)


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
    frame.drop(columns="card").to_csv(tmp_path / "in.csv")
    with pytest.raises(ValueError, match="the table has no column card, which was learned from"):
        score_table(model, tmp_path / "in.csv", tmp_path / "out.csv")


def test_sheets_are_scored_too(folder, tmp_path):
    new = pd.read_parquet(folder / "new.parquet").head(50)
    new.to_excel(tmp_path / "new.xlsx", index=False)
    assert (
        score_table(folder / "cards.astra", tmp_path / "new.xlsx", tmp_path / "out.csv").rows == 50
    )
    out = pd.read_csv(tmp_path / "out.csv")
    assert out.columns[:-3].tolist() == new.columns.tolist()
    np.testing.assert_allclose(out["risk"], load(folder / "cards.astra").predict_risk(new))


def test_a_place_that_cannot_be_written_is_said_before_a_row_is_read(folder, tmp_path):
    for place in (tmp_path / "none" / "out.csv", tmp_path):
        with pytest.raises(UnwritableError, match="use another `out`"):
            score_table(folder / "cards.astra", folder / "no such file.csv", place)


def test_amounts_are_scored_as_they_were_learned_in_every_block(tmp_path, monkeypatch):
    monkeypatch.setattr(scoring, "SCORED_AT_ONCE", 2)
    rng = np.random.default_rng(0)
    numbers = np.where(np.arange(400) < 8, 5000.0, 20.0) + rng.uniform(0, 9, 400).round(2)
    german = [f"{x:,.2f}".translate(str.maketrans(",.", ".,")) for x in numbers]
    frame = pd.DataFrame({"amount": german, "fraud": np.where(np.arange(400) < 8, "yes", "no")})
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = fit_table(tmp_path / "t.csv", "fraud", model=TabularASTraClassifier(QUICK))
    assert "amount is read as numbers, '5.005,73' as 5005.73" in found.notes
    # A block of nothing but "5.000", of which pandas would make 5.
    pd.DataFrame({"amount": ["5.000", "5.000", "20,5", "9.5.1"]}).to_csv(
        tmp_path / "new.csv", index=False
    )
    scored = score_table(found.model, tmp_path / "new.csv", tmp_path / "out.csv", explain=True)
    assert scored.notes == ["row 3 is not scored: 'amount' is '9.5.1'"]
    out = pd.read_csv(tmp_path / "out.csv")
    assert out["flag"].tolist()[:3] == [1, 1, 0]
    assert out["reasons"][0].startswith("amount 5,000, typically 2")


def test_what_is_no_model_of_a_table_is_named(folder, tmp_path):
    networks = ASTraClassifier(epochs=50, n_estimators=1, committee=False, decision="g_mean")
    y = np.arange(20) < 4
    networks.fit(np.c_[9.0 * y, np.ones(20)], y).save(tmp_path / "networks.astra")
    new, out = folder / "new.csv", tmp_path / "out.csv"
    with pytest.raises(ModelFileError, match="holds ASTraClassifier, which knows no columns"):
        score_table(tmp_path / "networks.astra", new, out)
    with pytest.raises(TypeError, match="model must be a TabularASTraClassifier or its file; foun"):
        score_table(networks, new, out)
    with pytest.raises(NotFittedError):
        score_table(TabularASTraClassifier(QUICK), new, out)
    with pytest.raises(TypeError, match=r"data must be a file; found DataFrame: .*takes frames"):
        score_table(folder / "cards.astra", pd.read_csv(new), out)
    assert os.listdir(tmp_path) == ["networks.astra"]


def test_reasons_are_no_formula_whatever_a_column_is_called(tmp_path):
    amount = np.where(np.arange(200) < 8, 9.0, 0.0) + np.linspace(0, 1, 200)
    frame = pd.DataFrame({"=1+1": amount, "fraud": np.where(np.arange(200) < 8, "yes", "no")})
    model = fit_table(frame, "fraud", model=TabularASTraClassifier(QUICK)).model
    frame[["=1+1"]].to_csv(tmp_path / "new.csv", index=False)
    score_table(model, tmp_path / "new.csv", tmp_path / "out.csv", explain=True)
    reasons = pd.read_csv(tmp_path / "out.csv")["reasons"].dropna()
    assert len(reasons)
    assert reasons.str.startswith("'=1+1 ").all()


CUT = gzip.compress(b"amount,age\n" + b"1,2\n" * 9)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("long.csv", b"amount,age\n1,2\n1,2,3\n", r"long\.csv cannot be read: .*Expected 2 fields"),
        ("longer.csv", b"amount,age\n1,2,3,4\n", r"longer\.csv "),
        ("twice.csv", b"amount,age,age\n1,2,3\n", r"twice\.csv has a second column 'age'"),
        ("open.csv", b'amount,age\n1,"2\n', r"open\.csv cannot be read: .*EOF inside string"),
        ("cut.csv.gz", CUT[:-9], r"cut\.csv\.gz cannot be read: Compressed file ended"),
        ("sum.csv.gz", CUT[:-8] + bytes(8), r"sum\.csv\.gz cannot be read: CRC check failed"),
        ("late.csv", b"amount,age\n" + b"1,2\n" * 99_999 + b"1,\xff\n", "is not UTF-8 text"),
        ("none.csv", b"", r"none\.csv cannot be read: No columns"),
        ("rows.csv", b"amount,age\n", r"rows\.csv has no rows"),
        ("cut.parquet", b"PAR1 PAR1", r"cut\.parquet cannot be read"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 12 else "",
)
def test_a_table_that_is_damaged_is_refused_by_its_name(tmp_path, name, content, said):
    frame = pd.DataFrame({"amount": [9.0] * 5 + [0.0] * 95, "age": np.arange(100) % 7 / 2})
    frame["fraud"] = np.where(np.arange(100) < 5, "yes", "no")
    keep = TabularASTraClassifier(QUICK, keep=["amount"])
    model = fit_table(frame, "fraud", model=keep).model
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnreadableError, match=said):
        score_table(model, tmp_path / name, tmp_path / "out.csv")
    assert os.listdir(tmp_path) == [name]


def test_separators_at_the_end_of_rows_and_short_rows_are_no_damage(folder, tmp_path):
    lines = (folder / "new.csv").read_text().splitlines()
    (tmp_path / "new.csv").write_text("\n".join([lines[0], *(f"{line}," for line in lines[1:])]))
    score_table(folder / "cards.astra", tmp_path / "new.csv", tmp_path / "out.csv")
    score_table(folder / "cards.astra", folder / "new.csv", tmp_path / "usual.csv")
    assert (tmp_path / "out.csv").read_text() == (tmp_path / "usual.csv").read_text()
