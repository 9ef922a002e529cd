"""A table once, for people in four forms: the terminal, Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from astralearn.report.escape import latex, markdown, one_line, spreadsheet

if TYPE_CHECKING:
    from rich.table import Table as RichTable
    from rich.text import Text

# How a note begins that says what winners are, and how it does where none can be bold.
BOLD, ASTERISK = "Bold:", "*:"


class Cell(NamedTuple):
    """Text, and whether it is a winner.

    >>> Cell("0.86", bold=True).text
    '0.86'
    """

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells under a title.

    notes: sentences below the table.
    left: how many columns hold words; the others hold numbers.
    sections: whether the first column names a group of rows. On a terminal, where width is dear,
        it becomes a line above its group.

    >>> rows = [["BCE", "0.31"], ["GMN", Cell("0.86", bold=True)]]
    >>> table = Table("Found", ["method", "G-Mean"], rows)
    >>> table.cells()[0]
    [Cell(text='BCE', bold=False), Cell(text='0.31', bold=False)]
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell | str]]
    notes: Sequence[str] = ()
    left: int = 1
    sections: bool = False

    def cells(self) -> list[list[Cell]]:
        """Every row as Cells."""
        return [
            [cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in self.rows
        ]


def to_rich(table: Table, *, has_bold: bool = True, width: int | None = None) -> RichTable:
    """For the terminal, within 80 columns where the cells allow it.

    has_bold: whether winners are bold; otherwise they have an asterisk.
    width: of the terminal. Columns that it has no room for are left out from the right, and named
        in a note.

    >>> rows = [["BCE", "0.31"], ["GMN", Cell("0.86", bold=True)]]
    >>> table = Table("Found", ["method", "G-Mean"], rows)
    >>> to_rich(table).row_count
    2
    """
    from rich.table import Table as RichTable
    from rich.text import Text

    # These are Text, since rich takes brackets in a string for markup.
    title = Text(one_line(table.title), style="table.title")
    drawn = RichTable(
        title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0)
    )
    notes = [one_line(note if has_bold else note.replace(BOLD, ASTERISK)) for note in table.notes]
    dropped = int(table.sections)
    rows = [[_drawn(cell, has_bold) for cell in row] for row in table.cells()]
    end = len(table.columns) if width is None else _room(table.columns, rows, dropped, width)
    if end < len(table.columns):
        notes.insert(0, f"Left out for want of width: {', '.join(table.columns[end:])}.")
    drawn.caption = Text("\n".join(notes), style="table.caption") if notes else None
    drawn.caption_justify = "left"
    for place, name in enumerate(table.columns[dropped:end], start=dropped):
        side: Literal["left", "right"] = "left" if place < table.left else "right"
        drawn.add_column(Text(name), justify=side, no_wrap=True)
    section = None
    for row in rows:
        if table.sections and row[0].plain != section:
            section = row[0].plain
            drawn.add_row(Text(section, style="italic"))
        drawn.add_row(*row[dropped:end])
    return drawn


def _drawn(cell: Cell, has_bold: bool) -> Text:
    from rich.text import Text

    text = one_line(cell.text)
    if has_bold:
        return Text(text, style="bold green" if cell.bold else "")
    return Text(text + ("*" if cell.bold else ""))


def _room(columns: Sequence[str], rows: Sequence[Sequence[Text]], start: int, width: int) -> int:
    """Where to stop so that the columns from `start` on fit in `width`.

    There is a blank between two; the first is kept in any case.
    """
    taken = -1
    for place in range(start, len(columns)):
        taken += 1 + max([len(columns[place]), *(row[place].cell_len for row in rows)])
        if taken > width:
            return max(place, start + 1)
    return len(columns)


def to_markdown(table: Table) -> str:
    """A GitHub table under a heading; winners in bold.

    >>> rows = [["BCE", "0.31"], ["GMN", Cell("0.86", bold=True)]]
    >>> table = Table("Found", ["method", "G-Mean"], rows)
    >>> print(to_markdown(table).strip())
    ## Found
    <BLANKLINE>
    | method | G-Mean |
    | --- | ---: |
    | BCE | 0.31 |
    | GMN | **0.86** |
    """
    marks = ["---" if place < table.left else "---:" for place in range(len(table.columns))]
    rows = [[_emphasised(markdown(cell.text), cell.bold) for cell in row] for row in table.cells()]
    lines = [f"| {' | '.join(row)} |" for row in ([*map(markdown, table.columns)], marks, *rows)]
    notes = [f"\n{markdown(note)}" for note in table.notes]
    return "\n".join([f"## {markdown(table.title)}", "", *lines, *notes, ""])


def _emphasised(text: str, bold: bool) -> str:
    return f"**{text}**" if bold and text else text


def to_csv(table: Table) -> str:
    """Plain values, one header line; winners marked by an asterisk.

    >>> rows = [["BCE", "0.31"], ["GMN", Cell("0.86", bold=True)]]
    >>> table = Table("Found", ["method", "G-Mean"], rows)
    >>> print(to_csv(table).strip())
    method,G-Mean
    BCE,0.31
    GMN,0.86*
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([spreadsheet(name) for name in table.columns])
    for row in table.cells():
        writer.writerow([spreadsheet(cell.text + ("*" if cell.bold else "")) for cell in row])
    return text.getvalue()


def to_latex(table: Table) -> str:
    """A table with booktabs rules, ready to be \\input; winners in bold.

    >>> rows = [["BCE", "0.31"], ["GMN", Cell("0.86", bold=True)]]
    >>> table = Table("Found", ["method", "G-Mean"], rows)
    >>> to_latex(table).splitlines()[2]
    '\\\\caption{Found}'
    """
    alignment = "".join("l" if place < table.left else "r" for place in range(len(table.columns)))
    rows = [
        [rf"\textbf{{{latex(c.text)}}}" if c.bold and c.text else latex(c.text) for c in row]
        for row in table.cells()
    ]
    notes = " ".join(latex(note) for note in table.notes)
    return "\n".join(
        [
            "% needs \\usepackage{booktabs} and \\usepackage{amssymb}",
            r"\begin{table}",
            rf"\caption{{{latex(table.title)}}}",
            r"\centering",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            " & ".join(latex(name) for name in table.columns) + r" \\",
            r"\midrule",
            *(" & ".join(row) + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            *([rf"\par\smallskip\footnotesize {notes}"] if notes else []),
            r"\end{table}",
            "",
        ]
    )
