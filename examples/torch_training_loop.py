"""The three-line change: a plain PyTorch training loop for a rare class, with ASTra as the last layer and GMN as the loss.

    python examples/torch_training_loop.py          seconds; lines marked (1), (2), (3) are all that changes

Synthetic data: 20 positives among 10,000 rows, judged on 200 positives and 10,000 negatives of the same two clouds.
"""

import torch
from torch import nn

from astralearn.torch import ASTra, GMNLoss, SlopeRate, SoftConfusionMonitor, parameter_groups


def cloud(positives: int, negatives: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    y = torch.cat([torch.ones(positives), torch.zeros(negatives)])
    return torch.randn(len(y), 10, generator=generator) + 0.6 * y[:, None], y


def train(rebalanced: bool, epochs: int = 300) -> nn.Module:
    x, y = cloud(20, 10_000, seed=0)
    torch.manual_seed(0)
    model: nn.Module = nn.Sequential(
        nn.Linear(10, 16), nn.LeakyReLU(0.3), nn.Linear(16, 1), nn.Flatten(0)
    )
    loss: nn.Module = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    if rebalanced:
        model = nn.Sequential(model, ASTra())  # (1)
        loss = GMNLoss()  # (2)
        optimizer = torch.optim.Adam(parameter_groups(model, lr=1e-3))  # (3)
        slope_rate = SlopeRate(optimizer)  # optional: the paper's Eq. 10
    monitor = SoftConfusionMonitor()
    for _ in range(epochs):
        monitor.reset()
        logits = model(x)
        monitor.update(logits, y)
        optimizer.zero_grad()
        loss(logits, y).backward()
        optimizer.step()
        if rebalanced:
            slope_rate.step(monitor.compute()["e_ratio"])
    return model


@torch.no_grad()
def judge(model: nn.Module) -> str:
    x, y = cloud(200, 10_000, seed=1)
    predicted = model(x) >= 0
    recall, specificity = predicted[y == 1].float().mean(), (~predicted[y == 0]).float().mean()
    return f"recall {recall:.3f}, specificity {specificity:.3f}, G-Mean {(recall * specificity).sqrt():.3f}"


if __name__ == "__main__":
    print("BCE       ", judge(train(rebalanced=False)))
    model = train(rebalanced=True)
    print("GMN-ASTra ", judge(model), f"(threshold {model[1].threshold.item():.3f})")
