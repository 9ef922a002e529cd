"""A plain PyTorch training loop for a rare class, with RareHead: lines marked (1) to (4) are all
that changes.

    python examples/torch_training_loop.py [FOLDER]    seconds; the folder is for TensorBoard

Synthetic data: 20 positives among 10,000 rows, judged on 200 positives and 10,000 negatives of the
same two clouds.
"""

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm.auto import tqdm

from astralearn.torch import RareHead, StratifiedBatchSampler, decide, parameter_groups


def cloud(positives: int, negatives: int, seed: int) -> TensorDataset:
    generator = torch.Generator().manual_seed(seed)
    y = torch.cat([torch.ones(positives), torch.zeros(negatives)])
    return TensorDataset(torch.randn(len(y), 10, generator=generator) + 0.6 * y[:, None], y)


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(10, 16), nn.LeakyReLU(0.3), nn.Linear(16, 1), nn.Flatten(0))


def train_plainly(epochs: int = 10) -> Callable[[torch.Tensor], torch.Tensor]:
    """Cross-entropy with a weight for the rare class; returns what flags rows."""
    x, y = cloud(20, 10_000, seed=0).tensors
    model, loss = network(), nn.BCEWithLogitsLoss(pos_weight=torch.tensor(500.0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(epochs):
        for rows in torch.randperm(len(y)).split(128):
            optimizer.zero_grad()
            loss(model(x[rows]), y[rows]).backward()
            optimizer.step()
    return lambda inputs: model(inputs) >= 0


def train(epochs: int = 10, writer: Any = None) -> Callable[[torch.Tensor], torch.Tensor]:
    """The recipe; returns what flags rows."""
    x, y = cloud(20, 10_000, seed=0).tensors
    learn, left_out = TensorDataset(x[:8_020], y[:8_020]), (x[8_020:], y[8_020:])
    head = RareHead(y)  # (1)
    model = nn.Sequential(network(), head)
    sampler = StratifiedBatchSampler(learn.tensors[1], 128, positives_per_batch=8)  # (2)
    groups = parameter_groups(model, lr=1e-3)
    optimizer = torch.optim.AdamW(groups, weight_decay=head.weight_decay)
    for epoch in (bar := tqdm(range(epochs), disable=writer is None)):
        for inputs, labels in DataLoader(learn, batch_sampler=sampler):
            optimizer.zero_grad()
            head.loss(model(inputs), labels).backward()  # (3)
            optimizer.step()
        if writer is not None:
            readings = head.write(writer, epoch)  # FNR, FPR, e-ratio, G-Mean, MCC, τ
            bar.set_postfix({name: f"{value:.3f}" for name, value in readings.items()})
    # (4) Negatives that were left out, and the 20 positives, which were not.
    cut = decide(model, [left_out, (x[:20], y[:20])], "g_mean", seen=True, prior=20 / 10_020)
    print(cut)
    return lambda inputs: cut.flags(model(inputs))


@torch.no_grad()
def judge(flags: Callable[[torch.Tensor], torch.Tensor]) -> str:
    x, y = cloud(200, 10_000, seed=1).tensors
    predicted = flags(x)
    recall, specificity = predicted[y == 1].float().mean(), (~predicted[y == 0]).float().mean()
    g_mean = (recall * specificity).sqrt()
    return f"recall {recall:.3f}, specificity {specificity:.3f}, G-Mean {g_mean:.3f}"


if __name__ == "__main__":
    writer = None
    if len(sys.argv) > 1:
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(sys.argv[1])
    print("pos_weight BCE", judge(train_plainly()))
    print("RareHead      ", judge(train(writer=writer)))
