import itertools

import numpy as np
import pytest
from array_api_compat import array_namespace

from astralearn.core import LOSSES
from astralearn.core.sums import SUMMED, examine_known, gmn_count, gmn_sums_of, gradient, is_shallow
from namespaces import NAMESPACES

NAMES = list(SUMMED)


def data(n=60, seed=0, scale=3.0):
    rng = np.random.default_rng(seed)
    y = np.zeros(n)
    y[: max(2, n // 10)] = 1
    return rng.normal(0, scale, n), y, rng.uniform(0.1, 3, n)


def in_shards(name, shards, axis=None, xp=np):
    """The joined loss and each shard's gradient, shards being (g, y, weight)."""
    loss = SUMMED[name]
    looks = [loss.examine(*shard, axis=axis, xp=xp) for shard in shards]
    total = looks[0][0]
    for sums, _ in looks[1:]:
        total = loss.add(total, sums, xp=xp)
    return loss.value(total, xp=xp), [
        gradient(slopes, y, loss.factors(sums, total, xp=xp))
        for (sums, slopes), (_, y, _) in zip(looks, shards, strict=True)
    ]


def test_every_loss_has_its_sums():
    assert set(NAMES) == set(LOSSES)


@pytest.mark.parametrize("space", NAMESPACES, ids=lambda s: s.name)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_one_shard_is_the_loss_itself(space, name, weighted, dtype):
    g, y, w = (a.astype(dtype) for a in data())
    tight = dtype == np.float64
    with space.double():
        arrays = [space.asarray(a) for a in (g, y)] + [space.asarray(w) if weighted else None]
        value, (gradient,) = in_shards(name, [arrays], xp=space.xp or array_namespace(arrays[0]))
        value, gradient = space.numpy(value), space.numpy(gradient)
    assert value.dtype == gradient.dtype == dtype
    arguments = (g.astype(float), y.astype(float), w.astype(float) if weighted else None)
    np.testing.assert_allclose(
        value.ravel(), LOSSES[name].value(*arguments), rtol=1e-13 if tight else 1e-5
    )
    np.testing.assert_allclose(
        gradient,
        LOSSES[name].gradient(*arguments),
        rtol=1e-11 if tight else 1e-4,
        atol=1e-18 if tight else 1e-9,
    )


def in_numpy(sums):
    return tuple(part.numpy().astype(float) for part in sums), np


@pytest.mark.parametrize("cuts", [[0, 30], [0, 9, 30]], ids=["in one part", "in two"])
@pytest.mark.parametrize("scale", [8.0, 400.0], ids=["shallow", "deep"])
@pytest.mark.parametrize("few", [None, in_numpy], ids=["in torch", "few numbers in NumPy"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("per_output", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_known_values_are_examined_as_any(name, weighted, per_output, few, scale, cuts):
    torch = pytest.importorskip("torch")
    from astralearn.torch.namespaces import eager

    g, y, w = (torch.tensor(a).reshape(30, 2) for a in data(seed=2, scale=scale))
    options = {"axis": (0,) if per_output else (0, 1), "xp": eager}
    rows = g, y, w if weighted else None

    def value_and_gradient(total, looks, xp):
        slopes_and_factors = [
            (
                slopes,
                [torch.as_tensor(factor) for factor in SUMMED[name].factors(sums, total, xp=xp)],
            )
            for sums, slopes in looks
        ]
        labels = y.split([len(slopes) for slopes, _ in slopes_and_factors])
        parts = [
            gradient(slopes, of_part, factors)
            for (slopes, factors), of_part in zip(slopes_and_factors, labels, strict=True)
        ]
        return torch.as_tensor(SUMMED[name].value(total, xp=xp)), torch.cat(parts)

    parts = [
        tuple(None if a is None else a[start:stop] for a in rows)
        for start, stop in itertools.pairwise(cuts)
    ]
    found = value_and_gradient(
        *examine_known(name, parts, few=few, **options), np if few else eager
    )
    sums, slopes = SUMMED[name].examine(*rows, **options)
    expected = value_and_gradient(sums, [(sums, slopes)], eager)
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-18)


@pytest.mark.parametrize("lost", [0, 1])
def test_the_short_form_knows_its_limits(lost):
    torch = pytest.importorskip("torch")
    g, y, _ = (torch.tensor(a) for a in data())
    g = torch.where(y == lost, (1.0 - 2.0 * lost) * 60.0, g)
    counts, _ = gmn_count(g, y, None, axis=(0,), xp=torch)
    assert not is_shallow(gmn_sums_of(counts, xp=torch)).any()


def test_the_short_form_serves_a_batch_without_positives():
    torch = pytest.importorskip("torch")
    g, y, _ = (torch.tensor(a) for a in data())
    counts, slopes = gmn_count(g, torch.zeros_like(y), None, axis=(0,), xp=torch)
    assert is_shallow(gmn_sums_of(counts, xp=torch)).all()
    assert torch.isfinite(slopes).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "cuts", [[30], [2, 3, 59], [6]], ids=["halves", "uneven", "all positives in the first"]
)
def test_shards_equal_the_joined_batch(name, cuts):
    g, y, w = data(seed=1)
    value, gradients = in_shards(
        name, list(zip(*(np.split(a, cuts) for a in (g, y, w)), strict=True))
    )
    assert float(value[0]) == pytest.approx(float(LOSSES[name].value(g, y, w)), rel=1e-13)
    np.testing.assert_allclose(
        np.concatenate(gradients), LOSSES[name].gradient(g, y, w), rtol=1e-11, atol=1e-18
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gmn_shards_are_exact_where_every_positive_is_lost(dtype):
    g = np.asarray([-200.0, -201.0, 1.0, -203.0, -2.0, 0.5], dtype)
    y = np.asarray([1.0, 1.0, 0.0, 1.0, 0.0, 0.0], dtype)
    with np.errstate(under="ignore"):
        _, gradients = in_shards(
            "gmn", [(g[:1], y[:1], None), (g[1:3], y[1:3], None), (g[3:], y[3:], None)]
        )
        expected = LOSSES["gmn"].gradient(g.astype(float), y.astype(float))
    normal = np.abs(expected) > np.finfo(dtype).smallest_normal
    np.testing.assert_allclose(
        np.concatenate(gradients)[normal],
        expected[normal],
        rtol=1e-11 if dtype == np.float64 else 1e-4,
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [0.0, 200.0, 1e4, 1e20])
def test_extreme_logits_are_finite(name, dtype, scale):
    g = np.asarray([-scale, scale, -scale, scale, -scale], dtype)
    for labels in ([0, 0, 1, 1, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 1], [0] * 5, [1] * 5):
        for weight in (None, np.asarray([0, 1, 0, 2, 1], dtype), np.zeros(5, dtype)):
            with np.errstate(under="ignore"):
                value, (gradient,) = in_shards(name, [(g, np.asarray(labels, dtype), weight)])
            assert np.isfinite(value).all()
            assert np.isfinite(gradient).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_an_empty_class_is_treated_as_in_losses(name, label):
    g, y = np.asarray([-1.0, 0.5, 2.0]), np.full(3, label)
    value, (gradient,) = in_shards(name, [(g, y, None)])
    assert float(value[0]) == pytest.approx(float(LOSSES[name].value(g, y)), rel=1e-13)
    np.testing.assert_allclose(gradient, LOSSES[name].gradient(g, y), rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_rows_without_weight_do_not_exist(name):
    g, y, w = data(20, seed=4)
    w[[0, 7]] = 0
    g[0] = 500.0  # the best positive by far, were it there
    _, (gradient,) = in_shards(name, [(g, y, w)])
    np.testing.assert_allclose(gradient, LOSSES[name].gradient(g, y, w), rtol=1e-11, atol=1e-18)


@pytest.mark.parametrize("name", NAMES)
def test_one_loss_per_column(name):
    g, y, w = data(60, seed=5)
    g, y, w = g.reshape(20, 3), np.tile(data(20)[1][:, None], 3), w.reshape(20, 3)
    value, (gradient,) = in_shards(name, [(g, y, w)], axis=0)
    np.testing.assert_allclose(value[0], LOSSES[name].value(g, y, w, axis=0), rtol=1e-13)
    np.testing.assert_allclose(
        gradient, LOSSES[name].gradient(g, y, w, axis=0), rtol=1e-11, atol=1e-18
    )


@pytest.mark.parametrize("name", NAMES)
def test_doubled_sums_keep_the_value_and_halve_the_gradient(name):
    g, y, _ = data(seed=6)
    loss = SUMMED[name]
    sums, _ = loss.examine(g, y, None, axis=None, xp=np)
    doubled = loss.add(sums, sums, xp=np)
    np.testing.assert_allclose(loss.value(doubled, xp=np), loss.value(sums, xp=np), rtol=1e-13)
    halved, whole = (np.asarray(loss.factors(sums, total, xp=np)) for total in (doubled, sums))
    np.testing.assert_allclose(2 * halved, whole, rtol=1e-12)
