import csv
import io
import shutil
import subprocess

import pytest
from rich.console import Console

from astralearn.report import Cell, Table, to_csv, to_latex, to_markdown, to_rich

TABLE = Table(
    "A & B",
    ["method", "G-Mean"],
    [["x_1 | y", Cell("0.5", bold=True)], ["50% ✓", "1 – 2"]],
    notes=["n = 5 × 5"],
)


def test_terminal():
    console = Console(width=60, file=io.StringIO(), record=True)
    console.print(to_rich(TABLE))
    said = console.export_text()
    for part in ("A & B", "method", "x_1 | y", "0.5", "50% ✓", "n = 5 × 5"):
        assert part in said


def test_brackets_are_text_not_markup():
    console = Console(width=60, file=io.StringIO(), record=True)
    console.print(
        to_rich(
            Table(
                "[usd] t", ["a [/EUR]"], [["0.76 ✗ [0.57, 0.89]"], ["[bold]"]], notes=["[/n] :x:"]
            )
        )
    )
    said = console.export_text()
    for part in ("[usd] t", "a [/EUR]", "[0.57, 0.89]", "[bold]", "[/n] :x:"):
        assert part in said


def test_a_narrow_terminal_costs_columns_not_digits():
    table = Table(
        "T",
        ["method", "G-Mean", "MCC"],
        [["BCE-ASTra", Cell("0.123 (0.456)", bold=True), "0.789 (0.012)"]],
    )
    for width, has_bold, line in [
        (37, True, "BCE-ASTra 0.123 (0.456) 0.789 (0.012)"),
        (36, True, "BCE-ASTra 0.123 (0.456)"),
        (37, False, "BCE-ASTra 0.123 (0.456)*"),
        (12, True, "BCE-ASTra"),
    ]:
        console = Console(width=width, file=io.StringIO(), record=True)
        console.print(to_rich(table, has_bold=has_bold, width=width))
        said = console.export_text()
        assert line in [row.rstrip() for row in said.splitlines()]
        assert ("MCC." in said) == ("0.789" not in line)


def test_names_with_line_breaks_control_characters_and_html_are_one_line_of_text():
    table = Table("a\nb <b>c</b>", ["m"], [["x\x1b[31m\ny"]], notes=["one\r\ntwo <i>"])
    console = Console(width=60, file=io.StringIO(), record=True)
    console.print(to_rich(table))
    said = console.export_text()
    assert " ".join(said.split()) == "a b <b>c</b> m x\N{REPLACEMENT CHARACTER}[31m y one two <i>"
    text = to_markdown(table)
    assert text.startswith(
        "## a b &lt;b>c&lt;/b>\n\n| m |\n| --- |\n| x\N{REPLACEMENT CHARACTER}\\[31m y |\n"
    )
    assert text.endswith("\none two &lt;i>\n")
    assert r"\caption{a b \textless{}b\textgreater{}c\textless{}/b\textgreater{}}" in to_latex(
        table
    )


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
    assert list(csv.reader(io.StringIO(to_csv(TABLE)))) == [
        ["method", "G-Mean"],
        ["x_1 | y", "0.5*"],
        ["50% ✓", "1 – 2"],
    ]


def test_latex():
    text = to_latex(TABLE)
    assert r"\caption{A \& B}" in text
    assert r"x\_1 \textbar{} y & \textbf{0.5} \\" in text
    assert r"50\% \checkmark{} & 1 -- 2 \\" in text
    assert r"\begin{tabular}{lr}" in text
    assert text.count("{") == text.count("}")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(tmp_path):
    page = (
        r"\documentclass{article}\usepackage{booktabs,amssymb}\begin{document}"
        + to_latex(TABLE)
        + r"\end{document}"
    )
    (tmp_path / "page.tex").write_text(page)
    subprocess.run(
        ["pdflatex", "-halt-on-error", "page.tex"], cwd=tmp_path, check=True, capture_output=True
    )


def test_a_table_without_rows_is_shown():
    console = Console(width=40, file=io.StringIO(), record=True)
    console.print(to_rich(Table("t", ["a", "b"], []), width=40))
    assert console.export_text().split() == ["t", "a", "b"]
