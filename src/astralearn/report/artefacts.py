"""Everything a study leaves in its folder beside the SQLite file."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from astralearn.report.tables import Table, markdown, to_csv, to_latex, to_markdown
from astralearn.study import LADDER, Record, read_histories, read_sessions
from astralearn.study.store import writing


def write_everything(
    study: Path,
    title: str,
    tables: Mapping[str, Table],
    sentences: Sequence[str],
    records: Sequence[Record],
    problem: str,
) -> str:
    """Into the folder of the study's file; figure 4 is of `problem`. Returns what was written, in words; StudyError where it cannot be."""
    out = study.parent
    said = (
        f"Written to {out}: report.md, tables (Markdown, CSV, LaTeX), records.csv and {study.name}"
    )
    with writing(out):
        write_tables(out, tables)
        write_records(out, records)
        write_report(
            out, title, list(tables.values()), sentences, versions_of(read_sessions(study))
        )
        try:
            write_figures(out, study, problem, LADDER)
        except ImportError as error:
            return f"{said}; {error}"
    return f"{said}, figures (PNG, SVG)"


def versions_of(sessions: Sequence[tuple[str, Mapping[str, str]]]) -> dict[str, str]:
    """Of everything that a run on the file had; where runs differ, of each."""
    names = dict.fromkeys(name for _, versions in sessions for name in versions)
    return {
        name: " and ".join(
            dict.fromkeys(versions[name] for _, versions in sessions if name in versions)
        )
        for name in names
    }


def write_tables(out: Path, tables: Mapping[str, Table]) -> list[Path]:
    """Each as NAME.md, NAME.csv and NAME.tex."""
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name, table in tables.items():
        for ending, render in ((".md", to_markdown), (".csv", to_csv), (".tex", to_latex)):
            path = out / f"{name}{ending}"
            path.write_text(render(table), encoding="utf-8")
            written.append(path)
    return written


def write_report(
    out: Path,
    title: str,
    tables: Sequence[Table],
    sentences: Sequence[str],
    versions: Mapping[str, str],
) -> Path:
    """One Markdown page with the tables, the advice and the versions."""
    parts = [f"# {markdown(title)}\n", *(to_markdown(table) for table in tables)]
    if sentences:
        parts.append(
            "## Recommendation\n\n"
            + "\n".join(f"- {markdown(sentence)}" for sentence in sentences)
            + "\n"
        )
    parts.append(
        "## Versions\n\n"
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + "\n"
    )
    path = out / "report.md"
    out.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def write_records(out: Path, records: Sequence[Record]) -> Path:
    """Every fold as a line of records.csv, with its G-Mean and MCC."""
    names = [field.name for field in fields(Record)]
    path = out / "records.csv"
    out.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*names, "g_mean", "mcc"])
        writer.writerows(
            [*(getattr(record, name) for name in names), record.g_mean, record.mcc]
            for record in records
        )
    return path


def write_figures(out: Path, study: Path, problem: str, methods: Sequence[str]) -> list[Path]:
    """Figures 1–4 as PNG and SVG; ImportError without matplotlib. Figure 4 is of `problem`, left out where nothing was monitored."""
    from astralearn.report import figures

    out.mkdir(parents=True, exist_ok=True)
    drawn = {name: draw() for name, draw in figures.FIXED.items()}
    histories = read_histories(study, problem)
    ratio = figures.figure_4(
        {name: histories[name] for name in methods if name in histories}, problem
    )
    if ratio is not None:
        drawn["figure-4"] = ratio
    return [path for name, figure in drawn.items() for path in figures.save(figure, out / name)]
