import functools
import itertools

import mpmath as mp
import numpy as np
import pytest
from array_api_compat import array_namespace
from hypothesis import given
from hypothesis import strategies as st

import astralearn
from astralearn.core import LOSSES, SoftConfusion
from astralearn.core.class_means import Means
from namespaces import IN_BOTH_PRECISIONS, NAMESPACES
from oracles import brute_factors, brute_gradient, brute_loss, drawn_logits

NAMES = list(LOSSES)
DIFFERENTIABLE = [s for s in NAMESPACES if s.gradients]


def test_the_table_names_every_loss():
    assert NAMES == ["bce", "gmn", "f1", "mcc", "balanced_accuracy", "root_gmn"]


@pytest.mark.parametrize(("space", "dtype"), IN_BOTH_PRECISIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_value_and_gradient_against_textbook_formulas(space, name, dtype, weighted):
    g, y, w = (a.astype(dtype) for a in drawn_logits())
    weight = w if weighted else np.ones_like(w)
    with space.double():
        arguments = [space.asarray(a) for a in ((g, y, w) if weighted else (g, y))]
        value, gradient = (
            space.numpy(space.compiled(functools.partial(of, **space.options))(*arguments))
            for of in (LOSSES[name].value, LOSSES[name].gradient)
        )
    assert value.dtype == gradient.dtype == dtype
    tight = dtype == np.float64
    exact = float(brute_loss(name, g.tolist(), y.tolist(), weight.tolist()))
    assert float(value) == pytest.approx(exact, rel=1e-12 if tight else 1e-5)
    expected = np.asarray(brute_gradient(name, g.tolist(), y.tolist(), weight.tolist()))
    np.testing.assert_allclose(
        gradient, expected, rtol=1e-10 if tight else 1e-3, atol=1e-14 if tight else 1e-7
    )


@pytest.mark.parametrize("space", DIFFERENTIABLE, ids=lambda s: s.name)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_gradient_against_autodiff(space, name):
    g, y, w = drawn_logits(seed=1)
    with space.double():
        y, w = space.asarray(y), space.asarray(w)
        (auto,) = space.gradients(
            lambda a: LOSSES[name].value(a, y, w, **space.options), (space.asarray(g),)
        )
        closed = space.compiled(functools.partial(LOSSES[name].gradient, **space.options))(
            space.asarray(g), y, w
        )
        np.testing.assert_allclose(space.numpy(auto), space.numpy(closed), rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
def test_gmn_gradient_is_exact_where_every_positive_is_lost(space):
    g = np.asarray([-200.0, -201.0, -203.0, 1.0, -2.0, 0.5])
    y = np.asarray([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    with space.double():
        gradient = space.numpy(
            LOSSES["gmn"].gradient(space.asarray(g), space.asarray(y), **space.options)
        )
    np.testing.assert_allclose(gradient, _scaled_gmn_gradient(g, y), rtol=1e-11)
    assert (gradient[:3] < 0).all()


def _scaled_gmn_gradient(g, y):
    """maths.md's formula in mpmath."""
    with mp.workdps(120):
        z = [1 / (1 + mp.exp(-mp.mpf(v))) for v in g.tolist()]
        tp = sum(zi for zi, yi in zip(z, y, strict=True) if yi)
        tn = sum(1 - zi for zi, yi in zip(z, y, strict=True) if not yi)
        root = mp.sqrt(tp / int(y.sum()) * tn / int((1 - y).sum()))
        return [
            float(-root * zi * (1 - zi) / tp / 2 if yi else root * zi * (1 - zi) / tn / 2)
            for zi, yi in zip(z, y, strict=True)
        ]


@pytest.mark.parametrize(("space", "dtype"), IN_BOTH_PRECISIONS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_extreme_logits_are_finite(space, name, dtype):
    # Each column is a case of its own.
    scales = np.asarray([0.0, 200.0, 1e4, 1e30], dtype)
    labels = np.asarray([[0, 0, 1, 1, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 1]], dtype).T
    y = np.tile(labels, len(scales))
    g = np.outer(np.asarray([-1, 1, -1, 1, -1], dtype), np.repeat(scales, 3))
    options = {"axis": 0, **space.options}
    with space.double(), np.errstate(under="ignore"):
        arguments = space.asarray(g), space.asarray(y)
        found = [
            space.compiled(functools.partial(of, **options))(*arguments)
            for of in (LOSSES[name].value, LOSSES[name].gradient)
        ]
        if space.gradients:
            found += space.gradients(
                lambda a: LOSSES[name].value(a, arguments[1], **options), arguments[:1]
            )
        assert all(np.isfinite(space.numpy(each)).all() for each in found)


@pytest.mark.parametrize(("space", "dtype"), IN_BOTH_PRECISIONS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_where_all_are_taken_for_one_class_losses_are_finite(space, name, dtype):
    """Counts of the other class are below the smallest normal number, whose reciprocal overflows.

    Each column is a case of its own.
    """
    single = dtype == np.float32
    far = (200.0, 102.0, 95.0, 87.0, 60.0) if single else (800.0, 740.0, 720.0, 500.0)
    pairs = itertools.product(far, far, (1.0, -1.0))
    g = np.asarray([[sign * one] * 3 + [sign * other] for one, other, sign in pairs], dtype).T
    y = np.broadcast_to(np.asarray([[0], [0], [0], [1]], dtype), g.shape)
    with space.double(), np.errstate(under="ignore"):
        arguments = space.asarray(g), space.asarray(np.array(y))
        options = {"axis": 0, **space.options}
        values, gradient = (
            space.compiled(functools.partial(of, **options))(*arguments)
            for of in (LOSSES[name].value, LOSSES[name].gradient)
        )
        values, gradients = space.numpy(values), [gradient]
        if space.gradients:
            gradients += space.gradients(
                lambda a: LOSSES[name].value(a, arguments[1], **options), arguments[:1]
            )
    assert np.isfinite(values).all()
    assert all(np.isfinite(space.numpy(found)).all() for found in gradients)
    if name == "mcc":
        np.testing.assert_allclose(values, 1.0, atol=1e-6)


@pytest.mark.parametrize("space", DIFFERENTIABLE, ids=lambda s: s.name)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_weights_whose_square_float32_loses(space, name):
    """Every loss is a ratio of weights: no derivative sees their scale, one for each column."""
    g, y, w = (a.astype(np.float32) for a in drawn_logits(12, seed=7))
    expected = np.asarray(brute_gradient(name, g.tolist(), y.tolist(), w.tolist()))
    scales = np.asarray([1e-34, 1e-20, 1e25], np.float32)
    options = {"axis": 0, **space.options}
    with space.double():
        columns = np.repeat(g[:, None], 3, axis=1), np.repeat(y[:, None], 3, axis=1)
        arrays = [space.asarray(a) for a in (*columns, np.outer(w, scales))]
        closed = space.compiled(functools.partial(LOSSES[name].gradient, **options))
        (auto,) = space.gradients(
            lambda a: LOSSES[name].value(a, *arrays[1:], **options), tuple(arrays[:1])
        )
        for found in (auto, closed(*arrays)):
            for column in np.asarray(space.numpy(found)).T:
                np.testing.assert_allclose(column, expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("space", DIFFERENTIABLE, ids=lambda s: s.name)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_such_weights_in_a_batch_of_one_class(space, name):
    # Each column is a case of its own.
    scales, labels = (np.asarray(a, np.float32) for a in ([1e-20, 1e-20, 1e34, 1e34], [0, 1, 0, 1]))
    g = np.repeat(np.asarray([[-1.0], [0.5], [2.0]], np.float32), 4, axis=1)
    options = {"axis": 0, **space.options}
    with space.double():
        arrays = [space.asarray(np.array(np.broadcast_to(a, g.shape))) for a in (g, labels, scales)]
        found = space.gradients(
            lambda a: LOSSES[name].value(a, *arrays[1:], **options), tuple(arrays[:1])
        )
        closed = space.compiled(functools.partial(LOSSES[name].gradient, **options))
        found = (*found, closed(*arrays))
        assert all(np.isfinite(space.numpy(part)).all() for part in found)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_a_batch_of_one_class_still_teaches_that_class(name, label):
    g = np.asarray([-1.0, 0.5, 2.0])
    y = np.full(3, label)
    value, gradient = float(LOSSES[name].value(g, y)), LOSSES[name].gradient(g, y)
    assert np.isfinite(value)
    assert value > 0
    assert (gradient * (1 - 2 * label) > 0).all()
    step = 1e-6
    numeric = [
        (LOSSES[name].value(g + step * e, y) - LOSSES[name].value(g - step * e, y)) / (2 * step)
        for e in np.eye(3)
    ]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_doubled_weight_is_a_duplicated_row(name):
    g, y, _ = drawn_logits(20, seed=3)
    weight = np.ones(20)
    weight[[0, 5]] = 2
    again = np.concatenate([np.arange(20), [0, 5]])
    loss = LOSSES[name]
    assert float(loss.value(g, y, weight)) == pytest.approx(
        float(loss.value(g[again], y[again])), rel=1e-12
    )
    long = loss.gradient(g[again], y[again])
    np.testing.assert_allclose(
        loss.gradient(g, y, weight),
        long[:20] + np.isin(np.arange(20), [0, 5]) * long[:20],
        rtol=1e-10,
        atol=1e-16,
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_row_without_weight_does_not_exist(name):
    g, y, w = drawn_logits(20, seed=4)
    w[[1, 7]] = 0
    keep = w > 0
    loss = LOSSES[name]
    assert float(loss.value(g, y, w)) == pytest.approx(
        float(loss.value(g[keep], y[keep], w[keep])), rel=1e-12
    )
    gradient = loss.gradient(g, y, w)
    np.testing.assert_allclose(
        gradient[keep], loss.gradient(g[keep], y[keep], w[keep]), rtol=1e-10, atol=1e-16
    )
    assert (gradient[~keep] == 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_one_loss_per_column(name):
    g, y, w = drawn_logits(60, seed=5)
    g, y, w = g.reshape(20, 3), np.tile(drawn_logits(20)[1][:, None], 3), w.reshape(20, 3)
    values, gradients = LOSSES[name].value(g, y, w, axis=0), LOSSES[name].gradient(g, y, w, axis=0)
    for j in range(3):
        assert values[j] == pytest.approx(
            float(LOSSES[name].value(g[:, j], y[:, j], w[:, j])), rel=1e-13
        )
        np.testing.assert_allclose(
            gradients[:, j], LOSSES[name].gradient(g[:, j], y[:, j], w[:, j]), rtol=1e-12
        )


@given(
    st.lists(
        st.tuples(st.floats(-1e30, 1e30), st.booleans(), st.floats(0, 1e6)), min_size=1, max_size=12
    ),
    st.sampled_from(NAMES),
    st.booleans(),
)
def test_nothing_finite_gives_nan_or_infinity(rows, name, single):
    dtype = np.float32 if single else np.float64
    with np.errstate(all="ignore"):
        g, y, w = (np.asarray(column, dtype) for column in zip(*rows, strict=True))
        if not w.sum() > 0:
            return
        assert np.isfinite(LOSSES[name].value(g, y, w))
        assert np.isfinite(LOSSES[name].gradient(g, y, w)).all()


@pytest.mark.parametrize("name", NAMES)
def test_bad_labels_are_refused_by_value_and_gradient(name):
    for function in (LOSSES[name].value, LOSSES[name].gradient):
        with pytest.raises(ValueError, match=r"y must be 0 or 1; found 3\.0"):
            function([0.0, 1.0], [0, 3])


@pytest.mark.parametrize("space", [s for s in NAMESPACES if s.xp is None], ids=lambda s: s.name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.slow
def test_the_block_of_the_readme(space, dtype):
    """A slope made of a number serves arrays of every library, in their dtype."""
    x, y, _ = drawn_logits()
    with space.double():
        x, y = space.asarray(x.astype(dtype)), space.asarray(y.astype(dtype))
        b = astralearn.slope(0.25)
        g = astralearn.rebalanced_logit(x, b)
        loss = astralearn.gmn_loss(g, y)
        assert space.numpy(g).dtype == space.numpy(loss).dtype == dtype
        assert float(astralearn.soft_confusion(g, y).e_ratio) > 0
    assert 0 < float(loss) < 1


def test_mcc_of_weights_twelve_orders_apart():
    value = astralearn.core.mcc_loss([0, -1e4, 104], [1, 1, 0], [1e-12, 1e12, 1e-12])
    assert float(value) == pytest.approx(1 + np.sqrt(2 / 3), rel=1e-12)


# As (tn, fp, fn, tp): rows of a rare class, every positive all but lost, all but found, and totals
# near the ends of what float32 holds.
COUNTS = [
    (70.0, 20.0, 4.0, 3.0),
    (999_000.0, 1_000.0, 1e-3, 4.999),
    (50.0, 40.0, 5.0, 1e-12),
    (1e-9, 90.0, 1e-9, 7.0),
    (8e33, 1e33, 2e33, 5e33),
    (8e-33, 1e-33, 2e-33, 5e-33),
    (9e11, 1e11, 4e-12, 1e-12),
]


def factors_of(name, counts, space, dtype):
    """`Loss.factors` of means that hold these counts, in units of peaks 0."""
    xp = space.xp or array_namespace(space.asarray(np.zeros(1)))
    means = Means.of_counts(SoftConfusion(*(space.asarray(dtype(part)) for part in counts)), xp=xp)
    zero = space.asarray(dtype(0))
    return [space.numpy(part) for part in LOSSES[name].factors(means, (zero, zero), xp=xp)]


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
def test_factors_are_the_derivatives_in_the_class_sums(space, name, dtype):
    for counts in COUNTS:
        with space.double(), np.errstate(under="ignore"):
            found = factors_of(name, counts, space, dtype)
        assert {part.dtype for part in found} == {np.dtype(dtype)}
        exact = brute_factors(name, [float(dtype(part)) for part in counts], LOSSES[name].power)
        np.testing.assert_allclose(
            found, exact, rtol=1e-10 if dtype == np.float64 else 1e-5, err_msg=f"{counts}"
        )


@pytest.mark.parametrize("space", DIFFERENTIABLE, ids=lambda s: s.name)
@pytest.mark.parametrize("name", NAMES)
def test_falls_are_minus_the_autodiff_of_the_value(space, name):
    loss = LOSSES[name]
    for numbers in COUNTS[:3]:
        with space.double():
            counts = SoftConfusion(*(space.asarray(np.float64(part)) for part in numbers))
            xp = space.xp or array_namespace(counts.tn)
            means = Means.of_counts(counts, xp=xp)

            def value(*logs, means=means, xp=xp):
                # The mean wrong is 1 - e^log_right, and moves with it.
                moved = (
                    of_class._replace(log_right=log, wrong=-xp.expm1(log))
                    for of_class, log in zip(means, logs, strict=True)
                )
                return loss.of_means(Means(*moved), xp=xp)

            auto = space.gradients(value, tuple(of_class.log_right for of_class in means))
            falls = loss.falls(means, xp=xp)
            np.testing.assert_allclose(
                [-space.numpy(part) for part in auto],
                [space.numpy(part) for part in falls],
                rtol=1e-10,
                atol=1e-15,  # Autodiff adds up what the class gains and what it loses.
            )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
def test_factors_are_finite_for_any_counts(name, dtype):
    none = np.finfo(dtype).smallest_subnormal
    for counts in (
        *itertools.product((0.0, 5.0), repeat=4),
        (none, 5.0, 5.0, none),
        (5.0, none, none, 5.0),
    ):
        with np.errstate(under="ignore"):
            found = factors_of(name, counts, NAMESPACES[0], dtype)
        assert np.isfinite(found).all(), counts
        assert np.min(found) >= 0, counts
