"""A file read in blocks gives the model of the table in memory."""

import numpy as np
import pandas as pd
import pytest

from astralearn import large_table
from astralearn.datasets.errors import MissingColumnError, NotTwoClassesError
from astralearn.fit_score import fit_table
from astralearn.large_table import is_large
from astralearn.tabular import TabularASTraClassifier

N = 103_000


def model(**options):
    from astralearn import ASTraClassifier

    quick = ASTraClassifier(epochs=10, n_estimators=5, random_state=0)
    return TabularASTraClassifier(quick, random_state=0, **options)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"])
    frame["shop"] = rng.choice(["x", "y"], N)
    frame["label"] = np.where(np.arange(N) % 2500 == 7, "rare", "usual")
    frame.loc[frame["label"] == "rare", "a"] += 4
    frame.loc[5, "label"] = None
    return frame


@pytest.fixture
def blocks(monkeypatch):
    monkeypatch.setattr(large_table, "LARGE", 1 << 20)
    monkeypatch.setattr(large_table, "READ_AT_ONCE", 30_000)


@pytest.mark.slow
def test_blocks_give_the_model_of_the_whole(table, tmp_path, blocks):
    table.to_parquet(tmp_path / "t.parquet", row_group_size=17_000)
    in_blocks = fit_table(tmp_path / "t.parquet", "label", model=model())
    assert in_blocks.notes[0] == (
        "102,999 rows are more than 0 GB: they are read in blocks, and columns are learned from "
        "100,042 of them"
    )
    assert "1 rows without 'label' were left out" in in_blocks.notes
    assert len(in_blocks.notes) == len(set(in_blocks.notes))
    assert not any("not learned from" in note for note in in_blocks.notes)
    whole = fit_table(table, "label", model=model())
    mine, theirs = in_blocks.model, whole.model
    assert (mine.n_rows_, mine.n_positives_) == (theirs.n_rows_, theirs.n_positives_)
    assert (mine.minority_class_, mine.target_, mine.data_) == ("rare", "label", "t.parquet")
    np.testing.assert_allclose(mine.classifier_.mean_, theirs.classifier_.mean_, rtol=1e-9)
    some = table.drop(columns="label")[::50]
    np.testing.assert_allclose(mine.predict_risk(some), theirs.predict_risk(some), rtol=1e-6)


def test_what_is_wrong_is_said_before_training(table, tmp_path, blocks):
    path = tmp_path / "t.parquet"
    table.assign(label="usual").to_parquet(path)
    with pytest.raises(NotTwoClassesError, match="only one value"):
        fit_table(path, "label", model=model())
    with pytest.raises(MissingColumnError, match="no column 'labels'; there are a, b, shop, label"):
        fit_table(path, "labels", model=model())
    table.assign(shop=np.where(np.arange(N) % 3, "x", "y")).to_parquet(path)
    with pytest.raises(ValueError, match="positive must be the rarer class of 'shop'"):
        fit_table(path, "shop", positive="x", model=model())


def test_which_tables_are_read_in_blocks(table, tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    table.to_parquet(path)
    assert not is_large(path, model())
    monkeypatch.setattr(large_table, "LARGE", 1 << 20)
    assert is_large(path, model())
    assert not is_large(tmp_path / "t.csv", model())
    assert not is_large(tmp_path / "absent.parquet", model())
    assert not is_large(path, model(group="shop"))
    assert not is_large(
        path, TabularASTraClassifier(model().classifier.set_params(committee=False))
    )
