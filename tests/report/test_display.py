import io

from rich.console import Console

from astralearn.report.display import shown
from astralearn.study import Progress

STEPS = [Progress(0, 4, "p", "BCE"), Progress(1, 4, "p", "BCE"), Progress(2, 4, "p", "GMN"), Progress(4, 4, "", "")]


def test_without_a_terminal_a_line_per_method():
    file = io.StringIO()
    with shown(Console(file=file)) as update:
        for step in STEPS:
            update(step)
    assert file.getvalue().splitlines() == ["0/4 folds · p · BCE", "2/4 folds · p · GMN", "4/4 folds · done"]


def test_on_a_terminal_a_bar():
    file = io.StringIO()
    with shown(Console(file=file, force_terminal=True, width=100)) as update:
        for step in STEPS:
            update(step)
    assert "p · GMN" in file.getvalue() or "done" in file.getvalue()
    assert "folds" in file.getvalue()
