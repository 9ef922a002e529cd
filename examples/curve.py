"""The curve, its threshold, and why a loss centred on ½ needs the z-transform.

The paper's Figs. 1 and 2 as a small table.
"""

from __future__ import annotations

import math

from rich.console import Console
from rich.table import Table

import astralearn

TAUS = (0.5, 0.25, 0.05)  # those of the paper's Fig. 1
XS = (-1.0, -0.1, 0.0, 0.2, 0.5, 2.0)


def wrong_band(b: float) -> float:
    """The end of 0 < x < ln((2^b − 1)/b)/b, where BCE on ŷ calls a positive's side wrong."""
    return (b * math.log(2) + math.log1p(-(2.0**-b)) - math.log(b)) / b


def bce(probability: float, label: int) -> float:
    return -math.log(probability if label else 1 - probability)


def curve_table() -> Table:
    table = Table(
        title="ASTra: the probability ŷ of the positive class at logit x", title_justify="left"
    )
    table.add_column("slope b", justify="right")
    table.add_column("τ", justify="right")
    for x in XS:
        table.add_column(f"x = {x:g}", justify="right")
    for tau in TAUS:
        b = float(astralearn.slope(tau))
        table.add_row(
            f"{b:.3f}", f"{tau:.2f}", *(f"{float(astralearn.astra(x, b)):.3f}" for x in XS)
        )
    return table


def band_table() -> Table:
    table = Table(
        title="BCE of a positive and of a negative at x = 0.2, on ŷ and on z", title_justify="left"
    )
    for heading in ("τ", "wrongly ordered band", "ŷ: y = 1", "ŷ: y = 0", "z: y = 1", "z: y = 0"):
        table.add_column(heading, justify="right")
    for tau in TAUS:
        b = float(astralearn.slope(tau))
        y_hat = float(astralearn.astra(0.2, b))
        z = float(astralearn.rebalance(y_hat, tau))
        end = wrong_band(b)
        band = f"0 < x < {end:.3f}" if end > 1e-9 else "none"
        plain, other = bce(y_hat, 1), bce(y_hat, 0)
        style = "red" if plain > other else "green"
        table.add_row(
            f"{tau:.2f}",
            band,
            f"[{style}]{plain:.3f}[/]",
            f"[{style}]{other:.3f}[/]",
            f"{bce(z, 1):.3f}",
            f"{bce(z, 0):.3f}",
        )
    return table


if __name__ == "__main__":
    console = Console()
    console.print(curve_table())
    console.print("A lower threshold τ gives the rare positives more of the output range.\n")
    console.print(band_table())
    console.print(
        "At x = 0.2 the network says positive, so y = 1 should cost less than y = 0.\n"
        "On ŷ it costs more inside the band (red): BCE pivots at ½, not at τ.\n"
        "On z = rebalance(ŷ, τ) the order is right for every τ; astralearn trains on z.\n"
        "Why, and what it does to training: docs/maths.md"
    )
