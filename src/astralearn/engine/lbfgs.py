"""L-BFGS for one network: SciPy takes the steps, JAX the loss and its gradient.

On small full-batch problems some tens of iterations do the work of thousands of steps of Adam. The
slope is a parameter like the others here; the rate of Eq. 10 belongs to Adam.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy.optimize import Bounds, minimize

from astralearn.core.curve import slope_from_raw
from astralearn.core.derivatives import slope_from_raw_dbeta
from astralearn.core.inputs import Array
from astralearn.engine.epoch import Epoch, Static, gradients_of, penalty, record_of, sums_of
from astralearn.engine.network import penalised
from astralearn.engine.objective import Seen
from astralearn.engine.packing import Packed
from astralearn.engine.places import Places
from astralearn.engine.programs import program


class Minimum(NamedTuple):
    """Where L-BFGS ended: parameters (P,), raw slope, iterations."""

    parameters: np.ndarray
    raw_slope: float
    n_iterations: int


def minimise(
    data: Packed,
    start: np.ndarray,
    static: Static,
    *,
    alpha: float,
    raw_slope_max: float,
    iterations: int,
    tell: Callable[[dict[str, np.ndarray]], bool],
    places: Places | None = None,
) -> Minimum:
    """Minimise one network's loss.

    start: the parameters and the raw slope, (P + 1,).
    tell: called after each iteration with what is monitored but for the epoch; True ends the
        search there.
    places: that hold the rows, where all of them search at once; None for one.
    """
    look = program(_look, (start, data), static=static, thorough=False, places=places)
    dtype, done = start.dtype, 0

    def at(v: np.ndarray) -> tuple[Array, Array, Epoch]:
        return look(v.astype(dtype), data, np.asarray(alpha, dtype))

    def value_and_gradient(v: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient, _ = at(v)
        return float(value), np.asarray(gradient, np.float64)

    # SciPy knows the kind of the callback by the name of its argument.
    def after_each(intermediate_result: Any) -> None:
        nonlocal done
        done += 1
        _, _, seen = at(intermediate_result.x)
        if tell(record_of(seen)):
            raise StopIteration

    options = {"maxiter": iterations, "maxfun": 4 * iterations + 20, "ftol": 1e-12, "gtol": 1e-9}
    bounds = Bounds(-np.inf, np.append(np.full(len(start) - 1, np.inf), raw_slope_max))
    end = minimize(
        value_and_gradient,
        start.astype(np.float64),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=after_each,
        options=options,
    )
    return Minimum(end.x[:-1].astype(dtype), float(end.x[-1]), done)


def _look(v: Array, data: Packed, alpha: Array, *, static: Static) -> tuple[Array, Array, Epoch]:
    """The penalised loss at v, its gradient, and what was seen."""
    parameters, raw = v[None, :-1], v[-1:]
    slope = slope_from_raw(raw, xp=jnp) if static.astra else None
    both = sums_of(parameters, slope, data, static, valued=True)
    by_negatives, by_positives = gradients_of(both, data, static, jnp.full_like(alpha, 0.5))
    gradient = by_negatives.plus(by_positives)
    weights = penalised(static.architecture) * parameters
    factor = penalty(both.means, alpha)
    of_parameters = gradient.parameters + factor[:, None] * weights
    of_raw_slope = gradient.slope * slope_from_raw_dbeta(raw, xp=jnp)
    training = Seen.of(static.loss, both.means)
    seen = Epoch(
        epoch=jnp.zeros(1, jnp.int32),
        parameters=None,
        training=training,
        validation=both.validation(static.loss),
        slope=slope if slope is not None else jnp.ones_like(raw),
        rate=jnp.zeros_like(raw),
    )
    penalised_loss = training.loss[0] + 0.5 * factor[0] * jnp.sum(weights * weights)
    return penalised_loss, jnp.concatenate([of_parameters[0], of_raw_slope]), seen
