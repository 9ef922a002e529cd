"""The paper's formulas, literally, in mpmath's arbitrary precision: what the core is judged
against.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np


def exact(x: float, b: float) -> dict[str, mp.mpf]:
    """Eqs. 4-6 and their derivatives at one point, with digits enough for e^{bx} beside 1."""
    if x * b < -3000:
        return _far_below(x, b)
    with mp.workdps(100 + int(0.9 * min(abs(x * b), 3000))):
        x, b = mp.mpf(x), mp.mpf(b)
        grown = 1 + b * mp.exp(b * x)
        y = 1 - grown ** (-1 / b)
        tau = 1 - (1 + b) ** (-1 / b)
        z = y * (1 - tau) / (y * (1 - tau) + (1 - y) * tau)
        sigma = 1 - 1 / grown
        dx = sigma / y
        s, s0 = mp.log(grown) / b, mp.log(1 + b) / b
        ds, ds0 = (sigma * (x + 1 / b) - s) / b, (1 / (1 + b) - s0) / b
        return {
            "astra": y,
            "astra_complement": 1 - y,
            "threshold": tau,
            "rebalanced_logit": mp.log(z / (1 - z)),
            "astra_dx": (1 - y) * sigma,
            "rebalanced_logit_dx": dx,
            "rebalanced_logit_dx2": dx * (b * (1 - sigma) - dx * (1 - y)),
            "rebalanced_logit_db": ds / y - ds0 / tau,
        }


def _far_below(x: float, b: float) -> dict[str, mp.mpf]:
    """The limits below bx = -3000, where the next term of each is 1e-1300 of the first."""
    with mp.workdps(60):
        x, b = mp.mpf(x), mp.mpf(b)
        tau = 1 - (1 + b) ** (-1 / b)
        s0 = mp.log(1 + b) / b
        return {
            "astra": mp.exp(b * x),
            "astra_complement": mp.mpf(1),
            "threshold": tau,
            "rebalanced_logit": b * x - mp.log(mp.expm1(s0)),
            "astra_dx": b * mp.exp(b * x),
            "rebalanced_logit_dx": b,
            "rebalanced_logit_dx2": -(b - 1) * b * b * mp.exp(b * x) / 2,
            "rebalanced_logit_db": x - (1 / (1 + b) - s0) / b / tau,
        }


def points(n: int, dtype: type, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """b log-uniform in [1, 1e6], |x| log-uniform in [1e-6, 300] of both signs, half of them where
    |bx| < 20; both ends of b included.
    """
    rng = np.random.default_rng(seed)
    b = np.exp(rng.uniform(0, np.log(1e6), n))
    b[: n // 20], b[n // 20 : n // 10] = 1, 1e6
    x = np.exp(rng.uniform(np.log(1e-6), np.log(300), n)) * rng.choice([-1, 1], n)
    near = slice(0, None, 2)
    x[near] = np.clip(rng.uniform(-20, 20, n)[near] / b[near], -300, 300)
    return x.astype(dtype), b.astype(dtype)


def tolerance(space, dtype):
    """The relative error that a namespace may make of an elementwise function."""
    if dtype == np.float64:
        return 1e-12
    return 1e-4 if space.flushes_subnormals else 3e-5


def worst_relative_error(got: np.ndarray, exact_values: list[mp.mpf]) -> float:
    """Over the values that the dtype holds with full precision: smaller ones are subnormal or 0,
    larger ones infinite.
    """
    limits = np.finfo(got.dtype)
    with mp.workdps(40):
        errors = [
            abs((mp.mpf(float(g)) - e) / e)
            for g, e in zip(got, exact_values, strict=True)
            if float(limits.smallest_normal) <= abs(e) <= float(limits.max)
        ]
    return float(max(errors))


def brute_confusion(g, y, w) -> tuple[float, float, float, float]:
    """Eq. 8 by a loop: tn, fp, fn, tp."""
    tn = fp = fn = tp = mp.mpf(0)
    for gi, yi, wi in zip(g, y, w, strict=True):
        z = 1 / (1 + mp.exp(-mp.mpf(gi)))
        tn, fp = tn + wi * (1 - yi) * (1 - z), fp + wi * (1 - yi) * z
        fn, tp = fn + wi * yi * (1 - z), tp + wi * yi * z
    return tn, fp, fn, tp


_OF_COUNTS = {
    "gmn": lambda tn, fp, fn, tp: 1 - mp.sqrt(tn / (tn + fp) * tp / (tp + fn)),
    "f1": lambda tn, fp, fn, tp: 1 - 2 * tp / (2 * tp + fp + fn),
    "mcc": lambda tn, fp, fn, tp: (
        1 - (tp * tn - fp * fn) / mp.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    ),
    "balanced_accuracy": lambda tn, fp, fn, tp: 1 - (tn / (tn + fp) + tp / (tp + fn)) / 2,
}


def brute_loss(name: str, g, y, w) -> mp.mpf:
    """Each loss from its textbook formula, with 60 digits."""
    with mp.workdps(60):
        w = [mp.mpf(float(v)) for v in w]
        if name == "bce":
            z = [1 / (1 + mp.exp(-mp.mpf(v))) for v in g]
            return -sum(
                wi * (yi * mp.log(zi) + (1 - yi) * mp.log(1 - zi))
                for wi, yi, zi in zip(w, y, z, strict=True)
            ) / sum(w)
        if name == "root_gmn":
            rates = []
            for label in (0, 1):
                of_class = [
                    (wi, mp.mpf(v) if label else -mp.mpf(v))
                    for wi, yi, v in zip(w, y, g, strict=True)
                    if yi == label
                ]
                rates.append(
                    sum(wi * (1 / (1 + mp.exp(-v))) ** 0.25 for wi, v in of_class)
                    / sum(wi for wi, _ in of_class)
                )
            return 4 * (1 - mp.sqrt(rates[0] * rates[1]))
        return _OF_COUNTS[name](*brute_confusion(g, y, w))


def brute_gradient(name: str, g, y, w) -> list[float]:
    """Central differences of `brute_loss`, exact to about 1e-20."""
    step = mp.mpf("1e-15")
    gradient = []
    with mp.workdps(60):
        for i in range(len(g)):
            up, down = ([mp.mpf(v) for v in g] for _ in range(2))
            up[i] += step
            down[i] -= step
            gradient.append(
                float((brute_loss(name, up, y, w) - brute_loss(name, down, y, w)) / (2 * step))
            )
    return gradient


def brute_factors(name: str, counts, power: float) -> list[float]:
    """-q dJ/dS of negatives and of positives, S a class's sum of w right^q, by differences.

    For q = 1, S is the class's right count and the rest of the class is wrong. For another q, the
    counts stand for a class whose rows are all right by the same share. For q = 0, S is the sum of
    w ln(right), and the factor -dJ/dS.
    """
    with mp.workdps(120):
        tn, fp, fn, tp = (mp.mpf(part) for part in counts)
        totals = tn + fp, fn + tp
        shares = tn / totals[0], tp / totals[1]

        def value(negatives, positives):
            """J at the sums S."""
            if name == "bce":
                return -(negatives + positives) / sum(totals)
            if name == "root_gmn":
                return 4 * (1 - mp.sqrt(negatives / totals[0] * positives / totals[1]))
            return _OF_COUNTS[name](
                negatives, totals[0] - negatives, totals[1] - positives, positives
            )

        sums = [
            total * (share**power if power else mp.log(share))
            for total, share in zip(totals, shares, strict=True)
        ]
        found = []
        for k, at in enumerate(sums):
            step = abs(at) * mp.mpf("1e-30")
            up, down = ([*sums[:k], at + sign * step, *sums[k + 1 :]] for sign in (1, -1))
            found.append(float(-(power or 1) * (value(*up) - value(*down)) / (2 * step)))
        return found


def drawn_logits(n=60, seed=0, scale=3.0):
    """Logits, labels of which a tenth are 1, and weights."""
    rng = np.random.default_rng(seed)
    y = np.zeros(n)
    y[: max(2, n // 10)] = 1
    return rng.normal(0, scale, n), y, rng.uniform(0.1, 3, n)
