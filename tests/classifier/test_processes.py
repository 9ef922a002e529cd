"""The rows of one process among several; examples/two_processes.py runs as two."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from astralearn.classifier.processes import Processes, alone, in_processes
from astralearn.classifier.shards import Piece

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_processes.py"


def test_without_jax_a_fit_is_of_one_process(monkeypatch):
    monkeypatch.delitem(sys.modules, "jax")
    assert not in_processes()
    assert "jax" not in sys.modules


def test_jax_says_whether_there_are_others(monkeypatch):
    assert not in_processes()
    monkeypatch.setattr(jax.distributed, "is_initialized", lambda: True)
    assert not in_processes()
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    assert in_processes()
    with alone():
        assert not in_processes()
    assert in_processes()


def test_a_jax_array_gives_what_this_process_holds():
    def shard(start, data):
        return SimpleNamespace(index=(slice(start, None), slice(None)), data=np.asarray(data))

    X = SimpleNamespace(addressable_shards=[shard(4, [[3.0]]), shard(None, [[1.0], [2.0]])])
    copied = SimpleNamespace(addressable_shards=[shard(2, [1, 0]), shard(2, [1, 0])])
    own = Processes.of(X, copied, None).own
    np.testing.assert_array_equal(own.X, [[1.0], [2.0], [3.0]])
    np.testing.assert_array_equal(own.y, [1, 0])
    assert own.weight is None


def test_a_process_alone_is_all_pieces(monkeypatch):
    processes = Processes(Piece(np.ones((3, 1)), np.zeros(3), None))
    assert processes.each(lambda piece, more: len(piece.X) + more, [(4,)]) == [7]
    assert processes.merged(lambda piece: len(piece.y), max) == 3
    assert processes.first("seed") == "seed"
    assert processes.number == 0


@pytest.mark.slow
def test_the_example_runs_as_two_processes():
    done = subprocess.run(
        [sys.executable, EXAMPLE], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "2 processes, 120000 rows, the same networks in both: True" in done.stdout
    assert "the networks of one process: True" in done.stdout
