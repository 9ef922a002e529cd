"""G-Mean and MCC of boosted trees under ASTra and GMN beside rivals, on the same folds.

    python benchmarks/boosting_study.py run DIRECTORY   # continues where it stopped
    python benchmarks/boosting_study.py page            # boosting_study.md and a table of docs
    python benchmarks/boosting_study.py fits            # time, largest leaves, the slope's way

`run` writes results/boosting_study.csv.gz. From it `page` makes boosting_study.md beside this
script, and the table of means in docs/boosting.md.

Data: the catalogue of astralearn.datasets (set ASTRALEARN_DATA). 100 trees, otherwise each
library's defaults; CatBoost, whose learning rate depends on the loss, gets 0.1 for every method.
Every library's methods, and the ablation's, see the same folds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any
from unittest import mock

import catboost as cb
import lightgbm as lgb
import numpy as np
import xgboost as xgb
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV

from astralearn.boosting import (
    ASTraCatBoostClassifier,
    ASTraLGBMClassifier,
    ASTraXGBClassifier,
    training,
)
from astralearn.boosting.scores import hard_confusion
from astralearn.datasets import CATALOGUE, load
from astralearn.report import Table, to_markdown
from astralearn.study import Method, Plan, Record, by_method, corrected_t_test, holm, run, standings
from records import RESULTS, read_rows, write_rows

REPETITIONS, FOLDS = 3, 5
SCORES = ("g_mean", "mcc")
LEVEL = 0.05
PAPER = ["skin-588", "skin-4000", "cod-763", "cod-3500", "ijcnn-971"]
PROBLEMS = [*PAPER, *(name for name in CATALOGUE if name not in PAPER and name != "digits")]
IN_PAPER = np.asarray([name in PAPER for name in PROBLEMS])
PARTS = {
    "mean of Table 1's": IN_PAPER,
    "mean of the others": ~IN_PAPER,
    "mean of all": IN_PAPER | ~IN_PAPER,
}
OURS = "GMN-ASTra"

FILE = RESULTS / "boosting_study.csv.gz"
ALL_TABLES = Path(__file__).with_suffix(".md")
GUIDE = Path(__file__).parent.parent / "docs" / "boosting.md"
BEGIN, END = "<!-- boosting_study.py page: begin -->\n", "<!-- boosting_study.py page: end -->\n"

# random_state is the study's to set, where it is listed.
LIGHTGBM: dict[str, Any] = {"n_estimators": 100, "n_jobs": 1, "random_state": 0, "verbose": -1}
XGBOOST: dict[str, Any] = {"n_estimators": 100, "n_jobs": 1, "random_state": 0}
CATBOOST: dict[str, Any] = {
    "iterations": 100,
    "learning_rate": 0.1,
    "thread_count": 1,
    "random_state": 0,
    "verbose": 0,
    "allow_writing_files": False,
}
FAST = {"slope_rate_min": 1.0, "slope_rate_max": 50.0}


def g_mean(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(hard_confusion(np.where(predicted == 1, 1.0, -1.0), y).g_mean)


def tuned(model: Any) -> Any:
    """The cut of the best G-Mean over four inner folds: the least class has four rows."""
    return TunedThresholdClassifierCV(
        model, scoring=make_scorer(g_mean), cv=StratifiedKFold(4, shuffle=True, random_state=0)
    )


class WeightedXGB(xgb.XGBClassifier):
    """scale_pos_weight = negatives per positive, as LightGBM's is_unbalance has it."""

    def fit(self, X: np.ndarray, y: np.ndarray, **options: Any) -> WeightedXGB:
        self.scale_pos_weight = float((y == 0).sum() / (y == 1).sum())
        return super().fit(X, y, **options)


