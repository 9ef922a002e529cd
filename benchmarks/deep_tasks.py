"""The problems of benchmarks/deep.py: draw k positives, test on the rest; and the networks.

A problem names a table, the class that is rare in it, and a network: images of Fashion-MNIST at
14 × 14 pixels and of scikit-learn's digits, two tables, and signals that are made here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from astralearn.datasets.archive import fashion_images
from astralearn.datasets.rarebench import load_problem

NEGATIVES = 5_000  # that learn, at most
MOST_TESTED = 4_000  # of the other rows, both classes
WIDTH = 32  # features that every trunk ends in
SIGNAL, SIGNALS = 128, 24_000


@dataclass(frozen=True)
class Task:
    """A table, its rare class, and the network that learns it."""

    table: str
    rare: int
    network: str

    @property
    def name(self) -> str:
        return f"{self.table}-{self.rare} {self.network}"


FASHION = [Task("fashion", rare, "cnn") for rare in range(10)]
RESNET = [Task("fashion", rare, "resnet") for rare in (0, 3)]
DIGITS = [Task("digits", rare, "cnn") for rare in (3, 8)]
TABLES = [Task("penbased", 1, "mlp"), Task("spambase", 1, "mlp")]
SIGNAL_TASKS = [Task("signal", rare, "cnn1d") for rare in (1, 2)]
TASKS = [*FASHION, *RESNET, *DIGITS, *TABLES, *SIGNAL_TASKS]


class Draw(NamedTuple):
    """Rows that learn, and rows that test; labels in float32."""

    x: Tensor
    y: Tensor
    x_test: Tensor
    y_test: Tensor


def draw(task: Task, k: int, number: int) -> Draw:
    """The number-th draw of k positives: the same for every method."""
    x, classes = table(task.table)
    y = classes == task.rare
    rng = np.random.default_rng([number, k, task.rare, *task.table.encode()])
    positives, negatives = (rng.permutation(np.flatnonzero(y == c)) for c in (True, False))
    taught = min(NEGATIVES, len(negatives) // 2)
    tested = min(MOST_TESTED // 2, len(negatives) - taught)
    learn = np.concatenate([positives[:k], negatives[:taught]])
    test = np.concatenate([positives[k:][: MOST_TESTED // 2], negatives[taught:][:tested]])
    labels = torch.from_numpy(y.astype(np.float32))
    mean, deviation = x[learn].mean(), x[learn].std()
    if x.ndim == 2:  # Columns of a table have units of their own.
        mean, deviation = x[learn].mean(0), x[learn].std(0).clamp(min=1e-6)
    x_learn, x_test = (
        ((x[rows] - mean) / deviation).clamp(-5.0, 5.0).contiguous(
            memory_format=torch.channels_last if x.ndim == 4 else torch.contiguous_format
        )
        for rows in (learn, test)
    )  # fmt: skip
    return Draw(x_learn, labels[learn], x_test, labels[test])


@cache
def table(name: str) -> tuple[Tensor, np.ndarray]:
    """Inputs in float32 and the class of each row."""
    x, classes = {
        "fashion": _fashion,
        "digits": _digits,
        "penbased": lambda: _rarebench("penbased-5"),
        "spambase": lambda: _rarebench("spambase"),
        "signal": signals,
    }[name]()
    return torch.from_numpy(np.asarray(x, np.float32)), np.asarray(classes)


def _fashion() -> tuple[np.ndarray, np.ndarray]:
    images, classes = fashion_images()
    return images.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4))[:, None], classes


def _digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    images, classes = load_digits(return_X_y=True)
    return images.reshape(-1, 1, 8, 8), classes


def _rarebench(name: str) -> tuple[np.ndarray, np.ndarray]:
    problem = load_problem(name)
    return np.asarray(problem.X, np.float32), problem.y


def signals() -> tuple[np.ndarray, np.ndarray]:
    """Noise that drifts, with one event of four kinds in it, or none (class 4)."""
    rng = np.random.default_rng(27)
    kind = rng.integers(0, 5, SIGNALS)
    time = np.arange(SIGNAL)
    white = rng.normal(size=(SIGNALS, SIGNAL))
    noise = np.empty_like(white)
    noise[:, 0] = white[:, 0]
    for i in range(1, SIGNAL):
        noise[:, i] = 0.7 * noise[:, i - 1] + white[:, i]
    begin = rng.uniform(8, SIGNAL - 48, (SIGNALS, 1))
    u = (time - begin) / 40  # in [0, 1] during the event
    phase = rng.uniform(0, 2 * np.pi, (SIGNALS, 1))
    window = np.where((u > 0) & (u < 1), np.sin(np.pi * np.clip(u, 0, 1)) ** 2, 0.0)
    events = np.stack(
        [
            np.sin(phase + 2 * np.pi * (2 * u + 3 * u**2)),  # a rising chirp
            np.sin(phase + 2 * np.pi * (8 * u - 3 * u**2)),  # a falling one
            np.sign(np.sin(phase + 2 * np.pi * 4 * u)),  # a square wave
            np.sin(phase + 2 * np.pi * 5 * u) * (u < 0.5) * 1.5,  # one that stops half-way
            np.zeros_like(u),
        ]
    )[kind, np.arange(SIGNALS)]
    size = rng.uniform(3.0, 6.0, (SIGNALS, 1))
    return (noise + size * window * events)[:, None], kind


def network(task: Task) -> nn.Sequential:
    """A trunk that ends in WIDTH features, and a linear layer that makes the logit."""
    side = 8 if task.table == "digits" else 14
    trunk = {
        "cnn": lambda: _cnn(side),
        "resnet": _resnet,
        "mlp": lambda: _mlp(table(task.table)[0].shape[1]),
        "cnn1d": _cnn1d,
    }[task.network]()
    model = nn.Sequential(trunk, nn.Linear(WIDTH, 1), nn.Flatten(0))
    return model.to(memory_format=torch.channels_last) if "net" in task.network else model


def _cnn(side: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * (side // 4) ** 2, WIDTH),
        nn.ReLU(),
    ).to(memory_format=torch.channels_last)


class Residual(nn.Module):
    """Two convolutions with batch normalisation, added to a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.shortcut(x) + self.inner(x))


def _resnet() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, 1, 1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        Residual(8, 16, 1),
        Residual(16, WIDTH, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )


def _mlp(columns: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(columns, 64),
        nn.ReLU(),
        nn.Linear(64, WIDTH),
        nn.ReLU(),
        nn.Linear(WIDTH, WIDTH),
        nn.ReLU(),
    )


def _cnn1d() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv1d(1, 16, 9, padding=4),
        nn.ReLU(),
        nn.MaxPool1d(4),
        nn.Conv1d(16, WIDTH, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool1d(2),
        nn.AdaptiveMaxPool1d(1),
        nn.Flatten(),
    )
