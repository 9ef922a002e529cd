"""The methods a comparison offers: the paper's ladder and the default on top of it, GMN-ASTra on boosted trees, and the rivals people
would use instead.

Here names become estimators; the study only ever sees estimators. A method whose package is absent is left out and said to be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from astralearn.study.method import Method
from astralearn.study.paper import Protocol

# Name → (loss, activation), from no intervention to both.
PAPER_NETWORKS = {
    "BCE": ("bce", "sigmoid"),
    "GMN": ("gmn", "sigmoid"),
    "BCE-ASTra": ("bce", "astra"),
    "GMN-ASTra": ("gmn", "astra"),
}

DEFAULT_METHOD = "ASTraClassifier"

# GMN-ASTra on boosted trees instead of a network: name → (class of astralearn.boosting, what keeps it quiet and on one core).
TREES: dict[str, tuple[str, dict[str, Any]]] = {
    "ASTra-LightGBM": ("ASTraLGBMClassifier", {"n_jobs": 1, "verbose": -1}),
    "ASTra-XGBoost": ("ASTraXGBClassifier", {"n_jobs": 1}),
    "ASTra-CatBoost": (
        "ASTraCatBoostClassifier",
        {"thread_count": 1, "verbose": 0, "allow_writing_files": False, "random_state": 0},
    ),
}

EXTRAS = {
    "imblearn": "peers",
    "lightgbm": "boosting",
    "xgboost": "boosting",
    "catboost": "boosting",
}


class ChosenMethods(NamedTuple):
    """Methods to run, and why others that were asked for cannot be."""

    methods: list[Method]
    absent: list[str]


def choose(
    names: Sequence[str] = ("ladder", "rivals"), *, epochs: int | None = None
) -> ChosenMethods:
    """Methods by name, case aside; "ladder", "trees", "rivals" and "all" stand for many. ValueError for a name nobody knows.

    epochs: of the networks; None leaves the defaults.
    """
    methods, absent = [], []
    for name in _expanded(names):
        try:
            methods.append(Method(name, _estimator(name, epochs)))
        except Exception as error:  # a package that is installed may raise anything when it is imported: OSError for a missing library
            absent.append(f"{name} was left out: {_reason(error)}")
    return ChosenMethods(methods, absent)


def _reason(error: Exception) -> str:
    package = error.name if isinstance(error, ImportError) else None
    if package in EXTRAS:
        return f"{package} is not installed (pip install 'astralearn[{EXTRAS[package]}]')"
    return str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"


def paper_ladder(protocol: Protocol) -> list[Method]:
    """The four methods with the paper's settings, each given its validation fold."""
    from astralearn import ASTraClassifier

    settings: dict[str, Any] = {
        "epochs": protocol.epochs,
        "burn_in": protocol.burn_in,
        "validation_fraction": 0.0,
    }
    return [
        Method(name, ASTraClassifier.paper(*PAPER_NETWORKS[name], **settings), validates=True)
        for name in protocol.methods
    ]


def _expanded(names: Sequence[str]) -> list[str]:
    ladder = [*PAPER_NETWORKS, DEFAULT_METHOD]
    groups = {"ladder": ladder, "trees": list(TREES), "rivals": list(RIVALS), "all": METHOD_NAMES}
    known = {name.lower(): [name] for name in groups["all"]} | groups
    wanted: list[str] = []
    for name in names:
        if name.lower() not in known:
            raise ValueError(
                f"no such method: {name!r}; there are {', '.join(groups['all'])}, and the groups {', '.join(groups)}"
            )
        wanted += [found for found in known[name.lower()] if found not in wanted]
    return wanted


def _estimator(name: str, epochs: int | None) -> Any:
    network: dict[str, Any] = {} if epochs is None else {"epochs": epochs}
    if name == DEFAULT_METHOD:
        from astralearn import ASTraClassifier

        return ASTraClassifier(**network)
    if name in PAPER_NETWORKS:
        return _network(*PAPER_NETWORKS[name], **network)
    if name in TREES:
        return _boosted(*TREES[name])
    return RIVALS[name](**network) if RIVALS[name] is _weighted else RIVALS[name]()


def _network(loss: str, activation: str, **options: Any) -> Any:
    """One network as the paper has it, on every row, in a tenth of the steps at ten times the rate."""
    from astralearn import ASTraClassifier

    practice = {
        "epochs": 1_000,
        "learning_rate": 0.01,
        "validation_fraction": 0.0,
        "selection": "last",
        "burn_in": None,
    }
    return ASTraClassifier.paper(loss, activation, **{**practice, **options})


def _boosted(kind: str, options: dict[str, Any]) -> Any:
    from astralearn import boosting

    return getattr(boosting, kind)(**options)


def _weighted(**options: Any) -> Any:
    """The ladder's network with nothing but class weights: what people try first."""
    return _network("bce", "sigmoid", class_weight="balanced", **options)


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(
        StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000)
    )


def _svm() -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return make_pipeline(StandardScaler(), SVC(class_weight="balanced"))


def _histogram_boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(class_weight="balanced")


def _rusboost() -> Any:
    from imblearn.ensemble import RUSBoostClassifier

    return RUSBoostClassifier()


def _easy_ensemble() -> Any:
    from imblearn.ensemble import EasyEnsembleClassifier

    return EasyEnsembleClassifier()


def _balanced_forest() -> Any:
    from imblearn.ensemble import BalancedRandomForestClassifier

    return BalancedRandomForestClassifier()


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    # is_unbalance is scale_pos_weight = negatives/positives of the rows it is fitted on, which differ by fold.
    return LGBMClassifier(is_unbalance=True, n_jobs=1, verbose=-1)


RIVALS: dict[str, Callable[..., Any]] = {
    "logistic": _logistic,
    "SVM": _svm,
    "HistGB": _histogram_boosting,
    "weighted MLP": _weighted,
    "RUSBoost": _rusboost,
    "EasyEnsemble": _easy_ensemble,
    "BalancedRF": _balanced_forest,
    "LightGBM": _lightgbm,
}
METHOD_NAMES = [*PAPER_NETWORKS, DEFAULT_METHOD, *TREES, *RIVALS]
