"""A server that lies, breaks off, drips and never ends."""

from __future__ import annotations

import hashlib
import http.server
import itertools
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from trial import Trial

CONTENT = bytes(range(256)) * 400
SHA256 = hashlib.sha256(CONTENT).hexdigest()
LIES = ("breaks off", "other content", "more content", "wrong length", "garbage length", "error")
LIES += ("never ends", "sends elsewhere")


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answer with the server's present lie."""
        lie, at = self.server.lie, self.server.at
        if lie == "error":
            self.send_error(500)
            return
        if lie == "sends elsewhere":
            self.send_response(302)
            self.send_header("Location", "file:///etc/hostname" if at % 2 else self.path)
            self.end_headers()
            return
        body = {
            "breaks off": CONTENT[:at],
            "other content": CONTENT[:at] + bytes([CONTENT[at] ^ 1]) + CONTENT[at + 1 :],
            "more content": CONTENT + b"x",
        }.get(lie, CONTENT)
        lengths = {"garbage length": "12 apples", "wrong length": str(at)}
        self.send_response(200)
        if lie == "never ends":
            self.end_headers()
            # Until the client gives up: its end of the connection is closed then.
            while True:
                self.wfile.write(CONTENT)
        self.send_header("Content-Length", lengths.get(lie, str(len(CONTENT))))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class _Server(http.server.ThreadingHTTPServer):
    lie, at = "", 0

    def handle_error(self, *_: Any) -> None:
        """A client that gives up is part of what is tried."""


def servers(rng: np.random.Generator, folder: Path) -> Iterator[Trial]:
    """The file appears with its content, or a sentence says that it cannot be had."""
    from astralearn.datasets import UnavailableError, source

    # A gigabyte in each trial would leave time for few.
    source.MOST_BYTES = 1 << 22
    server = _Server(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}/file.arff"
    for trial in itertools.count():
        server.lie, server.at = LIES[trial % len(LIES)], int(rng.integers(1, len(CONTENT)))
        path = folder / f"file{trial}.arff"
        start, wrong = time.monotonic(), ""
        try:
            source.download(address, path, SHA256)
        except UnavailableError:
            wrong = "a file was left" if path.exists() else ""
        except Exception as error:
            wrong = repr(error)[:200]
        if path.exists() and path.read_bytes() != CONTENT:
            wrong = "wrong content appeared"
        if time.monotonic() - start > 120:
            wrong = "took more than two minutes"
        yield Trial(f"server: {server.lie}", wrong)
