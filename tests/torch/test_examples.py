"""The examples run, and the comparison that each prints holds on its own data."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = pytest.mark.filterwarnings(
    "ignore"
)  # those of the packages that the examples are about


def functions(name):
    return runpy.run_path(str(EXAMPLES / name))


@pytest.mark.slow
def test_training_loop():
    example = functions("torch_training_loop.py")
    g_mean = {
        name: float(example["judge"](example[name](epochs=3)).split()[-1])
        for name in ("train_plainly", "train")
    }
    assert min(g_mean.values()) > 0.7


@pytest.mark.slow
def test_training_loop_writes_what_it_reads():
    written = set()

    class Writer:
        def add_scalar(self, name, value, step):
            written.add((name, step))

    functions("torch_training_loop.py")["train"](epochs=1, writer=Writer())
    assert {("fnr", 0), ("fpr", 0), ("e_ratio", 0), ("threshold", 0)} <= written


@pytest.mark.slow
def test_lightning():
    pytest.importorskip("lightning")
    readings = functions("torch_lightning.py")["main"](epochs=2)
    assert {"fnr", "fpr", "e_ratio", "threshold"} <= set(readings)


@pytest.mark.slow
def test_skorch():
    pytest.importorskip("skorch")
    scores = functions("torch_skorch.py")["main"](epochs=30)
    assert scores["RareHead"] > scores["BCE"]


@pytest.mark.slow
def test_fashion_mnist_says_what_to_do_where_it_is_absent(tmp_path):
    command = [sys.executable, str(EXAMPLES / "torch_fashion_mnist.py"), "--data", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "apt-get install dataset-fashion-mnist" in run.stdout


@pytest.mark.long
@pytest.mark.skipif(
    not Path("/usr/share/datasets/fashion-mnist").exists(),
    reason="needs the package dataset-fashion-mnist",
)
def test_fashion_mnist():
    command = [
        sys.executable,
        str(EXAMPLES / "torch_fashion_mnist.py"),
        "--seeds",
        "1",
        "--epochs",
        "2",
        "--negatives",
        "1000",
    ]
    assert "GMN-ASTra" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
