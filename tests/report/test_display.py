import io

import pytest
from rich.console import Console

from astralearn.report.display import shown
from astralearn.study import RunProgress

STEPS = [
    RunProgress(0, 4, "p", "BCE"),
    RunProgress(1, 4, "p", "BCE"),
    RunProgress(2, 4, "p", "GMN"),
    RunProgress(4, 4, "", ""),
]


def test_without_a_terminal_a_line_per_method():
    file = io.StringIO()
    with shown(Console(file=file)) as update:
        for step in STEPS:
            update(step)
    assert file.getvalue().splitlines() == [
        "0/4 folds · p · BCE",
        "2/4 folds · p · GMN",
        "4/4 folds · done",
    ]


@pytest.mark.parametrize("is_terminal", [False, True])
def test_brackets_in_a_name_are_text_not_markup(is_terminal):
    file = io.StringIO()
    with shown(Console(file=file, force_terminal=is_terminal, width=100)) as update:
        update(RunProgress(0, 4, "[usd] p [/x]", "BCE"))
    assert "[usd] p [/x] · BCE" in file.getvalue()


def test_on_a_terminal_a_bar():
    file = io.StringIO()
    with shown(Console(file=file, force_terminal=True, width=100)) as update:
        for step in STEPS:
            update(step)
    assert "p · GMN" in file.getvalue() or "done" in file.getvalue()
    assert "folds" in file.getvalue()
