from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from astralearn.datasets import (
    MissingColumnError,
    NotTwoClassesError,
    Problem,
    Redraw,
    UnreadableError,
    problem_from_frame,
)

Y = np.array([0, 1] * 10 + [0] * 80, dtype=np.int8)


def test_the_rarer_value_is_the_positive_one():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "t": ["good", "bad", "good"]})
    problem = problem_from_frame(frame, "t", name="p")
    assert problem.y.tolist() == [0, 1, 0]
    assert problem.labels == ("good", "bad")
    assert problem.X.tolist() == [[1.0], [2.0], [3.0]]


@pytest.mark.parametrize(
    "values",
    [
        [0, 1, 0, 2],
        [0.0, 1.0, 0.0, 2.0],
        ["0", "1", "0", "2"],
        pd.Categorical(["0", "1", "0", "2"]),
    ],
)
def test_a_chosen_positive_stands_against_all_others(values):
    frame = pd.DataFrame({"x": range(4), "t": values})
    problem = problem_from_frame(frame, "t", name="p", positive="1")
    assert problem.y.tolist() == [0, 1, 0, 0]
    assert problem.labels == ("0 or 2", "1")


def test_a_category_that_never_occurs_is_no_class():
    def frame(values):
        return pd.DataFrame(
            {"x": range(3), "t": pd.Categorical(values, categories=["neg", "pos", "other"])}
        )

    problem = problem_from_frame(frame(["neg", "pos", "neg"]), "t", name="p")
    assert problem.labels == ("neg", "pos")
    assert problem.y.tolist() == [0, 1, 0]
    with pytest.raises(NotTwoClassesError, match=r"'t' has only one value, 'neg' \(3\)"):
        problem_from_frame(frame(["neg", "neg", "neg"]), "t", name="p")
    with pytest.raises(NotTwoClassesError, match="never has the value 'other'"):
        problem_from_frame(frame(["neg", "pos", "neg"]), "t", name="p", positive="other")


def test_rows_without_a_target_are_left_out_and_said_to_be():
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "t": ["a", None, "b", "a"]})
    problem = problem_from_frame(frame, "t", name="p")
    assert problem.X.ravel().tolist() == [1, 3, 4]
    assert problem.notes == (
        "1 rows without 't' (empty, or in a CSV NA, None, null …) were left out",
    )


@pytest.mark.parametrize(
    ("present", "positive", "said"),
    [
        (["a", "a"], None, r"has only one value, 'a' \(2\)"),
        (["a", "b"], "None", r"never has the value 'None'; it has 'a' \(1\), 'b' \(1\)"),
    ],
)
def test_rows_without_a_target_are_counted_where_a_class_is_missing(present, positive, said):
    frame = pd.DataFrame({"x": range(4), "t": [*present, None, None]})
    with pytest.raises(
        NotTwoClassesError,
        match=rf"{said}; 2 rows without 't' \(empty, or in a CSV NA, None, null …\) were left out",
    ):
        problem_from_frame(frame, "t", name="p", positive=positive)


def test_column_names_become_text():
    frame = pd.DataFrame({0: [1, 2, 3], 1: ["u", "v", "u"], 2: [0, 1, 0]})
    for target in ("2", 2):
        assert list(problem_from_frame(frame, target, name="p").X.columns) == ["0", "1"]


def test_infinite_numbers_are_missing_and_said_to_be():
    problem = problem_from_frame(
        pd.DataFrame({"x": [1.0, np.inf, 3.0], "k": [-np.inf, 1, 2], "t": [0, 1, 0]}), "t", name="p"
    )
    np.testing.assert_array_equal(problem.X, [[1, np.nan], [np.nan, 1], [3, 2]])
    assert problem.notes == ("2 infinite numbers, or beyond ±3.4e+38, are taken for missing",)


def test_numbers_beyond_float32_are_missing_as_infinite_ones_are():
    problem = problem_from_frame(
        pd.DataFrame({"x": [1e39, 3.4e38, -1e300], "s": ["u", "v", "u"], "t": [0, 1, 0]}),
        "t",
        name="p",
    )
    np.testing.assert_array_equal(problem.X["x"], [np.nan, 3.4e38, np.nan])
    assert problem.notes == ("2 infinite numbers, or beyond ±3.4e+38, are taken for missing",)


