"""The paper's study with networks whose epochs are known, run, stopped and continued."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from astralearn.datasets import Problem, Redraw
from astralearn.study import Method, run
from astralearn.study.paper_plan import PaperPlan, counted
from astralearn.study.record import StartRecord
from astralearn.study.store import read_histories, read_kind
from classifiers import Nearest


class Epochs(BaseEstimator):
    """At the first look all rows are positive, at the second the right ones, at the third none.

    The paper's rule takes the third, the last epoch is the first again; start 1 is always wrong.
    """

    def __init__(self, starts=2):
        self.starts = starts

    def fit_many(self, X, y, splits, *, random_states):
        assert len(splits) == len(random_states)

        def decisions(X):
            truth = X[:, 0] > 0
            everything, nothing = np.ones_like(truth), np.zeros_like(truth)
            history = {"epoch": np.array([0, 50, 99]), "e_ratio": np.array([3.0, 2.0, 1.0])}
            right = SimpleNamespace(
                chosen=nothing,
                last=everything,
                looks=np.stack([everything, truth, nothing]),
                chosen_epoch=99,
                history=history,
            )
            wrong = SimpleNamespace(
                chosen=~truth, last=~truth, looks=np.stack([~truth] * 3), chosen_epoch=0,
                history=history,
            )  # fmt: skip
            return [right, wrong][: self.starts]

        return [SimpleNamespace(decisions=decisions) for _ in splits]


@pytest.fixture
def plan():
    y = np.repeat([0, 1], [200, 20]).astype(np.int8)
    X = np.where(y, 1.0, -1.0)[:, None] + np.zeros((220, 2))
    problem = Problem("p", X, y, redraw=Redraw(5))
    networks = [Method("net", Epochs(), validates=True)]
    return PaperPlan(
        [problem], networks, [Method("rival", Nearest())], repetitions=2, starts=2, burn_in=50
    )


def test_a_record_has_both_rules_and_the_bounds_of_any(plan, tmp_path):
    records = run(plan, tmp_path / "study.sqlite", n_jobs=1)
    assert len(records) == 2 * 5 * 2 + 2 * 5
    one, other = (r for r in records if r.key[1:4] == ("net", 1, 3))
    assert (one.tn, one.fp, one.fn, one.tp, one.chosen_epoch) == (40, 0, 1, 0, 99)
    assert one.at_last_epoch().counts == (0, 40, 0, 1)
    assert (one.best_g_mean, one.best_mcc) == (1.0, 1.0)
    assert (one.worst_g_mean, one.worst_mcc) == (0.0, 0.0)
    assert (other.best_mcc, other.worst_mcc) == (-1.0, -1.0)
    (rival,) = (r for r in records if r.key[1:4] == ("rival", 1, 3))
    assert rival.at_last_epoch() == rival
    assert rival.best_mcc == rival.worst_mcc == rival.mcc


def test_the_worst_epoch_is_of_those_after_the_burn_in(plan):
    """From epoch 0 on, all positive would be the worst; after 50 it is the chosen one."""
    (unit, *_) = plan.units()
    (record, history), *_ = unit.run()
    assert record.worst_g_mean == 0.0
    assert history["test_mcc"].tolist() == [0.0, 1.0, 0.0]


def test_histories_are_kept_for_every_start(plan, tmp_path):
    run(plan, tmp_path / "study.sqlite", n_jobs=1)
    histories = read_histories(tmp_path / "study.sqlite", "p", StartRecord)
    assert list(histories) == ["net"]
    assert len(histories["net"]) == 20
    assert {tuple(one["e_ratio"].tolist()) for one in histories["net"]} == {(3.0, 2.0, 1.0)}


def test_it_continues_and_counts_what_is_whole(plan, tmp_path):
    path = tmp_path / "study.sqlite"
    without = PaperPlan(plan.problems, plan.networks, repetitions=2, starts=2, burn_in=50)
    run(without, path, n_jobs=1)
    assert {record.method for record in plan.every_problem(path)} == {"net"}
    run(plan, path, n_jobs=1)
    assert len(plan.every_problem(path)) == len(read_kind(path, StartRecord)) == 30
    with pytest.raises(Exception, match="its starts is 2, now it is 1"):
        run(PaperPlan(plan.problems, plan.networks, repetitions=2, burn_in=50), path, n_jobs=1)


def test_a_draw_alone_has_no_error(plan):
    with pytest.raises(ValueError, match="`repetitions` must be at least 2; found 1"):
        PaperPlan(plan.problems, plan.networks, repetitions=1)


def test_counts_of_many_decisions_are_those_of_each():
    rng = np.random.default_rng(0)
    truth, found = rng.random(50) < 0.3, rng.random((4, 50)) < 0.5
    together = counted(truth, found)
    for i in range(4):
        assert [int(count[i]) for count in together] == [int(c) for c in counted(truth, found[i])]
    expected = ((~truth & ~found[0]).sum(), (~truth & found[0]).sum())
    assert (together.tn[0], together.fp[0]) == expected
