"""Everything a study leaves in its folder beside the SQLite file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from textwrap import indent
from typing import Any

from astralearn.report.escape import markdown, spreadsheet
from astralearn.report.tables import Table, to_csv, to_latex, to_markdown
from astralearn.report.whole_file import write_whole
from astralearn.study import LADDER, Record, read_histories, read_sessions
from astralearn.study.errors import writing


def write_everything(
    study: Path,
    title: str,
    tables: Mapping[str, Table],
    sentences: Sequence[str],
    records: Sequence[Record],
    problem: str,
    *,
    page: str | None = None,
    about: Sequence[str] = (),
    lines: Sequence[tuple[str, str]] = (),
) -> str:
    """Write into the folder of the study's file, and return in words what was written.

    StudyError where it cannot be written.

    study: path of the study's file.
    title: of the report.
    tables: by the name of their files.
    sentences: the advice.
    records: every fold that the tables sum up.
    problem: whose e-ratio Figure 4 shows.
    page: report.html; None for the paper's Figures 1–3 instead, which are the same for all data.
    about: the data, the seed, the command, for the report.
    lines: (what they are for, lines of code), with which to go on.
    """
    out = study.parent
    said = (
        f"Written to {out}: {'report.html, ' if page else ''}report.md, tables (Markdown, CSV, "
        f"LaTeX), records.csv and {study.name}"
    )
    with writing(out):
        write_tables(out, tables)
        write_records(out, records)
        versions = versions_of(read_sessions(study))
        write_report(out, title, list(tables.values()), sentences, versions, about, lines)
        if page is not None:
            write_whole(out / "report.html", page)
        try:
            write_figures(out, study, problem, LADDER, fixed=page is None)
        except ImportError as error:
            return f"{said}; {error}"
    return f"{said}, figures (PNG, SVG)"


def versions_of(sessions: Sequence[tuple[str, Mapping[str, str]]]) -> dict[str, str]:
    """Of everything that a run on the file had; where runs differ, of each."""
    found: dict[str, dict[str, None]] = {}
    for _, versions in sessions:
        for name, version in versions.items():
            found.setdefault(name, {})[version] = None
    return {name: " and ".join(versions) for name, versions in found.items()}


def write_tables(out: Path, tables: Mapping[str, Table]) -> list[Path]:
    """Each as NAME.md, NAME.csv and NAME.tex.

    >>> import tempfile
    >>> table = Table("Found", ["method", "G-Mean"], [["GMN", "0.86"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_tables(Path(folder), {"found": table})]
    ['found.md', 'found.csv', 'found.tex']
    """
    return [
        write_whole(out / f"{name}{ending}", render(table))
        for name, table in tables.items()
        for ending, render in ((".md", to_markdown), (".csv", to_csv), (".tex", to_latex))
    ]


def write_report(
    out: Path,
    title: str,
    tables: Sequence[Table],
    sentences: Sequence[str],
    versions: Mapping[str, str],
    about: Sequence[str] = (),
    lines: Sequence[tuple[str, str]] = (),
) -> Path:
    """One Markdown page with the tables, the advice, the data and the versions.

    >>> import tempfile
    >>> table = Table("Found", ["method", "G-Mean"], [["GMN", "0.86"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(Path(folder), "Cards", [table], ["Use GMN."], {"numpy": "2.0"})
    ...     print(path.read_text().splitlines()[0])
    # Cards
    """
    parts = [f"# {markdown(title)}\n", *(to_markdown(table) for table in tables)]
    if sentences:
        listed = "\n".join(f"- {markdown(sentence)}" for sentence in sentences)
        parts.append(f"## Recommendation\n\n{listed}\n")
    parts += [f"{markdown(what)}\n\n{indent(code, ' ' * 4)}\n" for what, code in lines]
    if about:
        listed = "\n".join(f"- {markdown(sentence)}" for sentence in about)
        parts.append(f"## Data and command\n\n{listed}\n")
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    parts.append(f"## Versions\n\n{listed}\n")
    return write_whole(out / "report.md", "\n".join(parts))


def write_records(out: Path, records: Sequence[Record], kind: type[Record] = Record) -> Path:
    """Every record as a line of records.csv, with its G-Mean and MCC.

    kind: of the records.

    >>> import tempfile
    >>> record = Record("cards", "GMN", 0, 0, 80, 15, 3, 0, 2, None, 0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_records(Path(folder), [record]).read_text().splitlines()[1])
    cards,GMN,0,0,80,15,3,0,2,,0.1,,,0.9128709291752769,0.5773502691896258
    """
    names = [*(field.name for field in fields(kind)), "g_mean", "mcc"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for record in records:
        values: list[Any] = [getattr(record, name) for name in names]
        writer.writerow([spreadsheet(v) if isinstance(v, str) else v for v in values])
    return write_whole(out / "records.csv", text.getvalue())


def write_figures(
    out: Path,
    study: Path,
    problem: str,
    methods: Sequence[str],
    kind: type[Record] = Record,
    *,
    fixed: bool = True,
) -> list[Path]:
    """Figures 1–4 as PNG and SVG; ImportError without matplotlib.

    Figure 4 is of `problem`, left out where nothing was monitored.

    kind: of the study's records.
    fixed: whether to write Figures 1–3, which are the paper's.

    >>> import tempfile
    >>> from astralearn.study.store import Store
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder, "s.sqlite")) as store:
    ...     found = write_figures(Path(folder), store.path, "cards", LADDER, fixed=False)
    >>> found
    []
    """
    from astralearn.report import figures

    drawn = {name: draw() for name, draw in figures.FIXED.items()} if fixed else {}
    histories = read_histories(study, problem, kind)
    monitored = {name: histories[name] for name in methods if name in histories}
    ratio = figures.figure_4(monitored, problem)
    if ratio is not None:
        drawn["figure-4"] = ratio
    return [path for name, figure in drawn.items() for path in figures.save(figure, out / name)]
