"""Does another way to train reach the paper's cod-763? A trainer of its own, by autodiff.

docs/reproduction.md says which cells of Table 2 no epoch of our networks reaches, the ASTra
networks' on cod-763 among them. The paper leaves open how inputs are scaled, the batch, Adam's ε,
the initial bias, and more. Here each of these is changed once, on the same folds, from the same
starts. The trainer shares the core's formulas with the engine, and nothing else.

    python benchmarks/regime.py run      runs what results/regime.csv.gz lacks
    python benchmarks/regime.py report   prints the table from it
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from astralearn import datasets
from astralearn.core import LOSSES, SoftConfusion, astra
from astralearn.core.curve import raw_from_slope, rebalanced_logit, slope_from_raw, starting_slope
from astralearn.core.slope_rate import slope_rate
from astralearn.engine.network import Architecture, initialise, unflatten
from astralearn.methods import PAPER_NETWORKS
from astralearn.study.paper import PROTOCOL, TABLE_2
from astralearn.study.paper_plan import counted
from astralearn.study.splits import Split, make_splits, seed_of
from records import RESULTS, read_rows, write_rows

PROBLEM = "cod-763"
METHODS = ("BCE-ASTra", "GMN-ASTra")
RULES = ("the paper's rule", "the last epoch")
FILE = RESULTS / "regime.csv.gz"
COLUMNS = ("regime", "method", "rule", "fold", "g_mean", "mcc", "best_g_mean", "best_mcc")
LOOKS, SCORES = 200, ("g_mean", "mcc")


@dataclass(frozen=True)
class Regime:
    """What is changed; the defaults are those of `astralearn reproduce`.

    scaling: of the inputs: z-score, min-max (on the training rows), raw.
    batch: rows of a step, drawn without regard to the class; 0 for all.
    epochs: fewer where there are many steps in one.
    bias: the output's at the start, as a factor of the logarithm of the odds.
    of_output: whether the e-ratio is of ŷ instead of z.
    trains_on_validation: whether, once the epoch is chosen, as many run on four folds.
    """

    scaling: str = "z-score"
    learning_rate: float = 0.001
    epsilon: float = 1e-7
    tau_init: float = 0.25
    batch: int = 0
    epochs: int = PROTOCOL.epochs
    bias: float = 0.0
    of_output: bool = False
    trains_on_validation: bool = False


REGIMES = {
    "as `reproduce`": Regime(),
    "inputs as they are": Regime(scaling="raw"),
    "inputs in [0, 1]": Regime(scaling="min-max"),
    "learning rate × 3": Regime(learning_rate=0.003),
    "Adam's ε = 1e-8": Regime(epsilon=1e-8),
    "Adam's ε = 1e-3": Regime(epsilon=1e-3),
    "bias starts at the prior": Regime(bias=1.0),
    "τ starts at 0.45": Regime(tau_init=0.45),
    "τ starts at 0.05": Regime(tau_init=0.05),
    "e-ratio from ŷ": Regime(of_output=True),
    "batches of 256, 2,000 epochs": Regime(batch=256, epochs=2_000),
    "validation fold trained on too": Regime(trains_on_validation=True),
}


class Rows(NamedTuple):
    """A fold's rows under its scaling: (rows, features), labels, and 1 where they count."""

    X: Any
    y: Any
    trains: Any
    validates: Any


class State(NamedTuple):
    weights: Any
    beta: Any
    rate: Any
    mean: Any
    square: Any
    steps: Any


class Kept(NamedTuple):
    """The best by validation so far, the earliest of equals."""

    weights: Any
    score: Any
    epoch: Any


def logits(weights: Any, X: Any, architecture: Architecture) -> Any:
    first, out = unflatten(weights[None], architecture)
    h = X @ first[0, :, :-1].T + first[0, :, -1]
    return jnp.where(h < 0, architecture.leak * h, h) @ out[0, 0, :-1] + out[0, 0, -1]


def outputs(x: Any, beta: Any, is_astra: bool, of_output: bool) -> tuple[Any, Any]:
    """The rebalanced logit, and the probabilities that the e-ratio counts."""
    if not is_astra:
        return x, jax.nn.sigmoid(x)
    b = slope_from_raw(beta, xp=jnp)
    g = rebalanced_logit(x, b, xp=jnp)
    return g, astra(x, b, xp=jnp) if of_output else jax.nn.sigmoid(g)


def rates(p: Any, y: Any, weight: Any) -> tuple[Any, Any]:
    """Soft FNR and soft FPR."""
    of = [jnp.sum(weight * part) for part in (y * (1 - p), y, (1 - y) * p, 1 - y)]
    return of[0] / jnp.maximum(of[1], 1e-30), of[2] / jnp.maximum(of[3], 1e-30)


