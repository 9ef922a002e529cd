"""Objectives for boosted trees: derivatives of a loss on g, and a learned slope.

The objective is W·J, with J a loss of `astralearn.core.LOSSES` on g(x, b) and W = Σw. So gradients
have the size of a sum over rows, as those of the libraries' built-in objectives have, and as their
defaults (λ, minimum child weight) expect. Write m for the logit of being wrong and give each row
the weight

    BCE: ωᵢ = wᵢ
    losses of the counts: ωᵢ = W wᵢ |∂J/∂T| σ(−mᵢ), T the one of TP and TN that row i enters.

Then the gradient is ±ωσ(m)g′, and c = ωσ(m)σ(−m)g′² ≥ 0 is the Gauss–Newton part of cross-entropy
weighted by ω. By e^u ≥ 1 + u and Jensen's inequality, W·(1 − G) lies below a constant plus
Σωᵢ ln(1 + e^{mᵢ}) at every score, and touches it with the same gradient at the current one. So a
round of GMN boosting is a round of ordinary boosting on cross-entropy, under weights that add up to
W·G/2 in either class. The same holds for balanced accuracy, and for F1 and MCC of their
linearisation in (TP, TN).

c is the curvature returned, unless a part s of it is shared by all rows (XGBoost, see `training`):

    hᵢ = (1 − s) cᵢ + s wᵢ C/W,   C = Σc = Σh

with `scale_pos_weight` in the positives' wᵢ and in W. It damps the step in leaves of sure rows,
whose c is next to nothing, as the method of Levenberg and Marquardt does, and leaves the sum, which
λ and minimum child weight are weighed against, as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from astralearn.boosting.slope_learner import SlopeLearner, inverse_warp
from astralearn.boosting.sweep import Factors, LabelledRows, Sweep, sweep
from astralearn.core import LOSSES, SoftConfusion, rebalanced_logit
from astralearn.core.class_means import Means

# The losses of the soft counts, and means over rows that do not see each other (BCE).
OF_COUNTS = tuple(name for name, loss in LOSSES.items() if loss.power == 1)
MEANS = tuple(name for name, loss in LOSSES.items() if loss.is_mean)

# A row's least curvature, times its weight: a leaf has a denominator where all of it underflows.
LEAST_CURVATURE = 1e-16


class Objective:
    """Gradient and curvature of W·J in the scores.

    Calling it is one round: it returns both at the current slope, then moves the slope. Scores that
    are all equal hold no tree yet, so they begin a new training. The signature serves LightGBM's
    and XGBoost's scikit-learn APIs; for `lgb.train` and `xgb.train` see `LightGBMObjective` and
    `XGBoostObjective`. Instances pickle; `sklearn.clone` gives one that has learned nothing.

    loss: a name of LOSSES.
    activation: "astra" (g warps the score) or "sigmoid" (g is the score).
    tau_init: threshold in [1e-5, 0.5] that the slope starts from.
    learnable: whether the slope moves.
    slope_rate_min, slope_rate_max: bounds of Eq. 10's rate.
    scale_pos_weight: c > 0, for BCE the weight of each positive. In the rates of the other losses
        such a weight would cancel, so there it multiplies the positives' gradient: GMN then seeks
        the largest TPR^c·TNR.
    n_threads: for large data; None takes every core available.

    After a call: `slope` is b in force for the next, `slope_path` b before the first round and
    after each, `counts` the soft confusion matrix of the scores given.

    >>> objective = Objective("bce", activation="sigmoid")
    >>> gradient, curvature = objective(np.asarray([0.0, 1.0]), np.zeros(2))
    >>> gradient.tolist()
    [0.5, -0.5]
    """

    loss: str

    def __init__(
        self,
        loss: str,
        *,
        activation: str,
        tau_init: float = 0.25,
        learnable: bool = True,
        slope_rate_min: float = 0.01,
        slope_rate_max: float = 0.5,
        scale_pos_weight: float = 1.0,
        n_threads: int | None = None,
    ) -> None:
        if activation not in ("astra", "sigmoid"):
            raise ValueError(f"activation must be 'astra' or 'sigmoid'; found {activation!r}")
        if not scale_pos_weight > 0:
            raise ValueError(f"scale_pos_weight must be above 0; found {scale_pos_weight}")
        self.loss = loss
        self.activation = activation
        self.tau_init = tau_init
        self.learnable = learnable
        self.slope_rate_min = slope_rate_min
        self.slope_rate_max = slope_rate_max
        self.scale_pos_weight = scale_pos_weight
        self.n_threads = n_threads
        self.reset()

    def reset(self) -> None:
        """Forget what was learned: the next call is the first round."""
        warped = self.activation == "astra"
        self.learner = SlopeLearner(
            self.tau_init if warped else 0.5,
            learnable=self.learnable and warped,
            minimum=self.slope_rate_min,
            maximum=self.slope_rate_max,
        )
        self.counts: SoftConfusion | None = None
        self._kept: tuple[np.ndarray, np.ndarray | None, LabelledRows] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}  # The training data stay here.

    @property
    def slope(self) -> float:
        return self.learner.slope

    @property
    def slope_path(self) -> list[float]:
        return self.learner.path

    def __sklearn_clone__(self) -> Self:
        fresh = type(self).__new__(type(self))
        fresh.__dict__.update(self.__dict__)
        fresh.reset()
        return fresh

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # lgb.train copies its parameters: the copy would learn, and the caller's slope stand still.
        return self

    def __call__(
        self, y_true: np.ndarray, y_pred: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """One round: gradient and curvature, shape (n,), in the dtype of the scores.

        Float64 is exact to rounding, float32 is faster.

        y_true: labels 0 and 1, shape (n,).
        y_pred: scores x, shape (n,).
        sample_weight: ≥ 0, shape (n,).
        """
        if hasattr(y_pred, "get_label"):
            raise TypeError(
                f"y_pred must be scores; found a {type(y_pred).__name__}: lgb.train takes "
                "LightGBMObjective(objective), xgb.train XGBoostObjective(objective)"
            )
        self.begin_if_equal(y_pred)
        return self.round(y_true, y_pred, sample_weight)

    def begin_if_equal(self, y_pred: np.ndarray) -> None:
        """Forget what was learned if all scores are equal: a training begins."""
        x = np.asarray(y_pred)
        if len(self.slope_path) > 1 and x.size and x[0] == x[-1] and (x == x[0]).all():
            self.reset()

    def round(
        self,
        y_true: np.ndarray,
        y_pred: np.ndarray,
        sample_weight: np.ndarray | None = None,
        *,
        add_up: Callable[[np.ndarray], np.ndarray] | None = None,
        shared: float = 0.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """As calling it, in a training that has begun.

        add_up: for one of several workers, sums eight numbers over all of them; each one's rows
            are then exact.
        shared: part of the curvature that all rows share, in [0, 1].
        """
        x = _scores(y_pred)
        found = self.swept(self._rows(y_true, x, sample_weight), x)
        sums = found.sums if add_up is None else add_up(found.sums)
        return found.scaled(*self.advance(sums, shared))

    def swept(self, rows: LabelledRows, x: np.ndarray, *, slope: float | None = None) -> Sweep:
        """The rows' derivatives up to a factor per class, and their sums.

        slope: b; the current one unless given.
        """
        return sweep(
            rows,
            x,
            self.slope if slope is None else slope,
            coupled=not LOSSES[self.loss].is_mean,
            with_slope=self.learner.learnable,
            n_threads=self.n_threads,
        )

    def advance(self, sums: np.ndarray, shared: float = 0.0) -> tuple[Factors, Factors]:
        """Both classes' factors, from the sums of all rows; then the slope moves."""
        sums = np.asarray(sums, np.float64)
        counts, (curvature_tn, curvature_tp), by_slope = sums[:4], sums[4:6], sums[6:]
        self.counts = SoftConfusion(*map(float, counts))
        total = float(counts.sum()) or 1.0
        # J sees no unit of weight: with the total as unit, these are the factors of W·J.
        means = Means.of_counts(SoftConfusion(*(counts / total)), xp=np)
        factors = LOSSES[self.loss].factors(means, (0.0, 0.0), xp=np)
        negative, positive = float(factors[0]), self.scale_pos_weight * float(factors[1])
        slope_tn, slope_tp = by_slope / total
        self.learner.step(
            negative * slope_tn + positive * slope_tp, e_ratio=float(self.counts.e_ratio)
        )
        tn, fp, fn, tp = self.counts
        weight = tn + fp + self.scale_pos_weight * (fn + tp)
        curvature = negative * curvature_tn + positive * curvature_tp
        each = (shared * curvature / weight if weight > 0 else 0.0) + LEAST_CURVATURE
        return (
            Factors(negative, (1 - shared) * negative, each),
            Factors(positive, (1 - shared) * positive, each * self.scale_pos_weight),
        )

    def value(
        self, y_true: np.ndarray, y_pred: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float:
        """J at the current slope: what the rounds bring down. Changes nothing."""
        x = _scores(y_pred)
        y, weight = _labels(y_true, x, sample_weight)
        g = rebalanced_logit(x, self.slope, xp=np)
        return float(LOSSES[self.loss].value(g, y, weight, xp=np))

    def best_constant(self, y_true: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
        """The score x that a training of these rows starts from: the loss's best constant.

        BCE: z equal to the weighted share of positives. Losses of the counts: 0, that is z = ½,
        where the soft G-Mean of a constant is largest; F1 and MCC have no useful best constant.

        >>> round(ASTraObjective(tau_init=0.5).best_constant(np.asarray([0, 0, 0, 1])), 4)
        -1.0986
        """
        if sees_rates(self.loss):
            return 0.0
        share = float(np.average(y_true, weights=sample_weight))
        share = min(max(share, 1e-12), 1.0 - 1e-12)
        logit = math.log(self.scale_pos_weight) + math.log(share) - math.log1p(-share)
        return inverse_warp(logit, self.slope)

    def _rows(
        self, y_true: np.ndarray, x: np.ndarray, sample_weight: np.ndarray | None
    ) -> LabelledRows:
        """Labels and weights, checked once per training: later rounds find them unchanged."""
        if self._kept is not None:
            y, weight, rows = self._kept
            is_alike = x.dtype == y.dtype and x.shape == y.shape
            if is_alike and _same(y, y_true) and _same(weight, sample_weight):
                return rows
        y, weight = _labels(y_true, x, sample_weight)
        rows = LabelledRows.of(y, weight)
        self._kept = np.array(y), None if weight is None else np.array(weight), rows
        return rows


class ASTraObjective(Objective):
    """Cross-entropy on z, the z-transform of ASTra's output: the paper's BCE-ASTra.

        W·J = Σ wᵢ [ln(1 + e^{gᵢ}) − yᵢ gᵢ],   gᵢ = g(xᵢ, b)

    Arguments as in `Objective`.

    >>> import numpy as np
    >>> objective = ASTraObjective(tau_init=0.5)
    >>> gradient, curvature = objective(np.asarray([0.0, 1.0]), np.asarray([0.0, 0.0]))
    >>> gradient.tolist(), curvature.round(6).tolist()
    ([0.5, -0.5], [0.25, 0.25])
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("bce", activation="astra", **options)


class ConfusionObjective(Objective):
    """A loss of the soft confusion matrix.

        W·J(TN, FP, FN, TP),   counts of σ(gᵢ) (Eq. 8)

    loss: "gmn" (1 − G-Mean, Eq. 9), "f1", "mcc" or "balanced_accuracy".
    activation: "sigmoid" (g is the score: the paper's GMN) or "astra" (GMN-ASTra).
    Other arguments as in `Objective`.

    >>> import numpy as np
    >>> gradient, _ = ConfusionObjective("gmn")(np.asarray([0.0, 0.0, 0.0, 1.0]), np.zeros(4))
    >>> gradient.round(4).tolist()
    [0.1667, 0.1667, 0.1667, -0.5]
    """

    def __init__(self, loss: str = "gmn", *, activation: str = "sigmoid", **options: Any) -> None:
        _check_among(loss, OF_COUNTS)
        super().__init__(loss, activation=activation, **options)


def make_objective(loss: str, activation: str, **options: Any) -> Objective:
    """The objective of one of the paper's methods, by the names that estimators use."""
    _check_among(loss, (*MEANS, *OF_COUNTS))
    return Objective(loss, activation=activation, **options)


def _check_among(loss: str, names: tuple[str, ...]) -> None:
    if loss not in names:
        raise ValueError(f"loss must be one of {', '.join(names)}; found {loss!r}")


def sees_rates(loss: str) -> bool:
    """Whether a loss is one of the counts' rates, in which a class's weight cancels."""
    return loss in OF_COUNTS


def checked_weight(weight: np.ndarray, shape: tuple[int, ...], *, of: str) -> np.ndarray:
    """The weights, if they have the labels' shape and each is finite and at least 0."""
    if weight.shape != shape:
        raise ValueError(
            f"sample_weight must have the shape of {of}, {shape}; found {weight.shape}"
        )
    wrong = weight[~(np.isfinite(weight) & (weight >= 0))]
    if wrong.size:
        raise ValueError(f"sample_weight must be finite and at least 0; found {wrong[0]}")
    return weight


def _scores(y_pred: np.ndarray) -> np.ndarray:
    x = np.asarray(y_pred)
    return x if x.dtype in (np.float32, np.float64) else x.astype(np.float64)


def _labels(
    y_true: np.ndarray, x: np.ndarray, sample_weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Checked, in the dtype of the scores."""
    y = np.asarray(y_true, dtype=x.dtype)
    if x.ndim != 1 or y.shape != x.shape:
        raise ValueError(
            "y_true and y_pred must be one-dimensional and of one length; found shapes "
            f"{y.shape} and {x.shape}"
        )
    if np.count_nonzero(y == 1) + np.count_nonzero(y == 0) != y.size:
        raise ValueError(f"y_true must be 0 or 1; found {y[(y != 0) & (y != 1)][0]}")
    if sample_weight is None:
        return y, None
    return y, checked_weight(np.asarray(sample_weight, dtype=x.dtype), y.shape, of="y_true")


def _same(kept: np.ndarray | None, given: np.ndarray | None) -> bool:
    return given is None if kept is None else given is not None and np.array_equal(kept, given)
