import csv

import numpy as np
import pytest

from astralearn.report import Table, write_figures, write_records, write_report, write_tables
from astralearn.report.artefacts import write_everything
from astralearn.study import Record
from astralearn.study.record import Outcome
from astralearn.study.store import Store

pytestmark = pytest.mark.slow

TABLE = Table("T", ["a"], [["1"]])
RECORD = Record("p", "BCE", 0, 0, 80, 18, 1, 0, 1, None, 0.25, None)


def test_tables_in_three_forms(tmp_path):
    assert sorted(path.name for path in write_tables(tmp_path / "new", {"table-1": TABLE})) == [
        "table-1.csv",
        "table-1.md",
        "table-1.tex",
    ]
    assert (tmp_path / "new" / "table-1.csv").read_text() == "a\n1\n"


def test_report(tmp_path):
    text = write_report(tmp_path, "Comparison", [TABLE], ["Use GMN."], {"numpy": "2.4"}).read_text()
    assert text.startswith("# Comparison\n")
    assert "| 1 |" in text
    assert "- Use GMN." in text
    assert "numpy 2.4" in text


def test_lines_of_code_stand_as_code(tmp_path):
    lines = [("In Python:", "import a\na.fit(X)"), ("In a shell:", "fit 'a\n\n<b>'")]
    text = write_report(tmp_path, "Report", [], ["Use GMN."], {}, lines=lines).read_text()
    assert "- Use GMN.\n\nIn Python:\n\n    import a\n    a.fit(X)\n\nIn a shell:\n" in text
    assert "\n    fit 'a\n\n    <b>'\n" in text


def test_a_report_takes_no_html_or_line_break_from_a_name(tmp_path):
    text = write_report(
        tmp_path, "Comparison on a\n<b>", [TABLE], ["Use\nGMN <i>."], {}
    ).read_text()
    assert text.startswith("# Comparison on a &lt;b>\n")
    assert "- Use GMN &lt;i>.\n" in text


def test_records(tmp_path):
    (row,) = csv.DictReader(write_records(tmp_path, [RECORD]).read_text().splitlines())
    assert (row["method"], row["tp"], row["average_precision"]) == ("BCE", "1", "")
    assert float(row["g_mean"]) == pytest.approx(np.sqrt(18 / 19))


def test_figures(tmp_path):
    pytest.importorskip("matplotlib")
    with Store(tmp_path / "study.sqlite") as store:
        store.add(
            [
                Outcome(
                    RECORD,
                    {"epoch": np.arange(1, 5, dtype=np.float32), "e_ratio": np.ones(4, np.float32)},
                )
            ]
        )
    with_history = write_figures(tmp_path / "a", tmp_path / "study.sqlite", "p", ["BCE"])
    assert sorted(path.name for path in with_history) == [
        f"figure-{n}.{kind}" for n in (1, 2, 3, 4) for kind in ("png", "svg")
    ]
    assert len(write_figures(tmp_path / "b", tmp_path / "study.sqlite", "other", ["BCE"])) == 6
    own = write_figures(tmp_path / "c", tmp_path / "study.sqlite", "p", ["BCE"], fixed=False)
    assert sorted(path.name for path in own) == ["figure-4.png", "figure-4.svg"]


def test_versions_of_every_run_are_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("astralearn.report.artefacts.write_figures", lambda *_, **__: [])
    with Store(tmp_path / "study.sqlite") as store:
        store.begin_session("yesterday", {"python": "3", "numpy": "1.0"})
        store.begin_session("today", {"python": "3", "numpy": "2.0"})
    said = write_everything(
        tmp_path / "study.sqlite", "Comparison", {"table-1": TABLE}, [], [RECORD], "p"
    )
    assert (
        said
        == f"Written to {tmp_path}: report.md, tables (Markdown, CSV, LaTeX), records.csv and study.sqlite, figures (PNG, SVG)"
    )
    assert "numpy 1.0 and 2.0, python 3\n" in (tmp_path / "report.md").read_text()


def test_a_page_takes_the_place_of_the_papers_figures(tmp_path):
    pytest.importorskip("matplotlib")
    with Store(tmp_path / "study.sqlite"):
        pass
    said = write_everything(
        tmp_path / "study.sqlite", "C", {"t": TABLE}, [], [RECORD], "p",
        page="<p>page</p>", about=["seed: 3", "astralearn compare <x>"],
    )  # fmt: skip
    assert said.startswith(f"Written to {tmp_path}: report.html, report.md")
    assert (tmp_path / "report.html").read_text() == "<p>page</p>"
    assert not list(tmp_path.glob("figure-*"))
    assert "- seed: 3\n- astralearn compare &lt;x>\n" in (tmp_path / "report.md").read_text()
