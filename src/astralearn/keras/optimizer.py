"""The slope's own learning rate inside compile() and fit()."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from astralearn.core.inputs import Array
from astralearn.keras.layer import is_slope
from astralearn.keras.tensors import as_tensor, few, read

# Adam's, as Keras sets them: how much of the averages of the gradient and of its square is kept
# in a step, and the same of the averages of 1 beside them.
DECAYS, EPSILON = (0.9, 0.999) * 2, 1e-7


@keras.saving.register_keras_serializable(package="astralearn")
class SlopeRateOptimizer(keras.optimizers.Optimizer):
    """A Keras optimizer that trains ASTra's slopes at a rate of their own (Eq. 10).

        optimizer = SlopeRateOptimizer(keras.optimizers.Adam(1e-3))
        model.compile(optimizer, loss=GMNLoss(), metrics=[ERatio()])
        model.fit(x, y, batch_size=len(x), epochs=300, callbacks=[SlopeRate()])

    Slopes are trained by Adam whatever the optimizer is, because Eq. 10's rates are steps in β, as
    Adam takes them. The optimizer's gradient accumulation holds for them too. Its weight decay,
    which would pull b to 2 whatever the data say, its clipping and its moving averages do not.
    `learning_rate` is that of `optimizer`, so schedules and Keras's callbacks reach it.

    optimizer: trains everything else; any but a MultiOptimizer.
    slope_rate: where η_b starts; the property of that name reads and sets it, and it is saved.
    name: of this optimizer.
    loss_scale_factor: None takes that of `optimizer`.

    >>> optimizer = SlopeRateOptimizer(keras.optimizers.Adam(1e-3), slope_rate=0.02)
    >>> round(float(optimizer.learning_rate), 4), round(float(optimizer.slope_rate), 4)
    (0.001, 0.02)
    """

    def __init__(
        self,
        optimizer: Any,
        slope_rate: float = 0.01,
        name: str | None = None,
        loss_scale_factor: float | None = None,
    ) -> None:
        optimizer = keras.optimizers.get(optimizer)
        if isinstance(optimizer, (keras.optimizers.LossScaleOptimizer, SlopeRateOptimizer)):
            raise ValueError(
                f"wrap the optimizer inside the {type(optimizer).__name__}: "
                "it must be the outer one, and only once"
            )
        # Keras 3.6 has no MultiOptimizer.
        if isinstance(optimizer, getattr(keras.optimizers, "MultiOptimizer", ())):
            raise ValueError(
                "SlopeRateOptimizer takes an optimizer with one learning rate, "
                "which a MultiOptimizer has not"
            )
        if not slope_rate > 0:
            raise ValueError(f"slope_rate must be above 0; found {slope_rate}")
        super().__init__(
            float(slope_rate),
            name=name,
            loss_scale_factor=loss_scale_factor or optimizer.loss_scale_factor,
            gradient_accumulation_steps=optimizer.gradient_accumulation_steps,
        )
        # The loss is scaled and unscaled once, here, for both.
        optimizer.loss_scale_factor = None
        self.optimizer = optimizer
        self._slopes: list[Any] = []

    def build(self, variables: Sequence[Any]) -> None:
        # Keras builds optimizers of legacy .h5 files without variables first.
        if self.built or not variables:
            return
        slopes, others = _split(variables, [is_slope(variable) for variable in variables])
        if not slopes:
            raise ValueError(
                "the model has no learnable ASTra layer: add one, "
                "or pass the optimizer without SlopeRateOptimizer"
            )
        super().build(variables)
        self._slopes = [self._var_key(variable) for variable in slopes]
        self._averages = [
            self.add_variable(
                (4, *slope.shape), dtype=slope.dtype, name=f"averages_of_{slope.name}"
            )
            for slope in slopes
        ]
        if others:
            self.optimizer.build(others)

    @property
    def variables(self) -> list[Any]:
        return [*self._variables, *self.optimizer.variables]

    def apply(
        self, grads: Sequence[Array], trainable_variables: Sequence[Any] | None = None
    ) -> None:
        """Take one step: Adam's on the slopes, the wrapped optimizer's on everything else."""
        if not self.built and trainable_variables is not None:
            self.build(list(trainable_variables))
        variables = (
            self._trainable_variables if trainable_variables is None else list(trainable_variables)
        )
        if any(gradient is None for gradient in grads):
            grads, variables = self._filter_empty_gradients(grads, variables)
        chosen = self._are_slopes(variables)
        (of_slopes, of_others), (slopes, others) = _split(grads, chosen), _split(variables, chosen)
        if others:
            self.optimizer.apply(self._unscaled(of_others), others)
        if not slopes:
            self._iterations.assign_add(1)
        elif self._needs_all_of_apply(slopes):
            super().apply(of_slopes, slopes)
        else:
            # This is what Keras's apply() comes to, with fewer calls.
            for gradient, slope in zip(self._unscaled(of_slopes), slopes, strict=True):
                self.update_step(gradient, slope, self.slope_rate)
            self.iterations.assign_add(1)

    def _needs_all_of_apply(self, slopes: Sequence[Any]) -> bool:
        """Whether to add up over TensorFlow's replicas, accumulate or constrain."""
        if keras.config.backend() == "tensorflow" or self.gradient_accumulation_steps:
            return True
        return any(slope.constraint is not None for slope in slopes)

    def update_step(
        self,
        gradient: Array,
        variable: Any,
        learning_rate: Any,  # noqa: ARG002
    ) -> None:
        """Adam as Keras has it: β ← β − η_b·(√c₂/c₁)·m/(√v + ε).

        m and v are the decaying averages of the gradient and of its square, c₁ and c₂ those of 1
        under the same decays: m/c₁ and v/c₂ are without bias at every step.
        """
        like, kept = gradient, self._averages[self._slopes.index(self._var_key(variable))]
        # The rate has Keras's floatx, which a slope need not have.
        rate = keras.ops.cast(read(self.slope_rate), gradient.dtype)
        (beta, averages, gradient, rate), xp = few([read(variable), read(kept), gradient, rate])
        news = (gradient, gradient * gradient, 1.0, 1.0)
        lagging = [
            averages[row] + (1.0 - decay) * (new - averages[row])
            for row, (new, decay) in enumerate(zip(news, DECAYS, strict=True))
        ]
        m, v, c1, c2 = lagging
        step = rate * (xp.sqrt(c2) / c1) * m / (xp.sqrt(v) + EPSILON)
        self.assign(variable, as_tensor(beta - step, like))
        self.assign(kept, as_tensor(xp.stack(lagging), like))

    def finalize_variable_values(self, var_list: Sequence[Any]) -> None:
        _, others = _split(var_list, self._are_slopes(var_list))
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
        return super().learning_rate

    @slope_rate.setter
    def slope_rate(self, rate: float) -> None:
        self.slope_rate.assign(rate)

    def get_config(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "optimizer": keras.saving.serialize_keras_object(self.optimizer),
            "slope_rate": float(keras.ops.convert_to_numpy(self.slope_rate)),
            "loss_scale_factor": self.loss_scale_factor,
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> SlopeRateOptimizer:
        optimizer = keras.saving.deserialize_keras_object(
            config["optimizer"], custom_objects=custom_objects
        )
        return cls(**{**config, "optimizer": optimizer})

    def _unscaled(self, grads: Sequence[Array]) -> Sequence[Array]:
        scale = self.loss_scale_factor
        return grads if scale is None else [gradient / scale for gradient in grads]

    def _are_slopes(self, variables: Sequence[Any]) -> list[bool]:
        return [self._var_key(variable) in self._slopes for variable in variables]


def _split(values: Sequence[Any], chosen: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    """Those chosen, and the rest."""
    pairs = list(zip(values, chosen, strict=True))
    return [value for value, is_chosen in pairs if is_chosen], [
        value for value, is_chosen in pairs if not is_chosen
    ]
