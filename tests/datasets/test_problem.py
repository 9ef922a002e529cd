import numpy as np
import pandas as pd
import pytest

from astralearn.datasets import MissingColumnError, NotTwoClassesError, Problem, Redraw, problem_from_frame

Y = np.array([0, 1] * 10 + [0] * 80, dtype=np.int8)


def test_the_rarer_value_is_the_positive_one():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "t": ["good", "bad", "good"]})
    problem = problem_from_frame(frame, "t", name="p")
    assert problem.y.tolist() == [0, 1, 0]
    assert problem.labels == ("good", "bad")
    assert problem.X.tolist() == [[1.0], [2.0], [3.0]]


@pytest.mark.parametrize("values", [[0, 1, 0, 2], [0.0, 1.0, 0.0, 2.0], ["0", "1", "0", "2"], pd.Categorical(["0", "1", "0", "2"])])
def test_a_chosen_positive_stands_against_all_others(values):
    frame = pd.DataFrame({"x": range(4), "t": values})
    problem = problem_from_frame(frame, "t", name="p", positive="1")
    assert problem.y.tolist() == [0, 1, 0, 0]
    assert problem.labels == ("0 or 2", "1")


def test_rows_without_a_target_are_left_out_and_said_to_be():
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "t": ["a", None, "b", "a"]})
    problem = problem_from_frame(frame, "t", name="p")
    assert problem.X.ravel().tolist() == [1, 3, 4]
    assert problem.notes == ("1 rows without 't' were left out",)


def test_other_columns_keep_the_frame():
    problem = problem_from_frame(pd.DataFrame({"x": [1, 2, 3], "s": ["u", "v", "u"], "t": [0, 1, 0]}), "t", name="p")
    assert list(problem.X.columns) == ["x", "s"]
    assert problem.features == 2


@pytest.mark.parametrize(
    ("frame", "options", "error", "message"),
    [
        ({"x": [1], "t": [0]}, {"target": "y"}, MissingColumnError, "no column 'y'; there are 'x', 't'"),
        ({"t": [0, 1]}, {}, MissingColumnError, "'t' is the only column"),
        ({"x": [1, 2], "t": [0, 0]}, {}, NotTwoClassesError, r"'t' has only one value, '0' \(2\)"),
        ({"x": [1.0], "t": [None]}, {}, NotTwoClassesError, "none at all"),
        ({"x": [1, 2, 3], "t": [0, 1, 2]}, {}, NotTwoClassesError, "'t' has 3 values, .*--positive VALUE"),
        ({"x": [1, 2], "t": [0, 1]}, {"positive": "7"}, NotTwoClassesError, r"never has the value '7'; it has '0' \(1\), '1' \(1\)"),
    ],
)
def test_bad_input(frame, options, error, message):
    with pytest.raises(error, match=message):
        problem_from_frame(pd.DataFrame(frame), **{"target": "t", "name": "p", **options})


def test_a_plain_problem_draws_every_row():
    problem = Problem("p", np.zeros((100, 2)), Y)
    assert problem.draw(seed=3).tolist() == list(range(100))
    assert (problem.rows, problem.positives, problem.negatives, problem.imbalance_ratio) == (100, 10, 90, 9.0)


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
