"""Deep networks and a rare class: astralearn's recipe beside its rivals, drawn anew.

    python benchmarks/deep.py run [--k 5,20,100] [--draws 0,1,2,3,4] [--methods …] [--tasks fashion]
    python benchmarks/deep.py page                 # the tables of docs/deep_results.md

A run continues where it stopped: every result is added to results/deep.csv.gz. Problems and
networks are in deep_tasks.py, methods in deep_methods.py. The recipe was chosen on draws from 100
on of six of the problems (deep_choice.py); the tables have draws below 100.
"""

from __future__ import annotations

import sys
from pathlib import Path

# Python looks beside a script first, where torch.py and keras.py are benchmarks of that name.
HERE = str(Path(__file__).parent.resolve())
sys.path[:] = [entry for entry in sys.path if str(Path(entry or ".").resolve()) != HERE] + [HERE]

# ruff: noqa: E402
import argparse
import fcntl
import math
import time
from collections.abc import Sequence

import numpy as np
import torch
from scipy.stats import rankdata, wilcoxon

from astralearn.study.weighted_scores import average_precision, positive_weight, weighted_counts
from deep_methods import METHODS, OTHERS, OURS, RIVALS, Judged, run
from deep_tasks import TASKS, Draw, draw
from records import RESULTS, put, read_rows, write_rows

RECORDS = RESULTS / "deep.csv.gz"
COLUMNS = [
    "problem", "k", "draw", "method", "average_precision", "g_mean", "mcc", "recall",
    "false_alarms", "seconds",
]  # fmt: skip
KEY = ("problem", "k", "draw", "method")
PAGE = Path(__file__).parents[1] / "docs" / "deep_results.md"
SCORES = {"average_precision": "AP", "g_mean": "G-Mean"}
LEVEL = 0.05


def judge(judged: Judged, rows: Draw, k: int) -> dict[str, float]:
    """Scores at the prevalence learned from."""
    truth = rows.y_test.numpy().astype(np.int8)
    flagged = judged.scores >= judged.cut
    hits, alarms = int(flagged[truth == 1].sum()), int(flagged[truth == 0].sum())
    positives = int(truth.sum())
    negatives = len(truth) - positives
    weight = positive_weight(k / len(rows.y), positives=positives, negatives=negatives)
    counts = weighted_counts(
        tn=negatives - alarms, fp=alarms, fn=positives - hits, tp=hits, positive_weight=weight
    )
    recall, false_alarms = hits / positives, alarms / negatives
    return {
        "average_precision": average_precision(truth, judged.scores, positive_weight=weight),
        "g_mean": math.sqrt(recall * (1 - false_alarms)),
        "mcc": float(counts.mcc),
        "recall": recall,
        "false_alarms": false_alarms,
    }


def study(ks: Sequence[int], draws: Sequence[int], methods: Sequence[str], tables: str) -> None:
    """Run what the records lack, and add it to them after each problem."""
    torch.set_num_threads(1)
    done = {tuple(row[name] for name in KEY) for row in read_rows(RECORDS)}
    for number in draws:
        for k in ks:
            for task in TASKS:
                missing = [m for m in methods if (task.name, str(k), str(number), m) not in done]
                if task.table not in (tables or task.table) or not missing:
                    continue
                data, rows = draw(task, k, number), []
                for method in missing:
                    begin = time.process_time()
                    found = judge(run(method, task, data, number), data, k)
                    found["seconds"] = time.process_time() - begin
                    texts = {name: f"{value:.4g}" for name, value in found.items()}
                    case = {"problem": task.name, "k": str(k), "draw": str(number)}
                    rows.append({**case, "method": method, **texts})
                keep(rows)
                print(f"draw {number}, k = {k}: {task.name}", flush=True)


def keep(found: list[dict[str, str]]) -> None:
    """Add to the records; several processes may, each its own draws or methods."""
    with Path(__file__).open() as one_at_a_time:
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        rows = {tuple(row[name] for name in KEY): row for row in [*read_rows(RECORDS), *found]}
        write_rows(RECORDS, COLUMNS, [rows[key] for key in sorted(rows)])


