"""A small CNN on Fashion-MNIST with one class kept at a handful of positives: RareHead beside BCE
and GMN-ASTra.

    python examples/torch_fashion_mnist.py          5 positives, 6,000 negatives, 3 draws: minutes
    python examples/torch_fashion_mnist.py --positives 20 --seeds 5 --epochs 12

The data come from the Debian package dataset-fashion-mnist (`apt-get install
dataset-fashion-mnist`); elsewhere, put the four files of
https://github.com/zalandoresearch/fashion-mnist (train-images-idx3-ubyte.gz and so on) into a
folder and name it with --data.

The positives are shirts, the class most often confused with others; the negatives a random sample
of the nine other classes. Each method trains the same network on the same stratified mini-batches
with the same number of steps, and is judged at its own threshold on the 10,000 test images: that of
`decide` for RareHead, logit 0 for the others. The five positives are redrawn for every seed: look
at the spread before the mean.

benchmarks/deep.py has the study: all ten classes, other data and networks, more rivals; its tables
are in docs/deep_results.md.
"""

from __future__ import annotations

import argparse
import gzip
import math
import statistics
import sys
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from astralearn import SoftConfusion
from astralearn.torch import (
    ASTra,
    GMNLoss,
    RareHead,
    StratifiedBatchSampler,
    decide,
    parameter_groups,
)

SHIRT = 6


def read_idx(path: Path) -> Tensor:
    """An IDX file of bytes: two zeros, the type, how many dimensions, their sizes, the values."""
    raw = gzip.decompress(path.read_bytes())
    shape = [int.from_bytes(raw[4 + 4 * i : 8 + 4 * i], "big") for i in range(raw[3])]
    return torch.frombuffer(bytearray(raw[4 + 4 * len(shape) :]), dtype=torch.uint8).reshape(shape)


def load(folder: Path, part: str) -> tuple[Tensor, Tensor]:
    """Images (N, 1, 28, 28) in about [−1, 2], and whether each is a shirt."""
    images, labels = (
        read_idx(folder / f"{part}-images-idx3-ubyte.gz"),
        read_idx(folder / f"{part}-labels-idx1-ubyte.gz"),
    )
    return (images[:, None].float() / 255 - 0.286) / 0.353, (labels == SHIRT).float()


def draw(
    images: Tensor, y: Tensor, positives: int, negatives: int, seed: int
) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    chosen = [torch.nonzero(y == label).reshape(-1) for label in (1, 0)]
    rows = torch.cat(
        [
            c[torch.randperm(len(c), generator=generator)[:n]]
            for c, n in zip(chosen, (positives, negatives), strict=True)
        ]
    )
    return images[rows], y[rows]


def network(*last: nn.Module) -> nn.Sequential:
    def block(inputs: int, outputs: int) -> list[nn.Module]:
        return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.LeakyReLU(0.1), nn.MaxPool2d(2)]

    return nn.Sequential(
        *block(1, 16), *block(16, 32), nn.Flatten(), nn.Linear(32 * 49, 1), nn.Flatten(0), *last
    )


def train(
    method: str, images: Tensor, y: Tensor, epochs: int, seed: int
) -> tuple[nn.Sequential, float]:
    """The model, and the logit from which on it flags."""
    torch.manual_seed(seed)
    learns = torch.ones(len(y), dtype=torch.bool)
    if method == "RareHead":
        learns[torch.nonzero(y == 0).reshape(-1)[::5]] = False  # to decide on
    rows = TensorDataset(images[learns], y[learns])
    # BCE sees the classes as they are (an ordinary shuffled loader); the others need positives in
    # every batch to make sense.
    sampler = StratifiedBatchSampler(y[learns], 256, positives_per_batch=16, seed=seed)
    batches = DataLoader(rows, batch_sampler=sampler)
    if method == "BCE":
        batches = DataLoader(rows, batch_size=256, shuffle=True)
    head = RareHead(y)
    model, loss = {
        "BCE": lambda: (network(), nn.BCEWithLogitsLoss()),
        "weighted BCE": lambda: (network(), nn.BCEWithLogitsLoss(pos_weight=torch.tensor(15.0))),
        "GMN-ASTra": lambda: (network(ASTra()), GMNLoss()),
        "RareHead": lambda: (network(head), head.loss),
    }[method]()
    has_slope = method in ("GMN-ASTra", "RareHead")
    optimizer = torch.optim.AdamW(
        parameter_groups(model, lr=1e-3) if has_slope else model.parameters(),
        lr=1e-3,
        weight_decay=head.weight_decay if method == "RareHead" else 0.0,
    )
    for _ in range(epochs):
        for x, target in batches:
            optimizer.zero_grad()
            loss(model(x), target).backward()
            optimizer.step()
    if method != "RareHead":
        return model, 0.0
    deciding = [(images[~learns], y[~learns]), (images[y == 1], y[y == 1])]
    cut = decide(model, deciding, "g_mean", seen=True, prior=float(y.mean()))
    print(cut.expectations)
    return model, cut.score


@torch.no_grad()
def judge(model: nn.Module, cut: float, images: Tensor, y: Tensor) -> SoftConfusion:
    """Hard counts at the cut."""
    predicted = torch.cat([model(part) >= cut for part in images.split(1000)]).float()
    return SoftConfusion(
        tn=((1 - predicted) * (1 - y)).sum(),
        fp=(predicted * (1 - y)).sum(),
        fn=((1 - predicted) * y).sum(),
        tp=(predicted * y).sum(),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--positives", type=int, default=5)
    parser.add_argument("--negatives", type=int, default=6000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=8)
    arguments = parser.parse_args()
    if not (arguments.data / "train-images-idx3-ubyte.gz").exists():
        print(
            f"Fashion-MNIST is not in {arguments.data}: `apt-get install dataset-fashion-mnist`, "
            "or name its folder with --data."
        )
        return 2
    train_images, train_y = load(arguments.data, "train")
    test_images, test_y = load(arguments.data, "t10k")
    print(
        f"{arguments.positives} shirts against {arguments.negatives} others, {arguments.epochs} "
        f"epochs, {arguments.seeds} draws"
    )
    print(f"{'':14}{'G-Mean':>16}{'recall':>16}{'specificity':>16}{'MCC':>16}")
    for method in ("BCE", "weighted BCE", "GMN-ASTra", "RareHead"):
        rows = []
        for seed in range(arguments.seeds):
            images, y = draw(train_images, train_y, arguments.positives, arguments.negatives, seed)
            model, cut = train(method, images, y, arguments.epochs, seed)
            counts = judge(model, cut, test_images, test_y)
            rows.append([float(v) for v in (counts.g_mean, counts.tpr, counts.tnr, counts.mcc)])
        cells = [
            f"{statistics.mean(c):.3f} ± {statistics.stdev(c) if len(c) > 1 else math.nan:.3f}"
            for c in zip(*rows, strict=True)
        ]
        print(f"{method:14}" + "".join(f"{cell:>16}" for cell in cells), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
