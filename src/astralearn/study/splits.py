"""Which rows learn, choose and test: repeated stratified folds whose roles rotate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astralearn.datasets.errors import TooFewPositivesError
from astralearn.datasets.problem import Problem, RowNumbers


class Split(NamedTuple):
    """Rows of the problem by role.

    A method without validation learns from `train` and `validation` together.
    """

    repetition: int
    fold: int
    train: RowNumbers
    validation: RowNumbers
    test: RowNumbers

    @property
    def learn(self) -> RowNumbers:
        """Every row that is not tested on."""
        return np.concatenate([self.train, self.validation])


def make_splits(
    problem: Problem, *, folds: int = 5, repetitions: int = 10, seed: int = 0
) -> list[Split]:
    """`repetitions` × `folds` splits, in which each fold is tested once.

    The fold after it validates and the others train: 3/1/1 of five, as in the paper. Each
    repetition draws its rows anew where the problem is redrawn, and shuffles anew. Equal arguments
    give equal splits.
    """
    check_folds(problem, folds)
    return [
        split
        for repetition in range(repetitions)
        for split in _repetition(problem, folds, repetition, seed_of(seed, repetition))
    ]


def check_folds(problem: Problem, folds: int) -> None:
    """Refuse folds without a positive or a negative, and fewer than two folds.

    TooFewPositivesError for the former, ValueError for the latter.
    """
    if folds < 2:
        raise ValueError(f"`folds` must be at least 2; found {folds}")
    are_positive = problem.positives <= problem.negatives
    count = min(problem.positives, problem.negatives)
    if count >= folds:
        return
    rarer = "positives" if are_positive else "negatives"
    message = (
        f"{problem.name} has {count} {rarer} ({problem.labels[are_positive]!r}), "
        f"fewer than {folds} folds"
    )
    if count < 2:
        raise TooFewPositivesError(
            f"{message}; at least two are needed, one to learn from and one to test on"
        )
    raise TooFewPositivesError(f"{message}: ask for at most {count} folds (`folds={count}`)")


def seed_of(*path: int) -> int:
    """A seed for one place in the study, the same in every run.

    It is unrelated to its neighbours', and below 2³¹, which every library takes.
    """
    return int(np.random.SeedSequence(path).generate_state(1)[0] >> 1)


def _repetition(problem: Problem, folds: int, repetition: int, seed: int) -> list[Split]:
    from sklearn.model_selection import StratifiedKFold

    rows = problem.draw(seed)
    stratified = StratifiedKFold(folds, shuffle=True, random_state=seed)
    parts = [rows[test] for _, test in stratified.split(rows, problem.y[rows])]
    return [_rotated(parts, repetition, fold) for fold in range(folds)]


def _rotated(parts: list[RowNumbers], repetition: int, fold: int) -> Split:
    validation = (fold + 1) % len(parts)
    train = [part for i, part in enumerate(parts) if i not in (fold, validation)]
    return Split(
        repetition,
        fold,
        train=np.concatenate(train) if train else parts[fold][:0],
        validation=parts[validation],
        test=parts[fold],
    )
