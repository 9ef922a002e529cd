import io

import numpy as np
from rich.console import Console

from astralearn.datasets import Problem
from astralearn.report import comparison_table, to_rich
from astralearn.study import Record

PROBLEM = Problem(
    "fraud",
    np.zeros((1005, 3)),
    np.repeat([0, 1], [1000, 5]).astype(np.int8),
    labels=("ok", "fraud"),
)


def folds(method, hits, *, seconds=0.5, error=None, precision=0.4):
    return [
        Record(
            "fraud",
            method,
            i // 5,
            i % 5,
            804,
            198,
            2,
            int(i >= hits),
            int(i < hits),
            precision,
            seconds,
            error if i >= hits else None,
        )
        for i in range(25)
    ]


def test_a_row_per_method_with_winners_in_bold():
    records = [
        *folds("BCE", 2),
        *folds("GMN", 23, seconds=2.5),
        *folds("RUSBoost", 22, error="ValueError: no", precision=None),
    ]
    table = comparison_table(PROBLEM, records)
    assert table.title == "fraud: 5 positives (fraud) among 1,005 rows, IR 200.0"
    bce, gmn, rus = table.cells()
    assert [cell.text for cell in bce] == [
        "BCE",
        "0.080 (0.275)",
        "0.039 (0.161)",
        "2/25",
        "0.02–0.25",
        "1.00%",
        "0.400",
        "500 ms",
    ]
    assert [row[1].bold for row in (bce, gmn, rus)] == [False, True, True]
    assert gmn[7].text == "2.5 s"
    assert [rus[0].text, rus[6].text, rus[7].text] == ["RUSBoost †", "", "500 ms"]
    said = " ".join(table.notes)
    assert "n = 25 test folds per method (5 × 5), which test 25 positives in all" in said
    assert "† RUSBoost failed on 3 of 25 folds, which count as missed: ValueError: no" in said


def test_it_fits_a_terminal_of_80_columns():
    names = ["weighted MLP", "EasyEnsemble", "GMN-ASTra"]
    table = comparison_table(PROBLEM, [record for name in names for record in folds(name, 20)])
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(to_rich(table))
    (line,) = [
        line for line in console.export_text().splitlines() if line.startswith("EasyEnsemble")
    ]
    assert (
        " ".join(line.split())
        == "EasyEnsemble 0.796 (0.406) 0.458 (0.237) 20/25 0.61–0.91 1.00% 0.400 500 ms"
    )
