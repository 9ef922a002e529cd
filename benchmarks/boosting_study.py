"""G-Mean and MCC of boosted trees under ASTra and GMN beside what people do about imbalance today, on the same folds.

    python benchmarks/boosting_study.py run --library lightgbm --out scores.csv      # one line per fold, appended as it finishes
    python benchmarks/boosting_study.py table scores.csv [more.csv]                  # the Markdown tables of docs/boosting.md

Data: the catalogue of astralearn.datasets (set ASTRALEARN_DATA). 100 trees, otherwise each library's defaults; CatBoost, whose learning
rate depends on the loss, gets 0.1 for every method.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import make_scorer
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV

from astralearn.boosting.scores import hard_confusion
from astralearn.datasets import CATALOGUE, load

PAPER = ["skin-588", "skin-4000", "cod-763", "cod-3500", "ijcnn-971"]
OTHERS = [name for name in CATALOGUE if name not in PAPER and name != "digits"]
FIELDS = ["library", "problem", "method", "repetition", "fold", "g_mean", "mcc", "fnr", "fpr", "seconds", "slope"]
FOLDS = 5

Method = Callable[[np.ndarray], Any]


def g_mean(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(hard_confusion(np.where(predicted == 1, 1.0, -1.0), y).g_mean)


class Focal:
    """Focal loss, −αₜ(1−pₜ)² ln pₜ, α = 0.75 for positives, with our curvature (its own is negative for lost positives)."""

    def __init__(self, gamma: float = 2.0, alpha: float = 0.75) -> None:
        self.gamma, self.alpha = gamma, alpha

    def __call__(self, y_true: np.ndarray, y_pred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sign = np.where(y_true == 1, 1.0, -1.0)
        m = np.clip(-sign * np.asarray(y_pred, np.float64), -700, 700)  # the logit of being wrong
        p, q = 1 / (1 + np.exp(m)), 1 / (1 + np.exp(-m))
        log_p = -np.logaddexp(0.0, m)
        alpha = np.where(y_true == 1, self.alpha, 1 - self.alpha)
        gradient = alpha * q**self.gamma * (self.gamma * p * log_p - q) * sign
        return gradient, np.abs(gradient) * p + 1e-16


class Margin(ClassifierMixin, BaseEstimator):
    """A custom objective inside a library's own classifier: starts at the prior and cuts the score at 0.

    The default min_child_weight stops every tree of the focal loss, whose curvature is small on rare classes: it is (almost) 0 here.
    """

    def __init__(self, library: str, objective: Any) -> None:
        self.library, self.objective = library, objective

    def fit(self, X: np.ndarray, y: np.ndarray) -> Margin:
        self.classes_ = np.unique(y)
        self.start_ = float(np.log(y.mean() / (1 - y.mean())))
        if self.library == "lightgbm":
            import lightgbm as lgb

            self.model_ = lgb.LGBMClassifier(objective=self.objective, min_child_weight=1e-6, **LIGHTGBM).fit(
                X, y, init_score=np.full(len(y), self.start_)
            )
        else:
            import xgboost as xgb

            self.model_ = xgb.XGBClassifier(objective=self.objective, base_score=float(y.mean()), min_child_weight=0, **XGBOOST).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        if self.library == "lightgbm":
            return (self.model_.predict(X, raw_score=True) + self.start_ >= 0).astype(int)
        return (self.model_.predict(X, output_margin=True) >= 0).astype(int)


LIGHTGBM: dict[str, Any] = {"n_estimators": 100, "n_jobs": 1, "random_state": 0, "verbose": -1}
XGBOOST: dict[str, Any] = {"n_estimators": 100, "n_jobs": 1, "random_state": 0}
CATBOOST: dict[str, Any] = {
    "iterations": 100, "learning_rate": 0.1, "thread_count": 1, "random_seed": 0, "verbose": 0, "allow_writing_files": False,
}  # fmt: skip


def tuned(model: Any) -> Any:
    """The cut that maximises G-Mean over four inner folds (the least class has four rows to train on)."""
    return TunedThresholdClassifierCV(model, scoring=make_scorer(g_mean), cv=StratifiedKFold(4, shuffle=True, random_state=0))


def ratio(y: np.ndarray) -> float:
    return float((y == 0).sum() / (y == 1).sum())


def lightgbm_methods() -> dict[str, Method]:
    import lightgbm as lgb

    from astralearn.boosting import ASTraLGBMClassifier as Ours

    return {
        "default": lambda _: lgb.LGBMClassifier(**LIGHTGBM),
        "weighted": lambda _: lgb.LGBMClassifier(is_unbalance=True, **LIGHTGBM),
        "threshold tuned": lambda _: tuned(lgb.LGBMClassifier(**LIGHTGBM)),
        "focal": lambda _: Margin("lightgbm", Focal()),
        "ASTra": lambda _: Ours(loss="bce", **LIGHTGBM),
        "GMN": lambda _: Ours(loss="gmn", activation="sigmoid", **LIGHTGBM),
        "GMN-ASTra": lambda _: Ours(**LIGHTGBM),
    }


def xgboost_methods() -> dict[str, Method]:
    import xgboost as xgb

    from astralearn.boosting import ASTraXGBClassifier as Ours

    return {
        "default": lambda _: xgb.XGBClassifier(**XGBOOST),
        "weighted": lambda y: xgb.XGBClassifier(scale_pos_weight=ratio(y), **XGBOOST),
        "threshold tuned": lambda _: tuned(xgb.XGBClassifier(**XGBOOST)),
        "focal": lambda _: Margin("xgboost", Focal()),
        "ASTra": lambda _: Ours(loss="bce", **XGBOOST),
        "GMN": lambda _: Ours(loss="gmn", activation="sigmoid", **XGBOOST),
        "GMN-ASTra": lambda _: Ours(**XGBOOST),
    }


def catboost_methods() -> dict[str, Method]:
    import catboost as cb

    from astralearn.boosting import ASTraCatBoostClassifier as Ours

    focal = "Focal:focal_alpha=0.75;focal_gamma=2.0"
    return {
        "default": lambda _: cb.CatBoostClassifier(**CATBOOST),
        "weighted": lambda _: cb.CatBoostClassifier(auto_class_weights="Balanced", **CATBOOST),
        "threshold tuned": lambda _: tuned(cb.CatBoostClassifier(**CATBOOST)),
        "focal": lambda _: cb.CatBoostClassifier(loss_function=focal, **CATBOOST),
        "ASTra": lambda _: Ours(loss="bce", **CATBOOST),
        "GMN": lambda _: Ours(loss="gmn", activation="sigmoid", **CATBOOST),
        "GMN-ASTra": lambda _: Ours(**CATBOOST),
    }


def ablation_methods() -> dict[str, Method]:
    """LightGBM only: which part of the method does it."""
    import lightgbm as lgb

    from astralearn.boosting import ASTraLGBMClassifier as Ours

    return {
        "default, max_delta_step=1": lambda _: lgb.LGBMClassifier(max_delta_step=1.0, **LIGHTGBM),
        "weighted, max_delta_step=1": lambda _: lgb.LGBMClassifier(is_unbalance=True, max_delta_step=1.0, **LIGHTGBM),
        "default, learning_rate=0.1/7.4": lambda _: lgb.LGBMClassifier(learning_rate=0.1 / 7.4, **LIGHTGBM),
        "BCE, our start and curvature": lambda _: Ours(loss="bce", activation="sigmoid", **LIGHTGBM),
        "ASTra, start=0": lambda _: Ours(loss="bce", start=0.0, **LIGHTGBM),
        "ASTra, fixed slope": lambda _: Ours(loss="bce", learnable=False, **LIGHTGBM),
        "ASTra, slope rate 1 to 50": lambda _: Ours(loss="bce", slope_rate_min=1.0, slope_rate_max=50.0, **LIGHTGBM),
        "ASTra, tau_init=0.05": lambda _: Ours(loss="bce", tau_init=0.05, **LIGHTGBM),
        "GMN-ASTra, fixed slope": lambda _: Ours(learnable=False, **LIGHTGBM),
        "GMN-ASTra, slope rate 1 to 50": lambda _: Ours(slope_rate_min=1.0, slope_rate_max=50.0, **LIGHTGBM),
        "GMN-ASTra, tau_init=0.05": lambda _: Ours(tau_init=0.05, **LIGHTGBM),
        "balanced_accuracy": lambda _: Ours(loss="balanced_accuracy", activation="sigmoid", **LIGHTGBM),
        "MCC": lambda _: Ours(loss="mcc", activation="sigmoid", **LIGHTGBM),
        "F1": lambda _: Ours(loss="f1", activation="sigmoid", **LIGHTGBM),
    }


METHODS = {"lightgbm": lightgbm_methods, "xgboost": xgboost_methods, "catboost": catboost_methods, "ablation": ablation_methods}


def run(library: str, out: Path, repetitions: int, problems: list[str], methods: list[str] | None) -> None:
    done = {tuple(row[k] for k in FIELDS[:5]) for row in read([out])} if out.exists() else set()
    with out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        for name in problems:
            problem = load(name)
            for repetition in range(repetitions):
                rows = problem.draw(repetition)
                X, y = np.asarray(problem.X[rows], np.float64), problem.y[rows].astype(int)
                for fold, (train, test) in enumerate(StratifiedKFold(FOLDS, shuffle=True, random_state=repetition).split(X, y)):
                    for method, make in METHODS[library]().items():
                        key = (library, name, method, str(repetition), str(fold))
                        if key not in done and (methods is None or method in methods):
                            writer.writerow(dict(zip(FIELDS, [*key, *one(make(y[train]), X, y, train, test)], strict=True)))
                            file.flush()


def one(model: Any, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> list[str]:
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X[train], y[train])
            said = np.asarray(model.predict(X[test])).astype(int).ravel()
        except ValueError:  # TunedThresholdClassifierCV refuses constant scores: a miss
            said = np.zeros(len(test), int)
        seconds = time.perf_counter() - begun
    counts = hard_confusion(np.where(said == 1, 1.0, -1.0), y[test])
    scores = [float(v) for v in (counts.g_mean, counts.mcc, counts.fnr, counts.fpr)]
    return [f"{v:.6g}" for v in [*scores, seconds, getattr(model, "slope_", float("nan"))]]


def read(paths: list[Path]) -> list[dict[str, str]]:
    return [row for path in paths for row in csv.DictReader(path.open())]


def table(paths: list[Path]) -> None:
    rows = read(paths)
    for library in dict.fromkeys(row["library"] for row in rows):
        mine = [row for row in rows if row["library"] == library]
        methods = list(dict.fromkeys(row["method"] for row in mine))
        problems = [name for name in [*PAPER, *OTHERS] if any(row["problem"] == name for row in mine)]
        folds = min(max(int(row["repetition"]) for row in mine if row["problem"] == name) for name in problems) + 1
        mine = [row for row in mine if int(row["repetition"]) < folds]  # as many repetitions as every problem has
        print(
            f"\n### {library} ({folds}×{FOLDS}CV, G-Mean / MCC)\n\n| problem | "
            + " | ".join(methods)
            + " |\n|---" * 1
            + "|---" * len(methods)
            + "|"
        )
        means = np.asarray([[mean(mine, name, method) for method in methods] for name in problems])
        for name, of_problem in zip(problems, means, strict=True):
            best = of_problem.max(axis=0)
            cells = [
                " / ".join(f"**{v:.3f}**" if v >= b - 5e-4 else f"{v:.3f}" for v, b in zip(pair, best, strict=True)) for pair in of_problem
            ]
            print(f"| {name} | " + " | ".join(cells) + " |")
        in_paper = np.asarray([name in PAPER for name in problems])
        for label, part in (("mean of Table 1's", means[in_paper]), ("mean of the others", means[~in_paper]), ("mean of all", means)):
            if len(part):
                print(f"| {label} | " + " | ".join(f"{g:.3f} / {m:.3f}" for g, m in part.mean(axis=0)) + " |")
        ranks = [[mean_rank(means[:, :, score], j) for score in (0, 1)] for j in range(len(methods))]
        print("| mean rank | " + " | ".join(f"{g:.1f} / {m:.1f}" for g, m in ranks) + " |")
        seconds = [np.mean([float(r["seconds"]) for r in mine if r["method"] == method]) for method in methods]
        print("| seconds per fit | " + " | ".join(f"{s:.2f}" for s in seconds) + " |")


def mean(rows: list[dict[str, str]], problem: str, method: str) -> tuple[float, float]:
    of = [row for row in rows if row["problem"] == problem and row["method"] == method]
    return float(np.mean([float(r["g_mean"]) for r in of])), float(np.mean([float(r["mcc"]) for r in of]))


def mean_rank(scores: np.ndarray, column: int) -> float:
    """1 is best; ties share."""
    from scipy.stats import rankdata

    return float(np.mean([rankdata(-row.round(6))[column] for row in scores]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    runner = verbs.add_parser("run")
    runner.add_argument("--library", choices=list(METHODS), required=True)
    runner.add_argument("--out", type=Path, required=True)
    runner.add_argument("--repetitions", type=int, default=5)
    runner.add_argument("--problems", nargs="*", default=[*PAPER, *OTHERS])
    runner.add_argument("--methods", nargs="*", default=None)
    shower = verbs.add_parser("table")
    shower.add_argument("files", type=Path, nargs="+")
    asked = parser.parse_args()
    if asked.verb == "run":
        run(asked.library, asked.out, asked.repetitions, asked.problems, asked.methods)
    else:
        table(asked.files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
