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


@pytest.mark.long
def test_the_readme_shows_what_the_demo_prints(tmp_path):
    """On the processor that `make figures` ran on; another may round the last digit otherwise."""
    command = [sys.executable, "-W", "ignore", EXAMPLES / "quickstart.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    *shown, page = ran.stdout.splitlines()
    assert page == f"Open in a browser: {tmp_path / 'report.html'}"
    readme = (EXAMPLES.parent / "README.md").read_text()
    assert "\n".join(line.rstrip() for line in shown).strip() in readme
