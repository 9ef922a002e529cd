"""The examples that are about no one room run."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.long
def test_mlflow_serves_a_model():
    pytest.importorskip("mlflow")
    command = [sys.executable, "-W", "ignore", EXAMPLES / "mlflow_serving.py"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith("The server says what the model says.\n")
