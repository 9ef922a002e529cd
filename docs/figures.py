"""Draws the figures of the documentation into docs/img/: `make figures`."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import astralearn

IMG = Path(__file__).parent / "img"
TAUS = (0.5, 0.25, 0.05, 0.01)


def warp_figure() -> None:
    """g(x, b), its slope, and what one example contributes to BCE, for several thresholds."""
    x = np.linspace(-3, 5, 801)
    plt.rcParams["axes.titlesize"] = 10
    figure, (value, slope, loss) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    for tau, color in zip(TAUS, plt.cm.viridis(np.linspace(0, 0.85, len(TAUS))), strict=True):
        b = astralearn.slope(tau)
        g = astralearn.rebalanced_logit(x, b)
        label = f"τ = {tau:g}, b = {float(b):.3g}"
        value.plot(x, g, color=color, label=label)
        slope.plot(x, astralearn.rebalanced_logit_dx(x, b), color=color)
        loss.plot(x, np.logaddexp(0, -g), color=color)
        loss.plot(x, np.logaddexp(0, g), color=color, linestyle="--")
    value.set(
        title="the rebalanced logit g(x, b)", xlabel="x, the network's output", ylim=(-12, 12)
    )
    slope.set(title="its slope ∂g/∂x: b on the left, 1 on the right", xlabel="x", yscale="log")
    loss.set(title="BCE of a positive (—) and a negative (- -)", xlabel="x", ylim=(0, 8))
    for axes in (value, slope, loss):
        axes.axvline(0, color="0.8", linewidth=0.8, zorder=0)
        axes.spines[["top", "right"]].set_visible(False)
    value.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    value.legend(frameon=False, fontsize=8, loc="lower right")
    figure.savefig(IMG / "warp.png", dpi=150)
    plt.close(figure)


def training_figure() -> None:
    """How threshold, e-ratio and soft FNR move while the README's example learns.

    As it comes, and with a slope free to rise.
    """
    X, digit = load_digits(return_X_y=True)
    eights, others = np.flatnonzero(digit == 8), np.flatnonzero(digit != 8)
    rows = np.r_[eights[:5], others[:900]]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
    free = [
        ({"loss": loss, "slope_limit": None}, color)
        for loss, color in (("bce", "C1"), ("gmn", "C0"), ("root_gmn", "C2"))
    ]
    for options, color in (*free, ({}, "black")):
        history = (
            astralearn.ASTraClassifier(**options, random_state=0)
            .fit(X[rows], digit[rows] == 8)
            .history_
        )
        label = f'loss="{options["loss"]}", no limit' if options else "default"
        for axis, name in zip(axes, ("threshold", "e_ratio", "fnr"), strict=True):
            axis.plot(history["epoch"], history[name], color=color, label=label)
    axes[0].set(title="threshold τ", xlabel="epoch", ylim=(0, 0.5))
    axes[1].set(title="e-ratio FNR/FPR (training rows)", xlabel="epoch", yscale="log")
    axes[1].axhline(1, color="0.7", linewidth=0.8, zorder=0)
    axes[2].set(title="soft FNR (training rows)", xlabel="epoch", ylim=(0, 1))
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    axes[2].legend(frameon=False, fontsize=9)
    figure.savefig(IMG / "training.png", dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    IMG.mkdir(exist_ok=True)
    warp_figure()
    training_figure()
    print(f"wrote warp.png and training.png into {IMG}")
