"""The published numbers against each other: a slip in copying them would break one of these."""

import math
import os
import re
from pathlib import Path

import pytest

from astralearn.datasets import CATALOGUE
from astralearn.study.paper import (
    PAPER_METHODS,
    PROTOCOL,
    QUICK,
    TABLE_1,
    TABLE_2,
    TRIALS,
)

SOURCE = Path(os.environ.get("ASTRALEARN_DATA", "absent")).parent / "paper"


def test_table_1_is_the_catalogues():
    for name, row in TABLE_1.items():
        entry = CATALOGUE[name]
        assert (entry.features, entry.rows, entry.positives) == row[1:]
        assert f"{entry.imbalance_ratio:.2f}" == f"{row.imbalance_ratio:.2f}"


@pytest.mark.parametrize("problem", [name for name, row in TABLE_1.items() if row.positives == 5])
@pytest.mark.parametrize("method", PAPER_METHODS)
def test_hits_of_25_explain_mean_and_deviation(problem, method):
    """A G-Mean near hits/25, and the deviation of that many ones among 25, both as printed."""
    cell = TABLE_2[problem]["g_mean"][method]
    share = cell.hits / TRIALS
    assert cell.mean == pytest.approx(share, abs=0.005)
    assert cell.deviation == pytest.approx(
        math.sqrt(share * (1 - share) * TRIALS / (TRIALS - 1)), abs=0.005
    )


def test_the_papers_example_of_a_deviation_that_50_trials_cannot_give():
    assert math.sqrt(0.76 * 0.24 * 25 / 24) == pytest.approx(0.436, abs=5e-4)
    assert math.sqrt(0.76 * 0.24 * 50 / 49) != pytest.approx(0.436, abs=2e-3)


def test_every_cell_is_there():
    for problem in TABLE_1:
        for score in ("g_mean", "mcc"):
            row = TABLE_2[problem][score]
            assert list(row) == list(PAPER_METHODS)
            assert any(cell.wins for cell in row.values())


def test_the_protocol_is_the_papers():
    assert (PROTOCOL.repetitions, PROTOCOL.folds, PROTOCOL.epochs, PROTOCOL.methods) == (
        10,
        5,
        10_000,
        PAPER_METHODS,
    )
    assert PROTOCOL.problems == QUICK.problems == tuple(TABLE_1)


@pytest.mark.skipif(not SOURCE.is_dir(), reason="the paper's source is not beside ASTRALEARN_DATA")
def test_table_2_against_the_papers_source():
    text = next(SOURCE.iterdir()).read_text(encoding="utf-8")
    table = text[text.index(r"\label{tab2}") :]
    table = table[: table.index(r"\end{table}")]
    for problem in TABLE_1:
        block = table[table.index(rf"\emph{{{problem}}}") :]
        for score, label in (("g_mean", "{ G-Mean}"), ("mcc", "{ MCC}")):
            line = block[block.index(label) :].split(r"\\")[0]
            printed = re.findall(r"(-?\d\.\d{3}) \((\d\.\d{3})\)", line)
            cells = list(TABLE_2[problem][score].values())
            assert [(f"{abs(c.mean):.3f}", f"{c.deviation:.3f}") for c in cells] == [
                (m.lstrip("-"), d) for m, d in printed
            ]
            assert [c.wins for c in cells] == ["cellcolor" in part for part in line.split("&")[1:]]
