"""Which rows learn, choose and test: repeated stratified folds whose roles rotate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from astralearn.datasets.errors import TooFewPositivesError
from astralearn.datasets.problem import Problem, RowNumbers


class Split(NamedTuple):
    """Rows of the problem by role.

    A method without validation learns from `train` and `validation` together.

    >>> rows = np.arange(10)
    >>> split = Split(0, 0, train=rows[:6], validation=rows[6:8], test=rows[8:])
    >>> split.learn.tolist()
    [0, 1, 2, 3, 4, 5, 6, 7]
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

    Where the problem has groups, the rows of a group are in one fold. Where it has times, each fold
    is tested by what is earlier than it, and there is one repetition.

    >>> from astralearn.datasets import load
    >>> splits = make_splits(load("digits"), folds=5, repetitions=2)
    >>> len(splits), len(splits[0].train), len(splits[0].test)
    (10, 976, 326)
    """
    if problem.times is not None:
        return _later_rows(problem, folds)
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
    if problem.groups is not None:
        parts = _grouped(problem, folds, rows, seed)
    else:
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


def _grouped(problem: Problem, folds: int, rows: RowNumbers, seed: int) -> list[RowNumbers]:
    """Parts that no group is in two of, each with a positive."""
    from sklearn.model_selection import StratifiedGroupKFold

    groups, y = np.asarray(problem.groups)[rows], problem.y[rows]
    with_positives = len(np.unique(groups[y == 1]))
    if with_positives < folds:
        raise TooFewPositivesError(
            f"{problem.name} has positives in {with_positives} groups, fewer than {folds} folds: "
            f"ask for fewer folds (`folds={max(with_positives, 2)}`)"
        )
    stratified = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    parts = [rows[test] for _, test in stratified.split(rows, y, groups)]
    if not all(0 < problem.y[part].sum() < len(part) for part in parts):
        raise TooFewPositivesError(
            f"{problem.name}: groups cannot be dealt to {folds} folds with positives and negatives "
            "in each: ask for fewer (`folds`)"
        )
    return parts


def _later_rows(problem: Problem, folds: int) -> list[Split]:
    """Each part of the rows in time, tested by those before it.

    Parts have equally many positives, as far as rows of one time allow; the first is only learned
    from, and the last before the test validates.
    """
    times = np.asarray(problem.times)
    at_positives = np.sort(times[problem.y == 1])
    if folds < 2:
        raise ValueError(f"`folds` must be at least 2; found {folds}")
    # A part begins with the time of a positive, so that rows of one time are in one part.
    parts_in_time = np.array_split(at_positives, folds + 1)[1:]
    starts = np.unique([part[0] for part in parts_in_time if len(part)])
    if len(starts) < folds:
        raise TooFewPositivesError(
            f"{problem.name} has {len(at_positives)} positives at {len(np.unique(at_positives))} "
            f"times, too few for {folds} folds that are tested by earlier rows: one more part than "
            f"folds is needed (`folds={max(len(starts), 2)}`)"
        )
    part = np.searchsorted(starts, times, side="right")
    parts = [np.flatnonzero(part == number) for number in range(folds + 1)]
    if problem.y[parts[0]].sum() == 0 or not all(0 < problem.y[p].sum() < len(p) for p in parts):
        raise TooFewPositivesError(
            f"{problem.name}: not every part of {folds + 1} in time has positives and negatives: "
            "ask for fewer (`folds`)"
        )
    return [
        Split(
            0,
            fold,
            train=np.concatenate([*parts[:fold], parts[0][:0]]),
            validation=parts[fold],
            test=parts[fold + 1],
        )
        for fold in range(folds)
    ]
