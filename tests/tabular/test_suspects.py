import numpy as np
import pandas as pd
import pytest

from astralearn.tabular.suspects import check_spelling, suspects

ROWS = 200
POSITIVE = np.arange(ROWS) < 5
RANDOM = np.random.default_rng(0)


def found(column):
    (suspect,) = suspects(pd.DataFrame({"x": column}), POSITIVE) or [None]
    return suspect and (suspect.why, suspect.is_clear)


@pytest.mark.parametrize(
    ("column", "why", "is_clear"),
    [
        (RANDOM.permutation(ROWS) + 1000, "another whole number", True),
        (RANDOM.permutation(ROWS) ** 3, "another whole number", False),
        ([f"a{i}" for i in range(ROWS)], "another text", True),
        ([f"a note on {i}" for i in range(ROWS)], "another text", False),
        (np.where(POSITIVE, "x", "y"), "copies the label", True),
        (~POSITIVE, "copies the label", True),
        (np.where(POSITIVE, np.nan, RANDOM.normal(size=ROWS)), "filled in for one class", True),
        (np.where(POSITIVE, "2024-01-01", None), "filled in for one class", True),
        (np.where(POSITIVE, 9, RANDOM.integers(5, size=ROWS)), "in all positives and no", False),
    ],
)
def test_suspects(column, why, is_clear):
    said, clear = found(column)
    assert why in said
    assert clear == is_clear


@pytest.mark.parametrize("name", ["id", "card_id", "customerId", "OrderID", "order key"])
def test_a_name_that_says_id(name):
    codes = RANDOM.permutation(ROWS) ** 3
    (suspect,) = suspects(pd.DataFrame({name: codes}), POSITIVE)
    assert suspect.is_clear
    (paid,) = suspects(pd.DataFrame({"paid": codes}), POSITIVE)
    assert not paid.is_clear


def test_what_is_no_suspect():
    assert found(RANDOM.normal(size=ROWS)) is None
    assert found(RANDOM.integers(50, size=ROWS)) is None
    assert found(np.where(POSITIVE, RANDOM.normal(size=ROWS) + 9, 0.0)) is None
    noisy = POSITIVE.copy()
    noisy[100] = True
    assert found(noisy) is None
    assert suspects(pd.DataFrame({"x": range(50)}), POSITIVE[:50]) == []
    one = np.arange(ROWS) < 1
    assert suspects(pd.DataFrame({"x": one}), one) == []


@pytest.mark.parametrize("labels", [["yes", "Yes", "no"], ["y", "yes"], ["a", "a "], ["T", "true"]])
def test_two_spellings_of_one_label(labels):
    with pytest.raises(ValueError, match=r"'fraud' has '.*', '.*', which look like spellings"):
        check_spelling(labels, "fraud")


def test_other_labels():
    check_spelling(["yes", "no", 1, 0, "n1"], "fraud")


@pytest.mark.parametrize("values", [[[1], [2]], [{"a": 1}, {"a": 2}]], ids=["lists", "dicts"])
def test_values_that_cannot_be_counted_are_told_apart_as_texts(values):
    is_positive = np.arange(200) < 5
    copy = pd.Series([values[int(positive)] for positive in is_positive], dtype=object)
    (found,) = suspects(pd.DataFrame({"copy": copy, "half": values * 100}), is_positive)
    assert (found.column, found.why) == ("copy", "copies the label")
