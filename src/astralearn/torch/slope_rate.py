"""The slope's own parameter group, and Eq. 10 as its scheduler."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from astralearn.core import slope_rate
from astralearn.torch.layer import ASTra

SLOPE_GROUP = "astra_slope"


def parameter_groups(model: nn.Module, lr: float, slope_lr: float = 0.01) -> list[dict[str, Any]]:
    """Two groups for an optimizer: the model's own parameters, and its ASTra slopes.

    Slopes get no weight decay. Frozen parameters are left out. Hand the optimizer to `SlopeRate`
    to change the slopes' rate by Eq. 10.

    model: with at least one learnable `ASTra` layer.
    lr: learning rate of the model's own parameters.
    slope_lr: learning rate of the slopes, at the start; 0.01 is the paper's.

    >>> groups = parameter_groups(nn.Sequential(nn.Linear(3, 1), ASTra()), lr=1e-3)
    >>> [(group["lr"], len(group["params"])) for group in groups]
    [(0.001, 2), (0.01, 1)]
    """
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"model must be the module itself, not its parameters; found {type(model).__name__}"
        )
    slopes = [
        module.raw_slope
        for module in model.modules()
        if isinstance(module, ASTra) and module.raw_slope.requires_grad
    ]
    if not slopes:
        raise ValueError(
            "the model has no learnable ASTra layer: add one, "
            "or pass model.parameters() to the optimizer"
        )
    known = {id(parameter) for parameter in slopes}
    if not known <= {id(parameter) for parameter in model.parameters()}:
        raise ValueError(
            "the slopes are not among model.parameters(): "
            "FullyShardedDataParallel must be given use_orig_params=True"
        )
    others = [
        parameter
        for parameter in model.parameters()
        if parameter.requires_grad and id(parameter) not in known
    ]
    # Weight decay would pull β to 0, that is b to 2, whatever the data say.
    return [
        {"params": others, "lr": lr},
        {"params": slopes, "lr": slope_lr, "weight_decay": 0.0, "name": SLOPE_GROUP},
    ]


class SlopeRate:
    """Step the slopes' learning rate by the e-ratio (Eq. 10).

        η_b ← min(growth · η_b, maximum) if e-ratio > 1
              max(decay · η_b, minimum)  if e-ratio < 1
              η_b                        otherwise

    Slopes learn faster while positives are the harder class. Call `step(e_ratio)` once per epoch
    with FNR/FPR on the training rows, which a `SoftConfusionMonitor` counts. The group's rate is
    the state; `state_dict` carries it.

    optimizer: built on `parameter_groups`.
    minimum, maximum, growth, decay: the numbers of Eq. 10.

    >>> from torch.optim import Adam
    >>> model = nn.Sequential(nn.Linear(3, 1), ASTra())
    >>> schedule = SlopeRate(Adam(parameter_groups(model, lr=1e-3)))
    >>> schedule.step(e_ratio=2.0)
    >>> [round(rate, 4) for rate in schedule.get_last_lr()]
    [0.011]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        *,
        minimum: float = 0.01,
        maximum: float = 0.5,
        growth: float = 1.1,
        decay: float = 0.99,
    ) -> None:
        self.optimizer = optimizer
        self.bounds = {"minimum": minimum, "maximum": maximum, "growth": growth, "decay": decay}
        self.e_ratio: float | None = None
        # Impossible bounds and a missing group are refused now, not after an epoch.
        slope_rate(1.0, 1.0, **self.bounds)
        _ = self.groups

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The optimizer's groups of slopes."""
        groups = [
            group for group in self.optimizer.param_groups if group.get("name") == SLOPE_GROUP
        ]
        if not groups:
            raise ValueError(
                "the optimizer has no group of slopes: build it as, for example, "
                "torch.optim.Adam(parameter_groups(model, lr=1e-3))"
            )
        return groups

    def step(self, e_ratio: float | Tensor | None = None) -> None:
        """Apply Eq. 10 once."""
        if e_ratio is None:
            raise TypeError(
                "SlopeRate.step needs the e-ratio FNR/FPR of the training rows, "
                "for example monitor.compute()['e_ratio']"
            )
        ratio = float(e_ratio)
        if math.isnan(ratio):
            raise ValueError("e_ratio must be a number at least 0; found nan")
        for group in self.groups:
            _set_rate(group, float(slope_rate(float(group["lr"]), ratio, **self.bounds)))
        self.e_ratio = ratio

    def get_last_lr(self) -> list[float]:
        """η_b of each group of slopes."""
        return [float(group["lr"]) for group in self.groups]

    def state_dict(self) -> dict[str, Any]:
        return {"bounds": dict(self.bounds), "rates": self.get_last_lr(), "e_ratio": self.e_ratio}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.bounds = dict(state["bounds"])
        self.e_ratio = state["e_ratio"]
        for group, rate in zip(self.groups, state["rates"], strict=True):
            _set_rate(group, rate)


def _set_rate(group: dict[str, Any], rate: float) -> None:
    # Capturable optimizers keep their rate on the device.
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate)
    else:
        group["lr"] = rate
