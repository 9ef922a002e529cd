"""ASTraClassifier: scikit-learn's contract around the committee.

Fitted state is NumPy and scikit-learn's trees; predicting needs no JAX.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from astralearn.classifier import checks
from astralearn.classifier.committee import Committee, Plan, convene, plan
from astralearn.classifier.decision import (
    AIMS,
    Expectations,
    check_decision,
    cut_for,
    expectations,
    possible_worlds,
    usual_mean,
)
from astralearn.classifier.guests import check_guests
from astralearn.classifier.labels import TwoClasses, check_labels, named
from astralearn.classifier.left_whole import left_whole
from astralearn.classifier.prediction import Networks, prior_shift
from astralearn.classifier.processes import in_processes
from astralearn.classifier.rows import Part, ViewOptions, make_fold, make_folds
from astralearn.classifier.threads import threads
from astralearn.core import LOSSES, threshold
from astralearn.core.curve import LEAST_THRESHOLD
from astralearn.core.elementary import sigmoid
from astralearn.engine.interrupts import interrupts_deferred
from astralearn.engine.network import Architecture
from astralearn.engine.rows import Extent, Fold, RowCosts, Rows
from astralearn.engine.stack import Settings
from astralearn.engine.view import View

if TYPE_CHECKING:
    from astralearn.classifier.fitting import Fitted, NetworkState, Recipe

MOST_MISSED = 1 / 3  # of a fit's own positives, before it warns
LEAST_STEEPNESS = 0.01  # so that scores keep their order where nothing was learned

MOST_EPOCHS = 2**31 - 1  # They are counted in 32 bits.
MOST_WEIGHTS = 1 << 30  # of all networks: 4 GB, and training needs some times as much.
LARGEST = float(np.finfo(np.float32).max)  # What networks train in.


class ASTraClassifier(ClassifierMixin, BaseEstimator):
    """A classifier for a handful of positives: a committee, and a cut for your aim.

    Small networks under ASTra, extremely randomised trees, neighbour distances and a linear score
    each judge rows that they did not train on. Their scores become one order of the rows. What they
    say of left-out positives becomes a cut for your `decision`, and `expectations_` of what it
    finds.

    The rarer class is the positive one, whatever the labels are; of two equally frequent classes
    it is the one that sorts last. Weights are repetitions, and do not change which is rarer.

    Parameters
    ----------
    decision : str or dict, default="g_mean"
        What the cut is for; `decide` changes it without a new fit.
        "g_mean": few positives missed. "mcc", "f1": few false alarms as well.
        {"cost": {label: cost}}: the least expected cost of mistakes on rows of each label.
        {"alerts": 0.01}: at most this share of rows flagged.
        {"recall": 0.9}, {"precision": 0.5}: at least so much expected.
    probability : {"balanced", "risk"}, default="balanced"
        What `predict_proba` gives: a value that is ½ at the cut, or `predict_risk`'s, which tools
        for thresholds and costs ask for. `predict` is the same with both.
    class_weight : dict or "balanced", optional
        {label: cost of a mistake} weighs the two rates of `decision="g_mean"` and of the loss.
        "balanced" changes nothing there; with `loss="bce"` both multiply sample weights.
    n_jobs : int, optional
        Threads. None: all cores, one in a worker process. The result does not depend on it.
    random_state : int, RandomState or None
        Seeds networks, trees, and which rows are left out.
    verbose : int, default=0
        1 shows a progress bar.
    warm_start : bool, default=False
        Train the last fit's networks `epochs` further, with its positive class and its scaling.

    Other Parameters
    ----------------
    committee : bool, default=True
        Whether trees, neighbours and a linear score join the networks, each of which is trained
        without a fifth of the rows. False: networks alone, on every row, cut at logit 0, as in
        the paper.
    members : dict, optional
        Classifiers of your own that join the committee, by name: {"tabpfn": TabPFNClassifier()}.
        Each learns from at most 2,000 rows of a class, six times over, scaled and clipped, and has
        the say that its scores of left-out rows earn.
    n_estimators : int, default=10
        Networks; their outputs are averaged.
    loss : {"root_gmn", "gmn", "bce", "f1", "mcc", "balanced_accuracy"}
        What training lowers: one minus a soft score (GMN: Eq. 9), cross-entropy, or "root_gmn",
        which lies between GMN and balanced cross-entropy.
    activation : {"astra", "sigmoid"}
        The output: ASTra with a learned slope (Eq. 4), or the plain sigmoid.
    hidden_layer_sizes : int or tuple of int, default=16
        Units of each layer; () is a linear model. None, as in the paper: one layer of
        ceil((n + 1)/2), n the number of inputs.
    solver : {"adam", "lbfgs"}
        Full-batch Adam, or L-BFGS, which has no selection, no `sam_radius` and no dict of class
        weights.
    epochs : int, default=250
        Steps of Adam, or iterations of L-BFGS at most.
    learning_rate : float, default=0.02
        Of the weights.
    slope_rate_min, slope_rate_max : float
        Bounds of the slope's own learning rate (Eq. 10).
    tau_init : float in [1e-5, 0.5], default=0.25
        Where the threshold starts. 0.5 is the plain sigmoid, and stays.
    slope_limit : float in [0, 1], optional
        The slope stays at most (negatives per positive)^slope_limit. None, as in the paper: free.
    alpha : float, default=2
        L2: alpha/(2n)·Σw² is added to the loss, n the weighted number of rows.
    sam_radius : float, default=0
        Radius of sharpness-aware minimisation.
    sam_on : {"positives", "all"}
        Whose loss the weights are perturbed to raise.
    validation_fraction : float in [0, 1), default=0
        Share of the distinct rows held out, stratified, to monitor and select on.
    selection : {"last", "fnr", "g_mean", "mcc"}
        The epoch to keep: the last, or the best by a soft score on validation rows.
    burn_in : int, optional
        Epochs before selection begins. None: a tenth of `epochs`.
    standardize : bool, default=True
        Scale features to mean 0 and variance 1 on the training rows.
    clip : float, optional, default=5
        Scaled features are taken to ±clip. None, as in the paper: no limit.
    distance : bool, default=True
        Give the networks the Mahalanobis distance from the majority, up to 1,000 features.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : array, int, array
        As everywhere in scikit-learn.
    minority_class_ : label
        The positive class.
    expectations_ : Expectations
        Recall, false alarms per 1,000, precision, G-Mean, MCC and F1 to expect on new rows, with
        90 % intervals, at the cut and along all cuts.
    cut_ : float
        Where rows begin to be flagged: e^−cut_ is about the false alarm rate.
    committee_ : Committee or None
        The members beside the networks, and each member's weight.
    left_out_ : LeftOut
        What members said of rows that they did not see.
    slope_, threshold_ : array (n_estimators,)
        What each network learned.
    n_iter_ : int
        Epochs run.
    history_ : dict of arrays
        Means over the networks along training: "epoch", "loss", "fnr", "fpr", "g_mean", "mcc",
        "e_ratio", "slope", "threshold", "slope_rate"; with validation rows "val_loss" and so on.
    coefs_ : array (n_estimators, n_parameters)
        The networks' weights.

    See Also
    --------
    ASTraClassifier.paper : the paper's settings.
    astralearn.tabular.TabularASTraClassifier : takes words, dates and gaps too.
    astralearn.load : reads what `save` wrote.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 4))
    >>> X[:5] += 3
    >>> y = np.r_[np.ones(5), np.zeros(1995)]
    >>> model = ASTraClassifier(random_state=0).fit(X, y)
    >>> int(model.predict(X)[:5].sum()), model.minority_class_
    (5, np.float64(1.0))
    >>> bool(model.expectations_.recall.low < model.expectations_.recall.mean)
    True
    """

    __module__ = "astralearn.classifier"  # where users, pickles and skops' trusted types find it

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(LOSSES))],
        "activation": [StrOptions({"astra", "sigmoid"})],
        "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left"), None],
        "solver": [StrOptions({"adam", "lbfgs"})],
        "epochs": [Interval(Integral, 1, MOST_EPOCHS, closed="both")],
        "learning_rate": [Interval(Real, 0, LARGEST, closed="right")],
        "tau_init": [Interval(Real, LEAST_THRESHOLD, 0.5, closed="both")],
        "slope_rate_min": [Interval(Real, 0, LARGEST, closed="right")],
        "slope_rate_max": [Interval(Real, 0, LARGEST, closed="right")],
        "slope_limit": [Interval(Real, 0, 1, closed="both"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "selection": [StrOptions({"last", "fnr", "g_mean", "mcc"})],
        "burn_in": [Interval(Integral, 0, MOST_EPOCHS, closed="both"), None],
        "alpha": [Interval(Real, 0, LARGEST, closed="both")],
        "sam_radius": [Interval(Real, 0, LARGEST, closed="both")],
        "sam_on": [StrOptions({"positives", "all"})],
        "standardize": ["boolean"],
        "clip": [Interval(Real, 0, LARGEST, closed="right"), None],
        "distance": ["boolean"],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "committee": ["boolean"],
        "members": [dict, None],
        "decision": [StrOptions(set(AIMS)), dict],
        "probability": [StrOptions({"balanced", "risk"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        loss: str = "root_gmn",
        activation: str = "astra",
        *,
        hidden_layer_sizes: Sequence[int] | int | None = 16,
        solver: str = "adam",
        epochs: int = 250,
        learning_rate: float = 0.02,
        tau_init: float = 0.25,
        slope_rate_min: float = 0.01,
        slope_rate_max: float = 0.5,
        slope_limit: float | None = 0.25,
        validation_fraction: float = 0.0,
        selection: str = "last",
        burn_in: int | None = None,
        alpha: float = 2.0,
        sam_radius: float = 0.0,
        sam_on: str = "positives",
        standardize: bool = True,
        clip: float | None = 5.0,
        distance: bool = True,
        n_estimators: int = 10,
        committee: bool = True,
        members: dict[str, Any] | None = None,
        decision: Any = "g_mean",
        probability: str = "balanced",
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.loss = loss
        self.activation = activation
        self.hidden_layer_sizes = hidden_layer_sizes
        self.solver = solver
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.tau_init = tau_init
        self.slope_rate_min = slope_rate_min
        self.slope_rate_max = slope_rate_max
        self.slope_limit = slope_limit
        self.validation_fraction = validation_fraction
        self.selection = selection
        self.burn_in = burn_in
        self.alpha = alpha
        self.sam_radius = sam_radius
        self.sam_on = sam_on
        self.standardize = standardize
        self.clip = clip
        self.distance = distance
        self.n_estimators = n_estimators
        self.committee = committee
        self.members = members
        self.decision = decision
        self.probability = probability
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    @classmethod
    def paper(cls, loss: str = "gmn", activation: str = "astra", **overrides: Any) -> Self:
        """The paper's settings.

        One network of ceil((n_features + 1)/2) units without L2, Adam 0.001, 10,000 epochs, the
        best epoch by FNR_apx on validation rows after a burn-in. A quarter of the rows is held out
        where `fit` is not given validation rows: with five folds, 3 train, 1 validates, 1 tests.
        """
        settings = {
            "hidden_layer_sizes": None,
            "slope_limit": None,
            "alpha": 0.0,
            "committee": False,
            "clip": None,
            "distance": False,
            "epochs": 10_000,
            "learning_rate": 0.001,
            "validation_fraction": 0.25,
            "selection": "fnr",
            "burn_in": 1_000,
            "n_estimators": 1,
        }
        return cls(loss, activation, **{**settings, **overrides})

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, validation: Sequence[Any] | None = None
    ) -> Self:
        """Train on (X, y).

        Ctrl-C ends training early and leaves the classifier fitted with what it had learned, with a
        warning; before the first epoch, and where anything else goes wrong, it is left as it was.

        X: (rows, features), dense.
        y: two classes.
        sample_weight: ≥ 0, in each class with a sum of 1e-15 to 1e15: how many rows each stands
            for. Weights of less than 1 on average are scaled to 1: of shares only the ratios
            matter.
        validation: (X_val, y_val) or (X_val, y_val, weights) to monitor and select on, instead of a
            `validation_fraction`. They are taken as they are: a Pipeline's earlier steps do not see
            them, so transform them first, or let `validation_fraction` hold rows out.

        In several processes of `jax.distributed`, (X, y) are the rows of each; the fit is that of
        all of them, in every process (docs/scale.md).
        """
        if in_processes():
            from astralearn.classifier.shard_fit import fit_own_rows

            self._warn_of_the_end(*fit_own_rows(self, X, y, sample_weight, validation))
            return self
        with left_whole(self):
            earlier = self._earlier() if self.warm_start else None
            settled = None if earlier is None else self.minority_class_
            rows, labels = self._checked(X, y, sample_weight, settled)
            if earlier is not None:
                self._check_warm_start(len(earlier))
            # Networks that go on judge the rows that they have not seen, which have to stay those.
            seed = self._draw_seed() if earlier is None else self._seed
            held_out = None if validation is None else self._checked_validation(validation)
            self._check_selection(held_out is not None)
            fold = make_fold(
                rows,
                held_out,
                self._view_options(),
                fraction=self.validation_fraction,
                seed=seed,
                costs=self._costs(checks.LabelSums.of(labels, rows.weight)),
                view=None if earlier is None else self._view(),
            )
            was_interrupted, seen = self._fit_fold(fold, seed, earlier)
        self._warn_of_the_end(was_interrupted, self._missed(seen))
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_many(
        self,
        X: Any,
        y: Any,
        splits: Iterable[Sequence[Any]],
        sample_weight: Any = None,
        *,
        random_states: Sequence[int] | None = None,
    ) -> list[Self]:
        """One fitted clone per split, all trained as one stack.

        Each clone is what `clone(self).fit(X[train], y[train])` would give, up to rounding. Ctrl-C
        raises KeyboardInterrupt.

        splits: (train, test) pairs of row indices, as scikit-learn's splitters give them, or
            (train, validation, test) triples.
        random_states: a seed for each split, in place of the classifier's own for all.
        """
        splits = checks.checked_splits(splits, len(y) if hasattr(y, "__len__") else None)
        everything = clone(self)
        rows, labels = everything._checked(X, y, sample_weight)
        seed = self._draw_seed()
        models = [clone(self) for _ in splits]
        seeds = [seed for _ in splits]
        if random_states is not None:
            checks.check_seeds(random_states, len(splits))
            for model, state in zip(models, random_states, strict=True):
                model.set_params(random_state=state)
            seeds = [model._draw_seed() for model in models]
        parts = []
        for i, (model, split) in enumerate(zip(models, splits, strict=True)):
            train, held_out = split[0], split[1] if len(split) > 2 else None
            self._check_selection(held_out is not None)
            try:
                sums = checks.LabelSums.of(labels[train], rows.weight[train])
                model._remember_input(everything, sums)
            except ValueError as error:
                raise ValueError(
                    f"splits[{i}]: {error}; StratifiedKFold keeps both classes in every split"
                ) from error
            inverted = model.minority_class_ != everything.minority_class_
            if inverted and everything._positive_share() != 0.5:
                raise ValueError(
                    f"split {i} has another minority ({model.minority_class_}) than the whole data "
                    f"({everything.minority_class_}), which class_weight does not go with: fit "
                    "such a split on its own"
                )
            parts.append(Part(train, held_out, seeds[i], inverted, costs=model._costs(sums)))
        options, fraction = self._view_options(), self.validation_fraction
        folds = make_folds(rows, parts, options, fraction=fraction)
        plans = [self._plan(fold, seed) for fold, seed in zip(folds, seeds, strict=True)]
        fits = everything._fit_plans(plans)
        if fits[0].interrupted:
            raise KeyboardInterrupt
        for model, of_split, fitted in zip(models, plans, fits, strict=True):
            if model._keep(of_split, fitted):
                raise KeyboardInterrupt
        missed = [
            model._missed(of_split.fold.train)
            for model, of_split in zip(models, plans, strict=True)
        ]
        said = [f"splits[{i}]: {many}" for i, many in enumerate(missed) if many]
        self._warn_of_the_end(False, "; ".join(said))
        return models

    def decide(self, decision: Any) -> Self:
        """The same classifier with another cut; nothing is trained.

        decision: as the parameter of that name.
        """
        check_is_fitted(self)
        other = copy.copy(self).set_params(decision=decision)
        other._check_decision()
        other._set_cut()
        return other

    @property
    def expectations_(self) -> Expectations:
        """What to expect on new rows at the current cut, with 90 % intervals.

        The fewer training positives there are, the wider the intervals.
        """
        check_is_fitted(self)
        if self.committee_ is None:
            raise AttributeError("expectations_ needs rows left out: fit with committee=True")
        positives = float(self.left_out_.weight.sum())
        return expectations(possible_worlds(self.left_out_), self.cut_, positives=positives)

    def save(self, path: Any) -> None:
        """Write the classifier to one file without code; `astralearn.load` reads it."""
        from astralearn.model_file import save

        check_is_fitted(self)
        save(self, path)

    def to_onnx(self, path: Any) -> None:
        """Write `predict` and `predict_proba` as ONNX: see `astralearn.onnx.to_onnx`."""
        from astralearn.onnx import to_onnx

        check_is_fitted(self)
        to_onnx(self, path)

    def decision_function(self, X: Any) -> np.ndarray:
        """How far rows lie beyond the cut: above 0 predicts `classes_[1]`, (rows,).

        That is the minority unless it sorts first; exactly 0 is the minority's, whichever of the
        two that is.
        """
        beyond = self._beyond_the_cut(X)
        return beyond if self._labels().positive else -beyond

    def predict(self, X: Any) -> np.ndarray:
        """The label of each row: the minority class at the cut and beyond."""
        return self._labels().decided(self._beyond_the_cut(X) >= 0)

    def predict_proba(self, X: Any) -> np.ndarray:
        """z and 1−z in the order of `classes_`, (rows, 2).

        z is ½ at the decision, so it overstates a rare risk, unless `probability="risk"`.
        """
        logits = self._logits(X) - self._logit_at_half()
        return self._labels().columns(minority=sigmoid(logits, np), majority=sigmoid(-logits, np))

    def predict_risk(self, X: Any) -> np.ndarray:
        """The minority's probability at the training prior, whatever the decision.

        Its mean over the training rows, each judged without having been seen, is the minority's
        share of them.
        """
        return self.score_and_risk(X)[1]

    def score_and_risk(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """How far each row is on the minority's side of the decision, and its risk.

        Both, (rows,) each, for the price of one.
        """
        logits = self._logits(X)
        risk = sigmoid(logits - self.prior_shift_, np)
        return logits - self._steepness * self.cut_, risk

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _logits(self, X: Any) -> np.ndarray:
        """The rows' scores as logits up to a constant, (rows,): higher for the minority."""
        check_is_fitted(self)
        with checks.explained_features(X):
            rows = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        return self._logits_of(rows)

    def _logits_of(self, X: np.ndarray) -> np.ndarray:
        if self.committee_ is None:
            return self._networks().scores(X)
        n_jobs = threads(self.n_jobs)
        return self._steepness * self.committee_.scores(X, self._networks(), n_jobs=n_jobs)

    def _logit_at_half(self) -> float:
        """The score to which `predict_proba` gives ½."""
        check_is_fitted(self)
        if self.probability == "risk":
            return float(self.prior_shift_)
        return float(self._steepness * self.cut_)

    def _beyond_the_cut(self, X: Any) -> np.ndarray:
        """How far each score lies on the minority's side of the decision."""
        return self._logits(X) - self._steepness * self.cut_

    def _set_cut(self) -> None:
        if self.committee_ is None:
            self.cut_ = 0.0
            return
        labels = self._labels()
        worlds = possible_worlds(self.left_out_)
        self.cut_ = cut_for(
            self.decision,
            worlds,
            positive=labels.minority,
            negative=labels.majority,
            positive_share=checks.positive_share(self.class_weight, labels),
        )

    def _check_decision(self) -> None:
        check_decision(self.decision, named(self.classes_))
        if not self.committee and self.decision != AIMS[0]:
            raise ValueError(
                "decision needs rows left out: use committee=True; networks alone are cut at "
                "logit 0, as in the paper"
            )

    def _missed(self, rows: Rows) -> str:
        """How many of its own positives a fit misses, where these are many; else nothing.

        A fit that cares for recall and misses many of its own positives has failed.
        """
        if self.decision != AIMS[0]:
            return ""
        return self._said_of_missed(*self._missed_weight(rows))

    def _missed_weight(self, rows: Rows) -> np.ndarray:
        """What the positives weigh that are not recognised, and what all do, (2,)."""
        weight = rows.weight[rows.positive]
        if not len(weight):
            return np.zeros(2)
        beyond = self._logits_of(rows.X[rows.positive]) - self._steepness * self.cut_
        return np.asarray([weight[beyond < 0].sum(), weight.sum()])

    def _said_of_missed(self, missed: float, of: float) -> str:
        if missed <= of * MOST_MISSED:
            return ""
        return f"{missed:g} of the {of:g} training rows of {self.minority_class_}"

    def _warn_of_the_end(self, was_interrupted: bool, missed: str) -> None:
        if was_interrupted:
            warnings.warn(
                f"fit was interrupted at epoch {self.n_iter_} of {self.epochs}; the classifier is "
                "fitted with what it had learned by then",
                ConvergenceWarning,
                stacklevel=4,
            )
        if missed:
            warnings.warn(
                f"{missed} are not recognised"
                + ("; `expectations_` says what to expect of new ones" if self.committee else ""),
                ConvergenceWarning,
                stacklevel=4,
            )

    def _labels(self) -> TwoClasses:
        check_is_fitted(self)
        return TwoClasses(self.classes_, int(self.classes_[1] == self.minority_class_))

    def _networks(self) -> Networks:
        view = self._view()
        architecture = Architecture(view.n_inputs, self.hidden_layer_sizes_)
        return Networks(architecture, self.coefs_, self.slope_, view)

    def _view(self) -> View:
        return View(self.mean_, self.scale_, self.centre_, self.root_, self.limit_)

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, positive: Any = None
    ) -> tuple[Rows, np.ndarray]:
        """The rows and their labels as arrays; sets what scikit-learn expects of a fit.

        positive: the class, where it is settled.
        """
        with checks.explained_features(X):
            X, y = validate_data(self, X, y, dtype=(np.float64, np.float32))
        check_labels(y)
        weight = checks.checked_weight(sample_weight, X)
        for label in self._ignored_labels(np.unique(y)):
            weight = np.where(y == label, 0.0, weight)
        self._check_sums(checks.LabelSums.of(y, weight), Extent.of(X), positive)
        return Rows(X, y == self.minority_class_, weight), y

    def _ignored_labels(self, labels: np.ndarray) -> list[Any]:
        """Labels whose rows cost nothing where costs are factors of weights."""
        if not isinstance(self.class_weight, dict):
            return []
        checks.check_class_weight(self.class_weight, named(labels))
        return [
            label for label, cost in self.class_weight.items() if cost == 0 and self._weighs_rows()
        ]

    def _check_sums(self, sums: checks.LabelSums, extent: Extent, positive: Any) -> None:
        """Settle the classes; check all that hangs on them and on the parameters."""
        self._settle_classes(sums, positive)
        if not self.standardize:
            checks.warn_of_far_features(extent)
        self._check_combinations()
        self._check_decision()

    def _check_combinations(self) -> None:
        """Of parameters that are each right alone."""
        check_guests(self.members)
        if self.members and not self.committee:
            raise ValueError("members join a committee: use committee=True, or leave members out")
        if self.slope_rate_min > self.slope_rate_max:
            raise ValueError(
                "slope_rate_min must not exceed slope_rate_max; found "
                f"{self.slope_rate_min} and {self.slope_rate_max}"
            )
        if self.selection != "last" and self._burn_in() >= self.epochs:
            raise ValueError(
                "burn_in must be below epochs, or no epoch can be selected; found "
                f"{self._burn_in()} and {self.epochs}"
            )
        architecture = self._architecture(self.n_features_in_ + 1)
        if self.n_estimators * architecture.n_parameters > MOST_WEIGHTS:
            raise ValueError(
                "n_estimators and hidden_layer_sizes must ask for at most "
                f"{MOST_WEIGHTS:,} weights; found {_described(self.n_estimators, architecture)}"
            )
        if self.solver == "lbfgs" and (
            self.selection != "last" or self.sam_radius > 0 or self._positive_share() != 0.5
        ):
            raise ValueError(
                'solver="lbfgs" goes with selection="last", sam_radius=0 and no dict of class '
                'weights; use solver="adam" for those'
            )

    def _check_selection(self, has_held_out: bool) -> None:
        if self.selection != "last" and not has_held_out and self.validation_fraction == 0:
            raise ValueError(
                f'selection="{self.selection}" needs validation rows: set validation_fraction, '
                'pass validation=(X_val, y_val), or use selection="last"'
            )

    def _checked_validation(self, validation: Sequence[Any]) -> Rows:
        if not isinstance(validation, (tuple, list)) or len(validation) not in (2, 3):
            raise ValueError(
                "validation must be (X_val, y_val) or (X_val, y_val, weights); found "
                f"{type(validation).__name__}"
            )
        X, y, weight = (*validation, None)[:3]
        with checks.explained_validation(X):
            X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
            y = column_or_1d(y)
        if len(y) != len(X):
            raise ValueError(
                f"validation must have as many labels as rows; found {len(y)} and {len(X)}"
            )
        unknown = set(y.tolist()) - set(self.classes_.tolist())
        if unknown:
            raise ValueError(
                f"validation labels must be among {self.classes_.tolist()}; found "
                f"{sorted(unknown, key=repr)}"
            )
        weight = checks.checked_weight(weight, X)
        checks.check_sums(checks.LabelSums.of(y, weight), "the weights in validation")
        return Rows(X, y == self.minority_class_, weight)

    def _remember_input(self, checked: Any, sums: checks.LabelSums) -> None:
        """What `_checked` sets, for a part of rows that another classifier has checked."""
        self.n_features_in_ = checked.n_features_in_
        if hasattr(checked, "feature_names_in_"):
            self.feature_names_in_ = checked.feature_names_in_
        self._settle_classes(sums)

    def _settle_classes(self, sums: checks.LabelSums, positive: Any = None) -> None:
        labels = checks.two_classes(sums, positive)
        self.classes_, self.minority_class_ = labels.labels, labels.minority

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _view_options(self) -> ViewOptions:
        return ViewOptions(self.standardize, self.clip, self.distance)

    def _costs(self, sums: checks.LabelSums) -> RowCosts:
        if not self._weighs_rows():
            return RowCosts()
        return checks.costs_of(self.class_weight, self._labels(), sums)

    def _weighs_rows(self) -> bool:
        """Whether the loss is a mean over rows, in which class weights do not cancel."""
        return LOSSES[self.loss].power == 0

    def _positive_share(self) -> float:
        if self._weighs_rows():
            return 0.5
        return checks.positive_share(self.class_weight, self._labels())

    def _earlier(self) -> list[NetworkState] | None:
        """Where the networks of a warm start go on from; None where there are none."""
        return getattr(self, "_state", None)

    def _check_warm_start(self, n_networks: int) -> None:
        """Whether the last fit's networks are what is asked for now."""
        asked = tuple(self._view_options())
        if asked != self._asked:
            raise ValueError(
                "warm_start=True goes on with networks that know rows as standardize, clip and "
                f"distance made them in the last fit, {self._asked}; found {asked}. Set "
                "warm_start=False to start anew."
            )
        view = self._view()
        now = self._architecture(self.n_features_in_ + (view.root is not None))
        then = Architecture(view.n_inputs, self.hidden_layer_sizes_)
        if (self.n_estimators, now) != (n_networks, then):
            raise ValueError(
                "warm_start=True goes on with the networks of the last fit, "
                f"{_described(n_networks, then)}; n_estimators, hidden_layer_sizes and the "
                f"features of X now ask for {_described(self.n_estimators, now)}. Set "
                "warm_start=False to start anew."
            )

    def _burn_in(self) -> int:
        return self.epochs // 10 if self.burn_in is None else self.burn_in

    def _architecture(self, n_inputs: int) -> Architecture:
        if self.hidden_layer_sizes is None:
            return Architecture(n_inputs, (math.ceil((n_inputs + 1) / 2),))
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes))
        if sizes.ndim > 1 or (sizes.size and (sizes.dtype.kind not in "iu" or (sizes < 1).any())):
            raise ValueError(
                f"hidden_layer_sizes must be positive integers; found {self.hidden_layer_sizes!r}"
            )
        return Architecture(n_inputs, tuple(sizes.tolist()))

    def _recipe(self, n_inputs: int) -> Recipe:
        """The parameters, each under its own name, and the few that follow from several."""
        from astralearn.classifier.fitting import Recipe

        given = self.get_params(deep=False)
        settled = {
            "sam": self.sam_on if self.sam_radius > 0 else "off",
            "burn_in": self._burn_in(),
            "positive_share": self._positive_share(),
        }
        settings = Settings(**{**_of(Settings, given), **settled})
        return Recipe(
            settings=settings, architecture=self._architecture(n_inputs), **_of(Recipe, given)
        )

    def _plan(self, fold: Fold, seed: int, prior: float | None = None) -> Plan:
        return plan(fold, self.n_estimators, seed, committee=self.committee, prior=prior)

    def _fit_fold(
        self, fold: Fold, seed: int, earlier: list[NetworkState] | None, prior: float | None = None
    ) -> tuple[bool, Rows]:
        """Set the fitted attributes; return whether Ctrl-C cut it short, and the rows.

        prior: as in `plan`.
        """
        of_all = self._plan(fold, seed, prior)
        (fitted,) = self._fit_plans([of_all], earlier)
        if fitted.interrupted and fitted.n_iter == 0:
            raise KeyboardInterrupt("nothing had been learned yet")
        return self._keep(of_all, fitted), of_all.fold.train

    def _fit_plans(
        self, plans: list[Plan], earlier: list[NetworkState] | None = None
    ) -> list[Fitted]:
        """All networks of all plans, trained as one stack."""
        with interrupts_deferred():
            from astralearn.classifier.fitting import fit_networks, fitted

        n, recipe = self.n_estimators, self._recipe(plans[0].fold.view.n_inputs)
        folds: list[Fold] = []
        fold_of: list[int] = []
        for of_plan in plans:
            fold_of += [len(folds) + number for number in of_plan.fold_of]
            folds += of_plan.folds
        seeds = [[of_plan.seed, k] for of_plan in plans for k in range(n)]
        trained = fit_networks(folds, fold_of, seeds, recipe, earlier)
        return [
            fitted(trained.take(slice(i * n, (i + 1) * n)), recipe, of_plan.fold)
            for i, of_plan in enumerate(plans)
        ]

    def _keep(self, of_plan: Plan, fitted: Fitted) -> bool:
        """Set the fitted attributes; return whether Ctrl-C cut the fit short."""
        self._keep_networks(of_plan, fitted)
        interrupted = fitted.interrupted
        if self.committee:
            try:
                self._convene(of_plan, fitted)
            except KeyboardInterrupt:
                interrupted = True
                self._convene(of_plan, fitted, networks_only=True)
        else:
            rows = of_plan.fold.train
            scores = fitted.networks.scores(rows.X)
            self.prior_shift_ = prior_shift(scores, rows.weight, of_plan.prior)
        self._set_cut()
        return interrupted

    def _keep_networks(self, of_plan: Plan, fitted: Fitted) -> None:
        """Set what the networks are; without a committee only their prior is left to set."""
        networks = fitted.networks
        if not np.isfinite(networks.parameters).all():
            raise ValueError(
                "training ended with coefficients that are not finite: "
                f"learning_rate={self.learning_rate}, alpha={self.alpha}, "
                f"sam_radius={self.sam_radius}, sample_weight or class_weight is too large"
            )
        self.coefs_, self.slope_ = networks.parameters, networks.slope
        self.hidden_layer_sizes_ = networks.architecture.hidden
        self.threshold_ = np.asarray(threshold(self.slope_, xp=np))
        self.mean_, self.scale_, self.centre_, self.root_, self.limit_ = networks.view
        self.n_iter_, self.history_ = fitted.n_iter, fitted.history
        # What a warm start asks for; a plain tuple, as skops knows it.
        self._asked, self._state = tuple(self._view_options()), fitted.states
        self._seed = of_plan.seed
        self.committee_: Committee | None = None
        self._steepness = 1.0

    def _convene(self, of_plan: Plan, fitted: Fitted, *, networks_only: bool = False) -> None:
        """Bring the other members to the networks."""
        rows = of_plan.fold.train
        self.committee_, self.left_out_, v = convene(
            of_plan,
            fitted.networks,
            fitted.kept,
            guests=self.members or {},
            n_jobs=threads(self.n_jobs),
            networks_only=networks_only or fitted.interrupted,
        )
        mean = usual_mean(self.left_out_.positives, self.left_out_.weight)
        # The log-likelihood ratio of exponential evidence with this mean, up to a constant.
        self._steepness = max(LEAST_STEEPNESS, 1.0 - 1.0 / mean)
        known = np.isfinite(v)
        self.prior_shift_ = prior_shift(
            self._steepness * v[known], rows.weight[known], of_plan.prior
        )


def _of(kind: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The parameters that are fields of the dataclass."""
    return {field.name: given[field.name] for field in fields(kind) if field.name in given}


def _described(n: int, architecture: Architecture) -> str:
    return f"{n} of {architecture.n_features} inputs and {architecture.hidden} hidden units"
