"""Scripts of examples/ that score tables of any size."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def said_by(script):
    done = subprocess.run(
        [sys.executable, EXAMPLES / script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_batches_of_pyarrow_and_polars_are_scored_as_the_whole():
    pytest.importorskip("pyarrow")
    pytest.importorskip("polars")
    said = said_by("score_batches.py")
    assert "score_with_pyarrow: 100000 rows, the same: True" in said
    assert "score_with_polars: 100000 rows, the same: True" in said


@pytest.mark.long
def test_spark_scores_as_the_model_does():
    pytest.importorskip("pyspark")
    assert "5000 rows, as the model scores them here: True" in said_by("score_spark.py")
