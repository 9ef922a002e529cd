"""The methods a comparison offers, by name.

They are the paper's ladder and the default on top of it, GMN-ASTra on boosted trees, and the
rivals people would use instead. Here names become estimators; the study only ever sees estimators.
A method whose package is absent is left out and said to be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from astralearn.entrants import ENTRANTS
from astralearn.study.method import Method
from astralearn.study.paper import Protocol

# The ladder goes from no intervention to both: name → loss and activation.
PAPER_NETWORKS = {
    "BCE": ("bce", "sigmoid"),
    "GMN": ("gmn", "sigmoid"),
    "BCE-ASTra": ("bce", "astra"),
    "GMN-ASTra": ("gmn", "astra"),
}

DEFAULT_METHOD = "ASTraClassifier"

# Each package comes with an extra.
EXTRAS = {
    "imblearn": "peers",
    "lightgbm": "boosting",
    "xgboost": "boosting",
    "catboost": "boosting",
    "pyod": "peers",
}


class ChosenMethods(NamedTuple):
    """Methods to run, and why others that were asked for cannot be."""

    methods: list[Method]
    absent: list[str]


def choose(
    names: Sequence[str] = ("default",), *, epochs: int | None = None, decision: Any = None
) -> ChosenMethods:
    """Methods by name, case aside; ValueError for a name nobody knows.

    names: also groups: "default" for the few that matter, "ladder", "trees" and "rivals", "all" for
        these three, "entrants" for what benchmarks have besides, and "fast" for what learns in
        seconds.
    epochs: of the networks; None leaves the defaults.
    decision: of ASTraClassifier, for the labels 0 and 1; None leaves the default.
    """
    if epochs is not None and epochs < 1:
        raise ValueError(f"`epochs` must be at least 1; found {epochs}")
    methods, absent = [], []
    for name in _expanded(names):
        try:
            estimator = _estimator(name, epochs, decision)
            methods.append(Method(name, estimator, seconds=SECONDS.get(name, 10.0)))
        except Exception as error:
            # A package that is installed may raise anything when it is imported, as OSError for a
            # missing library.
            absent.append(f"{name} was left out: {_reason(error)}")
    return ChosenMethods(methods, absent)


def _reason(error: Exception) -> str:
    package = error.name if isinstance(error, ImportError) else None
    if package in EXTRAS:
        return f"{package} is not installed (pip install 'astralearn[{EXTRAS[package]}]')"
    return str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"


def paper_ladder(protocol: Protocol) -> list[Method]:
    """The four methods with the paper's settings, each given its validation fold."""
    from astralearn.paper_network import PaperNetwork

    of_all = {name: getattr(protocol, name) for name in ("starts", "epochs", "burn_in")}
    return [
        Method(name, PaperNetwork(*PAPER_NETWORKS[name], **of_all), validates=True)
        for name in protocol.methods
    ]


def _expanded(names: Sequence[str]) -> list[str]:
    ladder = [*PAPER_NETWORKS, DEFAULT_METHOD]
    groups = {
        "default": [*ladder, *DEFAULT_RIVALS],
        "ladder": ladder,
        "trees": list(TREE_METHODS),
        "rivals": list(RIVALS),
        "entrants": list(ENTRANTS),
        "fast": list(FAST),
        "all": [*ladder, *TREE_METHODS, *RIVALS],
    }
    known = {name.lower(): [name] for name in METHOD_NAMES} | groups
    wanted: list[str] = []
    for name in names:
        if name.lower() not in known:
            raise ValueError(
                f"no such method: {name!r}; there are {', '.join(METHOD_NAMES)}, "
                f"and the groups {', '.join(groups)}"
            )
        wanted += [found for found in known[name.lower()] if found not in wanted]
    return wanted


def make(name: str, **options: Any) -> Any:
    """The estimator that a comparison runs under a name, unfitted.

    name: one of METHOD_NAMES, case aside.
    options: parameters to set, such as `decision` of ASTraClassifier.

    >>> make("ASTraClassifier", decision="mcc").decision
    'mcc'
    """
    (name,) = _expanded([name])
    return _estimator(name, None).set_params(**options)


