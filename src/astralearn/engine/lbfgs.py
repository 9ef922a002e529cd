"""L-BFGS for one network: on small full-batch problems some tens of iterations do the work of thousands of steps of Adam.

The slope is a parameter like the others here; the rate of Eq. 10 belongs to Adam.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import Bounds, minimize

from astralearn.core.curve import slope_from_raw
from astralearn.core.derivatives import slope_from_raw_dbeta
from astralearn.engine.epoch import (
    Seen,
    Static,
    compile_options,
    penalty,
    record_of,
    sums_and_pulls,
)
from astralearn.engine.network import penalised
from astralearn.engine.objective import confusion, held_out, loss_value
from astralearn.engine.rows import Packed

Array = Any


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
) -> Minimum:
    """Minimises one network's loss from `start`, (P + 1,): the parameters and the raw slope.

    tell: called after each iteration with what is monitored but for the epoch; True ends the search there.
    """
    look, dtype = _compiled(), start.dtype

    def value_and_gradient(v: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient, _ = look(
            jnp.asarray(v, dtype), data, np.asarray(alpha, dtype), static=static
        )
        return float(value), np.asarray(gradient, np.float64)

    done = 0

    def after_each(
        intermediate_result: Any,
    ) -> None:  # scipy knows the callback's kind by this name
        nonlocal done
        done += 1
        seen = look(
            jnp.asarray(intermediate_result.x, dtype), data, np.asarray(alpha, dtype), static=static
        )[2]
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


@functools.cache
def _compiled() -> Callable[..., tuple[Array, Array, Seen]]:
    return jax.jit(
        _look, static_argnames=("static",), compiler_options=compile_options(thorough=False)
    )


def _look(v: Array, data: Packed, alpha: Array, *, static: Static) -> tuple[Array, Array, Seen]:
    """The penalised loss at v, its gradient, and what was seen."""
    parameters, raw = v[None, :-1], v[-1:]
    slope = slope_from_raw(raw, xp=jnp) if static.astra else None
    (negatives, positives), (by_negatives, by_positives) = sums_and_pulls(
        parameters, slope, data, static, jnp.full_like(alpha, 0.5), valued=static.loss == "bce"
    )
    weights, factor = (
        penalised(static.architecture) * parameters,
        penalty(negatives, positives, alpha),
    )
    loss = loss_value(negatives, positives, static.loss)
    of_slope = (by_negatives[1] + by_positives[1]) * slope_from_raw_dbeta(raw, xp=jnp)
    gradient = jnp.concatenate(
        [(by_negatives[0] + by_positives[0] + factor[:, None] * weights)[0], of_slope]
    )
    seen = Seen(
        epoch=jnp.zeros(1, jnp.int32),
        parameters=None,
        loss=loss,
        counts=confusion(negatives, positives, static.loss),
        validation=held_out(negatives, positives, static.loss),
        slope=slope if slope is not None else jnp.ones_like(raw),
        rate=jnp.zeros_like(raw),
    )
    return loss[0] + 0.5 * factor[0] * jnp.sum(weights * weights), gradient, seen
