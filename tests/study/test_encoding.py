import numpy as np
import pandas as pd

from astralearn.study import encoder_for
from astralearn.study.encoding import described

MIXED = pd.DataFrame(
    {
        "amount": [1.0, np.nan, 3.0, 4.0],
        "member": [True, False, True, True],
        "when": pd.to_datetime(["2020-01-01", None, "2020-01-03", "2020-01-03"]),
        "kind": ["a", "b", None, "a"],
        "shade": pd.Categorical(["x", "y", "x", "y"]),
    }
)


def test_complete_numbers_need_nothing():
    assert encoder_for(np.ones((3, 2))) is None
    assert described(np.ones((3, 2))) == []


def test_gaps_in_an_array_are_filled_with_the_training_rows_median():
    X = np.array([[1.0], [3.0], [np.nan], [100.0]])
    encoder = encoder_for(X).fit(X[:3])
    np.testing.assert_array_equal(encoder.transform(X), [[1, 0], [3, 0], [2, 1], [100, 0]])
    assert described(X) == [
        "1 missing numbers: filled with their column's median, and marked in a column of their own"
    ]


def test_mixed_columns():
    encoded = encoder_for(MIXED).fit_transform(MIXED)
    assert encoded.dtype == float
    assert np.isfinite(encoded).all()
    expected = [
        # amount, amount missing, member, … each pipeline: values then where missing
        *([1, 3, 3, 4], [1, 0, 1, 1], [0, 1, 0, 0]),
        *([18262, 18264, 18264, 18264], [0, 1, 0, 0]),
        *([1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]),
        *([1, 0, 1, 0], [0, 1, 0, 1]),
    ]
    np.testing.assert_array_equal(encoded.T, expected)


def test_categories_unseen_in_training_do_not_raise_and_rare_ones_share_a_column():
    frame = pd.DataFrame({"code": [f"c{i % 50}" for i in range(500)]})
    encoder = encoder_for(frame).fit(frame)
    assert encoder.transform(frame).shape == (500, 20)
    assert encoder.transform(pd.DataFrame({"code": ["never seen"]})).sum() == 1  # among the rare


def test_a_column_empty_in_training_keeps_its_place():
    frame = pd.DataFrame({"x": [np.nan, np.nan, 1.0], "k": ["a", "b", "a"]})
    encoder = encoder_for(frame).fit(frame.iloc[:2])
    assert np.isfinite(encoder.transform(frame)).all()


def test_what_is_done_is_said():
    assert described(MIXED) == [
        "one-hot encoded, at most 20 categories a column, missing as one of them: kind, shade",
        "turned into days since 1970: when",
        "2 missing numbers: filled with their column's median, and marked in a column of their own",
    ]
    many = pd.DataFrame({f"c{i}": ["a"] for i in range(7)})
    assert described(many)[0].endswith(": c0, c1, c2, c3, c4 and 2 more")


def test_numbers_and_dates_read_as_text_are_named():
    rows = range(400)
    texts = {
        "amount": [f"{i},50" for i in rows],
        "day": [f"{i % 28 + 1:02}.{i % 12 + 1:02}.2024" for i in rows],
    }
    frame = pd.DataFrame(
        {
            **texts,
            "country": [f"c{i % 3}" for i in rows],
            "shop": [f"s{i % 30 if i % 3 else 0}" for i in rows],
        }
    )
    assert described(frame)[1] == (
        "most rows have a text beyond those categories, and look alike: amount, day (read as numbers are columns of nothing but 1234.5 and "
        "gaps, as dates of 2024-12-31)"
    )