def _estimator(name: str, epochs: int | None, decision: Any = None) -> Any:
    network: dict[str, Any] = {} if epochs is None else {"epochs": epochs}
    if name == DEFAULT_METHOD:
        from astralearn import ASTraClassifier

        cut = {} if decision is None else {"decision": decision}
        return ASTraClassifier(**network, **cut)
    if name in PAPER_NETWORKS:
        loss, activation = PAPER_NETWORKS[name]
        return _network(loss, activation, **network)
    maker = {**TREE_METHODS, **RIVALS, **ENTRANTS}[name]
    return maker(**network) if maker is _weighted else maker()


def _network(loss: str, activation: str, **options: Any) -> Any:
    """One network as the paper has it, on every row.

    It takes a tenth of the paper's steps at ten times the rate.
    """
    from astralearn import ASTraClassifier

    practice = {
        "epochs": 1_000,
        "learning_rate": 0.01,
        "validation_fraction": 0.0,
        "selection": "last",
        "burn_in": None,
    }
    return ASTraClassifier.paper(loss, activation, **{**practice, **options})


# Boosters are kept quiet and on one core, since the study runs one for each core.
def _astra_lightgbm() -> Any:
    from astralearn.boosting import ASTraLGBMClassifier

    return ASTraLGBMClassifier(n_jobs=1, verbose=-1)


def _astra_xgboost() -> Any:
    from astralearn.boosting import ASTraXGBClassifier

    return ASTraXGBClassifier(n_jobs=1)


def _astra_catboost() -> Any:
    from astralearn.boosting import ASTraCatBoostClassifier

    return ASTraCatBoostClassifier(
        thread_count=1, verbose=0, allow_writing_files=False, random_state=0
    )


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

    # is_unbalance weighs positives by negatives/positives of the rows it is fitted on, which
    # differ by fold.
    return LGBMClassifier(is_unbalance=True, n_jobs=1, verbose=-1)


# These are GMN-ASTra on boosted trees instead of a network.
TREE_METHODS: dict[str, Callable[..., Any]] = {
    "ASTra-LightGBM": _astra_lightgbm,
    "ASTra-XGBoost": _astra_xgboost,
    "ASTra-CatBoost": _astra_catboost,
}
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
#: The names that `compare` and `make` take.
METHOD_NAMES = [*PAPER_NETWORKS, DEFAULT_METHOD, *TREE_METHODS, *RIVALS, *ENTRANTS]
# The best of RareBench's rivals in some score, that are quick enough for a first answer.
DEFAULT_RIVALS = ("logistic", "EasyEnsemble", "BalancedRF", "ExtraTrees", "HistGB")
# A fold of 50,000 rows and ten columns takes about so many seconds on one core.
SECONDS = {
    **dict.fromkeys(("RUSBoost", "LDA", "logistic"), 0.1),
    "EasyEnsemble": 0.3,
    **dict.fromkeys(("XGBoost", "LightGBM", "HD-Ensemble (rebuilt)"), 0.5),
    **dict.fromkeys(("BalancedRF", "ASTra-XGBoost", "ASTra-LightGBM"), 0.8),
    "HistGB": 1.5,
    "ExtraTrees": 2.5,
    DEFAULT_METHOD: 3.5,
    **dict.fromkeys(("BCE", "GMN", "BCE-ASTra", "GMN-ASTra", "weighted MLP"), 3.6),
}
# Those that learn from twenty thousand rows in seconds: what a benchmark runs by itself.
FAST = (
    DEFAULT_METHOD,
    "logistic",
    "HistGB",
    "EasyEnsemble",
    "BalancedRF",
    "LightGBM",
    "ExtraTrees",
    "random forest",
    "LDA",
    "SMOTE + logistic",
    "XGBoost",
    "HD-Ensemble (rebuilt)",
)
