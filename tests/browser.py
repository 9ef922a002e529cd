"""A real browser for tests and pictures: headless Chromium over its debugging pipe."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--remote-debugging-pipe",
)  # fmt: skip
READ, WRITE = 3, 4  # where the browser reads commands and writes answers


def chromium() -> str | None:
    """Where Chromium is; None where it is not."""
    return shutil.which("chromium") or shutil.which("google-chrome")


class Browser:
    """One tab. Use as a context manager."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        there, self._commands = os.pipe()
        self._answers, back = os.pipe()

        command = [chromium() or "chromium", *OPTIONS, f"--user-data-dir={self._folder.name}"]
        handed = f'exec "$@" {READ}<&{there} {WRITE}>&{back}'
        self._process = subprocess.Popen(
            ["bash", "-c", handed, "bash", *command],
            pass_fds=(there, back),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(there)
        os.close(back)
        self._rest, self._number, self.events = b"", 0, []
        target = self.call("Target.createTarget", url="about:blank", session=None)["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True, session=None)
        self._session: str = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._commands)
        os.close(self._answers)
        self._process.terminate()
        self._process.wait(30)
        self._folder.cleanup()

    def call(self, method: str, *, session: str | None = "", **arguments: Any) -> dict[str, Any]:
        """Call a method of the browser's protocol and return its result."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": arguments}
        if session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self.events.append(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._answers, 1 << 16)
            if not part:
                raise RuntimeError("the browser has gone")
            self._rest += part
        text, self._rest = self._rest.split(b"\0", 1)
        return dict(json.loads(text))

    def open(
        self, path: Path, *, width: int = 1280, dark: bool = False, script: bool = True
    ) -> None:
        """Open a file and wait until it has loaded."""
        scheme = "dark" if dark else "light"
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def requests(self) -> list[str]:
        """What the page asked for since it was opened."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, also where the page's own scripts are off."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key, as a reader does."""
        codes = {"ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key],
            )  # fmt: skip

    def picture(self, path: Path, selector: str = "html", *, tallest: float = 6_000.0) -> None:
        """A screenshot of one element, as PNG."""
        box = self.evaluate(
            f"(e => {{ const r = e.getBoundingClientRect(); return [r.x + scrollX, r.y + scrollY, "
            f"r.width, r.height]; }})(document.querySelector({selector!r}))"
        )
        x, y, width, height = box
        clip = {"x": x, "y": y, "width": width, "height": min(height, tallest), "scale": 1}
        shot = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def printed(self, path: Path) -> None:
        """The page as PDF."""
        answer = self.call("Page.printToPDF", printBackground=False)
        path.write_bytes(base64.b64decode(answer["data"]))
