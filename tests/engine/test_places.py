"""Rows on several devices train the networks that they train in one place."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from astralearn.core import LOSSES
from astralearn.engine import packing
from astralearn.engine.network import Architecture, initialise
from astralearn.engine.places import any_says, gathered, is_first
from astralearn.engine.rows import Fold, Rows
from astralearn.engine.stack import Settings, Stack
from astralearn.engine.training import train
from astralearn.engine.view import View

N, EPOCHS = 700, 40
CASES = {
    **{loss: {"loss": loss} for loss in LOSSES},
    "sigmoid": {"activation": "sigmoid"},
    "sam": {"sam": "positives", "sam_radius": 0.05},
    "selected": {"selection": "g_mean", "burn_in": 5},
    "lbfgs": {"solver": "lbfgs", "epochs": 10},
}
IN_SHORT = ("bce", "mcc", "sam", "selected", "lbfgs")


def trained(case, *, spread):
    """Few rows, cut as many are."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packing, "CHUNK_ROWS", 128)
        return _trained(case, spread=spread)


def _trained(case, *, spread):
    rng = np.random.default_rng(3)
    positive = np.arange(N) < 20
    rows = Rows(rng.normal(size=(N, 3)) + positive[:, None], positive, rng.uniform(0.5, 2, N))
    held_out = rows.take(np.arange(0, N, 7)) if case == "selected" else None
    everywhere = (float(rows.weight[20:].sum()), float(rows.weight[:20].sum()))
    fold = Fold(
        rows, View(np.zeros(3), np.ones(3)), held_out, everywhere=everywhere if spread else None
    )
    architecture = Architecture(3, (4,))
    stack = Stack(
        architecture=architecture,
        folds=[fold],
        fold_of=[0] * 3,
        parameters=np.stack([initialise(architecture, np.random.default_rng(k)) for k in range(3)]),
        slope=np.full(3, 3.0),
        alpha=np.full(3, 0.1),
    )
    settings = Settings(**{"epochs": EPOCHS, "learning_rate": 0.01, **CASES[case]})
    end = train(stack, settings, n_jobs=1)
    return end.parameters, end.slope, end.chosen_epoch


CHECK = """
import pickle, sys
import jax
import numpy as np

sys.path[:0] = [{tests!r}]
assert jax.device_count() == 3
from engine.test_places import trained

sys.stdout.buffer.write(pickle.dumps({{case: trained(case, spread=True) for case in {cases!r}}}))
"""


@pytest.fixture(scope="module")
def on_three_devices(request):
    """What a process with three devices trains; 20 positives are not as many on each."""
    tests = str(request.path.parent.parent)
    cases = [
        item.callspec.params["case"]
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    ]
    done = subprocess.run(
        [sys.executable, "-c", CHECK.format(tests=tests, cases=cases)],
        env=_environment(XLA_FLAGS="--xla_force_host_platform_device_count=3"),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return pickle.loads(done.stdout)


def _environment(**more):
    import os

    return {**os.environ, "JAX_PLATFORMS": "cpu", **more}


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [case if case in IN_SHORT else pytest.param(case, marks=pytest.mark.long) for case in CASES],
)
def test_networks_are_those_of_one_place(case, on_three_devices):
    parameters, slope, chosen = trained(case, spread=False)
    there, slope_there, chosen_there = on_three_devices[case]
    np.testing.assert_array_equal(there, parameters)
    np.testing.assert_array_equal(slope_there, slope)
    np.testing.assert_array_equal(chosen_there, chosen)


def test_a_process_alone_hears_itself():
    assert gathered({"rows": [1, 2]}) == [{"rows": [1, 2]}]
    assert any_says(True)
    assert not any_says(False)
    assert is_first()
