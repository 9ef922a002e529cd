"""A cut for a trained model's logits, by the decisions of `ASTraClassifier`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from astralearn.classifier.model_cut import Cut, cut_scores
from astralearn.torch.layer import at_least_float32


def decide(
    model: nn.Module,
    loader: Iterable[Any],
    decision: Any = "g_mean",
    *,
    seen: bool = False,
    prior: float | None = None,
) -> Cut:
    """Find the cut of a model's logits for an aim, and what to expect of it.

        cut = decide(model, left_out, "g_mean")
        cut.flags(model(x))        # which rows are positive
        print(cut.expectations)    # recall, false alarms and precision to expect, with intervals

    model: gives one logit per row. It is called in evaluation mode and left in the mode it was in.
    loader: batches (inputs, labels) of rows, as a DataLoader gives them; labels 0 and 1, NaN where
        missing. Negatives should be rows that the model did not train on. Positives too, where
        there are some to spare; if not, pass the training positives and `seen=True`.
    decision: "g_mean", "mcc", "f1", {"cost": {0: 1, 1: 100}}, {"alerts": 0.01}, {"recall": 0.9} or
        {"precision": 0.5}.
    seen: whether the model trained on these positives, which then count for less.
    prior: the positives' share where the model is used; None takes that of these rows.

    >>> x = torch.linspace(-3, 3, 200).reshape(-1, 1)
    >>> y = (x[:, 0] > 2.5).float()
    >>> cut = decide(nn.Identity(), [(x, y)], "g_mean")
    >>> bool(cut.flags(x)[-1]), bool(cut.flags(x)[0])
    (True, False)
    """
    scores, labels = _judged(model, loader)
    return cut_scores(scores.cpu().numpy(), labels.cpu().numpy(), decision, seen=seen, prior=prior)


@torch.no_grad()
def _judged(model: nn.Module, loader: Iterable[Any]) -> tuple[Tensor, Tensor]:
    """Every row's logit and label, float64, (rows,)."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module; found {type(model).__name__}")
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        parts = [_one_per_row(model(x), y) for x, y in map(_pair, loader)]
    finally:
        for module, was_training in modes.items():
            module.training = was_training
    if not parts:
        raise ValueError("loader must give at least one batch; found none")
    scores, labels = (torch.cat(part) for part in zip(*parts, strict=True))
    return scores, labels


def _pair(batch: Any) -> tuple[Any, Tensor]:
    parts = batch if isinstance(batch, (tuple, list)) else [batch]
    if len(parts) == 2 and isinstance(parts[1], Tensor):
        return parts[0], parts[1]
    kinds = ", ".join(type(part).__name__ for part in parts)
    raise ValueError(f"loader must give batches (inputs, labels) of tensors; found {kinds}")


def _one_per_row(logits: Any, y: Tensor) -> tuple[Tensor, Tensor]:
    if not isinstance(logits, Tensor):
        raise TypeError(
            f"model must give its logits as one tensor; found a {type(logits).__name__}: wrap it "
            "in a module that returns them alone"
        )
    # A model that squeezes its output gives a batch of one row no dimension.
    if logits.numel() != y.numel() or logits.numel() != (len(logits) if logits.ndim else 1):
        raise ValueError(
            "decide takes one logit and one label per row; found logits of shape "
            f"{tuple(logits.shape)} and labels of shape {tuple(y.shape)}"
        )
    return at_least_float32(logits).double().reshape(-1), y.double().reshape(-1)
