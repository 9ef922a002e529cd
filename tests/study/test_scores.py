import math

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef

from astralearn.study import Record, by_method, summarise, wilson


def record(repetition=0, fold=0, method="m", **changes):
    values = {
        "tn": 95,
        "fp": 5,
        "fn": 0,
        "tp": 1,
        "average_precision": 0.5,
        "fit_seconds": 2.0,
        "error": None,
        **changes,
    }
    return Record("p", method, repetition, fold, 400, **values)


def test_scores_of_a_fold_are_the_textbooks():
    r = record(tn=80, fp=20, fn=3, tp=7)
    assert r.g_mean == pytest.approx(math.sqrt(0.7 * 0.8))
    truth, said = np.repeat([0, 0, 1, 1], [80, 20, 3, 7]), np.repeat([0, 1, 0, 1], [80, 20, 3, 7])
    assert r.mcc == pytest.approx(matthews_corrcoef(truth, said))
    assert r.tested == 110


def test_nineteen_of_twenty_five_is_the_papers_0_760_and_0_436():
    folds = [record(fold=i, tn=96, fp=0, tp=int(i < 19), fn=int(i >= 19)) for i in range(25)]
    summary = summarise(folds)
    assert (f"{summary.g_mean:.3f}", f"{summary.g_mean_sd:.3f}") == ("0.760", "0.436")
    assert (summary.hits, summary.trials, summary.folds) == (19, 25, 25)
    assert summary.fnr == pytest.approx(0.24)


def test_rates_are_pooled():
    summary = summarise(
        [
            record(),
            record(fold=1, tn=60, fp=40, fn=2, tp=1, average_precision=None, fit_seconds=4.0),
        ]
    )
    assert summary.fpr == pytest.approx(45 / 200)
    assert summary.fnr == pytest.approx(2 / 4)
    assert summary.average_precision == 0.5
    assert summary.fit_seconds == 3.0


def test_errors_are_counted_and_cost_no_time():
    summary = summarise(
        [
            record(),
            record(fold=1, tp=0, fn=1, error="A", fit_seconds=0.0),
            record(fold=2, tp=0, fn=1, error="A"),
        ]
    )
    assert summary.errors == (("A", 2),)
    assert summary.fit_seconds == 2.0
    assert (
        summarise([record(error="B", tp=0, fn=1, average_precision=None)]).average_precision is None
    )


@pytest.mark.parametrize(("hits", "trials"), [(0, 25), (3, 25), (19, 25), (25, 25), (1, 1)])
def test_wilson(hits, trials):
    """Wilson's interval holds the proportions from which the one found is at most 1.96 standard
    errors away.
    """
    low, high = wilson(hits, trials)
    z = 1.959963984540054
    for edge in (low, high):
        assert (hits / trials - edge) ** 2 == pytest.approx(
            z * z * edge * (1 - edge) / trials, abs=1e-12
        )
    assert low <= hits / trials <= high


def test_intervals_know_what_is_inside():
    assert 0.76 in wilson(19, 25)
    assert 0.5 not in wilson(19, 25)


def test_by_method_sorts_folds_and_keeps_methods_in_order():
    records = [record(1, 0, "z"), record(0, 1, "z"), record(0, 0, "a")]
    assert list(by_method(records, "p")) == ["a", "z"] or list(by_method(records, "p")) == [
        "z",
        "a",
    ]
    assert [(r.repetition, r.fold) for r in by_method(records, "p")["z"]] == [(0, 1), (1, 0)]
    assert by_method(records, "other") == {}


def test_only_one_method_is_summed_up():
    with pytest.raises(ValueError, match="one problem and method"):
        summarise([record(), record(method="n")])
