"""Does another way to train reach the cells of Table 2 that no epoch of ours reaches?

docs/reproduction.md names these cells. The paper leaves open the batch, Adam's ε, the initial bias
and more. Here each of these is changed once, on ten folds of the same problems from the same
starts. The engine trains; what a regime changes, it changes at one place of the engine.

    python benchmarks/regime.py run      runs what results/regime.csv.gz lacks, a cell at a time
    python benchmarks/regime.py page     writes docs/regimes.md's table from it
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import optax

from astralearn import datasets
from astralearn.classifier import fitting
from astralearn.core import SoftConfusion
from astralearn.core.curve import astra
from astralearn.core.slope_rate import slope_rate
from astralearn.engine import epoch as epochs_of
from astralearn.engine import programs
from astralearn.engine.network import forward, initialise, unflatten
from astralearn.engine.packing import ClassRows, Packed
from astralearn.methods import PAPER_NETWORKS
from astralearn.paper_network import PaperNetwork
from astralearn.study.paper import PROTOCOL, TABLE_2
from astralearn.study.paper_plan import counted
from astralearn.study.scores import PAPER_SCORES
from astralearn.study.splits import Split, make_splits, seed_of
from records import RESULTS, put, read_rows, write_rows
from reproduce import kept_records

CELLS = (
    ("cod-763", "BCE-ASTra"),
    ("cod-763", "GMN-ASTra"),
    ("cod-3500", "BCE-ASTra"),
    ("skin-588", "BCE-ASTra"),
)
REPETITIONS = 2  # of five folds
RULES = ("the paper's rule", "the last epoch")
SCORES = ("g_mean", "mcc")
FILE = RESULTS / "regime.csv.gz"
COLUMNS = ("regime", "problem", "method", "repetition", "fold", "rule", *SCORES)
COLUMNS += tuple(f"best_{score}" for score in SCORES)
PAGE = Path(__file__).parent.parent / "docs" / "regimes.md"
LOOKS = 200
PAIR = "\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Regime:
    """What is changed; the defaults are those of `astralearn reproduce`.

    batch: rows of a step, drawn without regard to the class; 0 for all.
    epochs: fewer where there are many steps in one.
    bias: the output's at the start, as a factor of the logarithm of the odds.
    start: the initial weights', as `reproduce` counts them.
    of_output: whether the e-ratio is of ŷ instead of z.
    on_four: whether, once the epoch is chosen, as many run on the validation fold too.
    """

    learning_rate: float = 0.001
    epsilon: float = 1e-7
    tau_init: float = 0.25
    batch: int = 0
    epochs: int = PROTOCOL.epochs
    bias: float = 0.0
    start: int = 0
    of_output: bool = False
    on_four: bool = False


# As `reproduce`: the records are those of reproduce.py, a name for each start.
BASES = ("as `reproduce`", "as `reproduce`, second start")
REGIMES = {
    "bias starts at the prior": Regime(bias=1.0),
    "bias starts at the prior, second start": Regime(bias=1.0, start=1),
    "e-ratio from ŷ": Regime(of_output=True),
    "learning rate × 3": Regime(learning_rate=0.003),
    "Adam's ε = 1e-8": Regime(epsilon=1e-8),
    "Adam's ε = 1e-3": Regime(epsilon=1e-3),
    "τ starts at 0.45": Regime(tau_init=0.45),
    "τ starts at 0.05": Regime(tau_init=0.05),
    "validation fold trained on too": Regime(on_four=True),
    "batches of 256, 2,000 epochs": Regime(batch=256, epochs=2_000),
    "batches of 1,024, 5,000 epochs": Regime(batch=1_024, epochs=5_000),
    "batches of 1,024, second start": Regime(batch=1_024, epochs=5_000, start=1),
    "batches of 1,024, bias at the prior": Regime(batch=1_024, epochs=5_000, bias=1.0),
}


@contextlib.contextmanager
def engine_of(regime: Regime, prior: float, n_rows: int) -> Iterator[None]:
    """The engine with what the regime changes; what was compiled before is forgotten.

    prior: logarithm of the odds. n_rows: that train.
    """
    eps = SimpleNamespace(
        ScaleByAdamState=optax.ScaleByAdamState,
        scale_by_adam=lambda eps: optax.scale_by_adam(eps=regime.epsilon),  # noqa: ARG005
    )
    places = [
        patch.object(epochs_of, "optax", eps),
        patch.object(fitting, "initialise", partial(_biased, bias=regime.bias * prior)),
    ]
    if regime.of_output:
        seen = _OutputRatio()
        places += [
            patch.object(epochs_of, "sums_of", seen.sums_of),
            patch.object(epochs_of, "slope_rate", seen.slope_rate),
        ]
    if regime.batch:
        step = partial(_batch_step, epochs_of.epoch, share=regime.batch / n_rows)
        places.append(patch.object(epochs_of, "epoch", step))
    programs._program.cache_clear()  # the engine's keys know nothing of these changes
    with contextlib.ExitStack() as changed:
        for place in places:
            changed.enter_context(place)
        yield
    programs._program.cache_clear()


def _biased(*args: Any, bias: float) -> np.ndarray:
    weights = initialise(*args)
    weights[-1] = bias
    return weights


class _OutputRatio:
    """The e-ratio of ŷ, for the rate that the same epoch asks for."""

    def __init__(self) -> None:
        self.sums = epochs_of.sums_of
        self.ratio: Any = None

    def sums_of(self, parameters: Any, slope: Any, data: Packed, static: Any, **how: Any) -> Any:
        own = parameters
        if data.rescaling is not None:
            own = epochs_of.for_shared_inputs(own, data.rescaling, static.architecture, jnp)
        layers, b = unflatten(own, static.architecture), slope[:, None]

        def mean_output(rows: ClassRows) -> Any:
            def add(sums: Any, chunk: Any) -> Any:
                features, weight = chunk
                x = forward(layers, features, static.architecture.leak, jnp)[0]
                both = jnp.stack([jnp.sum(weight * astra(x, b, xp=jnp), axis=1), weight.sum(1)])
                return sums + both, None

            weight = _chunks(rows.weight)
            weight = jnp.broadcast_to(weight, (len(weight), len(own), weight.shape[-1]))
            start = jnp.zeros((2, len(own)), own.dtype)
            sums = jax.lax.scan(add, start, (_chunks(rows.features), weight))[0]
            return sums[0] / sums[1]

        self.ratio = (1 - mean_output(data.positives)) / mean_output(data.negatives)
        return self.sums(parameters, slope, data, static, **how)

    def slope_rate(self, rate: Any, _ratio: Any, **how: Any) -> Any:
        return slope_rate(rate, self.ratio, **how)


def _chunks(array: Any) -> Any:
    """The chunks of all blocks, one after the other."""
    return array.reshape(-1, *array.shape[2:])


def _batch_step(
    step: Any, state: Any, data: Packed, hyper: Any, static: Any, *, share: float
) -> Any:
    """A step on a share of the rows: so many negatives, and each positive by chance.

    Positives stay in view, for those held out choose the epoch. All networks share the draw.
    """
    key = jax.random.fold_in(jax.random.key(0), state.epoch[0])
    of_negatives, of_positives = jax.random.split(key)
    features, weight, held_out = (_chunks(array) for array in data.negatives)
    n_chunks, length = features.shape[0], features.shape[-1]
    n = max(1, round(share * n_chunks * length))
    chunk, place = jnp.divmod(jax.random.randint(of_negatives, (n,), 0, n_chunks * length), length)

    def some(array: Any) -> Any:
        return jnp.moveaxis(array[chunk, ..., place], 0, -1)[None, None]

    positives = data.positives
    drawn = jax.random.bernoulli(of_positives, share, positives.weight.shape[-1:])
    batch = Packed(
        ClassRows(some(features), some(weight), some(held_out)),
        positives._replace(weight=positives.weight * drawn),
        data.rescaling,
    )
    return step(state, batch, hyper, static)


def run_cell(problem: datasets.Problem, splits: list[Split], name: str, method: str) -> Any:
    """Both rules' scores on every fold, and the best of any epoch that was looked at."""
    regime = REGIMES[name]
    X, y = np.asarray(problem.X, float), problem.y
    loss, activation = PAPER_NETWORKS[method]
    n_rows = len(splits[0].train)
    per_epoch = n_rows // regime.batch if regime.batch else 1
    network = PaperNetwork(
        loss,
        activation,
        starts=regime.start + 1,
        epochs=regime.epochs * per_epoch,
        burn_in=PROTOCOL.burn_in * regime.epochs // PROTOCOL.epochs * per_epoch,
        looks=LOOKS,
        learning_rate=regime.learning_rate,
        tau_init=regime.tau_init,
    )
    seeds = [seed_of(0, split.repetition, split.fold) for split in splits]
    share = y[splits[0].train].mean()

    def decided(train: list[np.ndarray]) -> list[Any]:
        roles = [
            (rows, split.validation, split.test) for rows, split in zip(train, splits, strict=True)
        ]
        fits = network.fit_many(X, y, roles, random_states=seeds)
        return [fit.decisions(X[s.test])[regime.start] for fit, s in zip(fits, splits, strict=True)]

    with engine_of(regime, float(np.log(share / (1 - share))), n_rows):
        found = decided([split.train for split in splits])
        chosen = [one.chosen for one in found]
        if regime.on_four:
            epochs = [one.chosen_epoch for one in found]
            found = decided([split.learn for split in splits])
            nearest = [
                np.abs(one.history["epoch"] - at).argmin()
                for one, at in zip(found, epochs, strict=True)
            ]
            chosen = [one.looks[at] for one, at in zip(found, nearest, strict=True)]
    for split, one, by_rule in zip(splits, found, chosen, strict=True):

        def scores(are_positive: np.ndarray) -> SoftConfusion:
            return counted(y[split.test] == 1, are_positive)  # noqa: B023

        ends = [scores(by_rule), scores(one.last)]
        every = [*ends, *map(scores, one.looks)]
        best = {f"best_{s}": f"{max(float(getattr(c, s)) for c in every):.6f}" for s in SCORES}
        for rule, counts in zip(RULES, ends, strict=True):
            own = {score: f"{float(getattr(counts, score)):.6f}" for score in SCORES}
            key = (name, problem.name, method, split.repetition, split.fold, rule)
            yield dict(zip(COLUMNS, key, strict=False)) | own | best


