"""The progress bar of a fit."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from astralearn.engine import training


@contextlib.contextmanager
def bar(verbose: int, epochs: int) -> Iterator[Callable[[training.Progress], None] | None]:
    """What the engine calls after each segment, or None where nobody watches."""
    if not verbose:
        yield None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("epoch"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[seen]}"),
        TimeRemainingColumn(),
    )
    done: dict[int, int] = {}
    with Progress(*columns) as display:
        task = display.add_task("fit", total=epochs, seen="")

        def show(p: training.Progress) -> None:
            done[p.group] = p.epoch
            display.update(
                task,
                completed=round(sum(done.values()) / p.n_groups),
                seen=f"loss {p.loss:.4f}  FNR {p.fnr:.3f}  e-ratio {p.e_ratio:.3g}  "
                f"τ {p.threshold:.3f}",
            )

        yield show
