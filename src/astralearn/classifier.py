"""ASTraClassifier: scikit-learn's contract around the engine. Fitted state is NumPy, and predicting needs nothing else."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from astralearn.core import LOSSES, rebalanced_logit, slope, threshold
from astralearn.core.sigmoid import sigmoid, softplus
from astralearn.engine.network import Architecture, initialise, predict_logits
from astralearn.engine.rows import Fold

MERGED_UP_TO = 100_000  # rows; sorting more to find equal ones costs more than it saves


class ASTraClassifier(ClassifierMixin, BaseEstimator):
    """A classifier for a handful of positives: small networks with a learnable asymmetric sigmoid, trained on a soft G-Mean.

    The rarer class is the positive one, whatever the labels are; `minority_class_` says which (with equal counts, the one that sorts last).
    `n_estimators` networks are trained at once from different starts and their probabilities averaged.

    The defaults are for practice. `ASTraClassifier.paper()` has the settings of the paper: one network, Adam at 0.001 for 10,000 epochs,
    the epoch chosen by the soft false negative rate on validation rows.

    Parameters
    ----------
    loss : {"gmn", "bce", "f1", "mcc", "balanced_accuracy"}
        What training lowers: one minus the soft G-Mean (Eq. 9), cross-entropy, or another soft score.
    activation : {"astra", "sigmoid"}
        The output: ASTra with a learned slope (Eq. 4), or the plain sigmoid.
    hidden_layer_sizes : tuple of int, optional
        Units of each hidden layer (Leaky ReLU 0.3); () is a linear model. None: one layer of ceil((n_features + 1)/2), as in the paper.
    epochs : int
        Steps of full-batch Adam.
    learning_rate : float
        Of the weights. The slope has its own, between `slope_rate_min` and `slope_rate_max` (Eq. 10).
    tau_init : float in (0, 0.5]
        Where the threshold starts.
    slope_rate_min, slope_rate_max : float
        Bounds of the slope's learning rate.
    validation_fraction : float in [0, 1)
        Part of the rows held out, stratified, to monitor and select on. 0 trains on every row.
    selection : {"last", "fnr", "g_mean", "mcc"}
        Which epoch's networks to keep: the last, or the one with the best soft score on the validation rows.
    burn_in : int, optional
        Epochs before selection begins; an untrained network has a misleadingly good soft FNR. None: a tenth of `epochs`.
    alpha : float
        L2 penalty on the weights.
    sam_radius : float
        Radius of sharpness-aware minimisation; 0 is off.
    sam_on : {"positives", "all"}
        Whose loss the weights are perturbed to raise.
    standardize : bool
        Scale features to mean 0 and variance 1 on the training rows.
    n_estimators : int
        Networks to train and average.
    class_weight : dict or "balanced", optional
        Multiplies the sample weights. The soft G-Mean is balanced already; this is for `loss="bce"`.
    n_jobs : int, optional
        Threads. None: all cores (one inside a joblib worker). The result does not depend on it.
    random_state : int, RandomState or None
        Seeds the initial weights and the validation split.
    verbose : int
        1 shows a progress bar.
    warm_start : bool
        Go on from the last fit, `epochs` more, instead of starting anew.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as everywhere in scikit-learn.
    minority_class_ : the label treated as positive.
    slope_, threshold_ : array (n_estimators,): what each network learned.
    n_iter_ : int, epochs run.
    history_ : dict of arrays (records,), the mean over the networks at about 200 epochs: "epoch", "loss", "fnr", "fpr", "g_mean", "mcc", "e_ratio",
        "slope", "threshold", "slope_rate" and, with validation rows, "val_loss" to "val_e_ratio". All scores are soft (Eq. 8).
    coefs_ : array (n_estimators, n_parameters), the networks' weights.

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
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(LOSSES))],
        "activation": [StrOptions({"astra", "sigmoid"})],
        "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left"), None],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "tau_init": [Interval(Real, 0, 0.5, closed="right")],
        "slope_rate_min": [Interval(Real, 0, None, closed="neither")],
        "slope_rate_max": [Interval(Real, 0, None, closed="neither")],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "selection": [StrOptions({"last", "fnr", "g_mean", "mcc"})],
        "burn_in": [Interval(Integral, 0, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "sam_radius": [Interval(Real, 0, None, closed="left")],
        "sam_on": [StrOptions({"positives", "all"})],
        "standardize": ["boolean"],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        loss: str = "gmn",
        activation: str = "astra",
        *,
        hidden_layer_sizes: Sequence[int] | int | None = None,
        epochs: int = 1000,
        learning_rate: float = 0.01,
        tau_init: float = 0.25,
        slope_rate_min: float = 0.01,
        slope_rate_max: float = 0.5,
        validation_fraction: float = 0.0,
        selection: str = "last",
        burn_in: int | None = None,
        alpha: float = 0.0,
        sam_radius: float = 0.0,
        sam_on: str = "positives",
        standardize: bool = True,
        n_estimators: int = 4,
        class_weight: dict[Any, float] | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.loss = loss
        self.activation = activation
        self.hidden_layer_sizes = hidden_layer_sizes
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.tau_init = tau_init
        self.slope_rate_min = slope_rate_min
        self.slope_rate_max = slope_rate_max
        self.validation_fraction = validation_fraction
        self.selection = selection
        self.burn_in = burn_in
        self.alpha = alpha
        self.sam_radius = sam_radius
        self.sam_on = sam_on
        self.standardize = standardize
        self.n_estimators = n_estimators
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    @classmethod
    def paper(cls, loss: str = "gmn", activation: str = "astra", **overrides: Any) -> Self:
        """The paper's settings: one network, Adam 0.001, 10,000 epochs, the best epoch by FNR_apx on validation rows after a burn-in.

        A quarter of the rows is held out where `fit` is not given validation rows: with five folds, 3 train, 1 validates, 1 tests.
        """
        settings = {
            "epochs": 10_000,
            "learning_rate": 0.001,
            "validation_fraction": 0.25,
            "selection": "fnr",
            "burn_in": 1_000,
            "n_estimators": 1,
        }
        return cls(loss, activation, **{**settings, **overrides})

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, validation: tuple[Any, Any] | None = None) -> Self:
        """Trains on (X, y). X: (rows, features), dense. y: two classes. sample_weight: ≥ 0. validation: (X_val, y_val) to monitor and select on.

        Ctrl-C ends training early and leaves the classifier fitted with what it had learned, with a warning.
        """
        X, y, weight = self._checked(X, y, sample_weight)
        if validation is not None:
            X_val = validate_data(self, validation[0], dtype=(np.float64, np.float32), reset=False)
            held_out = (X_val, np.asarray(validation[1]), np.ones(len(X_val)))
        else:
            held_out = None
        before = self._networks_so_far() if self.warm_start else None
        job = _Job(self, (X, y, weight), held_out)
        trained = _train([self], [job], before)
        self._keep(job, trained, 0)
        if trained.interrupted:
            self._warn_interrupted()
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_many(self, X: Any, y: Any, splits: Iterable[Sequence[Any]], sample_weight: Any = None) -> list[Self]:
        """One fitted clone per split, all trained as one stack: the fast way to cross-validate.

        splits: (train, test) pairs of row indices, as scikit-learn's splitters give them, or (train, validation, test) triples. Each
        clone is what `clone(self).fit(X[train], y[train])` would give, up to rounding. Ctrl-C raises KeyboardInterrupt.
        """
        X, y, weight = clone(self)._checked(X, y, sample_weight)
        splits = [tuple(np.asarray(part) for part in split) for split in splits]
        if not splits or any(len(split) not in (2, 3) for split in splits):
            found = sorted({len(split) for split in splits}) or "no split"
            raise ValueError(f"splits must be (train, test) pairs or (train, validation, test) triples of row indices; found {found}")
        models, jobs = [], []
        for split in splits:
            model = clone(self)
            rows = split[0]
            model._checked(X[rows], y[rows], weight[rows])
            held_out = (X[split[1]], y[split[1]], weight[split[1]]) if len(split) == 3 else None
            models.append(model)
            jobs.append(_Job(model, (X[rows], y[rows], weight[rows]), held_out))
        trained = _train(models, jobs, None)
        if trained.interrupted:
            raise KeyboardInterrupt
        for i, (model, job) in enumerate(zip(models, jobs, strict=True)):
            model._keep(job, trained, i * self.n_estimators)
        return models

    def decision_function(self, X: Any) -> np.ndarray:
        """The logit of the averaged z: above 0 predicts `classes_[1]`, which is the minority unless that sorts first. Shape (rows,)."""
        wrong_side = self._minority_logit(X)
        return wrong_side if self._minority_is_last() else -wrong_side

    def predict(self, X: Any) -> np.ndarray:
        """The label of each row: the minority class where its z is at least ½."""
        is_minority = self._minority_logit(X) >= 0
        check_is_fitted(self)
        majority = self.classes_[0 if self._minority_is_last() else 1]
        return np.where(is_minority, self.minority_class_, majority).astype(self.classes_.dtype)

    def predict_proba(self, X: Any) -> np.ndarray:
        """z and 1−z, in the order of `classes_`, (rows, 2): ½ is the decision, so they overstate the risk of a rare class (see `predict_risk`)."""
        z = sigmoid(self._minority_logit(X), np)
        return np.stack([1 - z, z] if self._minority_is_last() else [z, 1 - z], axis=1)

    def predict_risk(self, X: Any) -> np.ndarray:
        """The minority class's probability at the training prior, (rows,): σ(logit z − c), where c makes the mean over the training rows equal
        the minority's share of them."""
        return sigmoid(self._minority_logit(X) - self.prior_shift_, np)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """X, y as arrays and weights with the class weights in; sets what scikit-learn expects of a fit, and who the minority is."""
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32))
        check_classification_targets(y)
        if type_of_target(y, input_name="y") != "binary" and len(np.unique(y)) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)} with {len(np.unique(y))} classes: "
                "pick two of them, or wrap the classifier in sklearn.multiclass.OneVsRestClassifier."
            )
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            weight = weight * compute_sample_weight(self.class_weight, y)
        self.classes_, counts = np.unique(y[weight > 0], return_counts=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must contain two classes to tell apart; found one class only: {self.classes_.tolist()}")
        self.minority_class_ = self.classes_[0 if counts[0] < counts[1] else 1]
        if self.slope_rate_min > self.slope_rate_max:
            raise ValueError(f"slope_rate_min must not exceed slope_rate_max; found {self.slope_rate_min} and {self.slope_rate_max}")
        if self.selection != "last" and self._burn_in() >= self.epochs:
            raise ValueError(f"burn_in must be below epochs, or no epoch can be selected; found {self._burn_in()} and {self.epochs}")
        return X, y, weight

    def _burn_in(self) -> int:
        return self.epochs // 10 if self.burn_in is None else self.burn_in

    def _architecture(self) -> Architecture:
        sizes = self.hidden_layer_sizes
        if sizes is None:
            sizes = (math.ceil((self.n_features_in_ + 1) / 2),)
        hidden = tuple(int(n) for n in np.atleast_1d(sizes))
        if any(n < 1 for n in hidden):
            raise ValueError(f"hidden_layer_sizes must be positive; found {hidden}")
        return Architecture(self.n_features_in_, hidden)

    def _keep(self, job: _Job, trained: Any, start: int) -> None:
        """Fitted state from the networks start … start + n_estimators of the stack."""
        k = slice(start, start + self.n_estimators)
        began = trained.n_epochs[k] > 0
        learned = began if began.any() else np.ones_like(began)  # after Ctrl-C, networks that had not begun are left out
        self.coefs_ = trained.parameters[k][learned]
        self.hidden_layer_sizes_ = job.architecture.hidden
        self.slope_ = trained.slope[k][learned] if self.activation == "astra" else np.ones(int(learned.sum()), trained.slope.dtype)
        self.threshold_ = np.asarray(threshold(self.slope_))
        self.mean_, self.scale_ = job.mean, job.scale
        self.n_iter_ = int(trained.n_epochs[k].max())
        histories = [h for h in trained.history[k] if h]
        shortest = min((len(h["epoch"]) for h in histories), default=0)
        self.history_ = {name: np.mean([h[name][:shortest] for h in histories], axis=0) for name in histories[0]} if histories else {}
        g = self._average(job.train.X)
        self.prior_shift_ = _prior_shift(g, job.train.weight, float(np.average(job.train.y, weights=job.train.weight)))
        if self.warm_start:
            self._state = [state._asdict() for state in trained.states[k]]

    def _networks_so_far(self) -> list[Any] | None:
        return getattr(self, "_state", None)

    def _minority_is_last(self) -> bool:
        return bool(self.minority_class_ == self.classes_[1])

    def _minority_logit(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        return self._average((X - self.mean_.astype(X.dtype)) / self.scale_.astype(X.dtype))

    def _average(self, X: np.ndarray) -> np.ndarray:
        """The logit of the mean over networks of z, for scaled rows, without ever rounding z to 0 or 1."""
        architecture = Architecture(self.n_features_in_, self.hidden_layer_sizes_)
        x = predict_logits(self.coefs_.astype(X.dtype), architecture, X)
        g = x if self.activation == "sigmoid" else rebalanced_logit(x, self.slope_.astype(X.dtype)[:, None], xp=np)
        return _log_mean_exp(-softplus(-g, np)) - _log_mean_exp(-softplus(g, np))

    def _warn_interrupted(self) -> None:
        warnings.warn(
            f"fit was interrupted at epoch {self.n_iter_} of {self.epochs}; the classifier is fitted with what it had learned until then",
            ConvergenceWarning,
            stacklevel=3,
        )


class _Job:
    """One classifier's rows, merged, scaled and labelled for the engine."""

    def __init__(self, model: ASTraClassifier, train: tuple[Any, ...], held_out: tuple[Any, ...] | None) -> None:
        self.architecture = model._architecture()
        self.rng = check_random_state(model.random_state)
        self.seed = int(self.rng.randint(np.iinfo(np.int32).max))
        X, y, weight = train
        positive = y == model.minority_class_
        if held_out is None and model.validation_fraction > 0:
            kept, away = _stratified(positive, model.validation_fraction, self.seed)
            held_out = (X[away], y[away], weight[away])
            X, positive, weight = X[kept], positive[kept], weight[kept]
        if held_out is None and model.selection != "last":
            raise ValueError(
                f'selection="{model.selection}" needs validation rows: set validation_fraction, pass validation=(X_val, y_val), '
                'or use selection="last"'
            )
        X, positive, weight = _merged(X, positive, weight)
        self.mean, self.scale = _scaling(X, weight) if model.standardize else (np.zeros(X.shape[1]), np.ones(X.shape[1]))
        self.train = self._fold(X, positive, weight)
        self.held_out = None
        if held_out is not None:
            unknown = set(np.unique(held_out[1])) - set(model.classes_)
            if unknown:
                raise ValueError(f"validation labels must be among {model.classes_.tolist()}; found {sorted(unknown)}")
            self.held_out = self._fold(held_out[0], held_out[1] == model.minority_class_, held_out[2])

    def _fold(self, X: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> Fold:
        scaled = ((X - self.mean.astype(X.dtype)) / self.scale.astype(X.dtype)).astype(np.float32)
        return Fold(scaled, positive.astype(np.float32), weight.astype(np.float32))

    def networks(self, n: int) -> list[np.ndarray]:
        return [initialise(self.architecture, np.random.default_rng([self.seed, k])) for k in range(n)]


def _train(models: list[ASTraClassifier], jobs: list[_Job], states: list[Any] | None) -> Any:
    from astralearn.engine.training import Settings, State, train
    from astralearn.progress import bar

    model = models[0]
    settings = Settings(
        loss=model.loss,
        astra=model.activation == "astra",
        selection=model.selection,
        sam=model.sam_on if model.sam_radius > 0 else "off",
        epochs=model.epochs,
        learning_rate=model.learning_rate,
        slope_rate_min=model.slope_rate_min,
        slope_rate_max=model.slope_rate_max,
        burn_in=model._burn_in(),
        alpha=model.alpha,
        sam_radius=model.sam_radius,
    )
    parameters = np.stack([theta for job in jobs for theta in job.networks(model.n_estimators)])
    with bar(model.verbose, model.epochs) as progress:
        return train(
            jobs[0].architecture,
            [job.train for job in jobs],
            [i for i in range(len(jobs)) for _ in range(model.n_estimators)],
            parameters,
            np.full(len(parameters), float(slope(model.tau_init))),
            settings,
            validation=[job.held_out for job in jobs] if jobs[0].held_out is not None else None,
            states=None if states is None else [State(**state) for state in states],
            n_jobs=joblib.effective_n_jobs(-1 if model.n_jobs is None else model.n_jobs),
            progress=progress,
        )


def _stratified(positive: np.ndarray, fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    n = int(positive.sum())
    if n < 2:
        raise ValueError(
            f"validation_fraction={fraction} needs at least two rows of the minority class, one to train and one to validate on; found {n}. "
            "Set validation_fraction=0 to train on every row."
        )
    # At least one positive on each side, whatever the fraction.
    rng = np.random.default_rng(seed)
    away = np.zeros(len(positive), bool)
    for members in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        take = min(len(members) - 1, max(1, round(fraction * len(members))))
        away[rng.permutation(members)[:take]] = True
    return np.flatnonzero(~away), np.flatnonzero(away)


def _merged(X: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Equal rows of one class as one row with their weights added, in a fixed order; rows without weight left out.

    The loss is the same, and so, to the bit, is what a weight of 2 and a row given twice lead to, or the same rows in another order.
    """
    X, positive, weight = (a[weight > 0] for a in (X, positive, weight))
    if len(X) > MERGED_UP_TO:
        return X, positive, weight
    rows, inverse = np.unique(np.column_stack([positive, X]), axis=0, return_inverse=True)
    return np.ascontiguousarray(rows[:, 1:]).astype(X.dtype), rows[:, 0] > 0, np.bincount(inverse.ravel(), weight)


def _scaling(X: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of each feature; 1 for one that does not vary."""
    total = weight.sum()
    mean = weight @ X.astype(np.float64) / total
    variance = weight @ np.square(X - mean) / total
    varies = variance > np.square(np.finfo(X.dtype).eps * np.maximum(np.abs(mean), 1e-300)) * len(X)
    return mean, np.where(varies, np.sqrt(np.where(varies, variance, 1.0)), 1.0)


def _log_mean_exp(a: np.ndarray) -> np.ndarray:
    """ln of the mean over networks of e^a, (K, rows) to (rows,)."""
    peak = a.max(axis=0)
    return peak + np.log(np.mean(np.exp(a - peak), axis=0))


def _prior_shift(g: np.ndarray, weight: np.ndarray, prior: float) -> float:
    """The c for which the weighted mean of σ(g − c) is the prior, by bisection: it falls as c rises."""
    low, high = float(g.min()) - 50.0, float(g.max()) + 50.0
    for _ in range(100):
        middle = (low + high) / 2
        if np.average(sigmoid(g - middle, np), weights=weight) > prior:
            low = middle
        else:
            high = middle
    return (low + high) / 2
