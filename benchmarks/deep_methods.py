"""The methods of benchmarks/deep.py: astralearn's recipe, and its rivals on the same network.

Every method takes STEPS steps of Adam on the same stratified batches: BATCH rows, POSITIVES of them
positive. Oversampling has as many of either class, LibAUC's losses their own optimizers, and a
frozen embedding no training but `ASTraClassifier`'s. The rate is 0.002 everywhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce
from torch.nn.functional import normalize

from astralearn.torch import (
    ASTra,
    GMNLoss,
    RareHead,
    StratifiedBatchSampler,
    decide,
    parameter_groups,
)
from deep_tasks import WIDTH, Draw, Task, network

STEPS, BATCH, POSITIVES, RATE = 200, 64, 4, 2e-3
EVEN = BATCH // 2
HELD_OUT = 5  # The recipe leaves a fifth of the negatives out, to decide on.
OURS, PLAIN, DECIDED = "RareHead", "pos_weight BCE", "pos_weight BCE + decide"


class Judged(NamedTuple):
    """Scores of the test rows, and the score from which on a method flags."""

    scores: np.ndarray
    cut: float


Loss = Callable[[Tensor, Tensor, Tensor, int], Tensor]  # of logits, labels, row numbers, the step


def batches(y: Tensor, seed: int, positives: int = POSITIVES) -> Iterator[Tensor]:
    """Row numbers of STEPS batches."""
    sampler = StratifiedBatchSampler(
        y, BATCH, positives_per_batch=positives, drop_last=True, seed=seed
    )
    step = 0
    while True:
        for rows in sampler:
            yield torch.as_tensor(rows)
            step += 1
            if step == STEPS:
                return


def train(
    model: nn.Module,
    data: tuple[Tensor, Tensor],
    loss: Loss,
    optimizer: torch.optim.Optimizer,
    *,
    seed: int,
    positives: int = POSITIVES,
) -> None:
    x, y = data
    for step, rows in enumerate(batches(y, seed, positives)):
        optimizer.zero_grad()
        loss(model(x[rows]), y[rows], rows, step).backward()
        optimizer.step()


@torch.no_grad()
def scores(model: nn.Module, x: Tensor) -> np.ndarray:
    model.eval()
    return torch.cat([model(part) for part in x.split(1_000)]).double().numpy()


def rare_head(task: Task, draw: Draw, seed: int) -> Judged:
    """The recipe as docs/pytorch.md has it."""
    negatives = torch.nonzero(draw.y == 0).reshape(-1)
    left_out = negatives[::HELD_OUT]
    learns = torch.ones(len(draw.y), dtype=torch.bool)
    learns[left_out] = False
    x, y = draw.x[learns], draw.y[learns]
    head = RareHead(draw.y)
    model = nn.Sequential(network(task), head)
    groups = parameter_groups(model, lr=RATE)
    optimizer = torch.optim.AdamW(groups, weight_decay=head.weight_decay)
    train(model, (x, y), lambda g, t, *_: head.loss(g, t), optimizer, seed=seed)
    deciding = [(draw.x[left_out], draw.y[left_out]), (x[y == 1], y[y == 1])]
    prior = float(draw.y.mean())
    cut = decide(model, deciding, "g_mean", seen=True, prior=prior)
    return Judged(scores(model, draw.x_test), cut.score)


def of_loss(loss: Loss, positives: int = POSITIVES) -> Callable[[Task, Draw, int], Judged]:
    """A rival that differs in its loss, cut at logit 0."""

    def method(task: Task, draw: Draw, seed: int) -> Judged:
        model = network(task)
        optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
        train(model, (draw.x, draw.y), loss, optimizer, seed=seed, positives=positives)
        return Judged(scores(model, draw.x_test), 0.0)

    return method


IN_BATCH = (BATCH - POSITIVES) / POSITIVES  # negatives per positive


def weighted(g: Tensor, y: Tensor, *_: object) -> Tensor:
    return bce(g, y, pos_weight=torch.tensor(IN_BATCH))


def focal(g: Tensor, y: Tensor, *_: object) -> Tensor:
    """Lin et al. 2017: γ = 2, and 0.75 for the rare class."""
    each = bce(g, y, reduction="none")
    return (torch.where(y == 1, 0.75, 0.25) * (1 - torch.exp(-each)) ** 2 * each).mean()


def logit_adjusted(g: Tensor, y: Tensor, *_: object) -> Tensor:
    """Menon et al. 2021, at the share of positives that the batches have."""
    return bce(g - math.log(IN_BATCH), y)


def class_balanced(task: Task, draw: Draw, seed: int) -> Judged:
    """Cui et al. 2019: effective numbers at β = 0.999, in batches of other shares."""
    beta, k = 0.999, float(draw.y.sum())
    n = len(draw.y) - k
    totals = [count * (1 - beta) / (1 - beta**count) for count in (n, k)]
    weight = torch.tensor(IN_BATCH * totals[1] / totals[0])
    return of_loss(lambda g, y, *_: bce(g, y, pos_weight=weight))(task, draw, seed)


class Cosines(nn.Module):
    """LDAM's last layer: cosines of the features with two learned directions."""

    def __init__(self) -> None:
        super().__init__()
        self.directions = nn.Parameter(torch.randn(2, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return normalize(x) @ normalize(self.directions).T


def ldam_drw(task: Task, draw: Draw, seed: int) -> Judged:
    """Cao et al. 2019: margins ∝ n^−¼ up to 0.5, scale 30, weights in the last fifth."""
    k = float(draw.y.sum())
    n, scale = len(draw.y) - k, 30.0
    margins = torch.tensor([0.5 * (k / n) ** 0.25, 0.5])
    model = nn.Sequential(network(task)[0], Cosines())

    def loss(cosines: Tensor, y: Tensor, _: Tensor, step: int) -> Tensor:
        of_class = y.long()
        shifted = cosines - margins * nn.functional.one_hot(of_class, 2)
        weight = torch.tensor([1.0, IN_BATCH if step >= STEPS * 4 // 5 else 1.0])
        return nn.functional.cross_entropy(scale * shifted, of_class, weight=weight)

    train(model, (draw.x, draw.y), loss, torch.optim.Adam(model.parameters(), lr=RATE), seed=seed)
    cosines = scores(model, draw.x_test)
    return Judged(cosines[:, 1] - cosines[:, 0], 0.0)


def aucm(task: Task, draw: Draw, seed: int) -> Judged:
    """LibAUC's AUC margin loss with its optimizer; it needs `pip install --no-deps libauc`."""
    from libauc.losses import AUCMLoss
    from libauc.optimizers import PESG

    model, loss = network(task), AUCMLoss()
    optimizer = PESG(model.parameters(), loss_fn=loss, lr=RATE, mode="adam", verbose=False)
    train(model, (draw.x, draw.y), lambda g, y, *_: loss(g.sigmoid(), y), optimizer, seed=seed)
    return Judged(scores(model, draw.x_test), 0.0)


def ap_loss(task: Task, draw: Draw, seed: int) -> Judged:
    """LibAUC's average precision loss with its optimizer."""
    from libauc.losses import APLoss
    from libauc.optimizers import SOAP

    model, loss = network(task), APLoss(len(draw.y))
    optimizer = SOAP(model.parameters(), lr=RATE, mode="adam", verbose=False)
    train(
        model, (draw.x, draw.y), lambda g, y, rows, _: loss(g.sigmoid(), y, rows), optimizer,
        seed=seed,
    )  # fmt: skip
    return Judged(scores(model, draw.x_test), 0.0)


def gmn_astra(task: Task, draw: Draw, seed: int) -> Judged:
    """The paper's loss and layer as they are, without a limit."""
    model = nn.Sequential(network(task), ASTra())
    optimizer = torch.optim.Adam(parameter_groups(model, lr=RATE))
    loss = GMNLoss()
    train(model, (draw.x, draw.y), lambda g, y, *_: loss(g, y), optimizer, seed=seed)
    return Judged(scores(model, draw.x_test), 0.0)


def decided(task: Task, draw: Draw, seed: int) -> Judged:
    """Weighted cross-entropy as it is, with the recipe's cut: what the cut alone is worth."""
    model = network(task)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    train(model, (draw.x, draw.y), weighted, optimizer, seed=seed)
    cut = decide(model, [(draw.x, draw.y)], "g_mean", seen=True)
    return Judged(scores(model, draw.x_test), cut.score)


def frozen(task: Task, draw: Draw, seed: int) -> Judged:
    """`ASTraClassifier` on the features of the trunk as it begins."""
    from astralearn import ASTraClassifier

    trunk = network(task)[0]
    classifier = ASTraClassifier(random_state=seed).fit(scores(trunk, draw.x), draw.y.numpy())
    return Judged(classifier.decision_function(scores(trunk, draw.x_test)), 0.0)


RIVALS: dict[str, Callable[[Task, Draw, int], Judged]] = {
    PLAIN: of_loss(weighted),
    "focal": of_loss(focal),
    "LDAM-DRW": ldam_drw,
    "logit adjustment": of_loss(logit_adjusted),
    "class-balanced": class_balanced,
    "AUCM (LibAUC)": aucm,
    "AP loss (LibAUC)": ap_loss,
    "oversampling": of_loss(lambda g, y, *_: bce(g, y), positives=EVEN),
    "frozen + ASTraClassifier": frozen,
}
# What is no rival: the paper's way, and a part of the recipe alone.
OTHERS = {"GMN-ASTra": gmn_astra, DECIDED: decided}
METHODS = {OURS: rare_head, **RIVALS, **OTHERS}


def run(method: str, task: Task, draw: Draw, seed: int) -> Judged:
    """Train with weights that start from the seed."""
    torch.manual_seed(seed)
    return METHODS[method](task, draw, seed)
