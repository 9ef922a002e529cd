"""Each loss of `losses.LOSSES`, and its closed-form gradient, under its own name.

Every function takes `(logits, y, sample_weight=None, *, axis=None)`:

logits: (rebalanced) logits g of any shape.
y: labels 0 and 1 of the same shape.
sample_weight: ≥ 0, broadcast to that shape; it multiplies every sum, the class totals included.
axis: what to reduce over. None: everything; 0: one loss per output column.

Gradients are shaped as the logits. A class without weight counts as one found example (see
`SoftConfusion`), so a batch of one class still teaches that class. m is the logit of being wrong: g
for a negative, −g for a positive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from astralearn.core.inputs import Array, ArrayLike, Axis
from astralearn.core.losses import LOSSES

Method = TypeVar("Method", bound=Callable[..., Array])


def _calls(method: Method) -> Callable[[Callable[[], None]], Method]:
    """Make a name and its docstring a function that calls the method of a loss."""

    def named(stub: Callable[[], None]) -> Method:
        def function(
            logits: ArrayLike,
            y: ArrayLike,
            sample_weight: ArrayLike = None,
            *,
            axis: Axis = None,
            xp: Any = None,
        ) -> Array:
            return method(logits, y, sample_weight, axis=axis, xp=xp)

        function.__name__ = function.__qualname__ = stub.__name__
        function.__doc__ = stub.__doc__
        return cast(Method, function)

    return named


@_calls(LOSSES["bce"].value)
def bce_loss() -> None:
    """Binary cross-entropy, the weighted mean of ln(1 + e^m).

    >>> round(float(bce_loss([-2.0, 0.0], [0, 1])), 4)
    0.41
    """


@_calls(LOSSES["bce"].gradient)
def bce_gradient() -> None:
    """∂BCE/∂gᵢ = wᵢ(zᵢ − yᵢ)/Σw, as ±σ(m), which does not cancel.

    >>> bce_gradient([-2.0, 0.0], [0, 1]).round(4).tolist()
    [0.0596, -0.25]
    """


@_calls(LOSSES["gmn"].value)
def gmn_loss() -> None:
    """One minus the soft G-Mean: 1 − √(TPR·TNR) (Eq. 9).

    >>> round(float(gmn_loss([-2.0, 0.0], [0, 1])), 4)
    0.3364
    """


@_calls(LOSSES["gmn"].gradient)
def gmn_gradient() -> None:
    """∂GMN/∂gᵢ = ∓½ G σ(mᵢ) pᵢ, − for a positive.

    pᵢ is example i's share of its own class's TP or TN. The shares are softmax weights of
    ln σ(−m), so nothing is 0/0 even where every positive sits at g = −200.

    >>> gmn_gradient([-200.0, -201.0, 3.0], [1, 1, 0]).tolist()[0] < 0
    True
    """


@_calls(LOSSES["root_gmn"].value)
def root_gmn_loss() -> None:
    """4(1 − √(A₁A₀)) in [0, 4], between GMN and balanced cross-entropy.

    A₁ is the mean of ⁴√z over the positives and A₀ that of ⁴√(1−z) over the negatives.

    >>> round(float(root_gmn_loss([-2.0, 0.0], [0, 1])), 4)
    0.3897
    """


@_calls(LOSSES["root_gmn"].gradient)
def root_gmn_gradient() -> None:
    """∂J/∂gᵢ = ∓½ √(A₁A₀) σ(mᵢ) pᵢ, − for a positive.

    pᵢ is example i's share of its own class's sum of ⁴√σ(−m).

    >>> root_gmn_gradient([-2.0, 0.0], [0, 1]).round(4).tolist()
    [0.0538, -0.2256]
    """


@_calls(LOSSES["f1"].value)
def f1_loss() -> None:
    """One minus the soft F1: (FP+FN)/(2TP+FP+FN).

    >>> round(float(f1_loss([-2.0, 0.0], [0, 1])), 4)
    0.3824
    """


@_calls(LOSSES["f1"].gradient)
def f1_gradient() -> None:
    """With D = 2TP+FP+FN: ∂J/∂TP = −2(D−TP)/D², ∂J/∂TN = −2TP/D².

    >>> f1_gradient([-2.0, 0.0], [0, 1]).round(4).tolist()
    [0.04, -0.2134]
    """


@_calls(LOSSES["mcc"].value)
def mcc_loss() -> None:
    """One minus the soft Matthews correlation, in [0, 2].

    >>> round(float(mcc_loss([-2.0, 0.0], [0, 1])), 4)
    0.5882
    """


@_calls(LOSSES["mcc"].gradient)
def mcc_gradient() -> None:
    """The gradient of the soft Matthews correlation.

    With P = TP+FP, N = TN+FN and R = √(m₁m₀/PN): ∂MCC/∂TP = R/m₁ − ½MCC(1/P − 1/N) and
    ∂MCC/∂TN = R/m₀ + ½MCC(1/P − 1/N).

    >>> mcc_gradient([-2.0, 0.0], [0, 1]).round(4).tolist()
    [0.1328, -0.2245]
    """


@_calls(LOSSES["balanced_accuracy"].value)
def balanced_accuracy_loss() -> None:
    """One minus the soft balanced accuracy: (FNR+FPR)/2.

    >>> round(float(balanced_accuracy_loss([-2.0, 0.0], [0, 1])), 4)
    0.3096
    """


@_calls(LOSSES["balanced_accuracy"].gradient)
def balanced_accuracy_gradient() -> None:
    """∂J/∂TP = −½/m₁, ∂J/∂TN = −½/m₀.

    >>> balanced_accuracy_gradient([-2.0, 0.0], [0, 1]).round(4).tolist()
    [0.0525, -0.125]
    """
