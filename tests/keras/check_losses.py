import keras
import numpy as np
import pytest

from astralearn.core import LOSSES
from astralearn.core.losses import Loss
from astralearn.keras import (
    ASTra,
    BalancedAccuracyLoss,
    F1Loss,
    GMNLoss,
    MCCLoss,
    RootGMNLoss,
    SummedLoss,
)
from keras_backend import OTHERS_LONG, gradients, model_gradients, once, second_derivatives, values
from oracles import brute_loss

pytestmark = pytest.mark.usefixtures("few")

CLASSES = {
    "gmn": GMNLoss,
    "f1": F1Loss,
    "mcc": MCCLoss,
    "balanced_accuracy": BalancedAccuracyLoss,
    "root_gmn": RootGMNLoss,
}
REST = [
    pytest.param(name, marks=pytest.mark.long) for name in CLASSES if name not in ("gmn", "mcc")
]
every_loss = pytest.mark.parametrize("name", ["gmn", "mcc", *REST])

# A loss through logarithms on every backend, one through counts where nothing is compiled.
every_loss_once = pytest.mark.parametrize(
    "name", ["gmn", pytest.param("mcc", marks=OTHERS_LONG), *REST]
)


def batch(n=60, seed=0, scale=3.0, units=1):
    rng = np.random.default_rng(seed)
    y = rng.random((n, units)) < 0.2
    y[:2], y[2] = True, False
    return [
        a.astype("float32")
        for a in (rng.normal(0, scale, y.shape), y, rng.uniform(0.1, 3, y.shape))
    ]


def value_and_gradient(loss, g, y, weight=None):
    (gradient,) = gradients(lambda a: loss(y, a, weight), g)
    return float(values(lambda a: loss(y, a, weight), g)), gradient


def test_every_loss_but_keras_own_has_a_class():
    assert set(CLASSES) == set(LOSSES) - {"bce"}


@every_loss
@pytest.mark.parametrize("weighted", [False, True])
def test_value_against_the_textbook_and_gradient_against_the_core(name, weighted):
    g, y, w = batch()
    w = w if weighted else np.ones_like(w)
    value, gradient = value_and_gradient(CLASSES[name](), g, y, w if weighted else None)
    wide = [a.astype("float64") for a in (g, y, w)]
    assert value == pytest.approx(
        float(brute_loss(name, *(a.ravel().tolist() for a in wide))), rel=1e-6
    )
    np.testing.assert_allclose(gradient, LOSSES[name].gradient(*wide), rtol=1e-6, atol=1e-7)


@every_loss_once
def test_a_doubled_weight_is_a_duplicated_row(name):
    g, y, _ = batch()
    doubled = np.where(np.arange(60) % 4 == 0, 2.0, 1.0).astype("float32")
    again = np.repeat(np.arange(60), doubled.astype(int))
    value, gradient = value_and_gradient(CLASSES[name](), g, y, doubled)
    expected, expected_gradient = value_and_gradient(CLASSES[name](), g[again], y[again])
    assert value == pytest.approx(expected, rel=1e-6)
    summed = np.zeros_like(g)
    np.add.at(summed, again, expected_gradient)
    np.testing.assert_allclose(gradient, summed, rtol=1e-6, atol=1e-7)


@every_loss_once
def test_second_derivatives(name):
    """Against differences of the core's gradient."""
    g, y, w = batch(12)
    wide = [a.astype("float64") for a in (g, y, w)]
    step = 1e-6 * np.eye(12)[:, :, None]
    columns = [
        (
            LOSSES[name].gradient(wide[0] + h, *wide[1:])
            - LOSSES[name].gradient(wide[0] - h, *wide[1:])
        ).sum()
        / 2e-6
        for h in step
    ]
    found = second_derivatives(lambda a: CLASSES[name]()(y, a, w), g)
    np.testing.assert_allclose(found[:, 0], columns, rtol=1e-3, atol=1e-6)


