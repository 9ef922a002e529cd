"""The progress bar of a fit."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def bar(verbose: int, epochs: int, label: str = "epoch") -> Iterator[Callable[[Any], None] | None]:
    """Yields what the engine calls after each segment, or None where nobody watches."""
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
        TextColumn(label),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(
            "loss {task.fields[loss]:.4f}  FNR {task.fields[fnr]:.3f}  e-ratio {task.fields[e_ratio]:.3g}  τ {task.fields[tau]:.3f}"
        ),
        TimeRemainingColumn(),
    )
    done: dict[int, int] = {}
    with Progress(*columns) as display:
        task = display.add_task(
            "fit",
            total=epochs,
            loss=float("nan"),
            fnr=float("nan"),
            e_ratio=float("nan"),
            tau=float("nan"),
        )

        def show(p: Any) -> None:
            done[p.group] = p.epoch
            mean = sum(done.values()) / p.n_groups
            display.update(
                task,
                completed=round(mean),
                loss=p.loss,
                fnr=p.fnr,
                e_ratio=p.e_ratio,
                tau=p.threshold,
            )

        yield show