@pytest.mark.parametrize(
    "values",
    [[10**22, None, -3], [str(10**22), pd.NA, "-3"], ["10000000000000000000000", None, "-3"]],
)
def test_integers_of_more_than_64_bits_are_numbers(values):
    problem = problem_from_frame(
        pd.DataFrame({"x": pd.Series(values, dtype=object), "t": [0, 1, 0]}), "t", name="p"
    )
    np.testing.assert_array_equal(problem.X, [[1e22], [np.nan], [-3]])


def test_integers_no_float_can_hold_are_missing():
    problem = problem_from_frame(
        pd.DataFrame({"x": pd.Series([10**400, 2, 3], dtype=object), "t": [0, 1, 0]}), "t", name="p"
    )
    np.testing.assert_array_equal(problem.X, [[np.nan], [2], [3]])


@pytest.mark.parametrize(
    "values", [["01234", "99999", None], [True, False, None], [10**22, "a", None]]
)
def test_digits_that_are_text_and_yes_or_no_are_no_long_integers(values):
    X = problem_from_frame(
        pd.DataFrame({"x": pd.Series(values, dtype=object), "t": [0, 1, 0]}), "t", name="p"
    ).X
    assert X["x"].tolist() == values


def test_a_name_that_stands_twice_is_refused():
    for columns in (["y", "x", "y"], ["1", "t", 1]):
        with pytest.raises(
            UnreadableError, match=r"there is a second column '[y1]': rename one of the two"
        ):
            problem_from_frame(pd.DataFrame([[1, 2, 3]], columns=columns), columns[1], name="p")


def test_labels_that_floats_would_merge_are_refused():
    frame = pd.DataFrame({"x": [1, 2, 3], "t": [2**53, 2**53 + 1, 2**53]})
    assert problem_from_frame(frame, "t", name="p").labels == (
        "9007199254740992",
        "9007199254740993",
    )
    frame.loc[3] = [4, np.nan]
    with pytest.raises(
        UnreadableError,
        match=r"'t' has integers too long .* leave the rows without 't' out of the file",
    ):
        problem_from_frame(frame, "t", name="p")


def test_other_columns_keep_the_frame():
    problem = problem_from_frame(
        pd.DataFrame({"x": [1, 2, 3], "s": ["u", "v", "u"], "t": [0, 1, 0]}), "t", name="p"
    )
    assert list(problem.X.columns) == ["x", "s"]
    assert problem.features == 2


def test_decimals_are_numbers():
    problem = problem_from_frame(
        pd.DataFrame({"x": [Decimal("1.25"), None, Decimal("-3")], "t": [0, 1, 0]}), "t", name="p"
    )
    np.testing.assert_array_equal(problem.X, [[1.25], [np.nan], [-3]])


@pytest.mark.parametrize(
    "values",
    [
        ["2020-01-01", None, "2020-01-03"],
        ["2020-01-01T00:00:00Z", None, "2020-01-03 02:00+02:00"],
        [date(2020, 1, 1), None, date(2020, 1, 3)],
    ],
)
def test_columns_of_iso_dates_are_dates(values):
    X = problem_from_frame(pd.DataFrame({"when": values, "t": [0, 1, 0]}), "t", name="p").X
    assert X["when"].isna().tolist() == [False, True, False]
    assert X["when"].dropna().tolist() == [
        pd.Timestamp("2020-01-01", tz="UTC"),
        pd.Timestamp("2020-01-03", tz="UTC"),
    ]


@pytest.mark.parametrize(
    "values",
    [
        ["2020-01-01", "soon", None],
        ["2020-02-30", "2020-01-01", None],
        ["2020", "2021-01", None],
        [None] * 3,
    ],
)
def test_other_words_stay_words(values):
    X = problem_from_frame(
        pd.DataFrame({"when": values, "t": [0, 1, 0]}, dtype=object), "t", name="p"
    ).X
    assert X["when"].tolist() == values


@pytest.mark.parametrize(
    ("frame", "options", "error", "message"),
    [
        (
            {"x": [1], "t": [0]},
            {"target": "y"},
            MissingColumnError,
            "no column 'y'; there are 'x', 't'",
        ),
        ({"t": [0, 1]}, {}, MissingColumnError, "'t' is the only column"),
        ({"x": [1, 2], "t": [0, 0]}, {}, NotTwoClassesError, r"'t' has only one value, '0' \(2\)"),
        ({"x": [1.0], "t": [None]}, {}, NotTwoClassesError, "none at all"),
        (
            {"x": [1, 2, 3], "t": [0, 1, 2]},
            {},
            NotTwoClassesError,
            "'t' has 3 values, .*choose the positive one \\(`positive`\\)",
        ),
        (
            {"x": [1, 2], "t": [0, 1]},
            {"positive": "7"},
            NotTwoClassesError,
            r"never has the value '7'; it has '0' \(1\), '1' \(1\)",
        ),
    ],
)
def test_bad_input(frame, options, error, message):
    with pytest.raises(error, match=message):
        problem_from_frame(pd.DataFrame(frame), **{"target": "t", "name": "p", **options})