@every_loss_once
@pytest.mark.parametrize("scale", [pytest.param(200.0, marks=pytest.mark.long), 1e4])
@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 0], [1, 1, 0, 0, 0], [0] * 5, [1] * 5], ids=str)
def test_extreme_logits_are_finite(name, scale, labels):
    value, gradient = value_and_gradient(
        CLASSES[name](), np.asarray([-scale, scale, -scale, scale, -scale], "float32"), labels
    )
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_gmn_still_teaches_where_every_positive_is_lost():
    _, gradient = value_and_gradient(
        GMNLoss(), np.asarray([-60.0, -61.0, 1.0], "float32"), [1, 1, 0]
    )
    expected = LOSSES["gmn"].gradient(np.asarray([-60.0, -61.0, 1.0]), np.asarray([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(gradient, expected, rtol=1e-4)
    assert (gradient[:2] < 0).all()


@every_loss_once
@pytest.mark.parametrize("label", [0, 1])
def test_a_batch_of_one_class_still_teaches_that_class(name, label):
    """As if one example of the other class were there, classified right."""
    g = np.asarray([-1.0, 0.5, 2.0], "float32")
    value, gradient = value_and_gradient(CLASSES[name](), g, [label] * 3)
    joined, joined_gradient = value_and_gradient(
        CLASSES[name](), np.append(g, np.float32(-80 if label else 80)), [label] * 3 + [1 - label]
    )
    assert value == pytest.approx(joined, rel=1e-5)
    assert value > 0
    np.testing.assert_allclose(gradient, joined_gradient[:3], rtol=1e-5)


@every_loss_once
def test_missing_labels_and_zero_weights_do_not_exist(name):
    g, y, w = batch(seed=2)
    keep = np.arange(60)[:, None] % 3 != 0
    expected, expected_gradient = value_and_gradient(CLASSES[name](), g[keep], y[keep], w[keep])
    for target, weight in ((np.where(keep, y, np.nan), w), (y, np.where(keep, w, 0))):
        value, gradient = value_and_gradient(
            CLASSES[name](), g, target.astype("float32"), weight.astype("float32")
        )
        assert value == pytest.approx(expected, rel=1e-6)
        np.testing.assert_allclose(gradient[keep], expected_gradient, rtol=1e-6, atol=1e-7)
        assert (gradient[~keep] == 0).all()


@every_loss_once
def test_a_batch_without_any_label_is_zero(name):
    value, gradient = value_and_gradient(
        CLASSES[name](), np.ones((4, 1), "float32"), np.full((4, 1), np.nan, "float32")
    )
    assert value == 0
    assert (gradient == 0).all()


@every_loss_once
@pytest.mark.parametrize("per_output", [False, True])
@pytest.mark.parametrize(
    "shape",
    [(0, 2), *(pytest.param(each, marks=pytest.mark.long) for each in ((0, 5, 2), (4, 0, 2)))],
)
def test_a_batch_of_nothing_is_zero(name, per_output, shape):
    value, gradient = value_and_gradient(
        CLASSES[name](per_output=per_output),
        Z(shape, "float32"),
        Z(shape, "float32"),
        np.ones(shape[:1]),
    )
    assert value == 0
    assert gradient.shape == shape


@every_loss_once
def test_per_output_is_one_loss_for_each(name):
    g, y, w = batch(units=3)
    each = [value_and_gradient(CLASSES[name](), g[:, c], y[:, c], w[:, c])[0] for c in range(3)]
    value, gradient = value_and_gradient(CLASSES[name](per_output=True), g, y, w)
    assert value == pytest.approx(np.mean(each), rel=1e-6)
    wide = [a.astype("float64") for a in (g, y, w)]
    np.testing.assert_allclose(
        gradient, LOSSES[name].gradient(*wide, axis=0) / 3, rtol=1e-6, atol=1e-7
    )


@pytest.mark.parametrize(
    "name",
    ["gmn", *(pytest.param(name, marks=pytest.mark.long) for name in CLASSES if name != "gmn")],
)
def test_many_rows_keep_their_digits(name):
    rng = np.random.default_rng(0)
    g, y = (
        rng.normal(-3, 2, (4, 256, 256, 3)).astype("float32"),
        (rng.random((4, 256, 256, 3)) < 0.01).astype("float32"),
    )
    value, gradient = value_and_gradient(CLASSES[name](per_output=True), g, y)
    wide = [a.astype("float64") for a in (g, y)]
    assert value == pytest.approx(
        float(np.mean(LOSSES[name].value(*wide, axis=(0, 1, 2)))), rel=1e-6
    )
    expected = LOSSES[name].gradient(*wide, axis=(0, 1, 2)) / 3
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


def test_through_a_model():
    """The layer's and the loss's closed forms, chained, against differences of the core."""
    from astralearn.core import rebalanced_logit, slope_from_raw

    x, y, w = batch(40)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1), ASTra()])
    parameters = [keras.ops.convert_to_numpy(variable) for variable in model.trainable_variables]
    value, found = model_gradients(model, GMNLoss(), x, y, w)

    def core(kernel, bias, beta):
        g = rebalanced_logit(x.astype("float64") @ kernel + bias, slope_from_raw(beta))
        return LOSSES["gmn"].value(g, y.astype("float64"), w.astype("float64"))

    wide = [p.astype("float64") for p in parameters]
    assert value == pytest.approx(float(core(*wide)), rel=1e-6)
    for k, gradient in enumerate(found):
        shifted = [
            [p + (1e-6 * sign if j == k else 0) for j, p in enumerate(wide)] for sign in (1, -1)
        ]
        expected = (core(*shifted[0]) - core(*shifted[1])) / 2e-6
        np.testing.assert_allclose(gradient.ravel(), expected, rtol=1e-4, atol=1e-7)


