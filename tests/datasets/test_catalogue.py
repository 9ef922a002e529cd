import os
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from astralearn.datasets import CATALOGUE, MissingFileError, UnreadableError, catalogue, load

needs_data = pytest.mark.skipif(
    "ASTRALEARN_DATA" not in os.environ,
    reason="the ARFF files are not here: ASTRALEARN_DATA is not set",
)

# The paper's Table 1: IR as printed, n_x, m_tot, m_1.
TABLE_1 = {
    "skin-588": ("588.24", 3, 20034, 34),
    "skin-4000": ("4000.00", 3, 20005, 5),
    "cod-763": ("763.27", 8, 19871, 26),
    "cod-3500": ("3500.00", 8, 17505, 5),
    "ijcnn-971": ("970.60", 22, 4858, 5),
}


@needs_data
@pytest.mark.parametrize("name", TABLE_1)
def test_loaded_problems_equal_table_1_in_every_number(name):
    problem = load(name)
    rows = problem.draw(seed=11)
    y = problem.y[rows]
    negatives = int((y == 0).sum())
    assert (f"{negatives / y.sum():.2f}", problem.X.shape[1], len(rows), int(y.sum())) == TABLE_1[
        name
    ]
    assert f"{problem.imbalance_ratio:.2f}" == TABLE_1[name][0]


@needs_data
@pytest.mark.parametrize("name", sorted(set(CATALOGUE) - set(TABLE_1)))
def test_every_other_problem_loads(name):
    problem = load(name)
    assert problem.y.mean() < 0.5
    assert np.isfinite(problem.X).all()


@pytest.mark.parametrize("name", TABLE_1)
def test_the_catalogue_says_table_1(name):
    entry = CATALOGUE[name]
    assert (f"{entry.imbalance_ratio:.2f}", entry.features, entry.rows, entry.positives) == TABLE_1[
        name
    ]


def test_the_embedded_default_is_five_eights_among_the_other_digits():
    problem = load()
    X, digit = load_digits(return_X_y=True)
    rows = problem.draw(seed=0)
    assert (digit[rows] == 8).sum() == 5
    assert (digit[rows] != 8).sum() == 1623
    np.testing.assert_array_equal(problem.X[rows], X[rows])
    assert (problem.positives, problem.negatives) == (5, 1623)


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(
        MissingFileError, match="no such problem: 'skin'; the catalogue has skin-588, skin-4000"
    ):
        load("skin")


def test_a_problem_of_another_size_is_refused(monkeypatch):
    monkeypatch.setitem(CATALOGUE, "digits", replace(CATALOGUE["digits"], rows=1629))
    with pytest.raises(
        UnreadableError,
        match=(
            r"digits: rows, features and positives must be \(1629, 64, 5\); found \(1628, 64, "
            r"5\)"
        ),
    ):
        load("digits")


def test_where(monkeypatch, tmp_path):
    monkeypatch.setenv("ASTRALEARN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    entry = CATALOGUE["yeast6"]
    assert entry.where() == "not on this machine"
    (tmp_path / "yeast6.arff").touch()
    assert entry.where() == str(tmp_path / "yeast6.arff")
    assert catalogue.CATALOGUE["digits"].where() == "inside scikit-learn"
