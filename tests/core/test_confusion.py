import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from astralearn.core import SoftConfusion, soft_confusion
from namespaces import NAMESPACES
from oracles import brute_confusion

READS = [
    "tpr",
    "tnr",
    "fpr",
    "fnr",
    "precision",
    "g_mean",
    "f1",
    "mcc",
    "balanced_accuracy",
    "e_ratio",
]


def data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 4, n), (rng.uniform(size=n) < 0.1).astype(float), rng.uniform(0, 3, n)


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_against_a_loop(space, dtype, weighted):
    g, y, w = (a.astype(dtype) for a in data())
    weight = w if weighted else np.ones_like(w)
    with space.double():
        arguments = [space.asarray(a) for a in ((g, y, w) if weighted else (g, y))]
        counts = soft_confusion(*arguments, **space.options)
        reads = {name: float(getattr(counts, name)) for name in READS}
        got = [float(c) for c in counts]
    expected = [float(c) for c in brute_confusion(g.tolist(), y.tolist(), weight.tolist())]
    np.testing.assert_allclose(got, expected, rtol=1e-13 if dtype == np.float64 else 2e-6)
    tn, fp, fn, tp = expected
    by_hand = {
        "tpr": tp / (tp + fn),
        "tnr": tn / (tn + fp),
        "fpr": fp / (tn + fp),
        "fnr": fn / (tp + fn),
        "precision": tp / (tp + fp),
        "g_mean": math.sqrt(tp / (tp + fn) * tn / (tn + fp)),
        "f1": 2 * tp / (2 * tp + fp + fn),
        "mcc": (tp * tn - fp * fn) / math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)),
        "balanced_accuracy": (tp / (tp + fn) + tn / (tn + fp)) / 2,
        "e_ratio": fn / (tp + fn) / (fp / (tn + fp)),
    }
    assert reads == pytest.approx(by_hand, rel=1e-12 if dtype == np.float64 else 2e-5)


def test_shards_add_up_to_the_whole():
    g, y, w = data()
    whole = soft_confusion(g, y, w)
    shards = [soft_confusion(g[i::7], y[i::7], w[i::7]) for i in range(7)]
    np.testing.assert_allclose(sum(shards), whole, rtol=1e-14)
    np.testing.assert_allclose(shards[0] + shards[1], np.asarray(shards[0]) + np.asarray(shards[1]))
    assert isinstance(sum(shards), SoftConfusion)


def test_only_counts_add_to_counts():
    with pytest.raises(TypeError):
        operator.add(SoftConfusion(1, 2, 3, 4), (1, 2, 3, 4))
    with pytest.raises(TypeError):
        1 + SoftConfusion(1, 2, 3, 4)


def test_one_count_per_column():
    g, y, _ = data(300)
    columns = soft_confusion(g.reshape(100, 3), y.reshape(100, 3), axis=0)
    for j in range(3):
        alone = soft_confusion(g[j::3], y[j::3])
        np.testing.assert_allclose([c[j] for c in columns], alone, rtol=1e-14)
        assert columns.mcc[j] == pytest.approx(float(alone.mcc))


@given(*[st.integers(0, 20)] * 4)
def test_hard_counts_read_as_in_scikit_learn(tn, fp, fn, tp):
    counts = SoftConfusion(tn, fp, fn, tp)
    reads = {name: float(getattr(counts, name)) for name in READS}
    assert all(math.isfinite(v) for v in reads.values())
    if tn + fp == 0 or fn + tp == 0:
        return
    truth = [0] * (tn + fp) + [1] * (fn + tp)
    guess = [0] * tn + [1] * fp + [0] * fn + [1] * tp
    assert reads["mcc"] == pytest.approx(metrics.matthews_corrcoef(truth, guess), abs=1e-12)
    assert reads["f1"] == pytest.approx(metrics.f1_score(truth, guess, zero_division=0), abs=1e-12)
    assert reads["precision"] == pytest.approx(
        metrics.precision_score(truth, guess, zero_division=0), abs=1e-12
    )
    assert reads["balanced_accuracy"] == pytest.approx(
        metrics.balanced_accuracy_score(truth, guess), abs=1e-12
    )
    assert reads["tpr"] == pytest.approx(metrics.recall_score(truth, guess), abs=1e-12)


