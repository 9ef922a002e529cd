"""A method of the study: a name and a scikit-learn classifier."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

# These change how fast or how loudly a method works, or are set by the study, not what it is.
NOT_IDENTITY = {"n_jobs", "verbose", "random_state", "thread_count"}
# Lists of estimators whose parameters are listed one by one anyway.
CONTAINERS = {"steps", "transformers", "transformer_list", "estimators"}

# Where a description of a method falls apart: Class(name=value, name=value) with validation.
BETWEEN_PARAMETERS = re.compile(r"[(,] ?(?=\w+=)|\)(?=$| with)")


@dataclass(frozen=True)
class Method:
    """A classifier under the name it has in tables.

    name: what tables and records call it.
    estimator: any scikit-learn classifier. The study clones it and gives every `random_state` in
        it a seed. Where it has `fit_many`, the study uses that, with a seed for each fold in
        `random_states` where that is a parameter.
    validates: whether it is to be given a validation fold. Then it must have `fit_many`, which
        takes (train, validation, test) triples.
    seconds: about what a fold of 50,000 rows and ten columns takes on one core. Faster methods run
        first, and the time left is told by it.

    >>> from sklearn.linear_model import LogisticRegression
    >>> Method("logistic", LogisticRegression(C=0.5)).stacks
    False
    """

    name: str
    estimator: Any
    validates: bool = False
    seconds: float = 1.0

    def __post_init__(self) -> None:
        is_class = isinstance(self.estimator, type)
        if is_class or not hasattr(self.estimator, "get_params"):
            hint = f": write {self.estimator.__name__}()" if is_class else ""
            raise TypeError(
                f"{self.name}: estimator must be an instance of a scikit-learn classifier; "
                f"found {self.estimator!r:.80}{hint}"
            )
        if self.validates and not self.stacks:
            raise TypeError(
                f"{self.name}: a method that validates needs an estimator with fit_many, "
                "to be handed its validation rows"
            )

    @property
    def stacks(self) -> bool:
        """Whether many folds train in one call."""
        return hasattr(self.estimator, "fit_many")

    def described(self) -> str:
        """Class and parameters: what must agree for two records to be of one method."""
        kind = type(self.estimator)
        listed = ", ".join(
            f"{name}={_shown(value)}"
            for name, value in sorted(self.estimator.get_params(deep=True).items())
            if name.rsplit("__")[-1] not in NOT_IDENTITY | CONTAINERS
        )
        ending = " with validation" if self.validates else ""
        return f"{kind.__module__}.{kind.__qualname__}({listed}){ending}"


def differing(setting: str, other: str) -> str:
    """The parameters of a setting that the other does not have.

    All of it, where it is no list of parameters.
    """
    others = BETWEEN_PARAMETERS.split(other)
    own = [part for part in BETWEEN_PARAMETERS.split(setting) if part not in others]
    return ", ".join(own).strip() or "without it"


def _shown(value: Any) -> str:
    if hasattr(value, "get_params"):
        return type(value).__qualname__
    # The address of an object is no part of what it is.
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
