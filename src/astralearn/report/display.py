"""What a person sees while a study runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from astralearn.study import Record, RunProgress

if TYPE_CHECKING:
    from rich.console import Console

# Between two lines of a log.
LINE_SECONDS = 10.0


@contextmanager
def shown(console: Console, *, folds: int | None = None) -> Iterator[Callable[[RunProgress], None]]:
    """Yield what `study.run` calls, to show how far it is.

    A bar with the current problem and method and the time left; lines without a terminal.

    folds: of a repetition. Then what a method found is told when its first one is whole.
    """
    results = _first_results(console, folds)
    if not console.is_terminal:
        lines = _lines(console)

        def both(progress: RunProgress) -> None:
            results(progress)
            lines(progress)

        yield both
        return
    from rich import progress as rich

    columns = (
        rich.SpinnerColumn(),
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TextColumn("folds"),
        rich.TimeElapsedColumn(),
        rich.TextColumn("{task.fields[left]}", markup=False),
    )
    with rich.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, left="")

        def update(progress: RunProgress) -> None:
            results(progress)
            bar.update(
                task,
                description=_current(progress),
                total=progress.total,
                completed=progress.done,
                left=_left(progress),
            )

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


def duration(seconds: float) -> str:
    """About how long, for a person.

    >>> duration(0.2), duration(42.0), duration(100.0), duration(9000.0)
    ('1 s', '42 s', '2 min', '2.5 h')
    """
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _lines(console: Console) -> Callable[[RunProgress], None]:
    """A line at the beginning, at the end, and every ten seconds: for a log."""
    from rich.text import Text

    last: list[float] = []

    def update(progress: RunProgress) -> None:
        now = time.monotonic()
        if not last or now - last[0] >= LINE_SECONDS or not progress.problem:
            left = f" · {_left(progress)}" if progress.problem else ""
            said = f"{progress.done}/{progress.total} folds · {_current(progress)}{left}"
            console.print(Text(said), soft_wrap=True)
            last[:] = [now]

    return update


def _first_results(console: Console, folds: int | None) -> Callable[[RunProgress], None]:
    """Tell what each method found when its first repetition is whole."""
    from rich.text import Text

    seen: dict[str, list[Record]] = {}

    def update(progress: RunProgress) -> None:
        for record in progress.records if folds else ():
            of_method = seen.setdefault(record.method, [])
            of_method.append(record)
            if len(of_method) == folds:
                console.print(Text(_found(of_method)), soft_wrap=True)

    return update


def _found(records: list[Record]) -> str:
    hits, positives = sum(r.tp for r in records), sum(r.tp + r.fn for r in records)
    alarms, negatives = sum(r.fp for r in records), sum(r.fp + r.tn for r in records)
    seconds = sum(r.fit_seconds for r in records) / len(records)
    return (
        f"{records[0].method}: found {hits} of {positives} positives, "
        f"{1000 * alarms / max(negatives, 1):.3g} false alarms per 1,000 ({seconds:.2g} s a fit)"
    )


def _left(progress: RunProgress) -> str:
    return f"about {duration(progress.seconds_left)} left"


def _current(progress: RunProgress) -> str:
    return f"{progress.problem} · {progress.method}" if progress.problem else "done"
