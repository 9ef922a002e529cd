"""Tables beside the published numbers, from records whose means are known."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from astralearn.datasets import Problem, Redraw
from astralearn.report import data_table, recommendations, results_table, to_rich
from astralearn.report.reproduction import (
    RULES,
    bounds_table,
    compared_cells,
    rival_sentences,
    spread_table,
    verdict,
)
from astralearn.study.paper import PAPER_METHODS, RIVALS
from astralearn.study.record import StartRecord

PAPER, LAST = RULES


def folds(problem, method, hits, *, last=None, best=1.0, starts=1):
    """Ten draws of five folds of which so many find their one positive, spread over draws."""
    found = {(7 * i) % 50 for i in range(hits)}
    at_last = {(7 * i) % 50 for i in range(hits if last is None else last)}
    return [
        StartRecord(
            problem=problem,
            method=method,
            repetition=i // 5,
            fold=i % 5,
            start=start,
            learned=16000,
            tn=4000,
            fp=0,
            fn=int(i not in found),
            tp=int(i in found),
            average_precision=None,
            fit_seconds=0.1,
            last_tp=int(i in at_last),
            best_g_mean=best,
            best_mcc=best,
        )
        for i in range(50)
        for start in range(starts)
    ]


def ladder(problem="skin-4000", hits=(38, 44, 40, 10), **options):
    return [
        record
        for method, n in zip(PAPER_METHODS, hits, strict=True)
        for record in folds(problem, method, n, **options)
    ]


def texts(table):
    return [[cell.text for cell in row] for row in table.cells()]


def test_table_1_says_equal_or_what_differs():
    y = np.repeat([0, 1], [20000, 34]).astype(np.int8)
    right = Problem("skin-4000", np.zeros((20034, 3)), y, redraw=Redraw(5))
    wrong = Problem("skin-588", np.zeros((20034, 2)), y)
    cells = texts(data_table([right, wrong]))
    assert cells[0] == ["skin-4000", "4000.00", "3", "20005", "5", "equal"]
    assert cells[1][-1] == "differs: 588.24, 3, 20034, 34"


def test_table_2_stands_beside_the_published_numbers():
    table = results_table([*ladder(), *folds("skin-4000", RIVALS[0], 25)], PAPER)
    assert list(table.columns) == [
        "problem",
        "method",
        "G-Mean",
        "paper G-Mean",
        "MCC",
        "paper MCC",
    ]
    bce, _, _, gmn_astra, rival = texts(table)
    assert bce[:2] == ["skin-4000", "BCE"]
    assert re.fullmatch(r"0\.760 ±0\.1\d", bce[2])
    assert bce[3] == "0.760 ±0.24 ✓"
    assert gmn_astra[2].startswith("0.200 ±")
    assert gmn_astra[3].endswith("✗")
    assert rival[1:] == ["RUSBoost", *(rival[2], "–") * 2]
    assert re.match(r"\d of 8 means agree", table.notes[0])
    assert "n = 10 draws of 5 folds × 1 starts" in table.notes[0]
    assert "n = 5 draws" in table.notes[0]


def test_a_method_that_failed_has_the_mark_of_its_note():
    rival = [replace(r, error="E") for r in folds("skin-4000", RIVALS[0], 0)]
    table = results_table([*ladder(), *rival], PAPER)
    assert [row[1] for row in texts(table)] == [*PAPER_METHODS, "RUSBoost †"]
    assert table.notes[-1].startswith("skin-4000: † RUSBoost failed on 50 of 50 folds")


def test_the_last_epoch_has_a_table_of_its_own():
    records = ladder(hits=(0, 44, 40, 42), last=40)
    by_paper, by_last = (results_table(records, rule) for rule in RULES)
    assert texts(by_paper)[0][2].startswith("0.000")
    assert texts(by_last)[0][2].startswith("0.800")
    said = verdict(records)
    assert re.match(r"By the paper's rule \d of 8 cells agree", said[0])
    assert said[-1] == "The last epoch agrees better."
    assert verdict(ladder())[-1] == "Neither agrees better."


def test_it_fits_a_terminal_of_80_columns():
    rivals = [record for rival in RIVALS for record in folds("skin-4000", rival, 12)]
    table = results_table([*ladder(), *rivals], PAPER)
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(to_rich(table))
    lines = console.export_text().splitlines()
    assert "skin-4000" in [line.strip() for line in lines]
    (line,) = [line for line in lines if line.startswith("GMN-ASTra")]
    assert line.rstrip().endswith("✗")


@pytest.mark.parametrize(
    ("hits", "last", "best", "says"),
    [
        (0, 38, 1.0, "agrees by the last epoch"),
        (38, 0, 1.0, "agrees by the paper's rule"),
        (0, 1, 1.0, "another choice of the epoch gives it"),
        (0, 1, 0.5, "no epoch reaches it"),
    ],
)
def test_a_cell_that_differs_is_read_by_its_bounds(hits, last, best, says):
    table = bounds_table(folds("skin-4000", "BCE", hits, last=last, best=best))
    row = texts(table)[0]
    assert row[:4] == ["skin-4000", "BCE", "G-Mean", "0.760"]
    assert row[6] == f"0.000–{best:.3f}"
    assert row[-1] == says


def test_a_published_mean_below_every_epoch():
    records = [
        replace(r, worst_g_mean=1.0, worst_mcc=1.0) for r in folds("cod-3500", "BCE", 50, last=50)
    ]
    assert texts(bounds_table(records))[0][-1] == "every epoch is better"


def test_cells_that_agree_need_no_bounds():
    assert texts(bounds_table(folds("skin-4000", "BCE", 38))) == []


def test_every_cell_of_what_was_run():
    cells = compared_cells(folds("cod-3500", "GMN", 20), PAPER)
    assert [(c.problem, c.method, c.score) for c in cells] == [
        ("cod-3500", "GMN", "g_mean"),
        ("cod-3500", "GMN", "mcc"),
    ]


def test_spread_has_starts_and_draws():
    (row,) = texts(spread_table(folds("cod-3500", "GMN", 20, starts=2)))
    assert row[2] == row[4] == "0.000"
    assert float(row[3]) == float(row[5]) > 0


def test_recommendations_name_their_problem_and_leave_rivals_out():
    records = ladder("ijcnn-971", (2, 2, 40, 40)) + folds("ijcnn-971", RIVALS[0], 50)
    (said,) = recommendations(records)
    assert said.startswith("ijcnn-971: BCE-ASTra is the least intervention")
    assert "RUSBoost" not in said


def test_what_the_paper_says_of_rivals_stands_beside_what_we_find():
    records = ladder("cod-763", (2, 2, 40, 2)) + folds("cod-763", RIVALS[0], 2)
    (said,) = rival_sentences(records)
    assert said.startswith("cod-763: the paper says that both ASTra networks beat RUSBoost. Here ")
    assert "BCE-ASTra (0.800) beats RUSBoost (0.040, p = 0.001)" in said
    assert "GMN-ASTra (0.040) cannot be told from RUSBoost (0.040, p = 1.000)" in said
    assert rival_sentences(ladder("cod-763")) == []
