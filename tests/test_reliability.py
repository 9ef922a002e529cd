"""docs/reliability.md names tests that exist; no tracked file tells of a machine or a person."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_every_promise_names_a_test_that_exists():
    lines = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8").splitlines()
    promises = [line for line in lines if line.startswith("| ") and "promise" not in line]
    assert len(promises) > 20
    for promise in promises:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", promise)
        assert named, promise
        for path, name in named:
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


# Written in pieces, so that this file has none of them.
TOLD = re.compile(
    rb"/wor"
    + rb"k/\w|/home/\w|/Users/\w|-----BEGIN [A-Z ]*PRIVATE"
    + rb" KEY|\bghp_\w{20}|\bAKIA[0-9A-Z]{16}"
    rb"|[\w.+-]+@(?!example\.)[\w-]+\.(com|org|net|edu|de)\b"
)


def test_no_secret_address_or_path_of_a_machine_is_tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a checkout")
    found = {}
    for name in listed.stdout.decode().split("\0"):
        path = ROOT / name
        told = (
            [match.group() for match in TOLD.finditer(path.read_bytes())] if path.is_file() else []
        )
        if told:
            found[name] = told[:3]
    assert found == {}


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are read from /proc")
def test_a_fit_of_many_rows_takes_little_more_than_they_do(monkeypatch):
    """What two million rows more take: at these sizes, room that does not shrink with them would
    hide a copy too many.
    """
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "benchmarks")])
    from memory import PROMISED, measured

    few, many = (measured(n, 20, {"epochs": 5}) for n in (2_000_000, 4_000_000))
    assert 2 * many - few < PROMISED
