import re

import numpy as np
import pytest

from astralearn.study import Record, recommend, what_n_is


def folds(method, hit_rate, false_alarms=0, n=50):
    """Each fold tests one positive; hits are spread by a fixed shuffle, the same for all methods,
    so that equal rates tie.
    """
    order = np.random.default_rng(0).permutation(n)
    hits = set(order[: round(hit_rate * n)].tolist())
    return [
        Record(
            "p",
            method,
            i // 5,
            i % 5,
            400,
            99 - false_alarms,
            false_alarms,
            int(i not in hits),
            int(i in hits),
            None,
            0.1,
        )
        for i in range(n)
    ]


def ladder(bce, gmn, bce_astra, gmn_astra, **others):
    rates = {"BCE": bce, "GMN": gmn, "BCE-ASTra": bce_astra, "GMN-ASTra": gmn_astra, **others}
    return {
        name: folds(name, *rate) if isinstance(rate, tuple) else folds(name, rate)
        for name, rate in rates.items()
    }


# The paper's hierarchy of difficulty (Results), as hit rates and false alarms.
@pytest.mark.parametrize(
    ("methods", "chosen"),
    [
        (ladder(0.98, 0.98, 1.0, 0.98), "BCE"),  # skin-588: no measure needed
        (ladder(0.1, 0.9, 0.9, 0.9), "GMN"),  # skin-4000
        (ladder(0.1, 0.3, 0.9, 0.9), "BCE-ASTra"),  # cod: ASTra needed
        (ladder(0.0, 0.1, 0.1, 0.9), "GMN-ASTra"),  # the problem the paper expects to exist
        (
            ladder(0.1, (0.95, 90), 0.9, 0.9),
            "BCE-ASTra",
        ),  # GMN ties on G-Mean's hits but drowns in false alarms
        (ladder(0.0, 0.0, 0.0, 0.0), "BCE"),
    ],
)
def test_the_least_intervention_that_is_not_beaten(methods, chosen):
    advice = recommend(methods)
    assert advice.method == chosen
    assert str(advice).startswith(f"{chosen} is the least intervention on the ladder")


def test_the_words():
    said = str(recommend(ladder(0.1, 0.9, 0.9, 0.9)))
    assert re.search(
        r"BCE is beaten on G-Mean by GMN \(0.100 against 0.900, p = 0.00\d\) and on MCC by GMN \(",
        said,
    )


def test_a_better_mean_that_is_not_proven_is_not_hidden():
    advice = recommend(ladder(0.2, 0.36, 0.52, 0.6))
    assert advice.method == "BCE"
    assert re.search(
        r"GMN-ASTra has a better G-Mean, 0\.600 against 0\.200, which is not proven at n = 50 \(p "
        r"= 0\.\d+\)\.",
        str(advice),
    )
    assert "not proven" not in str(recommend(ladder(0.9, 0.9, 0.9, 0.9)))


def test_a_rung_that_finds_nothing_is_not_recommended_for_want_of_proof():
    few = {"BCE": folds("BCE", 0.0, n=5), "GMN": folds("GMN", 0.4, n=5)}
    advice = recommend(few)
    assert advice.method == "GMN"
    assert "BCE found none of the positives." in advice.sentences


def test_what_n_is():
    said = what_n_is(ladder(0.5, 0.5, 0.5, 0.5))
    assert said.startswith("n = 50 test folds per method (10 × 5), which test 50 positives in all")


def test_where_each_is_beaten_on_something_the_best_g_mean_counts():
    """Half of the positives without a false alarm (better MCC), against all of them with thirty
    (better G-Mean); all folds alike.
    """

    def alike(method, tn, fp, fn, tp):
        return [
            Record("p", method, i // 5, i % 5, 400, tn, fp, fn, tp, None, 0.1) for i in range(10)
        ]

    advice = recommend({"BCE": alike("BCE", 99, 0, 5, 5), "GMN": alike("GMN", 69, 30, 0, 10)})
    assert advice.method == "GMN"
    assert "Every rung of the ladder is beaten on G-Mean or MCC by another" in str(advice)


def test_a_rival_that_does_better_is_named():
    said = str(recommend(ladder(0.1, 0.2, 0.2, 0.2, LightGBM=0.96)))
    assert re.search(
        r"Off the ladder, LightGBM does better on G-Mean \(0\.960, p [=<] 0.0\d+\)", said
    )
    said = str(recommend(ladder(0.1, 0.2, 0.9, 0.9, LightGBM=0.9)))
    assert "No rival that was run does significantly better than BCE-ASTra." in said


def steady_and_best(steady, best):
    """Found of ten positives: `best` has the best mean but varies, `steady` beats BCE's five in
    every fold.
    """
    found = {"BCE": [5] * 10, best: [10] * 7 + [3] * 3, steady: [7] * 9 + [6]}
    return {
        name: [
            Record("p", name, 0, i, 400, 90, 0, 10 - tp, tp, None, 0.1) for i, tp in enumerate(tps)
        ]
        for name, tps in found.items()
    }


@pytest.mark.parametrize("many", [True, False])
def test_a_rung_is_unbeaten_only_where_no_other_beats_it(many):
    advice = recommend(steady_and_best("BCE-ASTra", "GMN"), many=many)
    assert advice.method == "GMN"
    assert "BCE is beaten on G-Mean by BCE-ASTra (0.707 against 0.830, p < 0.001)" in str(advice)


def test_a_rival_is_named_that_is_proven_better_though_its_mean_is_not_the_best():
    said = str(recommend(steady_and_best("logistic", "SVM")))
    assert "Off the ladder, logistic does better on G-Mean (0.830, p < 0.001)." in said


def test_part_of_the_ladder_or_none():
    assert (
        recommend({"GMN": folds("GMN", 0.5)}).sentences[0]
        == "GMN is the only rung of the ladder that was run."
    )
    assert recommend({"LightGBM": folds("LightGBM", 0.5)}) is None
