"""ASTra as a layer: from a model's logits to rebalanced logits."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from astralearn.core import (
    astra,
    raw_from_slope,
    rebalanced_logit,
    rebalanced_logit_db,
    rebalanced_logit_dx,
    slope_from_raw,
    slope_from_raw_dbeta,
    threshold,
)
from astralearn.core.curve import raw_limit, starting_slope
from astralearn.core.inputs import Array
from astralearn.core.warp import OfSlope, of_slope, slope_derivative, warp_by
from astralearn.keras.tensors import (
    Gradients,
    as_factors,
    as_tensor,
    backend_namespace,
    few,
    read,
    units_first,
    unless_differentiated,
    wide_dtype,
    with_gradient,
)


@keras.saving.register_keras_serializable(package="astralearn")
class ASTra(keras.layers.Layer):
    """The asymmetric sigmoid and the z-transform as one warp g(x, b) (Eqs. 4–7).

    Put it after the layer that makes logits x. What comes out, g, is the logit of z. So every
    loss on logits takes it, BinaryCrossentropy(from_logits=True) and GMNLoss alike, and `g >= 0`,
    `z >= ½`, `ŷ >= threshold` and `x >= 0` are one decision. Logits (N, …, units) get one slope b
    per unit, logits (N,) a single one. Half precision policies are computed in and returned as
    float32, because g reaches b times the logit.

    tau_init: where the threshold τ starts, in [1e-5, 0.5]; 0.5 is the plain sigmoid.
    learnable: whether b is trained (`raw_slope`, the β of Eq. 7).
    slope_max: what b starts at most at, and never exceeds; at least 1. None: no limit.
    dtype: dtype or policy of the layer.
    settings: those of keras.layers.Layer.

    >>> layer = ASTra()
    >>> g = layer(keras.ops.convert_to_tensor([[-2.0], [0.0], [2.0]]))
    >>> [round(float(value), 2) for value in g[:, 0]]
    [-13.69, 0.0, 3.26]
    >>> round(float(layer.threshold[0]), 3)
    0.25
    """

    def __init__(
        self,
        tau_init: float = 0.25,
        learnable: bool = True,
        *,
        slope_max: float | None = None,
        dtype: Any = None,
        **settings: Any,
    ) -> None:
        super().__init__(dtype=wide_dtype(dtype), **settings)
        self.tau_init = float(tau_init)
        self.learnable = bool(learnable)
        self.slope_max = None if slope_max is None else float(slope_max)
        self.raw_max = raw_limit(self.slope_max)
        self.raw_init = min(float(raw_from_slope(starting_slope(self.tau_init))), self.raw_max)
        self.supports_masking = True

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        units = input_shape[-1] if len(input_shape) > 1 else 1
        if units is None:
            raise ValueError(
                "ASTra has one slope per unit, so the last dimension of its input must be known; "
                f"found {input_shape}"
            )
        self.raw_slope = self.add_weight(
            name="raw_slope",
            shape=(units,),
            initializer=keras.initializers.Constant(self.raw_init),
            trainable=self.learnable,
            regularizer=None,
        )
        self.raw_slope.is_astra_slope = True

    def call(self, inputs: Array) -> Array:
        """Rebalanced logits g, of the shape of the logits."""
        # An argument `training` could tell whether a gradient is wanted, but passing it on is dear.
        return unless_differentiated(_rebalanced_logit, _differentiable, *self._aligned(inputs))

    def probabilities(self, inputs: Array) -> Array:
        """z = σ(g) (Eq. 6), whose threshold is ½, of the shape of the logits."""
        return ops.sigmoid(self(inputs))

    def activation(self, inputs: Array) -> Array:
        """ŷ (Eq. 4), whose threshold is `threshold`, of the shape of the logits."""
        logits = ops.convert_to_tensor(inputs, dtype=self.compute_dtype)
        if not self.built:
            self.build(tuple(logits.shape))
        x, beta = self._aligned(logits)
        xp = backend_namespace(x)
        return astra(x, slope_from_raw(beta, xp=xp), xp=xp)

    @property
    def slope(self) -> Array:
        """b ≥ 1, of shape (units,) (Eq. 7)."""
        if not self.built:
            raise ValueError(
                "this ASTra layer has no slope yet: "
                "it is made when the layer first sees its input's shape"
            )
        beta = self._limited()
        return slope_from_raw(beta, xp=backend_namespace(beta))

    @property
    def threshold(self) -> Array:
        """τ in (0, 0.5], of shape (units,) (Eq. 5)."""
        b = self.slope
        return threshold(b, xp=backend_namespace(b))

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return tuple(input_shape)

    def get_config(self) -> dict[str, Any]:
        settings = {name: getattr(self, name) for name in ("tau_init", "learnable", "slope_max")}
        return {**super().get_config(), **settings}

    def _aligned(self, inputs: Array) -> tuple[Array, Array]:
        if not keras.backend.is_float_dtype(inputs.dtype):
            found = keras.backend.standardize_dtype(inputs.dtype)
            raise TypeError(f"ASTra takes logits in floating point; found {found}")
        beta = self._limited()
        return inputs, beta if beta.dtype == inputs.dtype else ops.cast(beta, inputs.dtype)

    def _limited(self) -> Array:
        """β, at most that of `slope_max`."""
        beta = read(self.raw_slope)
        if self.slope_max is None:
            return beta
        # The limit is no clip, whose gradient is 0 beyond it: the slope could not come back.
        return beta - ops.relu(ops.stop_gradient(beta) - self.raw_max)


def is_slope(variable: Any) -> bool:
    """Whether a variable is some ASTra layer's `raw_slope`."""
    return getattr(variable, "is_astra_slope", False)