def run() -> None:
    """Add to the file what is missing, a cell at a time: stop it and run it again."""
    kept: list[dict[str, Any]] = [*read_rows(FILE)]
    done = {(row["regime"], row["problem"], row["method"]) for row in kept}
    problems = {name: datasets.load(name) for name in dict(CELLS)}
    for name, (problem, method) in itertools.product(REGIMES, CELLS):
        if (name, problem, method) in done:
            continue
        splits = make_splits(
            problems[problem], folds=PROTOCOL.folds, repetitions=REPETITIONS, seed=0
        )
        started = time.process_time()
        kept += run_cell(problems[problem], splits, name, method)
        write_rows(FILE, COLUMNS, kept)
        took = time.process_time() - started
        print(f"{name}, {problem} {method}: {took:.0f} CPU s", flush=True)


def page() -> None:
    """Put the table and what it says where the page has marked their place."""
    put(PAGE, "benchmarks/regime.py page", f"{sentences()}\n\n{table()}")


def mean(regime: str, cell: tuple[str, str], rule: str, score: str) -> float | None:
    """That of a cell's folds; None where they have not been run."""
    values = [
        float(row[score])
        for row in [*read_rows(FILE), *base_rows()]
        if (row["regime"], row["problem"], row["method"], row["rule"]) == (regime, *cell, rule)
    ]
    return float(np.mean(values)) if values else None


