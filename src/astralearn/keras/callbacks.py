"""Eq. 10 after every epoch, and the best epoch once training has settled."""

from __future__ import annotations

import math
import warnings
from typing import Any

import keras

from astralearn.core import slope_rate
from astralearn.keras.metrics import METRIC_NAMES
from astralearn.keras.optimizer import SlopeRateOptimizer

_MODES = {
    "loss": "min",
    METRIC_NAMES["fnr"]: "min",
    METRIC_NAMES["fpr"]: "min",
    METRIC_NAMES["g_mean"]: "max",
    METRIC_NAMES["mcc"]: "max",
}


class SlopeRate(keras.callbacks.Callback):
    """After every epoch, set the slopes' learning rate by the e-ratio (Eq. 10).

        η_b ← min(growth · η_b, maximum) if e-ratio > 1
              max(decay · η_b, minimum)  if e-ratio < 1
              η_b                        otherwise

    Slopes learn faster while positives are the harder class. Compile the model with
    `metrics=[ERatio()]` (or `weighted_metrics`) and a `SlopeRateOptimizer`. The rate is the
    optimizer's variable, saved with it; the logs get it as "slope_rate".

    monitor: what holds FNR/FPR in the logs. If it starts with "val_", an epoch without validation
        leaves the rate alone. If no epoch has it, a warning says so.
    minimum, maximum, growth, decay: the numbers of Eq. 10.

    >>> SlopeRate(maximum=0.2).bounds["maximum"]
    0.2
    >>> model.fit(x, y, batch_size=len(x), callbacks=[SlopeRate()])  # doctest: +SKIP
    """

    def __init__(
        self,
        monitor: str = "e_ratio",
        *,
        minimum: float = 0.01,
        maximum: float = 0.5,
        growth: float = 1.1,
        decay: float = 0.99,
    ) -> None:
        super().__init__()
        self.monitor = monitor
        self.bounds = {"minimum": minimum, "maximum": maximum, "growth": growth, "decay": decay}
        # Impossible bounds are refused now, not after an epoch.
        slope_rate(1.0, 1.0, **self.bounds)

    @property
    def optimizer(self) -> SlopeRateOptimizer:
        """The model's SlopeRateOptimizer."""
        optimizer = self.model.optimizer
        # Under mixed_float16 Keras wraps it.
        if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
            optimizer = optimizer.inner_optimizer
        if not isinstance(optimizer, SlopeRateOptimizer):
            raise ValueError(
                f"SlopeRate needs a SlopeRateOptimizer; found {type(optimizer).__name__}: "
                "compile with, for example, SlopeRateOptimizer(keras.optimizers.Adam(1e-3))"
            )
        return optimizer

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:  # noqa: ARG002
        _ = self.optimizer
        self._is_used = False

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:  # noqa: ARG002
        logs = {} if logs is None else logs
        rate = float(keras.ops.convert_to_numpy(self.optimizer.slope_rate))
        if not _is_without_validation(self, logs):
            rate = float(slope_rate(rate, _monitored(self, logs), **self.bounds))
            self.optimizer.slope_rate = rate
            self._is_used = True
        logs["slope_rate"] = rate

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:  # noqa: ARG002
        if not self._is_used:
            warnings.warn(
                f"no epoch has {self.monitor!r} in its logs: the slopes' rate stayed as it was",
                stacklevel=2,
            )


class BestAfterBurnIn(keras.callbacks.Callback):
    """End training with the weights of the best epoch after a burn-in.

    Of equals the earliest wins. An untrained network has a soft FNR near ½ and training first makes
    it worse, so without a burn-in the first epoch would win. `best` and `best_epoch` tell what won.
    If there is nothing to judge by after the burn-in, a warning says so and the last weights stay.

    monitor: what to judge by in the logs.
    burn_in: epochs at the start that cannot win.
    mode: "min", "max", or "auto", which knows the losses and this package's metrics.

    >>> best = BestAfterBurnIn("val_soft_mcc", burn_in=100)
    >>> best.mode, best.best_epoch
    ('max', None)
    >>> model.fit(x, y, validation_data=(x_val, y_val), callbacks=[best])  # doctest: +SKIP
    """

    def __init__(
        self, monitor: str = "val_soft_fnr", burn_in: int = 1000, mode: str = "auto"
    ) -> None:
        super().__init__()
        if mode == "auto":
            mode = _MODES.get(monitor.removeprefix("val_"), "")
        if mode not in ("min", "max"):
            raise ValueError(
                f"mode must be 'min' or 'max' for monitor={monitor!r}, whose direction is not "
                f"known; found {mode or 'auto'!r}"
            )
        self.monitor = monitor
        self.burn_in = burn_in
        self.mode = mode
        self.best: float | None = None
        self.best_epoch: int | None = None
        self._weights: list[Any] = []

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:  # noqa: ARG002
        self.best, self.best_epoch, self._weights = None, None, []

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        logs = logs or {}
        if epoch < self.burn_in or _is_without_validation(self, logs):
            return
        value = _monitored(self, logs)
        if self.best is None or (value < self.best if self.mode == "min" else value > self.best):
            self.best, self.best_epoch, self._weights = value, epoch, self.model.get_weights()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:  # noqa: ARG002
        if self.best is None:
            warnings.warn(
                f"no epoch after the burn-in of {self.burn_in} has {self.monitor!r} in its logs: "
                "the last weights stay",
                stacklevel=2,
            )
            return
        self.model.set_weights(self._weights)


def _is_without_validation(callback: Any, logs: dict[str, Any]) -> bool:
    """Whether this epoch was not validated, as under `validation_freq`."""
    return callback.monitor.startswith("val_") and callback.monitor not in logs


def _monitored(callback: Any, logs: dict[str, Any]) -> float:
    """The monitored number of an epoch."""
    if callback.monitor not in logs:
        raise ValueError(
            f"{type(callback).__name__} monitors {callback.monitor!r}, which the logs lack; they "
            f"hold {sorted(logs)}: compile the model with the metric, and pass validation data if "
            "it starts with val_"
        )
    value = float(logs[callback.monitor])
    if math.isnan(value):
        raise ValueError(
            f"{callback.monitor} is nan: look for labels other than 0 and 1, weights below 0 or "
            "NaN, and logits that are not finite"
        )
    return value
