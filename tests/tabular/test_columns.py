import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from astralearn.tabular.columns import DATE, NUMBER, WORD, as_frame, listed, values_of
from astralearn.tabular.readings import kind_of


def test_values_of_another_kind_are_missing_and_marked():
    numbers = values_of(pd.Series(["1.5", "abc", None, "True", "1e300"]), NUMBER)
    np.testing.assert_array_equal(numbers.values, [1.5, np.nan, np.nan, 1.0, np.nan])
    assert numbers.is_bad.tolist() == [False, True, False, False, False]
    dates = values_of(pd.Series(["2024-01-02", "soon", None]), DATE)
    assert dates.values.isna().tolist() == [False, True, True]
    assert dates.is_bad.tolist() == [False, True, False]
    assert values_of(pd.Series([5, 6]), DATE).is_bad.all()
    assert values_of(pd.to_datetime(pd.Series(["2024"])), NUMBER).is_bad.all()
    words = values_of(pd.Series([1, None, "a"], dtype=object), WORD)
    assert words.values.tolist() == ["1", "missing", "a"]


def test_frames_of_polars_and_arrays():
    table = pl.DataFrame({"a": [1, None], "b": ["x", None], "c": ["2024-01-01", "2024-01-02"]})
    frame = as_frame(table.with_columns(pl.col("c").str.to_date()))
    assert [kind_of(frame[name]) for name in frame] == [NUMBER, WORD, DATE]
    assert as_frame(np.ones((2, 2))).columns.tolist() == ["0", "1"]
    with pytest.raises(ValueError, match="second column '1'"):
        as_frame(pd.DataFrame([[1, 2]], columns=[1, "1"]))


def test_tables_of_arrow_keep_names_and_kinds():
    frame = pd.DataFrame(
        {"a": [1.5, None], "b": ["x", None], "c": pd.to_datetime(["2024-01-01"] * 2)}
    )
    pd.testing.assert_frame_equal(as_frame(pa.Table.from_pandas(frame)), frame)


@pytest.mark.filterwarnings("error")
def test_frames_that_are_yet_to_be_read_are_named():
    with pytest.raises(TypeError, match=r"X must be .*found LazyFrame"):
        as_frame(pl.LazyFrame({"a": [1]}))


def test_long_lists_are_cut():
    assert listed("abcdefg") == "a, b, c, d, e and 2 more"


def test_names_of_several_levels_are_one_text():
    frame = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]))
    assert list(as_frame(frame).columns) == ["('a', 1)", "('a', 2)"]


def test_integers_beyond_every_float_are_too_large():
    found = values_of(pd.Series([10**400, 3, None, "x"], dtype=object), NUMBER)
    np.testing.assert_array_equal(found.values, [np.nan, 3, np.nan, np.nan])
    assert found.is_bad.tolist() == [False, False, False, True]


def test_complex_numbers_are_no_numbers_of_a_column():
    found = values_of(pd.Series([1j, 2.0]), NUMBER)
    assert found.is_bad.all()


def test_text_that_is_no_unicode_is_named():
    column = pd.Series(["a", "\ud800"], dtype=object, name="shop")
    with pytest.raises(ValueError, match="column 'shop' has text that is no Unicode"):
        values_of(column, WORD)