class Focal:
    """Focal loss, −αₜ(1−pₜ)² ln pₜ, α = 0.75 for positives, with our curvature.

    Its own is negative for lost positives.
    """

    gamma, alpha = 2.0, 0.75

    def __call__(self, y_true: np.ndarray, y_pred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sign = np.where(y_true == 1, 1.0, -1.0)
        m = np.clip(-sign * np.asarray(y_pred, np.float64), -700, 700)  # the logit of being wrong
        p, q = 1 / (1 + np.exp(m)), 1 / (1 + np.exp(-m))
        log_p = -np.logaddexp(0.0, m)
        alpha = np.where(y_true == 1, self.alpha, 1 - self.alpha)
        gradient = alpha * q**self.gamma * (self.gamma * p * log_p - q) * sign
        return gradient, np.abs(gradient) * p + 1e-16


class FocalBoosting(ClassifierMixin, BaseEstimator):
    """Focal loss inside a library's own classifier: starts at the prior and cuts the score at 0.

    The default min_child_weight stops every tree of the focal loss, whose curvature is small on
    rare classes: it is (almost) 0 here.
    """

    def __init__(self, library: str, random_state: int = 0) -> None:
        self.library, self.random_state = library, random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> FocalBoosting:
        self.classes_ = np.unique(y)
        share = float(y.mean())
        self.start_ = (
            float(np.log(share / (1 - share))) if self.library == "lightgbm" else 0.0
        )  # XGBoost adds base_score itself
        seed = {"random_state": self.random_state}
        if self.library == "lightgbm":
            model = lgb.LGBMClassifier(objective=Focal(), min_child_weight=1e-6, **LIGHTGBM | seed)
            self.model_ = model.fit(X, y, init_score=np.full(len(y), self.start_))
        else:
            self.model_ = xgb.XGBClassifier(
                objective=Focal(), base_score=share, min_child_weight=0, **XGBOOST | seed
            ).fit(X, y)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        raw = {"raw_score": True} if self.library == "lightgbm" else {"output_margin": True}
        return np.asarray(self.model_.predict(X, **raw)) + self.start_

    def predict(self, X: np.ndarray) -> np.ndarray:
        return (self.decision_function(X) >= 0).astype(int)


def ours(kind: Any, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "ASTra": kind(loss="bce", **options),
        "GMN": kind(activation="sigmoid", **options),
        OURS: kind(**options),
    }


def estimators(library: str) -> dict[str, Any]:
    """By the names that they have in the tables."""
    if library == "LightGBM":
        return {
            "default": lgb.LGBMClassifier(**LIGHTGBM),
            "weighted": lgb.LGBMClassifier(is_unbalance=True, **LIGHTGBM),
            "threshold tuned": tuned(lgb.LGBMClassifier(**LIGHTGBM)),
            "focal": FocalBoosting("lightgbm"),
            **ours(ASTraLGBMClassifier, LIGHTGBM),
        }
    if library == "XGBoost":
        return {
            "default": xgb.XGBClassifier(**XGBOOST),
            "weighted": WeightedXGB(**XGBOOST),
            "threshold tuned": tuned(xgb.XGBClassifier(**XGBOOST)),
            "focal": FocalBoosting("xgboost"),
            **ours(ASTraXGBClassifier, XGBOOST),
        }
    if library == "CatBoost":
        return {
            "default": cb.CatBoostClassifier(**CATBOOST),
            "weighted": cb.CatBoostClassifier(auto_class_weights="Balanced", **CATBOOST),
            "threshold tuned": tuned(cb.CatBoostClassifier(**CATBOOST)),
            "focal": cb.CatBoostClassifier(
                loss_function="Focal:focal_alpha=0.75;focal_gamma=2.0", **CATBOOST
            ),
            **ours(ASTraCatBoostClassifier, CATBOOST),
        }
    return sharing() if library == SHARING else ablation()


class NothingShared(ASTraXGBClassifier):
    """XGBoost under the curvature as it is."""

    shared = 0.0

    def fit(self, X: np.ndarray, y: np.ndarray, **options: Any) -> NothingShared:
        with mock.patch.object(training, "SHARED", self.shared):
            return super().fit(X, y, **options)


class ThirdShared(NothingShared):
    shared = 1 / 3


class AllShared(NothingShared):
    shared = 1.0


def sharing() -> dict[str, Any]:
    """XGBoost only: other parts of the curvature that all rows share than two thirds."""
    kinds = {
        "nothing shared": NothingShared,
        "a third shared": ThirdShared,
        "all shared": AllShared,
    }
    return {
        f"{name}, {part}": model
        for part, kind in kinds.items()
        for name, model in ours(kind, XGBOOST).items()
    }


def ablation() -> dict[str, Any]:
    """LightGBM only: which part of the method does it."""
    own = ASTraLGBMClassifier
    return {
        "default, max_delta_step=1": lgb.LGBMClassifier(max_delta_step=1.0, **LIGHTGBM),
        "weighted, max_delta_step=1": lgb.LGBMClassifier(
            is_unbalance=True, max_delta_step=1.0, **LIGHTGBM
        ),
        "default, learning_rate=0.1/7.4": lgb.LGBMClassifier(learning_rate=0.1 / 7.4, **LIGHTGBM),
        "BCE, our start and curvature": own(loss="bce", activation="sigmoid", **LIGHTGBM),
        "ASTra, start=0": own(loss="bce", start=0.0, **LIGHTGBM),
        "ASTra, fixed slope": own(loss="bce", learnable=False, **LIGHTGBM),
        "ASTra, slope rate 1 to 50": own(loss="bce", **FAST, **LIGHTGBM),
        "ASTra, tau_init=0.05": own(loss="bce", tau_init=0.05, **LIGHTGBM),
        "GMN-ASTra, fixed slope": own(learnable=False, **LIGHTGBM),
        "GMN-ASTra, slope rate 1 to 50": own(**FAST, **LIGHTGBM),
        "GMN-ASTra, tau_init=0.05": own(tau_init=0.05, **LIGHTGBM),
        "balanced_accuracy": own(loss="balanced_accuracy", activation="sigmoid", **LIGHTGBM),
        "MCC": own(loss="mcc", activation="sigmoid", **LIGHTGBM),
        "F1": own(loss="f1", activation="sigmoid", **LIGHTGBM),
    }


LIBRARIES = ("LightGBM", "XGBoost", "CatBoost")
ABLATION, SHARING = "ablation", "sharing"
Results = dict[str, list[Record]]  # by library


def run_all(directory: Path) -> None:
    """One resumable study per library; each that is complete goes into the CSV file."""
    problems = [load(name) for name in PROBLEMS]
    results: Results = {}
    for library in (*LIBRARIES, ABLATION, SHARING):
        methods = [Method(name, estimator) for name, estimator in estimators(library).items()]
        plan = Plan(problems, methods, folds=FOLDS, repetitions=REPETITIONS)
        results[library] = run(
            plan,
            directory / f"{library}.sqlite",
            n_jobs=1,
            progress=lambda p: print(*p, flush=True),
        )
        write(results)


def write(results: Results) -> None:
    names = [field.name for field in fields(Record) if field.name != "ranks"]
    rows = [
        {"library": library, **{name: _short(getattr(record, name)) for name in names}}
        for library, records in results.items()
        for record in records
    ]
    write_rows(FILE, ["library", *names], rows)


def _short(value: Any) -> Any:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else value


def read() -> Results:
    results: Results = {}
    for row in read_rows(FILE):
        library, problem, method, error = (
            row.pop(name) for name in ("library", "problem", "method", "error")
        )
        precision, seconds = row.pop("average_precision"), row.pop("fit_seconds")
        record = Record(
            problem,
            method,
            **{name: int(value) for name, value in row.items()},
            average_precision=float(precision) if precision else None,
            fit_seconds=float(seconds),
            error=error or None,
        )
        results.setdefault(library, []).append(record)
    return results


HEAD = """# G-Mean and MCC of boosted trees beside rivals

Written by `python benchmarks/boosting_study.py page` from `results/boosting_study.csv.gz`.

100 trees, each library's defaults otherwise (CatBoost: learning rate 0.1), three times stratified
5-fold cross-validation, the same folds for every method and library. *weighted* is `is_unbalance`,
`scale_pos_weight` = IR and `auto_class_weights="Balanced"`. *threshold tuned* is scikit-learn's
TunedThresholdClassifierCV on G-Mean over four inner folds; a fit that it refuses counts as a miss.
*focal* is γ = 2, α = 0.75, on LightGBM and XGBoost with our curvature and min_child_weight 0.

**Bold**: the best mean of the row. †: told from the best by the corrected resampled t-test
(p ≤ 0.05, Holm over the row). *Better, worse*: on how many problems the same test tells GMN-ASTra
from the method. With one positive per fold the test is blind to differences in G-Mean below about
0.5: an unmarked mean is not proven worse, which is not the same as equal.

How to read the parts of the method: the same objective with the plain sigmoid ("BCE, our start and
curvature") scores as LightGBM's default, so neither start nor curvature makes the difference. The
warp does. A leaf with few positives takes a Newton step of one over their share; below 0 the warp
divides that step by b, and above 0 it counts b times less. XGBoost and CatBoost hold such leaves
small by regularisation. BCE's minimum is the leaf's share of positives whatever b is; GMN moves the
minimum itself.

"""


def all_tables(results: Results) -> str:
    """The page of every study that is complete, in Markdown."""
    tables = [
        library_table(library, results[library]) for library in LIBRARIES if library in results
    ]
    if ABLATION in results:
        tables.append(
            means_table("Parts of the method (LightGBM", [*results["LightGBM"], *results[ABLATION]])
        )
    if SHARING in results:
        tables.append(
            means_table("Shared curvature (XGBoost", [*results["XGBoost"], *results[SHARING]])
        )
    # The cells hold two scores each, which are bold one by one.
    return HEAD + "\n".join(map(to_markdown, tables)).replace(r"\*", "*")


def means_of_all(results: Results) -> str:
    """Each library's means over all problems, in Markdown."""
    rows, methods = [], []
    for library in LIBRARIES:
        methods = list(dict.fromkeys(record.method for record in results[library]))
        means = [_means(results[library], methods, score).mean(axis=0) for score in SCORES]
        rows.append([library, *_pairs(means, "{:.3f}")])
    return to_markdown(Table("", ["", *methods], rows)).partition("\n\n")[2]


def library_table(library: str, records: Sequence[Record]) -> Table:
    methods = list(dict.fromkeys(record.method for record in records))
    means = {score: _means(records, methods, score) for score in SCORES}
    rows = [[problem, *_marked(records, problem)] for problem in PROBLEMS]
    for label, part in PARTS.items():
        rows.append(
            [label, *_pairs([means[score][part].mean(axis=0) for score in SCORES], "{:.3f}")]
        )
    rows.append(
        [
            "mean rank",
            *_pairs(
                [rankdata(-means[score].round(6), axis=1).mean(axis=0) for score in SCORES],
                "{:.1f}",
            ),
        ]
    )
    rows.append(
        [
            f"{OURS}: better, worse",
            *_pairs([_against(records, methods, score) for score in SCORES], "{}"),
        ]
    )
    rows.append(
        [
            "folds missed by an error",
            *(str(sum(r.error is not None for r in records if r.method == m)) for m in methods),
        ]
    )
    return Table(f"{library} ({REPETITIONS}×{FOLDS}CV, G-Mean / MCC)", ["problem", *methods], rows)


def means_table(title: str, records: Sequence[Record]) -> Table:
    """title: up to its bracket's contents."""
    tuned_or_focal = ("threshold tuned", "focal")
    methods = [
        name
        for name in dict.fromkeys(record.method for record in records)
        if name not in tuned_or_focal
    ]
    means = {score: _means(records, methods, score) for score in SCORES}
    parts = [
        _pairs([means[score][part].mean(axis=0) for score in SCORES], "{:.3f}")
        for part in PARTS.values()
    ]
    rows = [list(row) for row in zip(methods, *parts, strict=True)]
    return Table(f"{title}, {REPETITIONS}×{FOLDS}CV, G-Mean / MCC)", ["method", *PARTS], rows)


def _means(records: Sequence[Record], methods: Sequence[str], score: str) -> np.ndarray:
    """Shape (problems, methods)."""
    found = [by_method(records, problem) for problem in PROBLEMS]
    return np.asarray(
        [
            [np.mean([getattr(record, score) for record in of[method]]) for method in methods]
            for of in found
        ]
    )


def _marked(records: Sequence[Record], problem: str) -> list[str]:
    """Per method both scores' means: bold the best, † what the corrected t-test tells from it."""
    of = by_method(records, problem)
    methods = dict.fromkeys(record.method for record in records)
    of = {name: of[name] for name in methods}
    texts = []
    for score in SCORES:
        found = standings(of, score)
        best = max(standing.mean for standing in found.values())
        texts.append([_one(found[name].mean, best, found[name].wins) for name in methods])
    return [" / ".join(pair) for pair in zip(*texts, strict=True)]


def _one(mean: float, best: float, wins: bool) -> str:
    return f"**{mean:.3f}**" if mean >= best - 5e-4 else f"{mean:.3f}" + ("" if wins else "†")


def _against(records: Sequence[Record], methods: Sequence[str], score: str) -> list[str]:
    """On how many problems OURS is better and worse than each method.

    By the corrected t-test, Holm over the methods of a problem.
    """
    better, worse = np.zeros(len(methods), int), np.zeros(len(methods), int)
    others = [name for name in methods if name != OURS]
    for problem in PROBLEMS:
        of = {
            name: [getattr(record, score) for record in found]
            for name, found in by_method(records, problem).items()
        }
        tests = [
            corrected_t_test(of[OURS], of[name], test_per_train=1 / (FOLDS - 1)) for name in others
        ]
        for name, test, p_value in zip(
            others, tests, holm([test.p_value for test in tests]), strict=True
        ):
            if p_value <= LEVEL:
                (better if test.difference > 0 else worse)[methods.index(name)] += 1
    return [
        "" if name == OURS else f"{b}, {w}"
        for name, b, w in zip(methods, better, worse, strict=True)
    ]


def _pairs(columns: Sequence[Sequence[Any]], form: str) -> list[str]:
    return [
        " / ".join(form.format(value) for value in pair) if pair[0] != "" else ""
        for pair in zip(*columns, strict=True)
    ]


def guide(text: str, results: Results) -> str:
    """The guide with its table made anew."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{means_of_all(results)}\n{END}{after}"


def fits() -> None:
    """Print single fits' time, leaves and slopes, on skin-588 and a draw of skin-4000."""
    drawn = [(problem, problem.draw(0)) for problem in map(load, ("skin-588", "skin-4000"))]
    (X, y), *_ = rows = [(problem.X[kept], problem.y[kept]) for problem, kept in drawn]
    print(
        "processor seconds per fit on skin-588, the least of three: "
        "default, threshold tuned, GMN-ASTra"
    )
    for library in LIBRARIES:
        models = estimators(library)
        print(
            f"  {library:9}",
            *(
                f"{min(_seconds(models[name], X, y) for _ in range(3)):.2f}"
                for name in ("default", "threshold tuned", OURS)
            ),
        )
    print("LightGBM's largest leaf value on skin-588 and skin-4000")
    models = {**estimators("LightGBM"), "BCE": ablation()["BCE, our start and curvature"]}
    for name in ("default", "weighted", "BCE", "ASTra", "GMN", OURS):
        print(f"  {name:9}", *(f"{_largest_leaf(models[name], *each):.2g}" for each in rows))
    print("slope b after 100 rounds of LightGBM on skin-588, at the default rates and at 1 to 50")
    for name, kind in (("ASTra", {"loss": "bce"}), (OURS, {})):
        slopes = [
            ASTraLGBMClassifier(**kind, **rates, **LIGHTGBM).fit(X, y).slope_
            for rates in ({}, FAST)
        ]
        print(f"  {name:9}", *(f"{slope:.3f}" for slope in slopes))


def _seconds(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    start = time.process_time()
    clone(model).fit(X, y)
    return time.process_time() - start


def _largest_leaf(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    trees = clone(model).fit(X, y).booster_.trees_to_dataframe()
    return float(trees.loc[trees["left_child"].isna(), "value"].abs().max())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("run").add_argument("directory", type=Path)
    verbs.add_parser("page")
    verbs.add_parser("fits")
    asked = parser.parse_args()
    if asked.verb == "run":
        run_all(asked.directory)
    elif asked.verb == "fits":
        fits()
    else:
        results = read()
        ALL_TABLES.write_text(all_tables(results), encoding="utf-8")
        GUIDE.write_text(guide(GUIDE.read_text(encoding="utf-8"), results), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
