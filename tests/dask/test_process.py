"""The files and the leash of a process that trains with others."""

import pickle
import subprocess
import sys
import time

import numpy as np
import pytest

from astralearn.dask.process import ERROR, JOB, Files, Job

pytestmark = pytest.mark.slow


def job(**more):
    settled = {
        "model": None,
        "n_rows": 5,
        "n_features": 2,
        "dtype": np.dtype(np.float32),
        "labels": np.asarray(["rare", "usual"]),
        "names": None,
        "validation": None,
        "coordinator": "",
        "number": 0,
        "n_processes": 1,
        "devices": 1,
    }
    return Job(**{**settled, **more})


@pytest.mark.parametrize("names", [None, ("a", "b")])
def test_rows_come_back_whatever_order_they_were_written_in(tmp_path, names):
    X = np.arange(10, dtype=np.float32).reshape(5, 2)
    codes, weight = np.asarray([0, 1, 1, 0, 1], np.uint8), np.linspace(1, 2, 5)
    files = Files(tmp_path / "fit")
    for some in (slice(3, 5), slice(0, 3)):
        files.write(some.start, X[some], codes[some], weight[some])
    found, y, weights = files.read(job(names=names))
    np.testing.assert_array_equal(found, X)
    assert y.tolist() == ["rare", "usual", "usual", "rare", "usual"]
    np.testing.assert_array_equal(weights, weight)
    assert names is None or tuple(found.columns) == names


def test_a_process_that_fails_leaves_its_error(tmp_path):
    (tmp_path / JOB).write_bytes(b"no pickle")
    done = subprocess.run([*COMMAND, tmp_path], stdin=subprocess.PIPE, check=False)
    # Its input ends at once too; either ends it.
    assert done.returncode == 1
    assert not (tmp_path / "result").exists()


def test_a_process_ends_with_its_leash(tmp_path):
    """The job would wait for another process that never comes."""
    (tmp_path / JOB).write_bytes(
        pickle.dumps(job(coordinator="127.0.0.1:1", number=1, n_processes=2))
    )
    with subprocess.Popen(
        [*COMMAND, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        time.sleep(1)
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(timeout=60) == 1
    assert not (tmp_path / ERROR).exists()


COMMAND = [sys.executable, "-m", "astralearn.dask.process"]
