"""Whether `compare` recommends the right method, and is as sure as it should be.

    python benchmarks/recommendation.py run [--draws 3] [--tasks gauss-shift,ring]
    python benchmarks/recommendation.py page

A draw takes ten positives and 2,000 negatives of a synthetic task, compares methods on repeated
folds of these rows, and then fits each method to all of them and tests it on the other positives
and 10,000 other negatives. `run` writes results/recommendation.csv.gz, a line for each method of a
draw, and continues where it stopped; `page` prints how often the recommended method is the best
one or within 0.02 of it, and the sureness it stated beside how often it was right.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from astralearn.datasets import Problem
from astralearn.datasets.generator import TASKS
from astralearn.methods import choose
from astralearn.study import Method, Record
from astralearn.study.answer import answer
from astralearn.study.splits import Split, make_splits
from astralearn.study.unit import Unit
from records import RESULTS, read_rows, write_rows

RECORDS = RESULTS / "recommendation.csv.gz"
METHODS = ("ASTraClassifier", "logistic", "LDA", "BalancedRF", "ExtraTrees", "XGBoost", "GMN-ASTra")
K, NEGATIVES, TESTED = 10, 2_000, 10_000
FOLDS, REPETITIONS = 5, 2
WITHIN = 0.02
NEW = 99  # the fold of the test on new rows
COLUMNS = (
    "task",
    "draw",
    "method",
    "repetition",
    "fold",
    "learned",
    "tn",
    "fp",
    "fn",
    "tp",
    "ranks",
)


def run(tasks: Sequence[str], draws: int) -> None:
    """Run what the file of results lacks; a whole draw is written at once."""
    lines: list[Any] = read_rows(RECORDS)
    done = {(line["task"], int(line["draw"])) for line in lines}
    for draw in range(draws):
        for name in tasks:
            if (name, draw) in done:
                continue
            for method in choose(METHODS).methods:
                lines += _records(name, draw, method)
            write_rows(RECORDS, COLUMNS, lines)
            print(name, draw, flush=True)


def _records(name: str, draw: int, method: Method) -> list[dict[str, object]]:
    """Folds of the draw, and as the fold NEW the test on all other rows."""
    X, y = TASKS[name].table()
    rng = np.random.default_rng([draw, *name.encode()])
    rare, common = (rng.permutation(np.flatnonzero(y == label)) for label in (1, 0))
    rows = rng.permutation(np.concatenate([rare[:K], common[:NEGATIVES]]))
    others = np.concatenate([rare[K:], common[NEGATIVES : NEGATIVES + TESTED]])
    taken = X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]
    table = Problem(name, taken, y[rows])
    splits = make_splits(table, folds=FOLDS, repetitions=REPETITIONS, seed=draw)
    whole = Problem(name, X, y)
    last = Split(0, NEW, train=rows, validation=rows[:0], test=others)
    outcomes = [Unit(table, method, [split], draw).run()[0] for split in splits]
    outcomes += Unit(whole, method, [last], draw).run()
    said = []
    for outcome in outcomes:
        record = outcome.record
        line = {column: getattr(record, column, None) for column in COLUMNS}
        # The ranks of hundreds of new positives are not needed.
        line |= {"task": name, "draw": draw, "ranks": record.ranks if record.fold != NEW else ""}
        said.append(line)
    return said


def page() -> None:
    """Print what the records say."""
    found = judged(pd.DataFrame(read_rows(RECORDS)))
    for decision, draws in found.groupby("decision"):
        hits = draws.regret <= WITHIN
        print(f"{decision}: {len(draws)} draws of {draws.task.nunique()} tasks; the recommended")
        print(
            f"  method is the best, or within {WITHIN} of its expected score, in {hits.mean():.0%}"
        )
        print(
            f"  (the best in {(draws.regret == 0).mean():.0%}); mean regret "
            f"{draws.regret.mean():.3f}"
        )
        print(f"  best single method for all tasks: {_fixed(draws)}")
        print("  stated sureness  draws  mean stated  right")
        for low, high in ((0.0, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.01)):
            part = draws[(draws.sureness >= low) & (draws.sureness < high)]
            if len(part):
                means = f"{part.sureness.mean():10.2f} {part.is_best.mean():10.2f}"
                print(f"  {low:.1f} to {min(high, 1):.1f} {len(part):12} {means}")
        print(f"  all {len(draws):19} {draws.sureness.mean():10.2f} {draws.is_best.mean():10.2f}")


def judged(lines: pd.DataFrame) -> pd.DataFrame:
    """A row for each decision and draw: what was recommended, how surely, and the truth.

    expected score: a method's mean over the draws of a task, on new rows at its own decision.
    regret: the best expected score less the recommended method's.
    is_best: whether no method did better in this very draw.
    """
    numbers = ["draw", "repetition", "fold", "learned", "tn", "fp", "fn", "tp"]
    lines[numbers] = lines[numbers].astype(int)
    rows = []
    for decision in ("g_mean",):
        for task, of_task in lines.groupby("task"):
            new = of_task[of_task.fold == NEW]
            scores = pd.DataFrame(
                {"draw": new.draw, "method": new.method,
                 "score": [_new_score(line, decision) for line in new.itertuples()]}
            ).pivot(index="draw", columns="method", values="score")  # fmt: skip
            expected = scores.mean()
            for draw, of_draw in of_task[of_task.fold != NEW].groupby("draw"):
                methods: dict[str, list[Record]] = {}
                for line in of_draw.itertuples():
                    methods.setdefault(line.method, []).append(_record(line))
                best = answer(methods, decision).best
                rows.append(
                    {"decision": decision, "task": task, "draw": draw, "method": best.method,
                     "sureness": best.sureness, "stated": best.score.mean,
                     "low": best.score.low, "high": best.score.high,
                     "true": scores.loc[draw, best.method],
                     "regret": expected.max() - expected[best.method],
                     "is_best": scores.loc[draw, best.method] >= scores.loc[draw].max(),
                     **{f"true {m}": scores.loc[draw, m] for m in scores}}
                )  # fmt: skip
    return pd.DataFrame(rows)


def _new_score(line: object, decision: str) -> float:
    """On new rows, at the share of positives that was learned from."""
    from astralearn.classifier.decision import Worlds

    recall, alarms = line.tp / (line.tp + line.fn), line.fp / (line.fp + line.tn)
    world = Worlds(np.zeros(1), np.array([[recall]]), np.array([[alarms]]), K / (K + NEGATIVES))
    return float(world.scores()[decision][0, 0])


def _record(line: object) -> Record:
    return Record(
        line.task, line.method, line.repetition, line.fold, line.learned,
        line.tn, line.fp, line.fn, line.tp, None, 0.0, ranks=line.ranks,
    )  # fmt: skip


def _fixed(draws: pd.DataFrame) -> str:
    methods = [name for name in draws if name.startswith("true ")]
    best = max(methods, key=lambda name: draws[name].mean())
    gap = draws.groupby("task")[methods].mean()
    within = (gap.max(axis=1) - gap[best] <= WITHIN).mean()
    return f"{best.removeprefix('true ')}, within {WITHIN} in {within:.0%} of the tasks"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "page"))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--tasks", type=lambda text: text.split(","), default=list(TASKS))
    options = parser.parse_args()
    if options.what == "run":
        run(options.tasks, options.draws)
    else:
        page()