@functools.cache
def base_rows() -> list[dict[str, Any]]:
    """The starts of `reproduce` on the same folds."""
    rows = []
    for record in kept_records():
        if (record.problem, record.method) not in CELLS or record.repetition >= REPETITIONS:
            continue
        base = BASES[record.start]
        key = (base, record.problem, record.method, record.repetition, record.fold)
        for rule, of_rule in zip(RULES, (record, record.at_last_epoch()), strict=True):
            own = {score: getattr(of_rule.counts, score) for score in SCORES}
            best = {f"best_{score}": getattr(record, f"best_{score}") for score in SCORES}
            rows.append(dict(zip(COLUMNS, (*key, rule), strict=False)) | own | best)
    return rows


def of_all_starts() -> dict[str, list[str]]:
    """The names of every regime, by that of its first start."""
    by_regime: dict[Regime, list[str]] = {}
    for name, regime in REGIMES.items():
        by_regime.setdefault(replace(regime, start=0), []).append(name)
    return {names[0]: names for names in by_regime.values()}


def sentences() -> str:
    """For each cell and score, whether a regime comes as high as the paper's mean, and which."""
    lines = []
    for cell, score in itertools.product(CELLS, SCORES):
        printed = TABLE_2[cell[0]][score][cell[1]].mean

        def high(of: str) -> tuple[float, str, str]:
            """The highest mean over starts of a regime that was run."""
            found = []
            for (name, names), rule in itertools.product(of_all_starts().items(), RULES):
                means = [mean(one, cell, rule, of) for one in names]  # noqa: B023
                run = [value for value in means if value is not None]
                if run:
                    starts = f", mean of {len(run)} starts" if len(run) > 1 else ""
                    found.append((float(np.mean(run)), f"“{name}”{starts}", rule))
            return max(found)

        (best, name, rule), (bound, its_name, _) = high(score), high(f"best_{score}")
        reached = "reached" if best >= printed else "not reached"
        lines.append(
            f"- {' '.join(cell)}, {PAPER_SCORES[score]} {printed:.3f}: {reached}. Nearest is "
            f"{name} by {rule}, {best:.3f}; with hindsight over epochs {its_name}, {bound:.3f}."
        )
    return "\n".join(lines)


def table() -> str:
    """G-Mean / MCC by the last epoch, and in brackets those of the best epoch."""
    names = [" ".join(cell) for cell in CELLS]
    printed = [
        PAIR.join(f"{TABLE_2[problem][score][method].mean:.3f}" for score in SCORES)
        for problem, method in CELLS
    ]
    lines = [
        "| regime | " + " | ".join(names) + " |",
        "|---|" + "---|" * len(names),
        "| **the paper** | " + " | ".join(printed) + " |",
    ]
    for name in (*BASES, *REGIMES):
        texts = []
        for cell in CELLS:
            own = [mean(name, cell, RULES[1], score) for score in SCORES]
            best = [mean(name, cell, RULES[1], f"best_{score}") for score in SCORES]
            shown = [
                PAIR.join(f"{v:.3f}" for v in some) for some in (own, best) if None not in some
            ]
            texts.append(f"{shown[0]} ({shown[1]})" if shown else "–")
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "page"])
    {"run": run, "page": page}[parser.parse_args().command]()
