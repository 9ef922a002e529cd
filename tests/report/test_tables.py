import csv
import io
import shutil
import subprocess

import pytest
from rich.console import Console

from astralearn.report import Cell, Table, to_csv, to_latex, to_markdown, to_rich

TABLE = Table("A & B", ["method", "G-Mean"], [["x_1 | y", Cell("0.5", bold=True)], ["50% ✓", "1 – 2"]], notes=["n = 5 × 5"])


def test_terminal():
    console = Console(width=60, file=io.StringIO(), record=True)
    console.print(to_rich(TABLE))
    said = console.export_text()
    for part in ("A & B", "method", "x_1 | y", "0.5", "50% ✓", "n = 5 × 5"):
        assert part in said


def test_brackets_are_text_not_markup():
    console = Console(width=60, file=io.StringIO(), record=True)
    console.print(to_rich(Table("[usd] t", ["a [/EUR]"], [["0.76 ✗ [0.57, 0.89]"], ["[bold]"]], notes=["[/n] :x:"])))
    said = console.export_text()
    for part in ("[usd] t", "a [/EUR]", "[0.57, 0.89]", "[bold]", "[/n] :x:"):
        assert part in said


def test_markdown():
    assert to_markdown(TABLE).splitlines() == [
        "## A & B",
        "",
        "| method | G-Mean |",
        "| --- | ---: |",
        r"| x_1 \| y | **0.5** |",
        "| 50% ✓ | 1 – 2 |",
        "",
        "n = 5 × 5",
    ]


def test_csv_reads_back():
    assert list(csv.reader(io.StringIO(to_csv(TABLE)))) == [["method", "G-Mean"], ["x_1 | y", "0.5*"], ["50% ✓", "1 – 2"]]


def test_latex():
    text = to_latex(TABLE)
    assert r"\caption{A \& B}" in text
    assert r"x\_1 | y & \textbf{0.5} \\" in text
    assert r"50\% \checkmark{} & 1 -- 2 \\" in text
    assert r"\begin{tabular}{lr}" in text
    assert text.count("{") == text.count("}")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path):
    page = r"\documentclass{article}\usepackage{booktabs,amssymb}\begin{document}" + to_latex(TABLE) + r"\end{document}"
    (tmp_path / "page.tex").write_text(page)
    subprocess.run(["pdflatex", "-halt-on-error", "page.tex"], cwd=tmp_path, check=True, capture_output=True)
