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
        name: float(example["judge"](*example[name](epochs=3)).split()[-1])
        for name in ("train_plainly", "train")
    }
    assert min(g_mean.values()) > 0.7


@pytest.mark.slow
@pytest.mark.skipif("ASTRALEARN_DATA" not in os.environ, reason="needs the paper's data")
def test_ijcnn():
    ((tpr, tnr),) = functions("keras_ijcnn.py")["main"](epochs=50, folds=1)
    assert tpr in (0.0, 1.0)
    assert tnr > 0.5
