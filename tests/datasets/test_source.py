"""Downloads from a server on this machine, which can break off, ignore ranges, lie, and be switched
off.
"""

import gc
import hashlib
import http.server
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from astralearn.datasets import UnavailableError, UnreadableError, source
from astralearn.datasets.source import cache_folder, download, fetch, find

CONTENT = bytes(range(256)) * 2000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Serves CONTENT; breaks off after `break_after` bytes for the first `breaks` requests;
    remembers the ranges asked for.
    """

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.breaks, self.break_after, self.knows_ranges, self.status = (
            CONTENT,
            0,
            100_000,
            True,
            200,
        )
        self.seconds = 0.0
        self.length = None  # what Content-Length says instead of the truth
        self.drip = None  # "head" or "body": what is sent byte by byte
        self.location = None
        self.ranges = []

    def handle_error(self, request, client_address):
        """A client that gives up is part of what is tested."""

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}/file.arff"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.ranges.append(asked)
        start = (
            int(asked.removeprefix("bytes=").rstrip("-")) if asked and server.knows_ranges else 0
        )
        if server.status != 200 or start >= len(server.content):
            self.send_error(server.status if server.status != 200 else 416)
            return
        if server.location:
            self.send_response(302)
            self.send_header("Location", server.location)
            self.end_headers()
            return
        if server.drip == "head":
            self.dripped(b"HTTP/1.0 200 OK\r\nX: ")
            return
        body = server.content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", server.length or str(len(body)))
        self.end_headers()
        if server.drip == "body":
            self.dripped(b"")
            return
        if server.breaks:
            server.breaks -= 1
            body = body[: server.break_after]
            self.close_connection = True
        self.wfile.write(body[:1000])
        time.sleep(server.seconds)
        self.wfile.write(body[1000:])

    def dripped(self, first):
        """A byte in every tenth of a second, until the other side has gone."""
        try:
            self.wfile.write(first)
            for _ in range(600):
                self.wfile.write(b"x")
                time.sleep(0.1)
        except OSError:
            self.close_connection = True

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def folders(monkeypatch, tmp_path):
    monkeypatch.setenv("ASTRALEARN_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()


def test_a_download_lands_in_the_cache_once(server):
    path = fetch("file.arff", server.address, SHA256)
    assert path == cache_folder() / "file.arff"
    assert path.read_bytes() == CONTENT
    assert fetch("file.arff", server.address, SHA256) == path
    assert server.ranges == [None]
    assert sorted(p.name for p in path.parent.iterdir()) == ["file.arff", "file.arff.lock"]


def test_a_broken_download_continues_where_it_broke(server, tmp_path):
    server.breaks = 2
    path = download(server.address, tmp_path / "file.arff", SHA256)
    assert path.read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=100000-", "bytes=200000-"]


def test_a_part_left_by_another_day_is_continued(server, tmp_path):
    server.breaks = 3
    with pytest.raises(UnavailableError):
        download(server.address, tmp_path / "file.arff", SHA256)
    assert not (tmp_path / "file.arff").exists()
    download(server.address, tmp_path / "file.arff", SHA256)
    assert server.ranges[-1] == "bytes=300000-"
    assert (tmp_path / "file.arff").read_bytes() == CONTENT


@pytest.mark.slow
def test_two_processes_at_once_bring_one_file(server, tmp_path):
    code = f"""