def test_a_plain_problem_draws_every_row():
    problem = Problem("p", np.zeros((100, 2)), Y)
    assert problem.draw(seed=3).tolist() == list(range(100))
    assert (problem.rows, problem.positives, problem.negatives, problem.imbalance_ratio) == (
        100,
        10,
        90,
        9.0,
    )


@pytest.mark.parametrize(("redraw", "negatives"), [(Redraw(4), 90), (Redraw(4, 50), 50)])
def test_a_redrawn_problem_draws_its_sizes_anew_for_each_seed(redraw, negatives):
    problem = Problem("p", np.zeros((100, 2)), Y, redraw=redraw)
    draws = [problem.draw(seed) for seed in range(30)]
    assert (problem.rows, problem.positives, problem.negatives) == (4 + negatives, 4, negatives)
    for rows in draws:
        assert len(set(rows.tolist())) == problem.rows
        assert Y[rows].sum() == 4
    assert len({tuple(rows[Y[rows] == 1]) for rows in draws}) > 20
    np.testing.assert_array_equal(problem.draw(7), problem.draw(7))


@pytest.mark.parametrize("positive", [1, 1.0, "1", "1.0", True, np.int64(1)])
def test_a_positive_may_be_the_value_or_its_text(positive):
    frame = pd.DataFrame({"a": range(6), "t": [0, 0, 1, 1, 1, 1]})
    problem = problem_from_frame(frame, "t", name="p", positive=positive)
    assert problem.labels == ("0", "1")
    assert problem.y.tolist() == [0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("values", [[0, 0, 1, 1], [1, 1, 0, 0]])
def test_of_two_equally_frequent_values_the_last_is_positive_and_that_is_said(values):
    problem = problem_from_frame(pd.DataFrame({"a": range(4), "t": values}), "t", name="p")
    assert problem.y.tolist() == values
    assert problem.notes == (
        "both values of 't' occur 2 times; '1', which sorts last, is taken for the positive one",
    )


def test_spaces_around_a_label_make_no_class_of_their_own():
    frame = pd.DataFrame({"x": range(6), "t": ["No", "No ", " No", "Yes ", "Yes", "No"]})
    for positive in (None, "Yes", "Yes "):
        problem = problem_from_frame(frame, "t", name="p", positive=positive)
        assert problem.labels == ("No", "Yes")
        assert problem.y.tolist() == [0, 0, 0, 1, 1, 0]


def test_a_column_that_counts_the_rows_is_named():
    frame = pd.DataFrame(
        {
            "id": np.arange(200),
            "age": np.arange(200) % 70,
            "amount": np.arange(200) / 2,
            "t": np.arange(200) % 2,
        }
    )
    note = (
        "'id' has another whole number in every row: take it out of the table if it is no feature"
    )
    assert note in problem_from_frame(frame, "t", name="p").notes
    assert (
        len(problem_from_frame(frame, "t", name="p").notes) == 2
    )  # and that both values occur equally often
    assert note not in problem_from_frame(frame[:50], "t", name="p").notes


def test_codes_of_rows_and_copies_of_the_label_are_named():
    label = np.repeat(["yes", "no"], [5, 195])
    frame = pd.DataFrame({"card": [f"c{row}" for row in range(200)], "copy": label, "t": label})
    assert problem_from_frame(frame, "t", name="p").notes == (
        "'card' has another text in every row: take it out of the table if it is no feature",
        "'copy' copies the label: take it out of the table if it is no feature",
    )


def test_two_spellings_of_one_label_are_shown():
    frame = pd.DataFrame({"x": range(6), "t": ["no", "no", "no", "yes", "Yes", "y"]})
    for positive in (None, "yes"):
        with pytest.raises(
            NotTwoClassesError, match="'yes', 'Yes', 'y', which look like spellings"
        ):
            problem_from_frame(frame, "t", name="t", positive=positive)


def test_groups_of_lists_are_refused_by_name():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "card": [[1], [2], [1]], "t": [0, 0, 1]})
    with pytest.raises(
        UnreadableError, match=r"'card' \(`group`\) must be numbers, words or dates"
    ):
        problem_from_frame(frame, "t", name="p", group="card")
