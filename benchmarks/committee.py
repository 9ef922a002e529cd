"""What each member of the committee is worth, what decisions reach, whether intervals hold.

    python benchmarks/committee.py run [--half open|sealed] [--k 5,20] [--draws 2]
    python benchmarks/committee.py show
    python benchmarks/committee.py page     # the tables, into docs/defaults.md

Fits the default on RareBench's quick draws and records, for every case, the order of the rows by
each member and without it, the scores at two decisions, and whether the 90 % intervals held the
truth, which the test rows tell to one row of either class. Records go to
benchmarks/results/committee.csv; a case that is there already is not run again.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from astralearn import ASTraClassifier
from astralearn.bench import QUICK_DRAWING
from astralearn.classifier.prediction import mean_output
from astralearn.datasets.rarebench import OPEN, SEALED, load_problem
from astralearn.study.draws import make_draws
from astralearn.study.weighted_scores import average_precision, positive_weight
from astralearn.tabular import encoder_for
from records import put, stamp

RECORDS = Path(__file__).parent / "results" / "committee.csv"
MEMBERS = ("networks", "trees", "neighbours", "linear")
ORDERS = {
    "committee": MEMBERS,
    **{f"without {absent}": tuple(m for m in MEMBERS if m != absent) for absent in MEMBERS},
    **{f"{member} alone": (member,) for member in MEMBERS},
}
DECISIONS = ("g_mean", "mcc")
EXPECTED = ("recall", "false_alarms", "precision")
BLOCK = 16_384


def members_evidence(model: ASTraClassifier, X: np.ndarray) -> dict[str, np.ndarray]:
    """The weighted evidence that each member adds, (rows,), by its name."""
    committee, networks = model.committee_, model._networks()
    found = {name: [] for name in MEMBERS}
    for start in range(0, len(X), BLOCK):
        some = X[start : start + BLOCK]
        u = networks.view.features(some)
        scores = {name: member.score(u) for name, member in committee.members.items()}
        scores["networks"] = mean_output(networks.each(some))
        for name in MEMBERS:
            found[name].append(committee.weight[name] * committee.evidence[name](scores[name]))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def case(name: str, half: str, k: int, draw: int) -> dict[str, float | str]:
    """Everything that is recorded of one fit."""
    problem = load_problem(name)
    split = make_draws(problem, k, draws=draw + 1, drawing=QUICK_DRAWING)[draw]
    take = (
        (lambda rows: problem.X.iloc[rows]) if hasattr(problem.X, "iloc") else problem.X.__getitem__
    )
    X, T = take(split.train), take(split.test)
    encoder = encoder_for(problem.X)
    if encoder is not None:
        X = encoder.fit(X).transform(X)
        T = encoder.transform(T)
    X, T = np.asarray(X, np.float64), np.asarray(T, np.float64)
    y, truth = problem.y[split.train], problem.y[split.test]
    started = time.perf_counter()
    model = ASTraClassifier(random_state=draw).fit(X, y)
    seconds = time.perf_counter() - started
    prior = k / len(y)
    positives = int(truth.sum())
    weight = positive_weight(prior, positives=positives, negatives=len(truth) - positives)
    record: dict[str, float | str] = {
        "problem": name, "half": half, "k": k, "draw": draw, "seconds": round(seconds, 3),
    }  # fmt: skip
    evidence = members_evidence(model, T)
    for order, members in ORDERS.items():
        scores = np.sum([evidence[member] for member in members], axis=0)
        record[f"ap {order}"] = average_precision(truth, scores, positive_weight=weight)
        record[f"auc {order}"] = roc_auc_score(truth, scores)
    for decision in DECISIONS:
        decided = model.decide(decision)
        flagged = decided.predict(T) == 1
        record |= at_decision(decision, decided.expectations_, flagged, truth, prior)
    return record


def at_decision(decision, expected, flagged, truth, prior) -> dict[str, float]:
    """The scores on the test rows, and on which side of each interval the truth lies: −1, 0, 1."""
    positives, negatives = int(truth.sum()), int((1 - truth).sum())
    recall, alarms = flagged[truth == 1].mean(), flagged[truth == 0].mean()
    found = rates(recall, alarms, prior)
    # One test row of either class fewer or more: the test tells no finer.
    lowest = rates(max(recall - 1 / positives, 0), alarms + 1 / negatives, prior)
    highest = rates(recall + 1 / positives, max(alarms - 1 / negatives, 0), prior)
    lowest["false_alarms"], highest["false_alarms"] = (
        highest["false_alarms"],
        lowest["false_alarms"],
    )
    sides, strict = {}, {}
    for name in EXPECTED:
        interval = getattr(expected, name)
        above, below = lowest[name] > interval.high, highest[name] < interval.low
        sides[f"{decision} {name} side"] = float(above) - float(below)
        inside = interval.low <= found[name] <= interval.high
        strict[f"{decision} {name} inside"] = float(inside)
    share = prior * recall + (1 - prior) * alarms
    spread = np.sqrt(prior * (1 - prior) / max(share * (1 - share), 1e-300))
    return {
        f"{decision} g_mean": float(np.sqrt(recall * (1 - alarms))),
        f"{decision} mcc": float((recall - alarms) * spread),
        **{f"{decision} {name}": float(value) for name, value in found.items()},
        **{f"{decision} {name} expected": getattr(expected, name).mean for name in EXPECTED},
        **sides,
        **strict,
    }


def rates(recall: float, alarms: float, prior: float) -> dict[str, float]:
    """What expectations speak of, at a recall, a false alarm rate and a prevalence."""
    share = prior * recall + (1 - prior) * alarms
    precision = prior * recall / share if share else 0.0
    return {"recall": recall, "false_alarms": 1_000 * alarms, "precision": precision}


def run(halves: list[str], ks: list[int], draws: int) -> None:
    """Fit every case that is not recorded yet, smallest problems first."""
    done = set()
    if RECORDS.exists():
        table = pd.read_csv(RECORDS)
        done = set(zip(table.problem, table.k, table.draw, strict=True))
    names = {"open": OPEN, "sealed": SEALED}
    cases = [
        (name, half, k, draw)
        for draw in range(draws)
        for k in ks
        for half in halves
        for name in names[half]
        if (name, k, draw) not in done
    ]
    for number, (name, half, k, draw) in enumerate(cases):
        try:
            record = case(name, half, k, draw)
        except ValueError as error:  # Too few positives for this k, or data that are not there.
            print(f"{name} k={k}: {error}")
            continue
        RECORDS.parent.mkdir(exist_ok=True)
        is_new = not RECORDS.exists()
        with RECORDS.open("a", newline="") as file:
            writer = csv.DictWriter(file, record)
            if is_new:
                writer.writeheader()
            writer.writerow(record)
        print(
            f"{number + 1}/{len(cases)} {name} k={k} draw={draw} {record['seconds']} s", flush=True
        )
    stamp(RECORDS.name)


def show() -> None:
    """Print the tables, for each half and k."""
    table = pd.read_csv(RECORDS)
    for half, of_half in table.groupby("half"):
        for k, cases in of_half.groupby("k"):
            print(f"\n{half}, k = {k}: {len(cases)} cases, {cases.problem.nunique()} problems")
            print(f"{'':22s} {'AP':>6} {'rank':>5} {'AUC':>6} {'rank':>5}")
            ranks = {
                score: rankdata(-cases[[f"{score} {order}" for order in ORDERS]], axis=1).mean(
                    axis=0
                )
                for score in ("ap", "auc")
            }
            for i, order in enumerate(ORDERS):
                means = (cases[f"{score} {order}"].mean() for score in ("ap", "auc"))
                ap, auc = means
                print(
                    f"{order:22s} {ap:6.3f} {ranks['ap'][i]:5.1f} {auc:6.3f} {ranks['auc'][i]:5.1f}"
                )
            near = (cases["ap committee"] >= cases["ap trees alone"] - 0.01).mean()
            print(f"AP at most 0.01 below the trees': {near:.0%} of cases")
            for decision in DECISIONS:
                scores = ", ".join(f"{s} {cases[f'{decision} {s}'].mean():.3f}" for s in DECISIONS)
                held = ", ".join(
                    f"{name} {(cases[f'{decision} {name} side'] == 0).mean():.0%} "
                    f"(below {(cases[f'{decision} {name} side'] < 0).mean():.0%}; "
                    f"to the digit {cases[f'{decision} {name} inside'].mean():.0%})"
                    for name in EXPECTED
                )
                print(f'decision="{decision}": {scores}; intervals held: {held}')


def page() -> str:
    """What each member is worth and how often intervals hold, for every half and k."""
    table = pd.read_csv(RECORDS)
    said = []
    for half, of_half in table.groupby("half"):
        by_k = dict(list(of_half.groupby("k")))
        cases = ", ".join(f"{len(found)} at k = {k}" for k, found in by_k.items())
        head = "| | " + " | ".join(f"k = {k}" for k in by_k) + " |\n|---|" + "---:|" * len(by_k)
        said += [f"**The {half} half.** Fits: {cases}. Average precision (AUC):", "", head]
        for order in ORDERS:
            cells = (
                f"{found[f'ap {order}'].mean():.3f} ({found[f'auc {order}'].mean():.3f})"
                for found in by_k.values()
            )
            said.append(f"| {order} | " + " | ".join(cells) + " |")
        near = (of_half["ap committee"] >= of_half["ap trees alone"] - 0.01).mean()
        said += [
            "",
            f"In {near:.0%} of the fits the committee's average precision is at most 0.01 below "
            "that of its trees.",
            "",
            "90 % intervals that hold the truth, to one test row of either class:",
            "",
            head,
        ]
        for decision in DECISIONS:
            for name in EXPECTED:
                cells = (
                    f"{(found[f'{decision} {name} side'] == 0).mean():.0%}"
                    for found in by_k.values()
                )
                called = name.replace("_", " ")
                said.append(f'| {called}, `decision="{decision}"` | ' + " | ".join(cells) + " |")
        said.append("")
    return "\n".join(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "show", "page"])
    parser.add_argument("--half", default="open,sealed")
    parser.add_argument("--k", default="5,20")
    parser.add_argument("--draws", type=int, default=2)
    options = parser.parse_args()
    if options.what == "show":
        show()
        return
    if options.what == "page":
        docs = Path(__file__).parents[1] / "docs"
        put(docs / "defaults.md", "benchmarks/committee.py page", page())
        return
    warnings.simplefilter("ignore")
    ks = [int(k) for k in options.k.split(",")]
    run(options.half.split(","), ks, options.draws)


if __name__ == "__main__":
    main()