def step(
    state: State, X: Any, y: Any, weight: Any, *, loss: str, is_astra: bool, regime: Regime,
    architecture: Architecture,
) -> State:  # fmt: skip
    def value(weights: Any, beta: Any) -> tuple[Any, Any]:
        g, p = outputs(logits(weights, X, architecture), beta, is_astra, regime.of_output)
        return LOSSES[loss].value(g, y, weight, xp=jnp), p

    gradient, p = jax.grad(value, argnums=(0, 1), has_aux=True)(state.weights, state.beta)
    gradient = jnp.append(gradient[0], gradient[1])
    fnr, fpr = rates(p, y, weight)
    rate = slope_rate(state.rate, fnr / jnp.maximum(fpr, 1e-30), minimum=0.01, maximum=0.5, xp=jnp)
    steps = state.steps + 1
    mean = 0.9 * state.mean + 0.1 * gradient
    square = 0.999 * state.square + 0.001 * gradient**2
    update = (mean / (1 - 0.9**steps)) / (jnp.sqrt(square / (1 - 0.999**steps)) + regime.epsilon)
    return State(
        weights=state.weights - regime.learning_rate * update[:-1],
        beta=state.beta - rate * update[-1] if is_astra else state.beta,
        rate=rate,
        mean=mean,
        square=square,
        steps=steps,
    )


