"""Calls in a child: values come back, and what hangs, raises or crashes costs itself only."""

from __future__ import annotations

import os
import threading
import time

import pytest

from astralearn.study import child
from astralearn.study.child import ChildError, in_child, stop_children

pytestmark = pytest.mark.slow


def own_process() -> int:
    print("what a call prints is no answer")
    return os.getpid()


def raises() -> None:
    raise LookupError("nothing\nthere")


def test_calls_share_a_child_until_one_hangs_or_crashes() -> None:
    first = in_child(own_process, seconds=60)
    assert first != os.getpid()
    with pytest.raises(ChildError, match="LookupError: nothing there"):
        in_child(raises, seconds=60)
    assert in_child(own_process, seconds=60) == first
    with pytest.raises(TimeoutError, match=r"stopped after 0\.5 s"):
        in_child(time.sleep, 60, seconds=0.5)
    second = in_child(own_process, seconds=60)
    assert second != first
    with pytest.raises(ChildError, match="exit code 7"):
        in_child(os._exit, 7, seconds=60)


def test_what_cannot_be_loaded_is_said() -> None:
    with pytest.raises(ChildError, match="cannot be loaded"):
        in_child(own_process, Unloadable(), seconds=60)


class Unloadable:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise ImportError('it cannot be loaded')",)


def test_an_interrupted_call_leaves_no_answer_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    first = in_child(own_process, seconds=60)
    with monkeypatch.context() as patched:
        patched.setattr(child._Child, "_answer", interrupted)
        with pytest.raises(KeyboardInterrupt):
            in_child(time.sleep, 5, seconds=60)
    assert in_child(own_process, seconds=60) != first


def test_children_are_stopped_from_another_thread() -> None:
    in_child(own_process, seconds=60)
    threading.Timer(0.5, stop_children).start()
    started = time.monotonic()
    with pytest.raises(ChildError, match="its process died"):
        in_child(time.sleep, 60, seconds=60)
    assert time.monotonic() - started < 30
