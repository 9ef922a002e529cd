import io

import numpy as np
from rich.console import Console

from astralearn.datasets import Problem
from astralearn.report import comparison_table, to_rich
from astralearn.study import Record, by_method
from astralearn.study.answer import answer

PROBLEM = Problem(
    "fraud",
    np.zeros((1005, 3)),
    np.repeat([0, 1], [1000, 5]).astype(np.int8),
    labels=("ok", "fraud"),
)


def folds(method, hits, *, seconds=0.5, error=None, precision=0.4):
    return [
        Record(
            "fraud", method, i // 5, i % 5, 804, 198, 2, int(i >= hits), int(i < hits),
            precision, seconds, error if i >= hits else None,
            ranks=f"{1000 + i % 5}:3{'+' if i < hits else '-'}",
        )
        for i in range(25)
    ]  # fmt: skip


def table_of(records):
    return comparison_table(PROBLEM, records, answer(by_method(records, "fraud")))


def test_a_row_per_method_best_first_and_bold_what_may_be_recommended():
    table = table_of(
        [
            *folds("BCE", 0),
            *folds("GMN", 23, seconds=2.5),
            *folds("RUSBoost", 22, error="ValueError: no", precision=None),
        ]
    )
    assert table.title == "fraud: 5 positives (fraud) among 1,005 rows"
    assert table.columns[:4] == ("method", "G-Mean", "90%", "best")
    gmn, rus, bce = table.cells()
    assert [cell.text for cell in gmn[4:]] == [
        "23/25", "10", "0.400", "2.5 s", "0.915 (0.275)", "0.528 (0.161)",
    ]  # fmt: skip
    assert [row[0].bold for row in (gmn, rus, bce)] == [True, True, False]
    assert [row[1].bold for row in (gmn, rus, bce)] == [True, True, False]
    assert [rus[0].text, rus[6].text, rus[7].text] == ["RUSBoost †", "", "500 ms"]
    assert (bce[3].text, bce[4].text) == ("0%", "0/25")
    said = " ".join(table.notes)
    assert "n = 25 test folds per method (5 × 5), which test 25 positives in all" in said
    assert "† RUSBoost failed on 3 of 25 folds, which count as missed: ValueError: no" in said


def test_it_fits_a_terminal_of_80_columns():
    names = ["weighted MLP", "EasyEnsemble", "GMN-ASTra"]
    table = table_of([record for name in names for record in folds(name, 20)])
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(to_rich(table, width=80))
    lines = console.export_text().splitlines()
    (line,) = [line for line in lines if line.startswith("EasyEnsemble")]
    assert " ".join(line.split()).endswith("20/25 10 0.400 500 ms 0.796 (0.406)")
    assert any("Left out for want of width: MCC (sd)." in line for line in lines)