from pathlib import Path; from astralearn.datasets.source import download
download({server.address!r}, Path({str(tmp_path / "file.arff")!r}), {SHA256!r})"""
    server.seconds = 1.0
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait(120) for process in processes] == [0, 0, 0]
    assert (tmp_path / "file.arff").read_bytes() == CONTENT
    assert server.ranges == [None]
    assert not (tmp_path / "file.arff.part").exists()


def test_a_file_that_cannot_be_put_in_place_says_where_else_to_put_the_file(
    server, tmp_path, monkeypatch
):
    def full(part, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UnavailableError, match=r"(?s)No space left on device.*set ASTRALEARN_DATA"):
        download(server.address, tmp_path / "file.arff", SHA256)


def test_a_server_without_ranges_starts_again(server, tmp_path):
    server.breaks, server.knows_ranges = 1, False
    assert download(server.address, tmp_path / "file.arff", SHA256).read_bytes() == CONTENT


def test_a_complete_part_needs_no_more_bytes(server, tmp_path):
    (tmp_path / "file.arff.part").write_bytes(CONTENT)
    assert download(server.address, tmp_path / "file.arff", SHA256).read_bytes() == CONTENT


def test_a_wrong_part_is_thrown_away(server, tmp_path):
    (tmp_path / "file.arff.part").write_bytes(b"rubbish")
    assert download(server.address, tmp_path / "file.arff", SHA256).read_bytes() == CONTENT


def test_wrong_content_never_appears(server, tmp_path):
    server.content = b"something else"
    with pytest.raises(UnavailableError, match="another SHA-256"):
        download(server.address, tmp_path / "file.arff", SHA256)
    assert [path.name for path in tmp_path.glob("file*")] == ["file.arff.lock"]


@pytest.mark.parametrize("said", ["plenty", "-5", "1e9", "\u0663"])
def test_a_length_that_is_no_number_is_said(server, tmp_path, said):
    server.length = said.encode().decode("latin-1")
    with pytest.raises(UnavailableError, match="its Content-Length is "):
        download(server.address, tmp_path / "file.arff", SHA256)


def test_an_address_that_is_none_is_said(server, tmp_path):
    server.location = "http://[nowhere/file"
    with warnings.catch_warnings():
        # urllib leaves the answer that redirected it open.
        warnings.simplefilter("ignore", ResourceWarning)
        with pytest.raises(UnavailableError, match=r"could not download .*127\.0\.0\.1"):
            download(server.address, tmp_path / "file.arff", SHA256)
        gc.collect()


def test_a_server_that_sends_too_much_is_given_up_at_once(server, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "MOST_BYTES", len(CONTENT) - 1)
    with pytest.raises(UnavailableError, match="it sends more than"):
        download(server.address, tmp_path / "file.arff", SHA256)
    assert server.ranges == [None]
    assert [path.name for path in tmp_path.glob("file*")] == ["file.arff.lock"]


@pytest.mark.parametrize(
    ("part", "message"), [("head", "does not answer in time"), ("body", "less than 1024 bytes/s")]
)
def test_a_server_that_drips_is_given_up(server, tmp_path, monkeypatch, part, message):
    server.drip = part
    monkeypatch.setattr(source, "TIMEOUT_SECONDS", 2.0)
    monkeypatch.setattr(source, "ATTEMPTS", 1)
    started = time.monotonic()
    with pytest.raises(UnavailableError, match=message):
        download(server.address, tmp_path / "file.arff", SHA256)
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("exists", [True, False])
def test_a_part_that_is_a_link_is_not_followed(server, tmp_path, exists):
    elsewhere = tmp_path / "precious"
    if exists:
        elsewhere.write_bytes(b"keep me")
    (tmp_path / "file.arff.part").symlink_to(elsewhere)
    path = download(server.address, tmp_path / "file.arff", SHA256)
    assert path.read_bytes() == CONTENT
    assert not path.is_symlink()
    assert elsewhere.read_bytes() == b"keep me" if exists else not elsewhere.exists()


def test_not_found_is_said_at_once(server, tmp_path):
    server.status = 404
    with pytest.raises(UnavailableError, match="404"):
        download(server.address, tmp_path / "file.arff", SHA256)
    assert len(server.ranges) == 1


def test_offline_says_which_file_to_put_where(server, tmp_path):
    address = server.address.replace(str(server.server_address[1]), "1")  # nobody listens there
    with pytest.raises(UnavailableError) as caught:
        fetch("file.arff", address, SHA256)
    message = str(caught.value)
    assert address in message
    assert f"Put the file file.arff into {cache_folder()}" in message
    assert "ASTRALEARN_DATA" in message


def test_a_cache_that_cannot_be_made_says_where_else_to_put_the_file(server, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(
        UnavailableError, match=r"(?s)could not download .*cache.*set ASTRALEARN_DATA"
    ):
        fetch("file.arff", server.address, SHA256)


def test_order_of_search(server, tmp_path):
    assert find("file.arff") is None
    cached = download(server.address, cache_folder() / "file.arff", SHA256)
    assert find("file.arff") == cached
    (tmp_path / "data" / "file.arff").write_bytes(CONTENT)
    assert find("file.arff") == tmp_path / "data" / "file.arff"


def test_a_file_with_other_content_is_refused(server, tmp_path):
    (tmp_path / "data" / "file.arff").write_bytes(b"edited")
    with pytest.raises(
        UnreadableError, match=r"data/file.arff is not the catalogue's file.*delete it"
    ):
        fetch("file.arff", server.address, SHA256)
    assert server.ranges == []


def test_a_file_that_cannot_be_read_is_refused(tmp_path, monkeypatch):
    def closed(path):
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "data" / "file.arff").write_bytes(CONTENT)
    monkeypatch.setattr(source, "checksum", closed)
    with pytest.raises(
        UnreadableError, match=r"file\.arff cannot be read \(\[Errno 13\] Permission denied"
    ):
        fetch("file.arff", "http://127.0.0.1:1/", SHA256)


def test_a_folder_closed_to_us_is_one_without_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv(
        "ASTRALEARN_DATA", str(tmp_path / ("x" * 300))
    )  # asked about it, the system raises, as for a closed folder
    assert find("file.arff") is None


def test_without_a_home_the_variable_is_named(tmp_path, monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert cache_folder() == tmp_path / "cache" / "astralearn"
    (tmp_path / "data" / "file.arff").write_bytes(CONTENT)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert find("file.arff") == tmp_path / "data" / "file.arff"
    with pytest.raises(
        UnavailableError, match="there is no home folder to keep files in: set XDG_CACHE_HOME"
    ):
        cache_folder()


@pytest.mark.slow
def test_whoever_waits_for_anothers_download_hears_ctrl_c(tmp_path):
    path = tmp_path / "x.arff"
    code = (
        "from pathlib import Path; from astralearn.datasets import source; "
        f"source._alone(Path({str(path)!r})).__enter__()"
    )
    with source._alone(path):
        waiting = subprocess.Popen(
            [sys.executable, "-c", f"print('here', flush=True); {code}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert waiting.stdout.readline() == b"here\n"
        time.sleep(3)
        waiting.send_signal(signal.SIGINT)
        _, error = waiting.communicate(timeout=10)
    assert b"KeyboardInterrupt" in error
