"""The slope's own learning rate inside compile() and fit()."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from astralearn.core.inputs import Array
from astralearn.keras.layer import is_slope


@keras.saving.register_keras_serializable(package="astralearn")
class SlopeRateOptimizer(keras.optimizers.Optimizer):
    """Any Keras optimizer, with the slopes of ASTra layers at a learning rate of their own (η_b of Eq. 10).

        model.compile(SlopeRateOptimizer(keras.optimizers.Adam(1e-3)), loss=GMNLoss(), metrics=[ERatio()])
        model.fit(x, y, callbacks=[SlopeRate()])

    optimizer: trains everything else. Its twin, with the same settings but the rate `slope_rate` and no weight decay (which would pull b
    to 2 whatever the data say), trains the slopes; so clipping by a global norm looks at the two groups apart. slope_rate: where the
    rate starts; the property of that name reads and sets it, and it is saved with the optimizer. `learning_rate` is that of `optimizer`,
    so schedules and Keras's callbacks reach it.
    """

    def __init__(self, optimizer: Any, slope_rate: float = 0.01, name: str | None = None, loss_scale_factor: float | None = None) -> None:
        optimizer = keras.optimizers.get(optimizer)
        if isinstance(optimizer, (keras.optimizers.LossScaleOptimizer, SlopeRateOptimizer)):
            raise ValueError(f"wrap the optimizer inside the {type(optimizer).__name__}: it must be the outer one, and only once")
        if not slope_rate > 0:
            raise ValueError(f"slope_rate must be above 0; found {slope_rate}")
        # The loss is scaled and unscaled once, here, for both.
        super().__init__(0.0, name=name, loss_scale_factor=loss_scale_factor or optimizer.loss_scale_factor)
        optimizer.loss_scale_factor = None
        self.optimizer = optimizer
        self.slope_optimizer = _twin(optimizer, float(slope_rate))
        self._slopes: frozenset[Any] = frozenset()

    def build(self, variables: Sequence[Any]) -> None:
        if self.built:
            return
        slopes, others = _split(variables, [is_slope(variable) for variable in variables])
        if not slopes:
            raise ValueError("the model has no learnable ASTra layer: add one, or pass the optimizer without SlopeRateOptimizer")
        self._slopes = frozenset(self._var_key(variable) for variable in slopes)
        if others:
            self.optimizer.build(others)
        self.slope_optimizer.build(slopes)
        super().build(variables)

    @property
    def variables(self) -> list[Any]:
        return [*self._variables, *self.optimizer.variables, *self.slope_optimizer.variables]

    def apply(self, grads: Sequence[Array], trainable_variables: Sequence[Any] | None = None) -> None:
        """One step of both optimizers, each on its own variables."""
        if not self.built and trainable_variables is not None:
            self.build(list(trainable_variables))
        variables = self._trainable_variables if trainable_variables is None else list(trainable_variables)
        if self.loss_scale_factor is not None:
            grads = [None if grad is None else grad / self.loss_scale_factor for grad in grads]
        chosen = self._are_slopes(variables)
        gradients_of, variables_of = _split(grads, chosen), _split(variables, chosen)
        for optimizer, its_gradients, its_variables in zip((self.slope_optimizer, self.optimizer), gradients_of, variables_of, strict=True):
            if its_variables:
                optimizer.apply(its_gradients, its_variables)

    @property
    def iterations(self) -> Any:
        return self.slope_optimizer.iterations

    def finalize_variable_values(self, var_list: Sequence[Any]) -> None:
        slopes, others = _split(var_list, self._are_slopes(var_list))
        self.slope_optimizer.finalize_variable_values(slopes)
        if others:
            self.optimizer.finalize_variable_values(others)

    @property
    def learning_rate(self) -> Any:
        return self.optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, learning_rate: Any) -> None:
        self.optimizer.learning_rate = learning_rate

    @property
    def slope_rate(self) -> Any:
        """η_b, the variable that holds it; assign a number to change it."""
        return self.slope_optimizer.learning_rate

    @slope_rate.setter
    def slope_rate(self, rate: float) -> None:
        self.slope_optimizer.learning_rate = rate

    def get_config(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "optimizer": keras.saving.serialize_keras_object(self.optimizer),
            "slope_rate": float(keras.ops.convert_to_numpy(self.slope_rate)),
            "loss_scale_factor": self.loss_scale_factor,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> SlopeRateOptimizer:
        optimizer = keras.saving.deserialize_keras_object(config["optimizer"], custom_objects=custom_objects)
        return cls(**{**config, "optimizer": optimizer})

    def _are_slopes(self, variables: Sequence[Any]) -> list[bool]:
        return [self._var_key(variable) in self._slopes for variable in variables]


def _twin(optimizer: Any, learning_rate: float) -> Any:
    """An optimizer of the same kind and settings, at another rate and without weight decay."""
    config = {**optimizer.get_config(), "learning_rate": learning_rate, "name": f"{optimizer.name}_of_slopes"}
    if config.get("weight_decay") is not None:
        config["weight_decay"] = 0.0  # AdamW refuses None
    return type(optimizer).from_config(config)


def _split(values: Sequence[Any], chosen: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    """Those chosen, and the rest."""
    pairs = list(zip(values, chosen, strict=True))
    return [value for value, is_chosen in pairs if is_chosen], [value for value, is_chosen in pairs if not is_chosen]
