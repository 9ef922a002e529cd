"""The examples run, and the comparison that each prints holds on its own data."""

import os
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = pytest.mark.filterwarnings("ignore")  # those of Keras and its backends


def functions(name):
    return runpy.run_path(str(EXAMPLES / name))


@pytest.mark.slow
def test_three_lines():
    example = functions("keras_three_lines.py")
    g_mean = {
        mode: float(example["judge"](example["train"](mode, epochs=60)).split()[-1])
        for mode in (False, True)
    }
    assert g_mean[True] > g_mean[False] + 0.2


@pytest.mark.slow
@pytest.mark.skipif("ASTRALEARN_DATA" not in os.environ, reason="needs the paper's data")
def test_ijcnn():
    ((tpr, tnr),) = functions("keras_ijcnn.py")["main"](epochs=50, folds=1)
    assert tpr in (0.0, 1.0)
    assert tnr > 0.5
