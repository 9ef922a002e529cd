"""Draws the documentation's figures, and puts the demo's output into README: `make figures`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.neural_network import MLPClassifier

import astralearn

ROOT = Path(__file__).parent.parent
IMG = ROOT / "docs" / "img"
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


def order_figure() -> None:
    """Where the 169 eights of `make demo` stand in the order that four methods give the rows."""
    X, digit = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    eights, others = (rng.permutation(np.flatnonzero((digit == 8) == is8)) for is8 in (True, False))
    train = np.r_[eights[:5], others[:900]]
    test = np.setdiff1d(np.arange(len(digit)), train)
    methods = {
        "ASTraClassifier": astralearn.ASTraClassifier(random_state=0),
        "ExtraTrees": ExtraTreesClassifier(200, class_weight="balanced", random_state=0),
        "HistGradientBoosting": HistGradientBoostingClassifier(
            class_weight="balanced", random_state=0
        ),
        "MLP": MLPClassifier(random_state=0, max_iter=2000),
    }
    figure, rows = plt.subplots(len(methods), 1, figsize=(10, 3.2), layout="constrained")
    for axes, (name, model) in zip(rows, methods.items(), strict=True):
        scores = model.fit(X[train], digit[train] == 8).predict_proba(X[test])[:, 1]
        is_eight = digit[test][np.argsort(-scores, kind="stable")] == 8
        axes.imshow(is_eight[None], aspect="auto", cmap="Blues", vmax=1.2, interpolation="none")
        axes.axvline(is_eight.sum() - 0.5, color="C3", linewidth=1.5)
        found = is_eight[: is_eight.sum()].sum()
        axes.set_ylabel(f"{name}\n{found} of {is_eight.sum()}", rotation=0, ha="right", va="center")
        axes.set(xticks=[], yticks=[])
    rows[0].set_title(
        "Test rows, highest score first; eights are blue, and belong left of the line"
    )
    rows[-1].set_xticks([0, 168, 891], ["1st", "169th", "892nd"])
    figure.savefig(IMG / "order.png", dpi=150)
    plt.close(figure)


def demo_in_readme() -> None:
    """README's block that begins as the demo's output does."""
    command = [sys.executable, str(ROOT / "examples" / "quickstart.py")]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    # README says in words what the last line says, whose path is this machine's.
    shown = "\n".join(line.rstrip() for line in shown.splitlines()[:-1]).strip()
    readme = ROOT / "README.md"
    text, n = re.subn(
        r"```\n" + re.escape(shown[:12]) + ".*?```",
        lambda _: f"```\n{shown}\n```",
        readme.read_text(),
        flags=re.DOTALL,
    )
    assert n == 1, "README has no block of the demo's output"
    readme.write_text(text)


def scale_figure() -> None:
    """Seconds of an epoch against rows, on one machine and over processes."""
    records = Path(__file__).parent.parent / "benchmarks" / "results" / "scale.csv"
    found = pd.read_csv(records).query("part == 'epochs'")
    figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
    names = {1: "local, two threads", 2: "two processes", 3: "three processes on two cores"}
    for (n, name), color in zip(names.items(), ("black", "tab:blue", "tab:orange"), strict=True):
        of = found[found["processes"] == n].sort_values("rows")
        axis.plot(of["rows"], of["median"], "o-", color=color, label=name)
    axis.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds per epoch")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=9)
    figure.savefig(IMG / "scale.png", dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    IMG.mkdir(exist_ok=True)
    warp_figure()
    training_figure()
    order_figure()
    scale_figure()
    demo_in_readme()
    print(f"wrote warp.png, training.png, order.png and scale.png into {IMG}")
