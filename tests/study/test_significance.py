import numpy as np
import pytest
from scipy.stats import ttest_rel
from sklearn.datasets import make_moons
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.svm import SVC

from astralearn.study import Record, corrected_t_test, holm, significance, standings


@pytest.mark.parametrize("n", [2, 25, 50])
@pytest.mark.parametrize("ratio", [0.25, 1 / 9])
def test_against_scipys_paired_test_with_its_variance_widened(n, ratio):
    """t differs from the uncorrected one by √(1 + n·ratio) exactly; p is then integrated
    numerically from Student's density.
    """
    second, first = np.random.default_rng(n).normal(size=(2, n))
    first = first + 0.4
    plain = ttest_rel(first, second)
    test = corrected_t_test(first, second, test_per_train=ratio)
    assert test.statistic == pytest.approx(plain.statistic / np.sqrt(1 + n * ratio))
    assert test.difference == pytest.approx((first - second).mean())
    assert test.n == n
    if n > 2:
        x = np.linspace(abs(test.statistic), 400, 4_000_001)
        density = (1 + x**2 / (n - 1)) ** (-n / 2)
        half = np.trapezoid(density, x) / np.trapezoid(
            (1 + (y := np.linspace(-400, 400, 4_000_001)) ** 2 / (n - 1)) ** (-n / 2), y
        )
        assert test.p_value == pytest.approx(2 * half, rel=1e-4)


def test_scikit_learns_documented_example():
    """ "Statistical comparison of models using grid search": corrected t 0.750, one-sided p 0.227
    for rbf against linear.
    """
    X, y = make_moons(noise=0.352, random_state=1, n_samples=100)
    folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=10, random_state=0)
    rbf, linear = (
        cross_val_score(SVC(kernel=kernel, random_state=0), X, y, scoring="roc_auc", cv=folds)
        for kernel in ("rbf", "linear")
    )
    test = corrected_t_test(rbf, linear, test_per_train=10 / 90)
    assert f"{test.statistic:.3f}" == "0.750"
    assert f"{test.p_value / 2:.3f}" == "0.227"


def test_order_only_changes_the_sign():
    a, b = [0.1, 0.9, 0.4], [0.2, 0.3, 0.3]
    one, other = (
        corrected_t_test(a, b, test_per_train=0.25),
        corrected_t_test(b, a, test_per_train=0.25),
    )
    assert (one.statistic, one.p_value) == (-other.statistic, other.p_value)


def test_no_variance():
    same = corrected_t_test([0.5] * 5, [0.5] * 5, test_per_train=0.25)
    assert (same.statistic, same.p_value) == (0.0, 1.0)
    apart = corrected_t_test([0.3] * 5, [0.1] * 5, test_per_train=0.25)
    assert (apart.statistic, apart.p_value) == (np.inf, 0.0)


def test_a_difference_that_is_rounding_is_none():
    rounded = corrected_t_test([0.1 + 0.2] * 5, [0.3] * 5, test_per_train=0.25)
    assert (rounded.statistic, rounded.p_value) == (0.0, 1.0)


def test_the_correction_calls_off_what_the_plain_test_announces():
    """Pure chance, seen through folds that share training rows: scores = a shared accident + fold
    noise.
    """
    random = np.random.default_rng(0)
    plain = corrected = 0
    for _ in range(300):
        difference = random.normal() * 0.5 + random.normal(size=25)
        plain += ttest_rel(difference, np.zeros(25)).pvalue <= 0.05
        corrected += corrected_t_test(difference, np.zeros(25), test_per_train=0.25).p_value <= 0.05
    assert plain > 100
    assert corrected < 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"first": [1.0], "second": [0.5], "test_per_train": 0.25},
            "at least two folds must be paired; found 1",
        ),
        (
            {"first": [1.0, 0.5], "second": [0.5, 0.5], "test_per_train": 0.0},
            "test_per_train must be above 0",
        ),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        corrected_t_test(**options)


def test_holm_by_its_definition():
    """Rejecting step by step at level/(m − i) until one fails rejects exactly the corrected values
    at or below the level.
    """
    random = np.random.default_rng(1)
    for _ in range(200):
        p = random.uniform(0, 0.12, size=random.integers(1, 7)).tolist()
        rejected = set()
        for place, index in enumerate(np.argsort(p)):
            if p[index] > 0.05 / (len(p) - place):
                break
            rejected.add(int(index))
        assert {i for i, corrected in enumerate(holm(p)) if corrected <= 0.05} == rejected
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def records(method, hits, *, n=25, learned=80, folds=None):
    return [
        Record("p", method, i // 5, i % 5, learned, 19, 0, int(i >= hits), int(i < hits), None, 0.1)
        for i in (folds if folds is not None else range(n))
    ]


def test_standings():
    found = standings({m: records(m, h) for m, h in {"a": 2, "b": 20, "c": 21}.items()}, "g_mean")
    assert list(found) == ["a", "b", "c"]
    assert {s.best for s in found.values()} == {"c"}
    assert [s.wins for s in found.values()] == [False, True, True]
    assert found["a"].n == 25
    assert found["b"].mean == pytest.approx(0.8)


def test_holm_is_left_out_where_the_paper_leaves_it_out():
    methods = {m: records(m, h) for m, h in {"a": 2, "b": 10, "c": 21}.items()}
    plain, corrected = (standings(methods, "mcc", many=many) for many in (False, True))
    direct = corrected_t_test(
        [r.mcc for r in methods["c"]], [r.mcc for r in methods["a"]], test_per_train=0.25
    )
    assert plain["a"].p_value == pytest.approx(direct.p_value)
    assert corrected["a"].p_value == pytest.approx(2 * direct.p_value)


def test_folds_are_paired_by_name_not_by_place():
    shuffled = list(reversed(records("b", 20)))
    assert standings({"a": records("a", 20), "b": shuffled}, "g_mean")["b"].p_value == 1.0


def test_the_first_listed_is_best_among_equals():
    assert standings({"x": records("x", 5), "a": records("a", 5)}, "g_mean")["a"].best == "x"


def test_rows_tested_per_row_learned():
    assert significance.tested_per_learned(records("a", 3, learned=80)) == pytest.approx(0.25)
