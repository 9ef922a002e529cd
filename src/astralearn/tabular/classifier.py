"""A classifier of tables as they come: column handling and an ASTraClassifier."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

import astralearn
from astralearn.classifier import ASTraClassifier
from astralearn.classifier.labels import TwoClasses, check_labels, positive_index
from astralearn.classifier.left_whole import left_whole
from astralearn.classifier.shard_fit import Spread, fit_pieces
from astralearn.classifier.shards import Pieces
from astralearn.tabular.columns import as_frame, listed
from astralearn.tabular.encoder import MOST_CATEGORIES, TableEncoder
from astralearn.tabular.explain import reasons, typical_row
from astralearn.tabular.suspects import check_spelling, suspects


def _if_given(method: str) -> Callable[[Callable[..., Any]], Any]:
    """The method is there for scikit-learn where the inner classifier has it."""

    def has(model: TabularASTraClassifier) -> bool:
        learner = getattr(model, "classifier_", model.classifier)
        return learner is None or hasattr(learner, method)

    return available_if(has)


class TabularASTraClassifier(ClassifierMixin, BaseEstimator):
    """Learn from a table of numbers, words, dates and gaps with few positives.

    Parameters
    ----------
    classifier : estimator, optional
        What learns from the encoded columns. None: `ASTraClassifier(random_state=random_state)`.
    drop, keep : sequences of str
        Columns to leave out; columns to learn from although they look like a row's number or a
        copy of the label, which are left out otherwise, with a warning.
    max_categories : int
        Columns that a column of words becomes at most.
    absolute_days : bool
        Give dates as days since 1970 too; later rows then lie where training saw nothing.
    group : str, optional
        A column, say of a card, within which dates become days since the previous row.
    probability : {"balanced", "risk"}
        What `predict_proba` gives: a value that is ½ at the decision, or the calibrated risk at
        the training rows' share of positives, which tools for thresholds and costs ask for. The
        decision of `predict` is the same.
    random_state : int, RandomState or None
        Seeds the default classifier.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as everywhere in scikit-learn.
    minority_class_ : the label treated as positive.
    encoder_ : the fitted TableEncoder.
    classifier_ : the fitted classifier.
    suspects_ : what was found of ids and copies of the label.
    typical_ : (encoded columns,), what is typical of the majority.
    n_rows_, n_positives_ : of the training table.
    target_ : str or None, the name that y came with.
    data_ : str or None, the name of the table, where `astralearn.fit_score` read it.
    versions_ : {package: version} of the fit.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"amount": rng.lognormal(3, 1, 2000), "shop": ["a", "b"] * 1000})
    >>> y = np.where(np.arange(2000) < 8, "fraud", "fine")
    >>> table.loc[:7, "amount"] += 5000
    >>> model = TabularASTraClassifier(random_state=0).fit(table, y)
    >>> model.predict(table.head(8)).tolist() == ["fraud"] * 8
    True
    """

    __module__ = "astralearn.tabular"  # where users, pickles and model files find it

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "classifier": [HasMethods(["fit", "predict"]), None],
        "drop": ["array-like"],
        "keep": ["array-like"],
        "max_categories": [Interval(Integral, 2, None, closed="left")],
        "absolute_days": ["boolean"],
        "group": [str, None],
        "probability": [StrOptions({"balanced", "risk"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        classifier: Any = None,
        *,
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        max_categories: int = MOST_CATEGORIES,
        absolute_days: bool = False,
        group: str | None = None,
        probability: str = "balanced",
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.drop = drop
        self.keep = keep
        self.max_categories = max_categories
        self.absolute_days = absolute_days
        self.group = group
        self.probability = probability
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the columns and the classes.

        X: a pandas or polars frame, an Arrow table, or an array, (rows, columns).
        y: two labels, (rows,).
        sample_weight: at least 0, (rows,).
        """
        with left_whole(self):
            y = self._learn_columns(X, y)
            encoded = self.encoder_.transform(X)
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            self.classifier_ = self._new_classifier().fit(encoded, y, **weights)
            labels, counts = np.unique(y, return_counts=True)
            rarer = labels[positive_index(counts)]
            self.minority_class_ = getattr(self.classifier_, "minority_class_", rarer)
            is_positive = y == self.minority_class_
            return self._remember(encoded[~is_positive], len(y), int(is_positive.sum()))

    def fit_pieces(self, X: Any, y: Any, pieces: Callable[[TableEncoder], Pieces]) -> Self:
        """Learn columns from some rows, and classes from all rows of a large table.

        X, y: as for `fit`, rows that the columns are learned from.
        pieces: all rows in pieces, encoded by the encoder given.
        """
        with left_whole(self):
            y = self._learn_columns(X, y)
            self.classifier_ = self._new_classifier()
            spread = Spread.of(pieces(self.encoder_))
            self.classifier_._warn_of_the_end(*fit_pieces(self.classifier_, spread))
            self.minority_class_ = self.classifier_.minority_class_
            of_majority = self.encoder_.transform(as_frame(X)[y != self.minority_class_])
            n_positives = int(spread.sums.rows[spread.sums.labels == self.minority_class_].sum())
            return self._remember(of_majority, int(spread.sums.rows.sum()), n_positives)

    def _learn_columns(self, X: Any, y: Any) -> np.ndarray:
        """Fit the encoder; returns the labels as an array."""
        frame = as_frame(X)
        target = getattr(y, "name", None)
        y = self._checked_labels(y, len(frame), target or "y")
        labels, counts = np.unique(y, return_counts=True)
        found = []
        dropped, kept = self._known(self.drop, frame), self._known(self.keep, frame)
        if len(labels) == 2:
            is_rare = y == labels[positive_index(counts)]
            found = suspects(frame.drop(columns=dropped), is_rare)
        found = [suspect for suspect in found if suspect.column not in kept]
        self.suspects_ = [tuple(suspect) for suspect in found]
        left_out = [of.column for of in found if of.is_clear and of.column != self.group]
        if {*left_out, *dropped, self.group} >= set(frame.columns):
            left_out = []
        for sentence in self.said_of_columns(left_out):
            # Above are fit, scikit-learn's decorator, and the caller.
            warnings.warn(sentence, UserWarning, stacklevel=4)
        self.encoder_ = TableEncoder(
            drop=[*dropped, *left_out],
            max_categories=self.max_categories,
            absolute_days=self.absolute_days,
            group=self.group,
        )
        self.encoder_.fit(X)
        self.target_ = None if target is None else str(target)
        return y

    def _new_classifier(self) -> Any:
        default = ASTraClassifier(random_state=self.random_state)
        return clone(default if self.classifier is None else self.classifier)

    def _remember(self, of_majority: np.ndarray, n_rows: int, n_positives: int) -> Self:
        """Set what scikit-learn, `explain` and cards ask for.

        of_majority: encoded rows of the majority.
        """
        self.classes_ = self.classifier_.classes_
        self.n_features_in_ = self.encoder_.n_features_in_
        if hasattr(self.encoder_, "feature_names_in_"):
            self.feature_names_in_ = self.encoder_.feature_names_in_
        self.typical_ = typical_row(self.encoder_, of_majority)
        self.n_rows_, self.n_positives_ = n_rows, n_positives
        self.data_: str | None = None
        self.versions_ = _versions()
        return self

    def said_of_columns(self, left_out: Sequence[str]) -> list[str]:
        """What was noticed of ids and copies of the label, a sentence each."""
        said = []
        for column, why, _ in self.suspects_:
            if column in left_out:
                said.append(f"column {column!r} {why}: it is left out (`keep` keeps it)")
            else:
                said.append(f"column {column!r} {why}: `drop` it if it is no feature")
        return said

    @_if_given("decision_function")
    def decision_function(self, X: Any) -> np.ndarray:
        """Above 0 predicts `classes_[1]`, (rows,)."""
        return self._asked(X, "decision_function")

    def predict(self, X: Any) -> np.ndarray:
        """The label of each row, (rows,)."""
        return self._asked(X, "predict")

    @_if_given("predict_proba")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of both classes, (rows, 2), in the sense of `probability`."""
        if self.probability == "balanced":
            return self._asked(X, "predict_proba")
        risk = self.predict_risk(X)
        return self._two_classes().columns(minority=risk, majority=1 - risk)

    def predict_risk(self, X: Any) -> np.ndarray:
        """The minority's probability at the training rows' share of it, (rows,)."""
        return self._asked(X, "predict_risk")

    def minority_score(self, encoded: np.ndarray) -> np.ndarray:
        """How far encoded rows are on the minority's side of the decision, (rows,)."""
        score = np.asarray(self.classifier_.decision_function(encoded))
        return score if self._two_classes().positive else -score

    def score_and_risk(self, encoded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`minority_score` and `predict_risk` of encoded rows, for the price of one."""
        if not hasattr(self.classifier_, "score_and_risk"):
            kind = type(self.classifier_).__name__
            raise TypeError(f"scores need risks, which {kind} does not give: use ASTraClassifier")
        score, risk = self.classifier_.score_and_risk(encoded)
        return np.asarray(score), np.asarray(risk)

    def explain(self, X: Any, *, rows: Any = None, most: int = 3) -> list[str]:
        """The features that speak most for each row being of the minority, in words.

        X: as for `fit`; each feature is compared with what is typical of the majority.
        rows: numbers of the rows to explain, or a mask; None for all.
        most: how many features to name.
        """
        check_is_fitted(self)
        rows = slice(None) if rows is None else rows
        encoded = self.encoder_.encode(X).numbers[rows]
        frame = self.encoder_.framed(X).iloc[rows]
        return reasons(
            self.encoder_, frame, encoded, self.typical_, score=self.minority_score, most=most
        )

    @property
    def expectations_(self) -> Any:
        """What the fit expects on new rows."""
        return self.classifier_.expectations_

    def decide(self, decision: Any) -> Self:
        """This classifier with the cut for another aim, without a new fit."""
        if not hasattr(self.classifier_, "decide"):
            kind = type(self.classifier_).__name__
            raise ValueError(f"`decision` must be left out: {kind} has no other than its own")
        decided = copy.copy(self)
        decided.classifier_ = self.classifier_.decide(decision)
        return decided

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to one file without code, for `astralearn.load`."""
        from astralearn.model_file import save

        check_is_fitted(self)
        save(self, path)

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write columns and classifier as ONNX: see `astralearn.onnx.to_onnx`."""
        from astralearn.onnx import to_onnx

        check_is_fitted(self)
        to_onnx(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _asked(self, X: Any, method: str) -> np.ndarray:
        """What the classifier's method says of the encoded rows."""
        check_is_fitted(self)
        encoded = self.encoder_.transform(X)
        return np.asarray(getattr(self.classifier_, method)(encoded))

    def _checked_labels(self, y: Any, n_rows: int, target: str) -> np.ndarray:
        """The labels as an array, of as many rows as X and without two spellings of one."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = column_or_1d(np.asarray(y), warn=True)
        if len(y) != n_rows:
            raise ValueError(
                "X and y must have as many rows; found inconsistent numbers of samples: "
                f"{n_rows} and {len(y)}"
            )
        check_labels(y)
        check_spelling(np.unique(y).tolist(), target)
        return y

    def _known(self, names: Sequence[Any], frame: pd.DataFrame) -> list[str]:
        """The names as texts, all of which are columns of the frame."""
        texts = [str(name) for name in names]
        unknown = [name for name in texts if name not in frame.columns]
        if unknown:
            raise ValueError(
                f"drop and keep must name columns of X; it has no {unknown[0]!r}, but "
                f"{listed(frame.columns)}"
            )
        return texts

    def _two_classes(self) -> TwoClasses:
        return TwoClasses(self.classes_, int(self.classes_[1] == self.minority_class_))


def _versions() -> dict[str, str]:
    return {
        "astralearn": astralearn.__version__,
        "scikit-learn": sklearn.__version__,
        "NumPy": np.__version__,
        "pandas": pd.__version__,
    }
