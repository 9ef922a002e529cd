"""Everything a reproduction leaves in its folder, and report.html with all of it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path

from astralearn.report.artefacts import versions_of, write_figures, write_records, write_tables
from astralearn.report.page import rendered
from astralearn.report.tables import Table
from astralearn.report.whole_file import write_whole
from astralearn.study import read_sessions
from astralearn.study.errors import writing
from astralearn.study.paper import PAPER_METHODS
from astralearn.study.record import StartRecord

TEMPLATE = "reproduction.html"
TITLE = "ASTra's Tables 1 and 2 and Figures 1–4, reproduced"


def write_reproduction(
    study: Path,
    *,
    tables: Mapping[str, Table],
    verdict: Sequence[str],
    sentences: Sequence[str],
    records: Sequence[StartRecord],
    problem: str,
) -> str:
    """Write into the folder of the study's file, and return in words what was written.

    StudyError where it cannot be written.

    study: path of the study's file.
    tables: by the name of their files.
    verdict: what stands on top of the page.
    sentences: what stands at its end.
    records: every start that the tables sum up.
    problem: whose e-ratio Figure 4 shows.
    """
    out = study.parent
    said = (
        f"Written to {out}: report.html, tables (Markdown, CSV, LaTeX), records.csv and "
        f"{study.name}"
    )
    with writing(out):
        write_tables(out, tables)
        write_records(out, records, StartRecord)
        figures: list[Path] = []
        try:
            figures = write_figures(out, study, problem, PAPER_METHODS, StartRecord)
            said = f"{said}, figures (PNG, SVG)"
        except ImportError as error:
            said = f"{said}; {error}"
        drawn = {
            path.stem.replace("-", " ").capitalize(): path
            for path in figures
            if path.suffix == ".svg"
        }
        versions = versions_of(read_sessions(study))
        write_whole(out / "report.html", page(tables, verdict, sentences, drawn, versions))
    return said


def page(
    tables: Mapping[str, Table],
    verdict: Sequence[str],
    sentences: Sequence[str],
    figures: Mapping[str, Path],
    versions: Mapping[str, str],
) -> str:
    """The page as HTML, which asks nothing of the network.

    figures: SVG files by what they are called.
    """
    return rendered(
        TEMPLATE,
        title=TITLE,
        tables=tables,
        verdict=verdict,
        sentences=sentences,
        figures={
            name: base64.b64encode(path.read_bytes()).decode() for name, path in figures.items()
        },
        versions=versions,
    )
