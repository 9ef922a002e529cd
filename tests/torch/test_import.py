"""Without PyTorch, one plain sentence says so. In a fresh interpreter."""

import subprocess
import sys


def test_without_torch_the_extra_is_named():
    code = "import sys; sys.modules['torch'] = None; import astralearn.torch"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    ).stderr.splitlines()[-1]
    assert said.startswith("ModuleNotFoundError: astralearn.torch needs PyTorch (")
    assert said.endswith("pip install 'astralearn[torch]'")
