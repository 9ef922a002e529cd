"""`ASTraClassifier()` beside its rivals on the paper's problems and six more.

    python benchmarks/defaults.py run FOLDER [PROBLEM ...]   # 10 × 5 folds; resumes
    python benchmarks/defaults.py page                       # into docs/default_results.md
    python benchmarks/defaults.py easy                       # balanced data, likewise

`run` fits ours; with --rivals also theirs, whose records are kept otherwise. Records are in
benchmarks/results/defaults.csv.gz. Data: the catalogue (set ASTRALEARN_DATA).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from astralearn import ASTraClassifier, datasets
from astralearn.methods import DEFAULT_METHOD, RIVALS, choose
from astralearn.study import Method, Plan, Record, by_method, corrected_t_test, run
from astralearn.study.paper import TABLE_1
from records import RESULTS, put, read_rows, write_rows

REPETITIONS = 10
SCORES = {"g_mean": "G-Mean", "mcc": "MCC"}
OTHERS = [
    name for name in datasets.CATALOGUE if name not in TABLE_1 and name != datasets.DEFAULT_PROBLEM
]
TESTED_PER_LEARNED = 1 / 4
COLUMNS = ("problem", "method", "repetition", "fold", "tn", "fp", "fn", "tp")
RECORDS = RESULTS / "defaults.csv.gz"
FOR_MCC = f'{DEFAULT_METHOD}, decision="mcc"'
OURS = {
    DEFAULT_METHOD: ASTraClassifier(),
    FOR_MCC: ASTraClassifier(decision="mcc"),
}


def measure(folder: Path, problems: Sequence[str], *, rivals: bool) -> None:
    """Fit every fold and keep the records, in place of those of the same method and problem."""
    folder.mkdir(parents=True, exist_ok=True)
    methods = [Method(name, estimator) for name, estimator in OURS.items()]
    if rivals:
        methods += choose(list(RIVALS)).methods
    for name in problems or [*TABLE_1, *OTHERS]:
        plan = Plan([datasets.load(name)], methods, repetitions=REPETITIONS)
        records = run(plan, folder / f"{name}.sqlite", n_jobs=-1)
        anew = {(record.problem, record.method) for record in records}
        write([r for r in read() if (r.problem, r.method) not in anew] + list(records))
        print(name, flush=True)


def write(records: Sequence[Record]) -> None:
    order = {name: place for place, name in enumerate([*TABLE_1, *OTHERS])}
    kept = sorted(records, key=lambda r: (order[r.problem], r.method, r.repetition, r.fold))
    rows = [{name: getattr(record, name) for name in COLUMNS} for record in kept]
    write_rows(RECORDS, COLUMNS, rows)


def read() -> list[Record]:
    return [
        Record(
            row["problem"],
            row["method"],
            *(int(row[name]) for name in COLUMNS[2:4]),
            0,
            *(int(row[name]) for name in COLUMNS[4:]),
            average_precision=None,
            fit_seconds=0.0,
        )
        for row in read_rows(RECORDS)
    ]


def page() -> str:
    """Means by problem in either score, and false alarms."""
    records = read()
    said = []
    run_of = {record.method for record in records}
    names = [name for name in [*OURS, *RIVALS] if name in run_of]
    for score, title in SCORES.items():
        first = DEFAULT_METHOD if score == "g_mean" else FOR_MCC
        order = [first, *(name for name in names if name != first)]
        said.append(f"**{title}**\n\n{table(records, order, score)}")
    everything = [*TABLE_1, *OTHERS]
    said.append(f"**False alarms per 1,000**\n\n{false_alarms(records, names, everything)}")
    return "\n\n".join(said)


def false_alarms(records: Sequence[Record], names: Sequence[str], problems: Sequence[str]) -> str:
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for problem in problems:
        by_name = by_method(records, problem)
        if not {*names} <= {*by_name}:
            continue
        rates = [
            1000 * sum(r.fp for r in by_name[name]) / sum(r.fp + r.tn for r in by_name[name])
            for name in names
        ]
        lines.append(f"| {problem} | " + " | ".join(f"{rate:.1f}" for rate in rates) + " |")
    return "\n".join(lines)


def table(
    records: Sequence[Record],
    names: Sequence[str],
    score: str,
    groups: Sequence[Sequence[str]] = (tuple(TABLE_1), OTHERS),
) -> str:
    """Means by problem, the best in bold.

    ▲ and ▼: the first method is significantly better or worse than this (p ≤ 0.05, uncorrected).
    """
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for problems in groups:
        ranks = []
        for problem in problems:
            by_name = {
                name: sorted(rows, key=place)
                for name, rows in by_method(records, problem).items()
                if name in names
            }
            if set(by_name) != set(names):
                continue
            scores = {name: [getattr(r, score) for r in by_name[name]] for name in names}
            means = {name: float(np.mean(values)) for name, values in scores.items()}
            ranks.append(rankdata([-means[name] for name in names]))
            cells = [
                cell(means[name], max(means.values()), sign(scores[names[0]], scores[name]))
                for name in names
            ]
            lines.append(f"| {problem} | " + " | ".join(cells) + " |")
        if ranks:
            lines.append(
                "| *mean rank* | "
                + " | ".join(f"{rank:.1f}" for rank in np.mean(ranks, axis=0))
                + " |"
            )
    return "\n".join(lines)


def place(record: Record) -> tuple[int, int]:
    return record.repetition, record.fold


def cell(mean: float, best: float, mark: str) -> str:
    return (f"**{mean:.3f}**" if mean >= best - 5e-4 else f"{mean:.3f}") + mark


def sign(first: Sequence[float], other: Sequence[float]) -> str:
    test = corrected_t_test(first, other, test_per_train=TESTED_PER_LEARNED)
    return "" if test.p_value > 0.05 else " ▲" if test.difference > 0 else " ▼"


def easy() -> str:
    """Accuracy on balanced, easy data: three times five folds."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons
    from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pairs = {
        f"{source}, {a} and {b}": (X[(y == a) | (y == b)], y[(y == a) | (y == b)])
        for source, (X, y), (a, b) in [
            *(("iris", load_iris(return_X_y=True), pair) for pair in ((0, 1), (0, 2), (1, 2))),
            *(("wine", load_wine(return_X_y=True), pair) for pair in ((0, 1), (1, 2))),
            *(("digits", load_digits(return_X_y=True), pair) for pair in ((3, 8), (4, 9))),
        ]
    }
    problems = {
        **pairs,
        "breast cancer": load_breast_cancer(return_X_y=True),
        "moons": make_moons(500, noise=0.25, random_state=0),
    }
    models = {
        "MLPClassifier": make_pipeline(
            StandardScaler(), MLPClassifier(max_iter=1000, random_state=0)
        ),
        "ASTraClassifier": ASTraClassifier(random_state=0),
        "networks alone": ASTraClassifier(committee=False, random_state=0),
    }
    said = ["| | " + " | ".join(models) + " |\n|---|" + "---:|" * len(models)]
    for name, (features, labels) in problems.items():
        folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)
        means = [
            cross_val_score(model, features, labels, cv=folds).mean() for model in models.values()
        ]
        said.append(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
        print(said[-1], flush=True)
    return "\n".join(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    measured = commands.add_parser("run")
    measured.add_argument("folder", type=Path)
    measured.add_argument("problems", nargs="*")
    measured.add_argument("--rivals", action="store_true")
    commands.add_parser("page")
    commands.add_parser("easy")
    options = parser.parse_args()
    if options.command == "run":
        measure(options.folder, options.problems, rivals=options.rivals)
    else:
        text = {"page": page, "easy": easy}[options.command]()
        docs = Path(__file__).parents[1] / "docs"
        put(docs / "default_results.md", f"benchmarks/defaults.py {options.command}", text)


if __name__ == "__main__":
    main()
