import numpy as np
import pandas as pd

from astralearn.tabular.dates import SINCE_PREVIOUS, days_since_previous, part_of, parts_of


def dates(*texts):
    return pd.Series(pd.to_datetime(list(texts), utc=True, format="ISO8601"))


def parts(*texts, absolute=False, is_grouped=False):
    return parts_of(dates(*texts), absolute=absolute, is_grouped=is_grouped)


def test_only_parts_that_carry_over():
    assert parts("2024-01-01", "2024-02-01") == ["weekday"]
    assert parts("2024-01-01T05:00", "2024-02-01") == ["weekday", "hour"]
    assert parts("2023-01-01", "2024-02-01", None) == ["weekday", "month"]
    assert parts(None) == ["weekday"]
    asked = parts("2024-01-01", absolute=True, is_grouped=True)
    assert asked == ["weekday", "day", SINCE_PREVIOUS]


def test_parts():
    some = dates("2024-12-31T06:30:00", None)
    expected = {"weekday": 1, "hour": 6.5, "month": 12, "day": 20088 + 6.5 / 24}
    for part, value in expected.items():
        np.testing.assert_allclose(part_of(some, part), [value, np.nan])


def test_the_previous_row_is_the_groups_own_in_time():
    some = dates("2024-01-05", "2024-01-01", "2024-01-02", None, "2024-01-04")
    gaps = days_since_previous(some, pd.Series(["a", "a", "b", "a", "b"]))
    np.testing.assert_array_equal(gaps, [4, np.nan, np.nan, np.nan, 2])
