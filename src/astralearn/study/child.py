"""Calls in a child process: one that hangs or crashes costs itself only.

A child answers call after call, so that frameworks are imported once; threads that call at the
same time have a child each. A call that takes too long is stopped together with its child.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable
from typing import IO, Any

from astralearn.study.ending import watch

SECONDS_TO_LOAD = 300.0
# One thread a child, where the user does not say otherwise: as many children work at once.
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class ChildError(RuntimeError):
    """The call raised, or its process died; the message says what happened."""


class _Child:
    """A process that waits for calls. It ends when this object does."""

    def __init__(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115, as long as the child is
        paths = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from astralearn.study.child import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**THREADS, **os.environ, "PYTHONPATH": paths},
        )
        self.close = weakref.finalize(self, _end, self._process, self._errors)

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float) -> Any:
        """The function's value; TimeoutError or ChildError where it has none."""
        import cloudpickle

        self._send(cloudpickle.dumps((function, arguments)))
        # What the call needs is imported first, once a child: that is not the call's time.
        self._answer(SECONDS_TO_LOAD)
        has_value, answer = self._answer(seconds)
        if not has_value:
            raise ChildError(answer)
        return answer

    def kill(self) -> None:
        """Stop it, from whatever thread; the call in progress is told so."""
        self._process.kill()

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def _send(self, content: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(content)
            self._process.stdin.flush()
        except OSError:
            return  # it has died, as the answer will say

    def _answer(self, seconds: float) -> Any:
        """What the child says next; it is stopped when it does not in time."""
        assert self._process.stdout is not None
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        try:
            return pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            code = self._process.wait()
            # A timer that has fired is neither waiting nor alive.
            if not timer.is_alive():
                raise TimeoutError(f"stopped after {seconds:g} s") from None
            raise ChildError(f"its process died (exit code {code}){self._last_words()}") from error
        finally:
            timer.cancel()

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""


_idle: list[_Child] = []
_all: weakref.WeakSet[_Child] = weakref.WeakSet()


def in_child(function: Callable[..., Any], *arguments: Any, seconds: float) -> Any:
    """Return what the function returns in a child process.

    function, arguments, value: whatever cloudpickle can send.
    seconds: after which the call is stopped, and TimeoutError raised.
    ChildError where the function raises, or its process dies; the message says what it was.
    """
    child = _waiting() or _Child()
    _all.add(child)
    try:
        value = child.call(function, arguments, seconds)
    except ChildError:
        if not child.has_ended():
            _idle.append(child)
        raise
    except BaseException:
        # Its answer would be taken for that of the next call.
        child.close()
        raise
    _idle.append(child)
    return value


def _waiting() -> _Child | None:
    """A child that has nothing to do; None where there is none."""
    while _idle:
        child = _idle.pop()
        if not child.has_ended():
            return child
    return None


def stop_children() -> None:
    """Stop every child, whatever it is doing; their calls raise ChildError."""
    _idle.clear()
    for child in list(_all):
        child.kill()


def _end(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, errors):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue  # what was not yet sent cannot be sent any more


def serve() -> None:
    """Answer calls until there are no more."""
    # What is called may print: that must not end up among the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Ctrl-C is for the parent, which then stops its children.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The parent may be killed while a call is running.
    watch(os.getppid())
    while True:
        try:
            function, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answers.write(pickle.dumps("loaded"))
        answers.flush()
        answers.write(_answer(function, arguments))
        answers.flush()


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    import cloudpickle

    from astralearn.study.unit import message_of

    try:
        return cloudpickle.dumps((True, function(*arguments)))
    except Exception as error:
        return cloudpickle.dumps((False, message_of(error)))