def test_an_empty_class_reads_as_one_correct_example():
    no_positives = SoftConfusion(tn=90, fp=10, fn=0, tp=0)
    assert float(no_positives.tpr) == 1
    assert float(no_positives.fnr) == 0
    assert float(no_positives.g_mean) == pytest.approx(math.sqrt(0.9))
    assert float(no_positives.mcc) == pytest.approx(float(SoftConfusion(90, 10, 0, 1).mcc))
    nothing = SoftConfusion(0, 0, 0, 0)
    assert [float(getattr(nothing, name)) for name in READS] == [1, 1, 0, 0, 1, 1, 1, 1, 1, 1]


def test_e_ratio_where_no_negative_is_wrong():
    assert float(SoftConfusion(tn=5, fp=0, fn=0, tp=5).e_ratio) == 1
    assert float(SoftConfusion(tn=5, fp=0, fn=5, tp=5).e_ratio) == pytest.approx(0.5e30)
    assert np.isfinite(SoftConfusion(*np.asarray([5, 0, 5, 5], np.float32)).e_ratio)


def test_counts_too_large_for_a_product_of_four():
    counts = SoftConfusion(*(np.float32(v) for v in (9e15, 1e15, 1e12, 3e12)))
    tn, fp, fn, tp = (float(v) for v in counts)
    exact = (tp * tn - fp * fn) / (
        math.sqrt(tp + fp) * math.sqrt(tp + fn) * math.sqrt(tn + fp) * math.sqrt(tn + fn)
    )
    assert float(counts.mcc) == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("scale", [200.0, 1e4, 1e30])
def test_saturated_logits_count_exactly(space, scale):
    g = np.asarray([-scale, scale, -scale, scale], np.float32)
    with space.double():
        counts = soft_confusion(
            space.asarray(g), space.asarray(np.asarray([0, 0, 1, 1], np.float32)), **space.options
        )
        assert [float(c) for c in counts] == pytest.approx([1, 1, 1, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], [0, 2]), r"y must be 0 or 1; found 2\.0"),
        (([0.0, 1.0], [-1, 1]), r"y must be 0 or 1; found -1\.0"),
        (([0.0, 1.0], [0, 1, 1]), r"shapes must broadcast; found logits \(2,\) and y \(3,\)"),
        (
            (np.zeros((3, 1)), np.zeros(3)),
            r"y must have the shape of logits, \(3, 1\); found \(3,\)",
        ),
        (
            ([0.0, 1.0], [0, 1], [1.0, -2.0]),
            r"sample_weight must be finite and at least 0; found -2\.0",
        ),
        (
            ([0.0, 1.0], [0, 1], [math.nan, 1.0]),
            r"sample_weight must be finite and at least 0; found nan",
        ),
        (([0.0, 1.0], [0, 1], [0.0, 0.0]), r"sample_weight must be above 0 somewhere"),
        (
            (np.zeros((3, 1)), np.zeros((3, 1)), np.ones(3)),
            r"sample_weight must broadcast to the shape of logits, \(3, 1\); found \(3,\)",
        ),
        (([], []), r"logits must hold at least one value"),
    ],
)
def test_bad_input_names_the_argument_and_the_value(arguments, message):
    with pytest.raises(ValueError, match=message):
        soft_confusion(*arguments)


def test_counts_next_to_the_largest_float_are_read():
    counts = SoftConfusion(*[np.float32(3e38)] * 4)
    for name in ("tpr", "tnr", "fnr", "fpr", "precision", "f1", "balanced_accuracy"):
        assert float(getattr(counts, name)) == 0.5, name
    assert float(counts.mcc) == 0