def cells(score: str, k: int, methods: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """Problems that every method has run in the same draws, and means, (problems, methods)."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in read_rows(RECORDS):
        if row["k"] == str(k) and int(row["draw"]) < 100 and row["method"] in methods:
            of_problem = found.setdefault(row["problem"], {})
            of_problem.setdefault(row["method"], {})[row["draw"]] = float(row[score])
    whole = {}
    for problem, of_method in found.items():
        shared = set.intersection(*(set(of_method.get(m, {})) for m in methods))
        if shared:
            whole[problem] = [np.mean([of_method[m][d] for d in sorted(shared)]) for m in methods]
    return list(whole), np.array(list(whole.values())).reshape(len(whole), len(methods))


def present(k: int, methods: Sequence[str]) -> list[str]:
    """Those of the methods that have been run at k."""
    there = {row["method"] for row in read_rows(RECORDS) if row["k"] == str(k)}
    return [method for method in methods if method in there]


def draws_of(score: str, k: int, method: str) -> dict[tuple[str, str], float]:
    return {
        (row["problem"], row["draw"]): float(row[score])
        for row in read_rows(RECORDS)
        if row["k"] == str(k) and row["method"] == method and int(row["draw"]) < 100
    }


def against(score: str, k: int, rival: str) -> tuple[float, float, int, int]:
    """Mean difference to a rival, its p over problems and draws, wins and losses."""
    mine, theirs = draws_of(score, k, OURS), draws_of(score, k, rival)
    shared = sorted(set(mine) & set(theirs))
    gaps = np.array([mine[case] - theirs[case] for case in shared])
    p = float(wilcoxon(gaps).pvalue) if np.any(gaps) else 1.0
    return float(gaps.mean()), p, int((gaps > 0).sum()), int((gaps < 0).sum())


def sign(gap: float, p: float) -> str:
    """▲ or ▼ behind a difference that is significant."""
    return "" if p > LEVEL else " ▲" if gap > 0 else " ▼"


def table(ks: Sequence[int]) -> str:
    """Per method: its mean rank and mean score, at each k; then the recipe's wins and losses."""
    ranked = [OURS, *RIVALS]
    head = [f"{name}, k = {k}" for name in SCORES.values() for k in ks]
    lines = ["| mean rank (mean score) | " + " | ".join(head) + " |"]
    lines.append("| --- |" + " ---: |" * len(head))
    columns = {}
    cases: list[int] = []
    for score in SCORES:
        for k in ks:
            here, others = present(k, ranked), present(k, OTHERS)
            _, values = cells(score, k, here)
            cases.append(len(set.intersection(*(set(draws_of(score, k, m)) for m in here))))
            ranks = rankdata(-values, axis=1).mean(axis=0)
            texts = [f"{r:.1f} ({m:.3f})" for r, m in zip(ranks, values.mean(0), strict=True)]
            best = int(np.argmin(ranks))
            texts[best] = f"**{texts[best]}**"
            columns[score, k] = dict(zip(here, texts, strict=True))
            _, also = cells(score, k, [*here, *others])
            means = also.mean(0)[len(here) :] if len(also) else [math.nan] * len(others)
            columns[score, k] |= {m: f"({v:.3f})" for m, v in zip(others, means, strict=True)}
    lines.append("| problems × draws | " + " | ".join(map(str, cases)) + " |")
    lines += [
        f"| {method} | " + " | ".join(column.get(method, "–") for column in columns.values()) + " |"
        for method in [*ranked, *OTHERS]
    ]
    lines += [
        "",
        f"{OURS} beside each rival, over problems and draws: wins : losses. ▲: significantly "
        f"better (Wilcoxon's test, p ≤ {LEVEL}). ▼: significantly worse.",
    ]
    lines += ["", "| rival | " + " | ".join(head) + " |", "| --- |" + " ---: |" * len(head)]
    for rival in RIVALS:
        texts = []
        for score in SCORES:
            for k in ks:
                if rival not in present(k, RIVALS):
                    texts.append("–")
                    continue
                gap, p, wins, losses = against(score, k, rival)
                texts.append(f"{wins} : {losses}{sign(gap, p)}")
        lines.append(f"| {rival} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def page() -> None:
    """Write the tables between the marks of docs/deep_results.md, at each k of the recipe's."""
    ks = sorted({int(row["k"]) for row in read_rows(RECORDS) if row["method"] == OURS})
    put(PAGE, "benchmarks/deep.py page", table(ks))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "show", "page"))
    parser.add_argument("--k", default="5,20,100")
    parser.add_argument("--draws", default="0,1,2,3,4")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--tasks", default="", help="one table, e.g. fashion")
    arguments = parser.parse_args()
    ks, draws = (list(map(int, text.split(","))) for text in (arguments.k, arguments.draws))
    if arguments.what == "run":
        study(ks, draws, arguments.methods.split(","), arguments.tasks)
    elif arguments.what == "show":
        print(table(ks))
    else:
        page()
    return 0


if __name__ == "__main__":
    sys.exit(main())
