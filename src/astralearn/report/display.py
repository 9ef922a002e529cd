"""What a person sees while a study runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from astralearn.study import RunProgress

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def shown(console: Console) -> Iterator[Callable[[RunProgress], None]]:
    """Yield what `study.run` calls, to show how far it is.

    A bar with the current problem and method and the time left; lines without a terminal.
    """
    if not console.is_terminal:
        yield _lines(console)
        return
    from rich import progress as rich

    columns = (
        rich.SpinnerColumn(),
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TextColumn("folds"),
        rich.TimeElapsedColumn(),
        rich.TextColumn("left"),
        rich.TimeRemainingColumn(elapsed_when_finished=False),
    )
    with rich.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        begun: list[int] = []

        def update(progress: RunProgress) -> None:
            # What an earlier run did took no time today, and must not flatter the estimate.
            if not begun:
                begun.append(progress.done)
            total, done = progress.total - begun[0], progress.done - begun[0]
            bar.update(task, description=_current(progress), total=total, completed=done)

        yield update


@contextmanager
def rows_counted(console: Console) -> Iterator[Callable[[int], None] | None]:
    """Yield what is called with numbers of rows, to show how many are done.

    It is None without a terminal.
    """
    if not console.is_terminal:
        yield None
        return
    from rich import progress as rich

    columns = (
        rich.SpinnerColumn(),
        rich.TextColumn("{task.completed:,.0f} rows read, each twice"),
        rich.TimeElapsedColumn(),
    )
    with rich.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda rows: bar.advance(task, rows)


def _lines(console: Console) -> Callable[[RunProgress], None]:
    """A line whenever the problem or method changes: enough for a log file."""
    from rich.text import Text

    last: list[str] = []

    def update(progress: RunProgress) -> None:
        current = _current(progress)
        if [current] != last:
            console.print(Text(f"{progress.done}/{progress.total} folds · {current}"))
            last[:] = [current]

    return update


def _current(progress: RunProgress) -> str:
    return f"{progress.problem} · {progress.method}" if progress.problem else "done"
