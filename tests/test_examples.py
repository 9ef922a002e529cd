"""The examples that are about no one room run."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
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


@pytest.mark.long
def test_the_readmes_five_lines_print_what_it_shows(capsys):
    """On such a processor too; and the cut finds as many of the left-out eights as it says."""
    readme = (EXAMPLES.parent / "README.md").read_text()
    code, output = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", readme, re.DOTALL).groups()
    names = {}
    exec(code, names)
    assert capsys.readouterr().out == output
    digits, model = names["digits"], names["model"].decide({"alerts": 0.02})
    left_out = np.delete(digits.X, names["rows"], axis=0)
    found = int(model.predict(left_out).sum())
    assert f"finds {found} of the {len(left_out)} eights left out" in " ".join(readme.split())
