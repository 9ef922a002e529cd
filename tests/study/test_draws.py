"""Draws: k learn, the rest are tested on, and every method gets the same."""

from __future__ import annotations

import numpy as np
import pytest

from astralearn.datasets import Problem, TooFewPositivesError
from astralearn.study.draws import Drawing, make_draws


def toy(positives: int = 40, negatives: int = 1_000) -> Problem:
    y = np.repeat(np.array([1, 0], dtype=np.int8), [positives, negatives])
    return Problem("toy", np.arange(len(y), dtype=float)[:, None], y)


def test_every_row_learns_or_is_tested_on_and_none_does_both() -> None:
    problem = toy()
    for split in make_draws(problem, 5, draws=3, drawing=Drawing(imbalance=60)):
        assert problem.y[split.learn].sum() == 5
        assert len(split.learn) == 5 + 300
        rows = np.concatenate([split.learn, split.test])
        assert sorted(rows) == list(range(len(problem.y)))


def test_limits_hold() -> None:
    problem = toy()
    assert Drawing().negatives(problem, 5) == 500
    assert Drawing(imbalance=20).negatives(problem, 5) == 100
    assert Drawing(most_learned=30).negatives(problem, 5) == 30
    (split,) = make_draws(problem, 5, draws=1, drawing=Drawing(most_tested=7))
    assert (problem.y[split.test] == 0).sum() == 7
    assert problem.y[split.test].sum() == 35


def test_draws_differ_are_repeatable_and_nested() -> None:
    problem = toy()
    few, more = make_draws(problem, 5), make_draws(problem, 10)
    again = make_draws(problem, 5)
    for a, b, c in zip(few, again, more, strict=True):
        np.testing.assert_array_equal(a.learn, b.learn)
        assert set(a.learn[problem.y[a.learn] == 1]) < set(c.learn[problem.y[c.learn] == 1])
    assert not np.array_equal(few[0].learn, few[1].learn)
    assert [split.repetition for split in few] == [0, 1, 2, 3, 4]
    assert not np.array_equal(make_draws(problem, 5, seed=1)[0].learn, few[0].learn)


def test_too_many_positives_are_refused() -> None:
    with pytest.raises(TooFewPositivesError, match="k ≤ 20; found 21"):
        make_draws(toy(), 21)
    with pytest.raises(ValueError, match="at least 1"):
        make_draws(toy(), 0)
