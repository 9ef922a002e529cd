import io
import re

import numpy as np
import pytest
from rich.console import Console

from astralearn.datasets import Problem, Redraw
from astralearn.report import data_table, recommendations, results_table, to_rich
from astralearn.study import Record
from astralearn.study.paper import PAPER_METHODS, TABLE_2


def folds(problem, method, hits, n=50):
    order = np.random.default_rng(1).permutation(n)
    found = {int(i) for i in order[:hits]}
    return [
        Record(
            problem,
            method,
            i // 5,
            i % 5,
            16000,
            4000,
            0,
            int(i not in found),
            int(i in found),
            None,
            0.1,
        )
        for i in range(n)
    ]


def test_table_1_says_equal_or_what_differs():
    y = np.repeat([0, 1], [20000, 34]).astype(np.int8)
    right = Problem("skin-4000", np.zeros((20034, 3)), y, redraw=Redraw(5))
    wrong = Problem("skin-588", np.zeros((20034, 2)), y)
    cells = data_table([right, wrong]).cells()
    assert [cell.text for cell in cells[0]] == ["skin-4000", "4000.00", "3", "20005", "5", "equal"]
    assert cells[1][-1].text == "differs: 588.24, 3, 20034, 34"


def test_table_2_stands_beside_the_published_numbers():
    hits = dict(zip(PAPER_METHODS, (38, 44, 40, 20), strict=True))
    records = [
        record for method in PAPER_METHODS for record in folds("skin-4000", method, hits[method])
    ]
    table = results_table(records)
    assert list(table.columns) == [
        "problem",
        "method",
        "G-Mean",
        "paper G-Mean",
        "MCC",
        "paper MCC",
    ]
    bce, gmn, _, gmn_astra = ([cell.text for cell in row] for row in table.cells())
    assert bce == [
        "skin-4000",
        "BCE",
        "0.760 (0.431)",
        "0.760 0.57–0.89 ✓",
        "0.760 (0.431)",
        "0.760 0.58–0.94 ✓",
    ]
    assert gmn[3] == "0.879 0.70–0.96 ✓"
    assert gmn_astra[2:4] == ["0.400 (0.495)", "0.840 0.65–0.94 ✗"]
    assert re.match(r"\d of 8 means lie inside", table.notes[0])
    assert "n = 50 folds" in table.notes[0]
    assert "n = 25" in table.notes[0]


def test_it_fits_a_terminal_of_80_columns():
    table = results_table(
        [record for method in PAPER_METHODS for record in folds("skin-4000", method, 38)]
    )
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(to_rich(table))
    lines = console.export_text().splitlines()
    assert "skin-4000" in [line.strip() for line in lines]
    (line,) = [line for line in lines if line.startswith("GMN-ASTra")]
    assert line.rstrip().endswith("0.688 0.53–0.85 ✓")


@pytest.mark.parametrize("problem", TABLE_2)
def test_the_published_means_agree_with_themselves(problem):
    for score in ("g_mean", "mcc"):
        for cell in TABLE_2[problem][score].values():
            assert cell.mean in cell.interval


def test_a_part_of_the_study_has_a_part_of_the_table():
    (row,) = results_table(folds("cod-3500", "GMN", 20)).cells()
    assert [cell.text for cell in row[:4]] == [
        "cod-3500",
        "GMN",
        "0.400 (0.495)",
        "0.357 0.20–0.55 ✓",
    ]


def test_recommendations_name_their_problem():
    records = [
        record
        for method in PAPER_METHODS
        for record in folds("ijcnn-971", method, 40 if "ASTra" in method else 2)
    ]
    (said,) = recommendations(records)
    assert said.startswith("ijcnn-971: Use BCE-ASTra:")
