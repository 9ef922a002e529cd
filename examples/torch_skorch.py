"""RareHead in skorch: a scikit-learn classifier around the same model, cross-validated by
scikit-learn.

    pip install skorch
    python examples/torch_skorch.py

The criterion is the head's own loss; the slope gets its learning rate by name.
"""

import sys

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold, cross_validate
from torch import nn

from astralearn.torch import RareHead

try:
    from skorch import NeuralNetBinaryClassifier
except ImportError:
    sys.exit("This example needs skorch: pip install skorch")


def both_columns(g: torch.Tensor) -> torch.Tensor:
    """Probabilities of both classes, as scikit-learn wants them: z of a rebalanced logit is σ(g).
    skorch knows this of BCE only.
    """
    z = torch.sigmoid(g)
    return torch.stack([1 - z, z], dim=-1)


class HeadLoss(nn.Module):
    """The loss of a RareHead as a criterion."""

    def __init__(self, head: RareHead) -> None:
        super().__init__()
        self.head = head

    def forward(self, g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.head.loss(g, y)


def network(*last: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(10, 16), nn.LeakyReLU(0.3), nn.Linear(16, 1), nn.Flatten(0), *last
    )


def classifier(labels: np.ndarray, rare: bool, epochs: int) -> NeuralNetBinaryClassifier:
    head = RareHead(labels)
    return NeuralNetBinaryClassifier(
        network(head) if rare else network(),
        criterion=HeadLoss(head) if rare else nn.BCEWithLogitsLoss(),
        predict_nonlinearity=both_columns,
        optimizer=torch.optim.AdamW,
        optimizer__param_groups=[("*raw_slope", {"lr": 0.01, "weight_decay": 0.0})] if rare else [],
        lr=1e-2,
        max_epochs=epochs,
        batch_size=-1,
        train_split=None,
        verbose=0,
    )


def main(epochs: int = 100) -> dict[str, float]:
    rng = np.random.default_rng(0)
    y = np.concatenate([np.ones(20), np.zeros(5000)]).astype(np.float32)
    X = (rng.normal(size=(len(y), 10)) + 0.6 * y[:, None]).astype(np.float32)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    scores = {}
    for name, rare in (("BCE", False), ("RareHead", True)):
        result = cross_validate(
            classifier(y, rare, epochs), X, y, cv=folds, scoring=["balanced_accuracy", "roc_auc"]
        )
        scores[name] = result["test_balanced_accuracy"].mean()
        print(
            f"{name:10} balanced accuracy {scores[name]:.3f}, AUC "
            f"{result['test_roc_auc'].mean():.3f}"
        )
    return scores


if __name__ == "__main__":
    main()
