import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

from astralearn.model_file import load, save
from astralearn.tabular import TableEncoder, encoder_for

MIXED = pd.DataFrame(
    {
        "amount": [1.0, np.nan, 3.0, 4.0],
        "member": [True, False, True, True],
        "when": pd.to_datetime(["2020-01-01", None, "2020-01-03", "2020-01-03"]),
        "kind": ["a", "b", None, "a"],
        "shade": pd.Categorical(["x", "y", "x", "y"]),
    }
)
MANY = pd.DataFrame({"code": [f"c{i % 50}" for i in range(500)]})


def test_complete_numbers_need_nothing():
    assert encoder_for(np.ones((3, 2))) is None


def test_gaps_in_an_array_are_filled_with_the_training_rows_median():
    X = np.array([[1.0], [3.0], [np.nan], [100.0]])
    encoder = encoder_for(X).fit(X[:3])
    np.testing.assert_array_equal(encoder.transform(X), [[1, 0], [3, 0], [2, 1], [100, 0]])


def test_mixed_columns():
    encoder = encoder_for(MIXED)
    encoded = encoder.fit_transform(MIXED)
    assert encoded.dtype == float
    expected = {
        "amount": [1, 3, 3, 4],
        "member": [1, 0, 1, 1],
        "weekday of when": [2, 4, 4, 4],
        "amount is missing": [0, 1, 0, 0],
        "weekday of when is missing": [0, 1, 0, 0],
        "kind is a": [1, 0, 0, 1],
        "kind is b": [0, 1, 0, 0],
        "kind is missing": [0, 0, 1, 0],
        "shade is x": [1, 0, 1, 0],
        "shade is y": [0, 1, 0, 1],
    }
    np.testing.assert_array_equal(encoded.T, list(expected.values()))
    assert encoder.get_feature_names_out().tolist() == list(expected)
    places = {feature.name: feature.places for feature in encoder.features()}
    assert places == {
        "amount": [0, 3],
        "member": [1],
        "weekday of when": [2, 4],
        "kind": [5, 6, 7],
        "shade": [8, 9],
    }


def test_categories_unseen_in_training_do_not_raise_and_rare_ones_share_a_column():
    encoder = encoder_for(MANY).fit(MANY)
    (feature,) = encoder.features()
    assert encoder.transform(MANY).shape == (500, 21)
    new = encoder.transform(pd.DataFrame({"code": ["never seen"]}))
    assert new[0, feature.places[19]] == 1  # among the rare
    assert new[0, :19].sum() == 0
    assert new[0, 20] == np.log10(0.5 / 500)
    assert encoder.transform(MANY)[0, 20] == np.log10(10.5 / 500)


def test_dates_are_days_only_where_asked():
    encoder = TableEncoder(absolute_days=True, drop=["kind", "shade"]).fit(MIXED)
    at = encoder.get_feature_names_out().tolist().index("day of when")
    assert encoder.transform(MIXED)[:, at].tolist() == [18262, 18264, 18264, 18264]


def test_days_since_the_groups_previous_row():
    frame = pd.DataFrame(
        {"when": ["2024-01-01", "2024-01-03", "2024-01-02"], "card": ["a", "a", "b"]},
        index=[7, 7, 7],
    )
    encoder = TableEncoder(group="card").fit(frame)
    assert encoder.transform(frame)[:, 1:].tolist() == [[2, 1], [2, 0], [2, 1]]
    with pytest.raises(ValueError, match="no column 'card'"):
        encoder.transform(frame[["when"]])


def test_a_column_empty_in_training_keeps_its_place():
    frame = pd.DataFrame({"x": [np.nan, np.nan, 1.0], "k": ["a", "b", "a"]})
    encoder = encoder_for(frame).fit(frame.iloc[:2])
    assert np.isfinite(encoder.transform(frame)).all()


def test_columns_that_are_missing_new_or_of_another_kind_are_named():
    encoder = encoder_for(MIXED).fit(MIXED)
    with pytest.raises(ValueError, match="no column 'amount', which was learned from"):
        encoder.transform(MIXED.drop(columns="amount"))
    with pytest.raises(ValueError, match="'amount' was learned as numbers; row 2 has 'ten'"):
        encoder.transform(MIXED.assign(amount=[1, 2, "ten", 4]))
    with pytest.warns(UserWarning, match="not learned from are left out: more"):
        encoder.transform(MIXED.assign(more=1))
    with pytest.warns(UserWarning, match="'kind' was learned as words, and has numbers here"):
        encoder.transform(MIXED.assign(kind=1.5))
    with pytest.raises(ValueError, match="X has 2 features, but TableEncoder is expecting 5"):
        encoder.transform(np.ones((2, 2)))
    with pytest.raises(ValueError, match="it has no 'nothing'"):
        TableEncoder(drop=["nothing"]).fit(MIXED)
    with pytest.raises(ValueError, match="leave no column"):
        TableEncoder(drop=list(MIXED)).fit(MIXED)


def test_texts_are_read_as_the_kind_that_was_learned():
    encoder = encoder_for(MIXED).fit(MIXED)
    texts = MIXED.astype(object).where(MIXED.notna(), None).map(lambda v: v and str(v))
    texts = texts.assign(member=["True", "False", "True", "true"])
    np.testing.assert_array_equal(encoder.transform(texts), encoder.transform(MIXED))


def test_a_model_file_holds_it(tmp_path):
    encoder = encoder_for(MANY).fit(MANY)
    save(encoder, tmp_path / "encoder")
    np.testing.assert_array_equal(
        load(tmp_path / "encoder").transform(MANY), encoder.transform(MANY)
    )


def test_scikit_learns_contract():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(TableEncoder())


def test_many_categories_take_time_in_proportion():
    words = pd.DataFrame({"code": np.arange(30_000).astype(str)}) + "x"
    (feature,) = TableEncoder().fit(words).features()
    assert len(feature.categories) == 20
