import subprocess
import sys

import numpy as np
import pytest
import torch

from astralearn import soft_confusion
from astralearn.torch import SoftConfusionMonitor

READINGS = ["fnr", "fpr", "e_ratio", "g_mean", "mcc"]


def data(n=500, seed=0):
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.normal(0, 2, n)), torch.tensor((rng.random(n) < 0.1).astype(int))


def test_batches_add_up_to_the_whole():
    g, y = data()
    monitor = SoftConfusionMonitor()
    for part in zip(g.split(37), y.split(37), strict=True):
        monitor.update(*part)
    whole = soft_confusion(g.numpy(), y.numpy())
    assert list(monitor.compute()) == READINGS
    for name, value in monitor.compute().items():
        assert float(value) == pytest.approx(float(getattr(whole, name)), rel=1e-12)
    assert float(monitor.confusion().f1) == pytest.approx(float(whole.f1), rel=1e-12)


def test_missing_labels_and_weights():
    g, y = data(50)
    monitor = SoftConfusionMonitor(ignore_index=-1)
    monitor.update(g, torch.where(torch.arange(50) < 10, -1, y), torch.full((50,), 2.0))
    assert float(sum(monitor.confusion())) == pytest.approx(80)


@pytest.mark.filterwarnings(
    "ignore:The ``compute`` method of metric"
)  # torchmetrics on an empty one
def test_reset_forgets_and_an_empty_monitor_is_finite():
    monitor = SoftConfusionMonitor()
    monitor.update(*data(20))
    monitor.reset()
    assert float(sum(monitor.confusion())) == 0
    assert all(np.isfinite(float(v)) for v in monitor.compute().values())


def test_calling_it_gives_the_batch_and_counts_it():
    g, y = data(40)
    monitor = SoftConfusionMonitor()
    monitor.update(*data(40, seed=1))
    batch = monitor(g, y)
    assert float(batch["mcc"]) == pytest.approx(
        float(soft_confusion(g.numpy(), y.numpy()).mcc), rel=1e-6
    )
    assert float(sum(monitor.confusion())) == pytest.approx(80)


def test_is_a_torchmetric_where_that_is_installed():
    torchmetrics = pytest.importorskip("torchmetrics")
    collection = torchmetrics.MetricCollection({"soft": SoftConfusionMonitor()})
    collection.update(*data(30))
    assert set(collection.compute()) >= set(READINGS)


@pytest.mark.slow
def test_without_torchmetrics_it_is_a_plain_module():
    code = """
import sys
sys.modules["torchmetrics"] = None
import torch
from astralearn.torch import SoftConfusionMonitor
monitor = SoftConfusionMonitor()
assert not monitor.is_torchmetric
g, y = torch.tensor([-2.0, 2.0, 2.0]), torch.tensor([0, 0, 1])
first = monitor(g, y, torch.ones(3, requires_grad=True))
monitor.update(g, y)
assert abs(float(monitor.compute()["fpr"]) - 0.5) < 1e-6 and abs(float(first["fpr"]) - 0.5) < 1e-6
assert not list(monitor.buffers()), "DDP would overwrite it with rank 0's"
assert monitor.half().counts.dtype == torch.float64
assert monitor.to("meta").counts.device.type == "meta"
monitor = SoftConfusionMonitor()
monitor.update(torch.tensor([-2.0, 2.0, 2.0]), torch.tensor([0, 0, 1]))
assert all(torch.isfinite(reading) for reading in monitor(torch.empty(0), torch.empty(0)).values())
assert abs(float(monitor.compute()["fpr"]) - 0.5) < 1e-6
monitor.reset()
assert float(monitor.counts.sum()) == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_tensorboard_in_one_line(tmp_path):
    pytest.importorskip("tensorboard")
    from torch.utils.tensorboard import SummaryWriter

    monitor = SoftConfusionMonitor()
    monitor.update(*data(30))
    with SummaryWriter(tmp_path) as writer:
        monitor.write(writer, step=3, prefix="train/")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path)).Reload()
    assert events.Tags()["scalars"] == [f"train/{name}" for name in READINGS]
    (event,) = events.Scalars("train/g_mean")
    assert event.step == 3
    assert event.value == pytest.approx(float(monitor.compute()["g_mean"]), rel=1e-6)
