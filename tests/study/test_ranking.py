"""Ranks and differences over problems, against plain computations."""

from __future__ import annotations

import numpy as np
import pytest

from astralearn.study.draw_record import DrawRecord
from astralearn.study.draw_unit import BEST
from astralearn.study.ranking import ranking, ranks, score_table


def record(problem: str, method: str, auc: float, *, k: int = 5, draw: int = 0) -> DrawRecord:
    return DrawRecord(problem, method, k, draw, 100, 90, 10, 5, 5, auc / 2, auc, 0.1, 0.1, 0.1)


RECORDS = [
    record(f"p{i}", method, auc + i / 100 + draw / 50, draw=draw, k=k)
    for i in range(6)
    for k in (5, 10)
    for draw in (0, 1)
    for method, auc in (("good", 0.8), ("same", 0.8), ("bad", 0.5 + 0.07 * i), (BEST, 0.99))
]


def test_draws_are_averaged_and_the_best_possible_is_no_method() -> None:
    table = score_table(RECORDS, "auc")
    assert table.methods == ("good", "same", "bad")
    assert len(table.values) == 12
    assert table.values[0, 0] == pytest.approx(0.8 + 0.01)
    assert set(score_table(RECORDS, "auc", k=5).ks) == {5}


def test_ranks_share_ties_and_intervals_hold_the_mean() -> None:
    table = score_table(RECORDS, "auc")
    np.testing.assert_array_equal(ranks(table)[0], [1.5, 1.5, 3.0])
    first, second, last = ranking(table)
    assert (first.method, second.method, last.method) == ("good", "same", "bad")
    assert first.mean_rank == second.mean_rank
    assert (second.wins, second.losses, last.wins) == (0, 0, 2)
    assert last.losses == 10
    assert last.difference == pytest.approx(np.mean([0.07 * i - 0.3 for i in range(6)]))
    for found in (first, second, last):
        assert found.mean in found.mean_interval
        assert found.mean_rank in found.rank_interval
        assert found.difference in found.difference_interval


def test_any_method_may_be_the_one_that_all_are_compared_with() -> None:
    table = score_table(RECORDS, "auc")
    plain, against = ({r.method: r for r in ranking(table, name)} for name in (None, "bad"))
    assert against["good"].difference == pytest.approx(-plain["bad"].difference)
    assert (against["good"].wins, against["good"].losses) == (10, 2)
    assert against["bad"].difference == 0


def test_cases_that_not_every_method_has_are_left_out() -> None:
    partial = [r for r in RECORDS if not (r.method == "bad" and r.problem == "p0" and r.draw == 1)]
    assert "p0" not in score_table(partial, "auc").problems
    assert ranking(score_table([], "auc")) == []


def test_intervals_are_over_problems_not_over_cases() -> None:
    """A hundred k of one problem tell no more about problems than one does."""
    alone = [record("p", m, a, k=k) for k in range(1, 101) for m, a in (("a", 0.9), ("b", 0.1))]
    first = ranking(score_table(alone, "auc"))[0]
    assert first.mean_interval == pytest.approx((first.mean, first.mean))