def _rebalanced_logit(x: Array, beta: Array) -> Array:
    xp = backend_namespace(x)
    return rebalanced_logit(x, slope_from_raw(beta, xp=xp), xp=xp)


def _differentiable(x: Array, beta: Array) -> Array:
    return with_gradient(_warp, _again, x, beta)


def _warp(x: Array, beta: Array) -> tuple[Array, Gradients]:
    """g(x, b(β)) by `core.warp`, and its gradients from what that computed anyway."""
    ((values,), xp), ((raw,), numbers) = few([x]), few([beta])
    of_b = of_slope(slope_from_raw(raw, xp=numbers), xp=numbers)
    shared = OfSlope(*as_factors(of_b, values))
    g, dx, lag = warp_by(values, shared, xp=xp)

    def gradients(upstream: Array) -> tuple[Array, Array]:
        ((weights,), _) = few([upstream])
        in_x = weights * dx
        sums, _ = few(
            [_sum_to_units(part, xp) for part in (in_x * values, in_x, weights * lag, weights)]
        )
        in_beta = slope_derivative(of_b, *sums) * slope_from_raw_dbeta(raw, xp=numbers)
        return as_tensor(in_x, x), as_tensor(in_beta, x)

    return as_tensor(g, x), gradients


def _again(upstream: Array, x: Array, beta: Array) -> tuple[Array, Array]:
    xp = backend_namespace(x)
    b = slope_from_raw(beta, xp=xp)
    in_b = _sum_to_units(upstream * rebalanced_logit_db(x, b, xp=xp), xp)
    return upstream * rebalanced_logit_dx(x, b, xp=xp), in_b * slope_from_raw_dbeta(beta, xp=xp)


def _sum_to_units(values: Array, xp: Any) -> Array:
    """Sums over all dimensions but the last, of shape (units,); of (N,) it is (1,)."""
    if len(values.shape) == 1:
        return xp.sum(values, axis=0, keepdims=True)
    if keras.config.backend() == "tensorflow":
        return xp.sum(units_first(values), axis=tuple(range(1, len(values.shape))))
    return xp.sum(values, axis=tuple(range(len(values.shape) - 1)))
