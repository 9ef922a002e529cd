"""Which training regime matches the paper's Table 2: scaling × choice of the epoch.

The paper gives neither the scaling of the inputs nor from which epoch on validation chooses.
Scaling: raw; min-max to [0, 1] (over all rows of the file); z-score on the training rows. Choice of
the epoch by FNR_apx on the validation fold, after a burn-in of 1,000 epochs or from the first epoch
on; or the last epoch. One training serves the three choices: the last epoch's network is kept
beside the chosen one, and a short training tells whether an epoch before the end of the burn-in was
better.

    python benchmarks/regime.py run      runs what results/regime.csv.gz lacks of 3 scalings × 5
                                         problems × 4 methods (2 × 5 folds, 10,000 epochs)
    python benchmarks/regime.py report   prints docs/reproduction.md's tables from it
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import joblib
import numpy as np

from astralearn import ASTraClassifier, datasets
from astralearn.core import SoftConfusion
from astralearn.core.curve import slope_from_raw
from astralearn.methods import PAPER_NETWORKS
from astralearn.study.paper import PROTOCOL, TABLE_2
from astralearn.study.splits import Split, make_splits, seed_of
from records import RESULTS, read_rows, write_rows

SCALINGS = ("raw", "min-max", "z-score")
CHOICES = ("after burn-in", "from the start", "last epoch")
SCORES = ("g_mean", "mcc")
REPETITIONS = 2
FILE = RESULTS / "regime.csv.gz"
COLUMNS = ("scaling", "choice", "problem", "method", "repetition", "fold", "g_mean", "mcc")


def scaled(problem: datasets.Problem, scaling: str) -> datasets.Problem:
    if scaling != "min-max":
        return problem
    X = np.asarray(problem.X, float)
    low, high = X.min(axis=0), X.max(axis=0)
    return replace(problem, X=(X - low) / np.where(high > low, high - low, 1.0))


def fitted(
    problem: datasets.Problem, splits: list[Split], method: str, scaling: str, **settings: Any
) -> list[ASTraClassifier]:
    model = ASTraClassifier.paper(
        *PAPER_NETWORKS[method],
        validation_fraction=0.0,
        standardize=scaling == "z-score",
        warm_start=True,
        n_jobs=1,
        **settings,
    )
    roles = [(split.train, split.validation, split.test) for split in splits]
    seeds = [seed_of(0, split.repetition, split.fold) for split in splits]
    return model.fit_many(np.asarray(problem.X, float), problem.y, roles, random_states=seeds)


def chosen(late: ASTraClassifier, early: ASTraClassifier) -> Iterator[tuple[str, ASTraClassifier]]:
    """The network of each choice.

    late: trained in full, chosen after the burn-in.
    early: trained for the burn-in, chosen from the start.
    """
    yield CHOICES[0], late
    (before,), (after,) = early._state, late._state  # kept by warm_start
    yield CHOICES[1], early if before["best_score"] <= after["best_score"] else late
    last = ASTraClassifier(**late.get_params())
    last.__dict__.update(late.__dict__)
    last.coefs_ = after["parameters"][None]
    if late.activation == "astra":
        last.slope_ = np.asarray(slope_from_raw(after["raw_slope"]))[None]
    yield CHOICES[2], last


def scores(truth: np.ndarray, found: np.ndarray) -> tuple[str, str]:
    """G-Mean and MCC."""
    tp, fp = int((truth & found).sum()), int((~truth & found).sum())
    counts = SoftConfusion(tn=int((~truth).sum()) - fp, fp=fp, fn=int(truth.sum()) - tp, tp=tp)
    return f"{float(counts.g_mean):.6f}", f"{float(counts.mcc):.6f}"


def run_cell(name: str, method: str, scaling: str) -> list[dict[str, Any]]:
    problem = scaled(datasets.load(name), scaling)
    splits = make_splits(problem, folds=PROTOCOL.folds, repetitions=REPETITIONS, seed=0)
    late = fitted(
        problem, splits, method, scaling, epochs=PROTOCOL.epochs, burn_in=PROTOCOL.burn_in
    )
    early = fitted(problem, splits, method, scaling, epochs=PROTOCOL.burn_in, burn_in=0)
    rows = []
    for split, both in zip(splits, zip(late, early, strict=True), strict=True):
        truth = problem.y[split.test] == 1
        for choice, model in chosen(*both):
            found = model.predict(np.asarray(problem.X, float)[split.test]) == 1
            place = (scaling, choice, name, method, split.repetition, split.fold)
            rows.append(dict(zip(COLUMNS, (*place, *scores(truth, found)), strict=True)))
    return rows


def run() -> None:
    """Add to the file what is missing, a cell at a time: stop it and run it again."""
    kept: list[dict[str, Any]] = [*read_rows(FILE)]
    done = {(row["problem"], row["method"], row["scaling"]) for row in kept}
    cells = [
        (p, m, s)
        for s in reversed(SCALINGS)
        for p in PROTOCOL.problems
        for m in PROTOCOL.methods
        if (p, m, s) not in done
    ]
    started = time.perf_counter()
    results = joblib.Parallel(n_jobs=-1, batch_size=1, return_as="generator_unordered")(
        joblib.delayed(run_cell)(*cell) for cell in cells
    )
    for i, rows in enumerate(results, 1):
        kept += rows
        write_rows(FILE, COLUMNS, kept)
        print(f"{i} of {len(cells)} cells, {time.perf_counter() - started:.0f} s", flush=True)


def report() -> None:
    rows = read_rows(FILE)
    means = {
        (scaling, choice, problem, method, score): np.mean([float(v) for v in values])
        for (scaling, choice, problem, method, score), values in _grouped(rows).items()
    }
    print(_summary(means))
    for score, title in (("g_mean", "G-Mean"), ("mcc", "MCC")):
        print(f"\n### {title}, every cell\n")
        print("| scaling | epoch | problem | " + " | ".join(PROTOCOL.methods) + " |")
        print("|---|---|---|" + "---|" * len(PROTOCOL.methods))
        for problem in PROTOCOL.problems:
            printed = [f"{TABLE_2[problem][score][m].mean:.3f}" for m in PROTOCOL.methods]
            print(f"| | **the paper** | {problem} | " + " | ".join(printed) + " |")
            for scaling in SCALINGS:
                for choice in CHOICES:
                    cells = [
                        _cell(means, scaling, choice, problem, method, score)
                        for method in PROTOCOL.methods
                    ]
                    print(f"| {scaling} | {choice} | {problem} | " + " | ".join(cells) + " |")


def _grouped(rows: list[dict[str, str]]) -> dict[tuple[str, ...], list[str]]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        for score in SCORES:
            groups.setdefault(
                (row["scaling"], row["choice"], row["problem"], row["method"], score), []
            ).append(row[score])
    return groups


def _cell(
    means: dict[tuple[str, ...], Any],
    scaling: str,
    choice: str,
    problem: str,
    method: str,
    score: str,
) -> str:
    mean = means.get((scaling, choice, problem, method, score))
    if mean is None:
        return "–"
    return f"{mean:.3f} {'✓' if float(mean) in TABLE_2[problem][score][method].interval else '✗'}"


def _summary(means: dict[tuple[str, ...], Any]) -> str:
    """Of each regime: cells inside the published interval, and how far the means are off."""
    lines = [
        "| scaling | epoch | cells inside the interval | mean difference G-Mean | "
        "mean difference MCC |",
        "|---|---|---|---|---|",
    ]
    for scaling in SCALINGS:
        for choice in CHOICES:
            keys = [key for key in means if key[:2] == (scaling, choice)]
            if not keys:
                continue
            inside = sum(
                float(means[key]) in TABLE_2[key[2]][key[4]][key[3]].interval for key in keys
            )
            gaps = [
                np.mean(
                    [
                        abs(means[key] - TABLE_2[key[2]][key[4]][key[3]].mean)
                        for key in keys
                        if key[4] == score
                    ]
                )
                for score in SCORES
            ]
            lines.append(
                f"| {scaling} | {choice} | {inside} of {len(keys)} | "
                + " | ".join(f"{gap:.3f}" for gap in gaps)
                + " |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "report"])
    {"run": run, "report": report}[parser.parse_args().command]()