@partial(jax.jit, static_argnames=("n", "n_batched", "loss", "is_astra", "regime", "architecture"))
def epochs(
    state: State, kept: Kept, rows: Rows, key: Any, start: Any, stop_at: Any, *, n: int,
    n_batched: int, loss: str, is_astra: bool, regime: Regime, architecture: Architecture,
) -> tuple[State, Kept]:  # fmt: skip
    """So many epochs of every fold; each keeps its best, or that of `stop_at` where it is ≥ 0."""
    one_step = partial(step, loss=loss, is_astra=is_astra, regime=regime, architecture=architecture)

    def of_fold(state: State, kept: Kept, rows: Rows, key: Any, stop_at: Any) -> Any:
        def epoch(i: Any, carry: tuple[State, Kept]) -> tuple[State, Kept]:
            state, kept = carry
            number = start + i
            x = logits(state.weights, rows.X, architecture)
            _, p = outputs(x, state.beta, is_astra, False)
            fnr, _ = rates(p, rows.y, rows.validates)
            chosen = jnp.where(
                stop_at >= 0, number == stop_at, (fnr < kept.score) & (number >= PROTOCOL.burn_in)
            )
            kept = Kept(
                jnp.where(chosen, state.weights, kept.weights),
                jnp.where(chosen, fnr, kept.score),
                jnp.where(chosen, number, kept.epoch),
            )
            if not regime.batch:
                return one_step(state, rows.X, rows.y, rows.trains), kept
            # The training rows come first.
            order = jax.random.permutation(jax.random.fold_in(key, number), n_batched)

            def of_batch(j: Any, state: State) -> State:
                some = jax.lax.dynamic_slice(order, (j * regime.batch,), (regime.batch,))
                return one_step(state, rows.X[some], rows.y[some], rows.trains[some])

            return jax.lax.fori_loop(0, n_batched // regime.batch, of_batch, state), kept

        return jax.lax.fori_loop(0, n, epoch, (state, kept))

    return jax.vmap(of_fold)(state, kept, rows, key, stop_at)


def scaled(X: np.ndarray, train: np.ndarray, scaling: str) -> np.ndarray:
    of = X[train]
    if scaling == "raw":
        return X
    if scaling == "min-max":
        low, high = of.min(axis=0), of.max(axis=0)
        return (X - low) / np.where(high > low, high - low, 1.0)
    return (X - of.mean(axis=0)) / of.std(axis=0)


def rows_of(X: np.ndarray, y: np.ndarray, splits: list[Split], regime: Regime, four: bool) -> Rows:
    """The learning rows of every fold, (folds, …); filled up with rows that do not count."""
    longest = max(len(split.learn) for split in splits)
    folds = []
    for split in splits:
        train, learn = (split.learn if four else split.train), split.learn
        inputs = scaled(X, train, regime.scaling)[learn]
        missing = longest - len(learn)
        trains = np.r_[np.isin(learn, train), np.zeros(missing, bool)]
        validates = np.r_[np.isin(learn, split.validation), np.zeros(missing, bool)]
        folds.append(
            Rows(
                np.pad(inputs, ((0, missing), (0, 0))).astype(np.float32),
                np.pad(y[learn], (0, missing)).astype(np.float32),
                trains.astype(np.float32),
                validates.astype(np.float32),
            )
        )
    return Rows(*(np.stack(parts) for parts in zip(*folds, strict=True)))


def train(
    X: np.ndarray, y: np.ndarray, splits: list[Split], method: str, regime: Regime,
    stop_at: np.ndarray | None = None,
) -> tuple[Kept, State, list[np.ndarray]]:  # fmt: skip
    """What each fold chose, where it ended, and its weights at the epochs looked at.

    stop_at: the epochs to take, for a training on four folds.
    """
    loss, activation = PAPER_NETWORKS[method]
    architecture = Architecture(X.shape[1], (X.shape[1] // 2 + 1,))
    seeds = [
        np.random.RandomState(seed_of(0, s.repetition, s.fold)).randint(np.iinfo(np.int32).max)
        for s in splits
    ]
    weights = np.stack([initialise(architecture, np.random.default_rng([s, 0])) for s in seeds])
    weights[:, -1] = regime.bias * np.log(y.mean() / (1 - y.mean()))
    n = len(splits)
    raw = float(raw_from_slope(np.asarray(starting_slope(regime.tau_init)), xp=np))
    moments = np.zeros((n, weights.shape[1] + 1), np.float32)
    state = State(
        weights, np.full(n, raw, np.float32), np.full(n, 0.01, np.float32), moments, moments,
        np.zeros(n, np.float32),
    )  # fmt: skip
    kept = Kept(weights, np.full(n, np.inf, np.float32), np.full(n, -1, np.int32))
    rows = rows_of(X, y, splits, regime, four=stop_at is not None)
    keys = jax.random.split(jax.random.key(0), n)
    stops = np.full(n, -1) if stop_at is None else stop_at
    each, looks = regime.epochs // LOOKS, []
    for start in range(0, regime.epochs, each):
        state, kept = epochs(
            state, kept, rows, keys, start, stops, n=each,
            n_batched=min(len(split.train) for split in splits), loss=loss,
            is_astra=activation == "astra", regime=regime, architecture=architecture,
        )  # fmt: skip
        looks.append(np.asarray(state.weights))
    return kept, state, looks


def run_cell(X: np.ndarray, y: np.ndarray, splits: list[Split], name: str, method: str) -> Any:
    regime = REGIMES[name]
    kept, state, looks = train(X, y, splits, method, regime)
    four = regime.trains_on_validation
    if four:
        kept, state, looks = train(X, y, splits, method, regime, np.asarray(kept.epoch))
    architecture = Architecture(X.shape[1], (X.shape[1] // 2 + 1,))
    for i, split in enumerate(splits):
        inputs = scaled(X, split.learn if four else split.train, regime.scaling)[split.test]
        truth = y[split.test] == 1

        def scores(weights: Any) -> SoftConfusion:
            return counted(truth, np.asarray(logits(weights, inputs, architecture)) >= 0)  # noqa: B023

        ends = [scores(kept.weights[i]), scores(state.weights[i])]
        every = [*ends, *(scores(look[i]) for look in looks)]
        best = {f"best_{s}": f"{max(float(getattr(c, s)) for c in every):.6f}" for s in SCORES}
        for rule, counts in zip(RULES, ends, strict=True):
            own = {score: f"{float(getattr(counts, score)):.6f}" for score in SCORES}
            yield {
                "regime": name,
                "method": method,
                "rule": rule,
                "fold": split.fold,
                **own,
                **best,
            }


def run() -> None:
    """Add to the file what is missing, a cell at a time: stop it and run it again."""
    kept: list[dict[str, Any]] = [*read_rows(FILE)]
    done = {(row["regime"], row["method"]) for row in kept}
    problem = datasets.load(PROBLEM)
    X, y = np.asarray(problem.X, float), problem.y
    splits = make_splits(problem, folds=PROTOCOL.folds, repetitions=1, seed=0)
    for name in REGIMES:
        for method in METHODS:
            if (name, method) in done:
                continue
            started = time.process_time()
            kept += run_cell(X, y, splits, name, method)
            write_rows(FILE, COLUMNS, kept)
            print(f"{name}, {method}: {time.process_time() - started:.0f} CPU s", flush=True)


def report() -> None:
    print(table())


def table() -> str:
    """G-Mean / MCC of every method by the last epoch, and in brackets of the best epoch."""
    rows = [row for row in read_rows(FILE) if row["rule"] == RULES[1]]
    printed = [
        " / ".join(f"{TABLE_2[PROBLEM][score][m].mean:.3f}" for score in SCORES) for m in METHODS
    ]
    lines = [
        "| regime | " + " | ".join(METHODS) + " |",
        "|---|" + "---|" * len(METHODS),
        "| **the paper** | " + " | ".join(printed) + " |",
    ]
    for name in dict.fromkeys(row["regime"] for row in rows):
        cells = []
        for method in METHODS:
            some = [row for row in rows if (row["regime"], row["method"]) == (name, method)]
            means = [
                " / ".join(f"{np.mean([float(row[of + s]) for row in some]):.3f}" for s in SCORES)
                for of in ("", "best_")
                if some
            ]
            cells.append(f"{means[0]} ({means[1]})" if some else "–")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "report"])
    {"run": run, "report": report}[parser.parse_args().command]()
