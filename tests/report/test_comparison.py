import numpy as np

from astralearn.datasets import Problem
from astralearn.report import comparison_table
from astralearn.study import Record

PROBLEM = Problem("fraud", np.zeros((1005, 3)), np.repeat([0, 1], [1000, 5]).astype(np.int8), labels=("ok", "fraud"))


def folds(method, hits, *, seconds=0.5, error=None, precision=0.4):
    return [
        Record("fraud", method, i // 5, i % 5, 804, 198, 2, int(i >= hits), int(i < hits), precision, seconds, error if i >= hits else None)
        for i in range(25)
    ]


def test_a_row_per_method_with_winners_in_bold():
    records = [*folds("BCE", 2), *folds("GMN", 23, seconds=2.5), *folds("RUSBoost", 22, error="ValueError: no", precision=None)]
    table = comparison_table(PROBLEM, records)
    assert table.title == "fraud: 5 positives (fraud) among 1,005 rows, IR 200.0"
    bce, gmn, rus = table.cells()
    assert [cell.text for cell in bce] == ["BCE", "0.080 (0.275)", "0.039 (0.161)", "2/25", "0.02–0.25", "1.00%", "0.400", "500 ms", ""]
    assert [row[1].bold for row in (bce, gmn, rus)] == [False, True, True]
    assert gmn[7].text == "2.5 s"
    assert [cell.text for cell in rus[6:]] == ["", "500 ms", "3"]
    said = " ".join(table.notes)
    assert "n = 25 test folds per method (5 × 5), which test 25 positives in all" in said
    assert "RUSBoost failed on 3 of 25 folds, which count as missed: ValueError: no" in said
