"""The answer: its scores against plain formulas, its sureness against what must be."""

import numpy as np
import pytest

from astralearn.study import Record
from astralearn.study.answer import aim_of, answer
from astralearn.study.answer import tested as put_together

NEGATIVES = 200


def folds(method, found, *, above=None, false_alarms=2, repetitions=3):
    """A positive a fold; `found` and `above` of each."""
    above = [1.0] * len(found) if above is None else above
    return [
        Record(
            "p", method, repetition, fold, 800, NEGATIVES - false_alarms, false_alarms,
            int(not hit), int(hit), 0.5, 0.1,
            ranks=f"{10 * fold}:{above[fold]:g}{'+' if hit else '-'}",
        )
        for repetition in range(repetitions)
        for fold, hit in enumerate(found)
    ]  # fmt: skip


def test_tests_of_one_positive_are_put_together():
    records = folds("m", [True, False], above=[3.0, 50.0], repetitions=1)
    records += folds("m", [True, True], above=[12.0, 20.0], repetitions=1)
    found = put_together(records)
    assert found.rows.tolist() == [0, 10]
    assert found.found.tolist() == [1.0, 0.5]
    shares = np.array([[3.5, 50.5], [12.5, 20.5]]) / (NEGATIVES + 1)
    assert found.share_above == pytest.approx(np.exp(np.log(shares).mean(axis=0)))
    assert (found.hits, found.tests) == (3, 4)
    assert found.false_alarms == pytest.approx(0.01)
    assert found.prior == pytest.approx(2 / (2 + 2 * NEGATIVES))


def test_expected_scores_are_near_those_of_the_counts():
    found = answer({"m": folds("m", [True] * 60 + [False] * 20)}, "g_mean").best
    assert found.score.mean == pytest.approx(np.sqrt(0.75 * 0.99), abs=0.02)
    assert found.score.low < found.score.mean < found.score.high
    assert found.recall.mean == pytest.approx(0.75, abs=0.02)
    assert found.false_alarms.mean == pytest.approx(10, rel=0.1)


def test_the_better_is_named_and_surer_with_more_positives():
    def of(k):
        return answer(
            {
                "worse": folds("worse", [i % 2 == 0 for i in range(k)]),
                "better": folds("better", [i % 5 > 0 for i in range(k)]),
            }
        )

    few, many = of(10), of(200)
    assert few.best.method == many.best.method == "better"
    assert 0.6 < few.best.sureness < many.best.sureness
    assert many.best.sureness > 0.99
    assert sum(one.sureness for one in few.judged) == pytest.approx(1.0)


def test_equal_methods_share_the_wins():
    same = [True] * 6 + [False] * 4
    found = answer({name: folds(name, same) for name in "abcd"})
    assert all(0.1 < one.sureness < 0.4 for one in found.judged)
    assert all(one.may_be_recommended for one in found.judged)


def test_what_found_nothing_is_never_recommended_though_it_costs_least():
    cost = {"cost": {1: 1.0, 0: 1.0}}
    found = answer(
        {
            "nothing": folds("nothing", [False] * 5, false_alarms=0),
            "some": folds("some", [True] + [False] * 4, false_alarms=50),
        },
        cost,
    )
    assert found.best.method == "some"
    assert [one.may_be_recommended for one in found.judged] == [True, False]
    nothing = answer({"nothing": folds("nothing", [False] * 5)})
    assert nothing.is_useless
    assert not nothing.best.may_be_recommended
    assert nothing.sentences() == (
        "No method found any of the positives: none can be recommended.",
    )


def test_a_demand_is_judged_by_ranks_not_by_own_decisions():
    """Alike at their own cut; the first ranks every positive higher."""
    hits = [True] * 5 + [False] * 5
    found = answer(
        {
            "low": folds("low", hits, above=[60.0] * 10),
            "high": folds("high", hits, above=[0.0] * 10),
        },
        {"alerts": 0.05},
    )
    assert found.best.method == "high"
    assert found.best.score.mean > found.judged[1].score.mean + 0.3
    assert found.aim == "recall, flagging 5% of rows"


@pytest.mark.parametrize(
    ("decision", "name", "is_cost"),
    [
        ("mcc", "MCC", False),
        ({"recall": 0.9}, "precision at a recall of 0.9", False),
        ({"precision": 0.5}, "recall at a precision of 0.5", False),
        ({"cost": {1: 9, 0: 1}}, "cost per 1,000 rows", True),
    ],
)
def test_every_decision_has_a_score(decision, name, is_cost):
    assert aim_of(decision)[::2] == (name, is_cost)
    found = answer({"a": folds("a", [True] * 8), "b": folds("b", [True, False] * 4)}, decision)
    assert np.isfinite([*found.best.score, *found.judged[1].score]).all()


def test_the_verdict_is_three_sentences_that_name_the_runner_up():
    found = answer(
        {"a": folds("a", [True] * 8), "b": folds("b", [True, False] * 4, false_alarms=20)}
    )
    first, second, third = found.sentences()
    assert first.startswith("Use a. G-Mean: ")
    assert f"best of 2 in {found.best.sureness:.0%} of resamples; b, next, would cost" in second
    assert "fewer of 100 positives and raise" in second
    assert "more false alarms per 1,000." in second
    best = found.best
    assert f"find {100 * best.recall.mean:.0f} of 100 positives" in third


def test_what_ranks_first_in_every_fold_is_beyond_the_cut_of_a_method_without_alarms():
    """The rate of all folds together is finer than any rank in one of them."""
    best = answer({"a": folds("a", [True] * 12, above=[0.0] * 12, false_alarms=0)}).best
    at_its_cut = best.tested.expectations(best.cut).recall.mean
    assert best.recall.mean > 0.9
    assert 0.7 < at_its_cut <= best.recall.mean


def test_equal_records_give_equal_answers():
    records = {"a": folds("a", [True] * 8), "b": folds("b", [True, False] * 4)}
    first, second = answer(records), answer(records)
    assert [one.score for one in first.judged] == [one.score for one in second.judged]