@once
def test_a_seventh_loss_of_the_table_trains_and_is_saved(monkeypatch):
    """The sum of both classes' error rates, 2 − TPR − TNR, joins `core.LOSSES` alone."""
    seventh = Loss(
        1.0,
        lambda means, *, xp: means.negatives.wrong + means.positives.wrong,
        lambda means, *, xp: tuple(xp.exp(of_class.log_right) for of_class in means),
        reads_wrong=True,
    )
    monkeypatch.setitem(LOSSES, "sum_of_rates", seventh)
    g, y, w = batch()
    value, gradient = value_and_gradient(SummedLoss("sum_of_rates"), g, y, w)
    double, half = value_and_gradient(BalancedAccuracyLoss(), g, y, w)
    assert value == pytest.approx(2 * double, rel=1e-6)
    np.testing.assert_allclose(gradient, 2 * half, rtol=1e-6, atol=1e-7)
    config = keras.saving.serialize_keras_object(SummedLoss("sum_of_rates"))
    loss = keras.saving.deserialize_keras_object(config)
    assert (type(loss), loss.kind, loss.name) == (SummedLoss, "sum_of_rates", "sum_of_rates_loss")
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1), ASTra()])
    model.compile(keras.optimizers.Adam(0.05), loss=loss)
    history = model.fit(g + 4 * y, y, batch_size=60, epochs=20, verbose=0).history["loss"]
    assert history[-1] < history[0]


def test_config():
    loss = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(GMNLoss(per_output=True, name="mine"))
    )
    assert (type(loss), loss.per_output, loss.name) == (GMNLoss, True, "mine")


Z = np.zeros


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: GMNLoss()(Z((4, 2)), Z((4, 1), "float32")),
            ValueError,
            r"shape of the logits y_pred, \(4, 1\); found \(4, 2\)",
        ),
        (
            lambda: GMNLoss()(Z(3), Z(4, "float32")),
            ValueError,
            r"y_true must have the shape of the logits y_pred, \(4,\); found \(3,\)",
        ),
        (
            lambda: GMNLoss()([0, 3], Z(2, "float32")),
            ValueError,
            r"y_true must hold 0, 1 or NaN \(missing\); found 3",
        ),
        (lambda: GMNLoss()([0.5, 1.0], Z(2, "float32")), ValueError, r"found 0\.5"),
        (lambda: GMNLoss()([-1, 1], Z(2, "float32")), ValueError, r"found -1"),
        (
            lambda: GMNLoss()([0, 1], Z(2, "int32")),
            TypeError,
            "y_pred must be logits in floating point; found int32",
        ),
        (
            lambda: GMNLoss()([0, 1], Z(2, "float32"), [1.0, 1.0, 1.0]),
            ValueError,
            "sample_weight must have the shape of the logits",
        ),
        (
            lambda: GMNLoss()([0, 1], Z(2, "float32"), [1.0, -1.0]),
            ValueError,
            "sample_weight must be finite and at least 0; found -1$",
        ),
        (
            lambda: GMNLoss()([0, 1], Z(2, "float32"), [1.0, np.nan]),
            ValueError,
            "sample_weight must be finite and at least 0; found nan$",
        ),
        (
            lambda: GMNLoss(per_output=True)([0, 1], Z(2, "float32")),
            ValueError,
            r"per_output wants logits of shape \(N, …, units\)",
        ),
    ],
)
def test_mistakes_get_a_clear_error(call, error, message):
    with pytest.raises(error, match=message):
        call()
