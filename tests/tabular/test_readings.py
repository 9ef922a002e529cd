from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from astralearn.tabular.columns import DATE, NUMBER, WORD
from astralearn.tabular.readings import Reading, kind_of, read, reading_of, said_of_reading, typed

COLUMNS = {
    NUMBER: [
        [1, 2],
        [1.5, np.nan],
        [True, False],
        [Decimal("1.5"), None],
        ["123456789012345678901", "-1"],
        pd.to_timedelta(["1D", "2D"]),
    ],
    DATE: [["2024-12-31", None], ["2024-12-31T06:00:00Z", "2024-01-01"], pd.to_datetime(["2024"])],
    WORD: [
        ["a", None],
        ["12", "x"],
        ["1", "2"],
        pd.Categorical([1, 2]),
        ["2024-13-45", "a"],
        ["2024-13-45"],
        [None],
        ["01/02/2024", "03/04/2024"],
        ["01234"] * 200 + ["?"],
    ],
}


@pytest.mark.parametrize(
    ("kind", "values"), [(kind, values) for kind, of in COLUMNS.items() for values in of]
)
def test_kinds(kind, values):
    assert kind_of(pd.Series(values)) == kind


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["31.12.2024", "1.2.2024"], "31.12.2024"),
        (["31.12.2024 6:30", "01.02.2024 16:30:05"], "31.12.2024"),
        (["2024/12/31", "2024/02/01"], "2024/12/31"),
        (["31/12/2024", "01/02/2024"], "31/12/2024"),
        (["12/31/2024", "02/01/2024"], "12/31/2024"),
    ],
)
def test_orders_of_dates(texts, order):
    column = pd.Series(texts, name="when")
    reading = reading_of(column)
    assert reading == Reading(DATE, order)
    dates = read(column, reading).values
    assert dates.dt.date.astype(str).tolist() == ["2024-12-31", "2024-02-01"]
    pd.testing.assert_series_equal(typed(column), dates)
    assert said_of_reading(column, reading) == [f"when is read as dates like {order}"]
    if ":" in texts[0]:
        assert dates.dt.hour.tolist() == [6, 16]
    # A later table is read in the order that was learned.
    assert read(pd.Series([texts[1], "soon", None]), reading).is_bad.tolist() == [
        False,
        True,
        False,
    ]


def test_a_few_other_texts_among_numbers_or_dates_are_gaps():
    numbers = pd.Series([*map(str, np.arange(200) / 4), "n/a?", None], name="amount")
    reading = reading_of(numbers)
    assert reading == Reading(NUMBER, gaps=("n/a?",))
    found = read(numbers, reading)
    assert not found.is_bad.any()
    np.testing.assert_array_equal(found.values, [*np.arange(200) / 4, np.nan, np.nan])
    np.testing.assert_array_equal(typed(numbers), found.values)
    assert read(pd.Series(["1.5", "ten"]), reading).is_bad.tolist() == [False, True]
    said = "amount is read as numbers, and as a gap where it is 'n/a?'"
    assert said_of_reading(numbers, reading) == [said]
    dates = pd.Series(["2024-01-01"] * 150 + ["soon"])
    assert reading_of(dates) == Reading(DATE, gaps=("soon",))
    assert kind_of(pd.Series(["1.5"] * 50 + ["x"])) == WORD  # two per cent


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["$1,234.50", "€3.00"], "write values like '$1,234.50' as 1234.5"),
        (["1,234", "3,500"], "write values like '1,234' as 1234.5"),
        (["01/02/2024", "03/04/2024"], "day and month of '01/02/2024' cannot be told apart"),
        (
            ["1.5"] * 90 + ["unknown", "?"] * 5,
            "leave cells with 'unknown', '?' empty to make it numbers, as 90%",
        ),
        (
            ["31.12.2024"] * 95 + ["open"] * 5,
            "leave cells with 'open' empty to make it dates, as 95%",
        ),
    ],
)
def test_words_that_look_like_more_are_named(texts, why):
    column = pd.Series(texts, name="x")
    (said,) = said_of_reading(column, reading_of(column))
    assert said.startswith(f"x is read as words: {why}")


def test_amounts_are_numbers_in_later_tables_too():
    column = pd.Series(
        [*(f"${k},250.50" for k in range(1, 200)), "$3.00", "?", None], name="amount"
    )
    reading = reading_of(column)
    assert reading == Reading(NUMBER, gaps=("?",), mark=".")
    found = read(column, reading)
    assert not found.is_bad.any()
    expected = [*(1000 * k + 250.5 for k in range(1, 200)), 3.0, np.nan, np.nan]
    np.testing.assert_array_equal(found.values, expected)
    np.testing.assert_array_equal(typed(column), expected)
    said = "amount is read as numbers, '$100,250.50' as 100250.5, and as a gap where it is '?'"
    assert said_of_reading(column, reading) == [said]
    later = read(pd.Series(["$1.00", "2.5", "1e3", "two", None]), reading)
    np.testing.assert_array_equal(later.values, [1, 2.5, 1000, np.nan, np.nan])
    assert later.is_bad.tolist() == [False, False, False, True, False]
    np.testing.assert_array_equal(read(pd.Series([2.5]), reading).values, [2.5])


@pytest.mark.parametrize(
    "texts", [["C0123", "C0456"], ["123", "456"], ["a b", "c"], [None], ["1", "2", "A"]]
)
def test_nothing_is_said_of_words(texts):
    column = pd.Series(texts, name="x", dtype=object)
    assert said_of_reading(column, reading_of(column)) == []


def test_columns_that_nothing_reads_are_refused_by_name():
    for values, said in (([1j, 2.0], "complex numbers"), (["a", "\ud800"], "no Unicode")):
        with pytest.raises(ValueError, match=f"column 'c' has .*{said}"):
            reading_of(pd.Series(values, dtype=None if said[0] == "c" else object, name="c"))
