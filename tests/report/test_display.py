import io

import pytest
from rich.console import Console

from astralearn.report import display
from astralearn.report.display import shown
from astralearn.study import Record, RunProgress

STEPS = [
    RunProgress(0, 4, "p", "BCE", 130.0),
    RunProgress(1, 4, "p", "BCE", 60.0),
    RunProgress(2, 4, "p", "GMN", 12.0),
    RunProgress(4, 4, "", ""),
]


def told(seconds, monkeypatch, steps=STEPS, **options):
    """What stands in a log where a step comes every so many seconds."""
    times = iter(range(100))
    monkeypatch.setattr(display.time, "monotonic", lambda: seconds * next(times))
    file = io.StringIO()
    with shown(Console(file=file), **options) as update:
        for step in steps:
            update(step)
    return file.getvalue().splitlines()


def test_a_log_has_a_line_every_ten_seconds_with_the_time_left(monkeypatch):
    assert told(10, monkeypatch) == [
        "0/4 folds · p · BCE · about 2 min left",
        "1/4 folds · p · BCE · about 60 s left",
        "2/4 folds · p · GMN · about 12 s left",
        "4/4 folds · done",
    ]
    assert told(1, monkeypatch) == ["0/4 folds · p · BCE · about 2 min left", "4/4 folds · done"]


def test_what_a_method_found_is_told_when_its_first_repetition_is_whole(monkeypatch):
    def ended(fold, repetition=0):
        record = Record("p", "BCE", repetition, fold, 80, 18, 1, 1, fold, None, 0.25)
        return RunProgress(fold, 4, "p", "BCE", 1.0, [record])

    steps = [ended(0), ended(1), ended(0, 1), ended(1, 1)]
    said = told(1, monkeypatch, steps, folds=2)
    assert said[1:] == ["BCE: found 1 of 3 positives, 52.6 false alarms per 1,000 (0.25 s a fit)"]
    assert len(told(1, monkeypatch, steps)) == 1


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
    assert "left" in file.getvalue()
