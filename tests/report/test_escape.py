"""Hostile names in every format: what a reader sees is the name, and nothing of it is markup."""

import csv
import io
import shutil
import subprocess

import pytest
from markdown_it import MarkdownIt

from astralearn.report import Table, to_csv, to_latex, to_markdown, write_records, write_report
from astralearn.report.escape import code, latex, markdown, one_line, spreadsheet
from astralearn.study import Record
from hostile import HOSTILE

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
# Other readers of Markdown follow javascript: too.
PARSER.validateLink = lambda _: True
PLAIN = {"inline", "text", "text_special", "softbreak"}


def rendered(text, *, inside):
    """The text a reader sees, after checking that nothing but `inside` is markup."""
    seen = ""
    for token in PARSER.parse(text):
        kinds = [child.type for child in token.children or ()]
        assert set(kinds) <= PLAIN, (text, kinds)
        assert token.type in inside, (text, token.type)
        seen += "".join(child.content for child in token.children or ())
    return seen


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_shows_the_name_and_no_more(name):
    paragraph = {"paragraph_open", "inline", "paragraph_close"}
    assert rendered(markdown(name), inside=paragraph) == one_line(name)
    heading = {"heading_open", "inline", "heading_close"}
    assert rendered(f"# {markdown(name)}", inside=heading) == one_line(name)
    for address in ("http://", "https://", "www."):
        assert address not in markdown(name)


@pytest.mark.parametrize("name", [*HOSTILE, "`", "``a`", "", "`a``"])
def test_code_shows_the_name_and_no_more(name):
    (_, inline, _) = PARSER.parse(f"a {code(name)} b")
    assert [child.type for child in inline.children] == ["text", "code_inline", "text"]
    assert inline.children[1].content == (one_line(name) or " ")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_table_and_a_report_keep_their_form(name, tmp_path):
    table = Table(name, ["m", name], [[name, "1"]], notes=[name])
    seen = [
        child.content
        for token in PARSER.parse(to_markdown(table))
        for child in token.children or ()
    ]
    shown = one_line(name)
    assert "".join(seen) == "".join([shown, "m", shown, shown, "1", shown])
    page = write_report(tmp_path, name, [table], [name], {}).read_text()
    types = {child.type for token in PARSER.parse(page) for child in token.children or ()}
    assert types <= PLAIN


@pytest.mark.parametrize("name", HOSTILE)
def test_no_cell_of_a_csv_file_is_a_formula(name, tmp_path):
    record = Record(name, name, 0, 0, 80, 18, 1, 0, 1, None, 0.25, error=name)
    files = [
        to_csv(Table("t", [name], [[name], ["-0.5 (0.1)"]])),
        write_records(tmp_path, [record]).read_bytes().decode(),
    ]
    rows = [row for text in files for row in csv.reader(io.StringIO(text, newline=""))]
    cells = [cell for row in rows for cell in row]
    assert not any(cell[:1] in tuple("=+@\t\r\n") for cell in cells)
    assert [cell for cell in cells if cell.startswith("-")] == ["-0.5 (0.1)"]
    assert sum(cell.removeprefix("'") == name for cell in cells) == 5


@pytest.mark.parametrize(
    "number", ["-0.5", "+1", "-0.000 (0.001)", "-0.000 (0.001)*", "-3%", "0.5"]
)
def test_numbers_stay_numbers(number):
    assert spreadsheet(number) == number


@pytest.mark.parametrize("name", HOSTILE)
def test_latex_has_no_command_of_the_name(name):
    text = latex(name)
    for sign in "%&#_$":
        assert text.count(sign) == text.count(f"\\{sign}") or sign == "$"
    assert "\\input" not in text
    assert "\n" not in text
    assert text.count("{") == text.count("}")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_of_hostile_names_compiles(tmp_path):
    table = Table("t", ["m", "n"], [[name, "1"] for name in HOSTILE], notes=HOSTILE)
    head = r"\documentclass{article}\usepackage{booktabs,amssymb}\begin{document}"
    (tmp_path / "page.tex").write_text(head + to_latex(table) + r"\end{document}")
    command = ["pdflatex", "-halt-on-error", "page.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
