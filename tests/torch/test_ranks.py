"""DDP over gloo processes under torchrun equals one process on the joined batch."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch.distributed as dist

import astralearn
from astralearn.core import LOSSES

HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(
    not (dist.is_available() and dist.is_gloo_available()), reason="needs gloo"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "without_torchmetrics"), [(2, ""), pytest.param(4, "1", marks=pytest.mark.long)]
)
def test_ddp_equals_one_process(world, without_torchmetrics, tmp_path):
    """Every loss; uneven shards; every positive on rank 0; a rank without examples.

    Micro-batches, the monitor, the sampler and five steps of the recipe too. Exact is what float64
    shows. In float32 micro-batches add up gradients in another order, and the joined batch alone is
    up to 1e-6 off.
    """
    result = tmp_path / "errors.json"
    environment = {
        **os.environ,
        "DDP_RESULT": str(result),
        "WITHOUT_TORCHMETRICS": without_torchmetrics,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(
            [str(Path(astralearn.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        ),
    }
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        f"--nproc-per-node={world}",
        str(HERE / "ddp_worker.py"),
    ]
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    errors = json.loads(result.read_text())
    assert len(errors) == 2 * (len(LOSSES) * 2 * 2 * 2 + 1) + 2
    assert max(errors.pop(key) for key in list(errors) if "float64" in key) < 1e-13
    assert max(errors.pop(key) for key in list(errors) if "micro-batches" in key) < 2e-6
    assert max(errors.values()) < 1e-6, errors
