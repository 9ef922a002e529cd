import keras
import numpy as np
import pytest

from astralearn.core import rebalanced_logit, slope_from_raw, slope_rate, soft_confusion
from astralearn.engine.network import Architecture, initialise, unflatten
from astralearn.engine.rows import Fold, Rows
from astralearn.engine.stack import Settings, Stack
from astralearn.engine.training import train
from astralearn.engine.view import View
from astralearn.keras import (
    ASTra,
    BestAfterBurnIn,
    ERatio,
    GMNLoss,
    SlopeRate,
    SlopeRateOptimizer,
    SoftFNR,
    SoftGMean,
    SoftMCC,
)
from keras_backend import BACKEND, OTHERS_LONG, once

FEATURES, HIDDEN = 4, 3
# torch.compile takes the better part of a minute.
COMPILED = pytest.mark.long if BACKEND == "torch" else ()
SLOPE = 7.396348  # of ASTra's initial threshold 0.25


def data(n=150, positives=9, seed=0):
    rng = np.random.default_rng(seed)
    y = np.zeros(n, "float32")
    y[:positives] = 1
    X = rng.normal(size=(n, FEATURES)) + 1.5 * y[:, None]
    order = rng.permutation(n)
    return X[order].astype("float32"), y[order], rng.uniform(0.2, 2, n).astype("float32")


def network(parameters=None, **astra):
    """The paper's network; parameters: a vector of the engine's."""
    layers = [
        keras.layers.Dense(HIDDEN),
        keras.layers.LeakyReLU(0.3),
        keras.layers.Dense(1),
        ASTra(**astra),
    ]
    model = keras.Sequential([keras.Input((FEATURES,)), *layers])
    if parameters is not None:
        hidden, out = unflatten(parameters, Architecture(FEATURES, (HIDDEN,)))
        for layer, weights in ((model.layers[0], hidden), (model.layers[2], out)):
            layer.set_weights([weights[:, :-1].T, weights[:, -1]])
    return model


def engine(X, y, weight, **settings):
    architecture = Architecture(FEATURES, (HIDDEN,))
    start = initialise(architecture, np.random.default_rng(7))
    view = View(np.zeros(FEATURES, "float32"), np.ones(FEATURES, "float32"))
    fold = Fold(Rows(X, y > 0.5, weight), view)
    trained = train(
        Stack(architecture, [fold], [0], start[None], np.full(1, SLOPE, "float32")),
        Settings(loss="gmn", **settings),
    )
    return start, trained


def adam(rate=1e-3, slope_rate=0.01):
    return SlopeRateOptimizer(keras.optimizers.Adam(rate, epsilon=1e-7), slope_rate)


def slope_of(model):
    return float(keras.ops.convert_to_numpy(model.layers[-1].slope)[0])


def rate_of(model):
    return float(keras.ops.convert_to_numpy(model.optimizer.slope_rate))


def fit(model, *arguments, batch_size=150, epochs=1, **options):
    return model.fit(
        *arguments, batch_size=batch_size, epochs=epochs, verbose=0, shuffle=False, **options
    )


def test_fit_reaches_the_engines_numbers():
    """Full batch, weights, Adam, one slope rate throughout: the same steps, in float32."""
    X, y, w = data()
    start, trained = engine(X, y, w, epochs=100, slope_rate_min=0.05, slope_rate_max=0.05)
    model = network(start)
    model.compile(adam(slope_rate=0.05), loss=GMNLoss(), weighted_metrics=[SoftFNR()])
    history = fit(model, X, y, sample_weight=w, epochs=100)
    found = np.concatenate(
        [
            np.concatenate([k.T, b[:, None]], axis=1).ravel()
            for k, b in (model.layers[i].get_weights() for i in (0, 2))
        ]
    )
    np.testing.assert_allclose(found, trained.parameters[0], rtol=1e-3, atol=2e-4)
    assert slope_of(model) == pytest.approx(float(trained.slope[0]), rel=1e-4)
    assert history.history["loss"][-1] == pytest.approx(
        float(trained.history[0]["loss"][-1]), rel=1e-3
    )
    assert history.history["soft_fnr"][-1] == pytest.approx(
        float(trained.history[0]["fnr"][-1]), rel=1e-3
    )


@once
def test_slope_rate_follows_the_engines_an_epoch_behind():
    """Eq. 10 in a callback takes effect on the next epoch, in the engine on the same one."""
    X, y, w = data()
    start, trained = engine(X, y, w, epochs=60)
    model = network(start)
    model.compile(adam(), loss=GMNLoss(), weighted_metrics=[ERatio()])
    history = fit(model, X, y, sample_weight=w, epochs=60, callbacks=[SlopeRate()])
    rate = 0.01
    for e_ratio, logged in zip(
        history.history["e_ratio"], history.history["slope_rate"], strict=True
    ):
        rate = float(slope_rate(rate, e_ratio))
        assert logged == pytest.approx(rate, rel=1e-5)
    assert rate_of(model) == pytest.approx(rate, rel=1e-5)
    assert slope_of(model) == pytest.approx(float(trained.slope[0]), rel=0.02)
    assert history.history["loss"][-1] == pytest.approx(
        float(trained.history[0]["loss"][-1]), rel=0.02
    )


@pytest.mark.parametrize("how", ["sample_weight", pytest.param("class_weight", marks=OTHERS_LONG)])
def test_a_doubled_weight_in_fit_is_a_duplicated_row(how):
    X, y, _ = data()
    doubled = (
        np.where(y == 1, 2.0, 1.0)
        if how == "class_weight"
        else np.where(np.arange(150) % 3 == 0, 2.0, 1.0)
    )
    again = np.repeat(np.arange(150), doubled.astype(int))
    weights = []
    for rows, options in (
        (np.arange(150), {how: {0: 1.0, 1: 2.0} if how == "class_weight" else doubled}),
        (again, {}),
    ):
        model = network(initialise(Architecture(FEATURES, (HIDDEN,)), np.random.default_rng(7)))
        model.compile(SlopeRateOptimizer(keras.optimizers.SGD(0.5), 0.5), loss=GMNLoss())
        fit(model, X[rows], y[rows], batch_size=1000, epochs=5, **options)
        weights.append(model.get_weights())
    for found, expected in zip(*weights, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@once
def test_batches_without_positives_train_on():
    X, y, _ = data(positives=2)
    model = network()
    model.compile(adam(), loss=GMNLoss(), metrics=[ERatio(), SoftMCC()])
    history = fit(model, X, y, batch_size=10, epochs=3, callbacks=[SlopeRate()])
    assert all(np.isfinite(value).all() for value in history.history.values())


@once
def test_masks_count_in_fit_and_evaluate():
    """Nothing is learned, so that both see the same logits. JAX shows training metrics no mask."""
    rng = np.random.default_rng(0)
    X, y = (
        rng.normal(size=(20, 7, 3)).astype("float32"),
        (rng.random((20, 7, 1)) < 0.2).astype("float32"),
    )
    X[:, 4:] = 0
    model = keras.Sequential(
        [keras.Input((7, 3)), keras.layers.Masking(), keras.layers.Dense(1), ASTra()]
    )
    model.compile(keras.optimizers.SGD(0.0), loss=GMNLoss(), metrics=[SoftGMean()])
    g_mean = float(
        soft_confusion(
            model.predict(X, verbose=0)[:, :4].astype("float64"), y[:, :4].astype("float64")
        ).g_mean
    )
    fitted = fit(model, X, y, batch_size=20).history
    evaluated = model.evaluate(X, y, batch_size=20, verbose=0, return_dict=True)
    assert fitted["loss"][0] == pytest.approx(1 - g_mean, rel=1e-5)
    assert evaluated["loss"] == pytest.approx(1 - g_mean, rel=1e-5)
    assert evaluated["soft_g_mean"] == pytest.approx(g_mean, rel=1e-5)
    if BACKEND != "jax":
        assert fitted["soft_g_mean"][0] == pytest.approx(g_mean, rel=1e-5)


@pytest.mark.filterwarnings("ignore")  # torch.compile's about itself and about Keras
@pytest.mark.parametrize(
    "jit_compile", [pytest.param(False, marks=OTHERS_LONG), pytest.param(True, marks=COMPILED)]
)
def test_compiled_or_not(jit_compile):
    """The same steps; the reference is one step of SGD by differences of the core."""
    X, y, w = data(60)
    X *= 4  # some logits far below 0, where compilers have lost expm1
    model = keras.Sequential([keras.Input((FEATURES,)), keras.layers.Dense(1), ASTra(0.05)])
    model.layers[0].set_weights(
        [np.linspace(-1, 1, FEATURES, dtype="float32")[:, None], np.asarray([-1.0], "float32")]
    )
    kernel, bias, beta = (weight.astype("float64") for weight in model.get_weights())
    model.compile(keras.optimizers.SGD(1.0), loss=GMNLoss(), jit_compile=jit_compile)
    fit(model, X, y, sample_weight=w)

    def g_mean(kernel, bias, beta):
        g = rebalanced_logit(X.astype("float64") @ kernel + bias, slope_from_raw(beta))
        return float(
            soft_confusion(g, y[:, None].astype("float64"), w[:, None].astype("float64")).g_mean
        )

    for k, (before, after) in enumerate(
        zip((kernel, bias, beta), model.get_weights(), strict=True)
    ):
        step = np.zeros_like(before)
        for i in np.ndindex(before.shape):
            moved = [[part.copy() for part in (kernel, bias, beta)] for _ in range(2)]
            moved[0][k][i] += 1e-6
            moved[1][k][i] -= 1e-6
            step[i] = (g_mean(*moved[0]) - g_mean(*moved[1])) / 2e-6
        np.testing.assert_allclose(after - before, step, rtol=1e-3, atol=1e-5)
    predicted = model.predict(X, verbose=0)
    kernel, bias, beta = (weight.astype("float64") for weight in model.get_weights())
    np.testing.assert_allclose(
        predicted, rebalanced_logit(X @ kernel + bias, slope_from_raw(beta)), rtol=1e-4, atol=1e-4
    )


@once
@pytest.mark.parametrize(
    "policy", ["mixed_float16", pytest.param("mixed_bfloat16", marks=OTHERS_LONG)]
)
def test_mixed_precision_stays_finite(policy):
    X, y, w = data()
    keras.config.set_dtype_policy(policy)
    try:
        model = network()
    finally:
        keras.config.set_dtype_policy("float32")
    assert (model.layers[0].compute_dtype, model.layers[-1].compute_dtype) == (
        policy.removeprefix("mixed_"),
        "float32",
    )
    model.compile(adam(1e-2), loss=GMNLoss(), metrics=[ERatio()])
    # Keras scales the loss by the model's policy, and this model's layers have theirs.
    model.dtype_policy = keras.DTypePolicy(policy)
    model.compile(adam(1e-2), loss=GMNLoss(), metrics=[ERatio(), SoftGMean()])
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer) == (
        policy == "mixed_float16"
    )
    history = fit(model, X, y, sample_weight=w, epochs=30, callbacks=[SlopeRate()])
    assert all(np.isfinite(value).all() for value in history.history.values())
    assert history.history["loss"][-1] < 0.9 * history.history["loss"][0]
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


@pytest.fixture
def dtypes(request):
    """Keras's floatx and dtype policy, as they were afterwards."""
    floatx, policy = request.param
    keras.config.set_floatx(floatx)
    keras.config.set_dtype_policy(policy)
    yield
    keras.config.set_floatx("float32")
    keras.config.set_dtype_policy("float32")


@once
@pytest.mark.parametrize(
    ("dtypes", "of_layer"),
    [
        (("float64", "float32"), None),
        pytest.param(("float32", "float64"), None, marks=OTHERS_LONG),
        pytest.param(("float32", "float32"), "float64", marks=OTHERS_LONG),
        pytest.param(("float64", "float64"), None, marks=OTHERS_LONG),
    ],
    indirect=["dtypes"],
)
@pytest.mark.usefixtures("dtypes", "few")
@pytest.mark.filterwarnings(
    "ignore:Explicitly requested dtype"
)  # JAX, which then computes in float32
def test_slopes_of_another_dtype_than_floatx_are_trained(of_layer):
    X, y, _ = data()
    model = network(dtype=of_layer)
    model.compile(adam(0.05), loss=GMNLoss(), metrics=[ERatio()])
    history = fit(model, X, y, batch_size=50, epochs=3, callbacks=[SlopeRate()]).history["loss"]
    assert history[-1] < history[0]
    assert slope_of(model) != pytest.approx(SLOPE, rel=1e-6)


@pytest.mark.parametrize(
    "what", ["labels", pytest.param("infinite labels", marks=OTHERS_LONG), "weights"]
)
def test_bad_labels_and_weights_raise_or_show_and_leave_the_model_as_it_was(what):
    X, y, w = data()
    bad = {"labels": 2 * y - 1, "infinite labels": np.where(y == 1, np.inf, y)}.get(what, y)
    weight = np.where(np.arange(150) == 7, np.nan, w) if what == "weights" else w
    model = network()
    model.compile(SlopeRateOptimizer(keras.optimizers.SGD(0.5)), loss=GMNLoss())
    before = model.get_weights()
    if BACKEND == "torch":
        with pytest.raises(ValueError, match=r"y_true must hold 0, 1 or NaN|must be finite"):
            fit(model, X, bad, sample_weight=weight)
    else:
        assert np.isnan(fit(model, X, bad, sample_weight=weight).history["loss"]).all()
    for found, expected in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(found, expected)


OPTIMIZERS = [
    "SGD",
    "Adam",
    "AdamW",
    "RMSprop",
    "Adagrad",
    "Adadelta",
    "Adamax",
    "Nadam",
    "Ftrl",
    "Lion",
    "Lamb",
    "Adafactor",
]


def exact_adam(start, gradients, rate):
    """Adam's formulas in double precision: Keras takes 1 − 0.999ᵗ in single."""
    beta, m, v = start, 0.0, 0.0
    for t, gradient in enumerate(gradients, 1):
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        beta -= rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-7)
    return beta


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("SGD", "Adam", "Lion") else pytest.mark.long)
        for name in OPTIMIZERS
    ],
)
def test_any_optimizer_trains_the_weights_and_adam_the_slope(name):
    """Each group moves as under its optimizer alone, at its own rate."""
    factors, gradients = (
        (1.0, -0.5, 3.0),
        [np.asarray([[0.3, -0.2]], "float32"), np.asarray([0.5], "float32")],
    )

    def steps(optimizer, chosen):
        variables = [
            keras.Variable(np.full((1, 2), 0.4, "float32")),
            keras.Variable(np.full(1, 3.0, "float32")),
        ]
        variables[1].is_astra_slope = True
        optimizer.build([variables[k] for k in chosen])
        for factor in factors:
            optimizer.apply(
                [keras.ops.convert_to_tensor(factor * gradients[k]) for k in chosen],
                [variables[k] for k in chosen],
            )
        return [keras.ops.convert_to_numpy(variables[k]) for k in chosen]

    make = getattr(keras.optimizers, name)
    both = SlopeRateOptimizer(make(learning_rate=0.01), slope_rate=0.2)
    found = steps(both, (0, 1))
    np.testing.assert_allclose(found[0], steps(make(learning_rate=0.01), (0,))[0], rtol=1e-6)
    np.testing.assert_allclose(
        found[1], exact_adam(3.0, [0.5 * factor for factor in factors], 0.2), rtol=1e-6
    )
    assert int(both.iterations) == 3


@pytest.mark.parametrize("without", ["slope", "weight"])
def test_a_step_without_a_gradient_for_one_group_moves_the_other(without):
    weight, slope = keras.Variable(np.full(1, 3.0, "float32"), name="weight"), slope_variable()
    optimizer = SlopeRateOptimizer(keras.optimizers.SGD(0.5), slope_rate=0.25)
    optimizer.build([weight, slope])
    gradients = [
        None if variable.name == without else keras.ops.ones(1) for variable in (weight, slope)
    ]
    with pytest.warns(UserWarning, match=f"Gradients do not exist for variables .*{without}"):
        optimizer.apply(gradients, [weight, slope])
    found = [float(keras.ops.convert_to_numpy(variable)[0]) for variable in (weight, slope)]
    assert found == pytest.approx([2.5, 3.0] if without == "slope" else [3.0, 2.75], rel=1e-6)
    assert int(optimizer.iterations) == 1


@pytest.mark.filterwarnings("ignore:Gradients do not exist for variables")
def test_a_head_without_a_loss_trains_along():
    X, y, _ = data()
    inputs = keras.Input((FEATURES,))
    heads = {
        "a": keras.layers.Dense(1, name="a")(inputs),
        "b": ASTra(name="b")(keras.layers.Dense(1)(inputs)),
    }
    model = keras.Model(inputs, heads)
    model.compile(adam(0.05), loss={"a": keras.losses.BinaryCrossentropy(from_logits=True)})
    history = fit(model, X, {"a": y}, epochs=3).history["loss"]
    assert history[-1] < history[0]
    assert float(keras.ops.convert_to_numpy(model.get_layer("b").slope)[0]) == pytest.approx(
        SLOPE, rel=1e-6
    )


@once
def test_a_constraint_on_the_slope_holds():
    X, y, _ = data()
    model = network()
    model.layers[-1].raw_slope.constraint = lambda beta: keras.ops.minimum(beta, 1.0)
    model.compile(adam(slope_rate=0.05), loss=GMNLoss())
    fit(model, X, y, epochs=3)
    assert slope_of(model) <= 3.0


@once
def test_gradients_of_the_slope_accumulate_with_the_others():
    gradient = keras.ops.convert_to_tensor(np.asarray([0.5], "float32"))
    slope = slope_variable()
    optimizer = SlopeRateOptimizer(
        keras.optimizers.SGD(0.1, gradient_accumulation_steps=3), slope_rate=0.2
    )
    optimizer.build([slope])
    values = []
    for _ in range(6):
        optimizer.apply([gradient], [slope])
        values.append(float(keras.ops.convert_to_numpy(slope)[0]))
    np.testing.assert_allclose(values, [3.0, 3.0, 2.8, 2.8, 2.8, 2.6], rtol=1e-6)


@once
def test_schedules_accumulation_averages_and_loss_scaling_pass_through():
    X, y, _ = data()
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    inner = keras.optimizers.Adam(
        schedule, use_ema=True, gradient_accumulation_steps=2, clipnorm=1.0, loss_scale_factor=8.0
    )
    model = network()
    optimizer = SlopeRateOptimizer(inner, 0.05)
    model.compile(optimizer, loss=GMNLoss())
    before = model.get_weights()
    fit(model, X, y, batch_size=50, epochs=4)
    assert all(np.isfinite(weight).all() for weight in model.get_weights())
    assert any((a != b).any() for a, b in zip(before, model.get_weights(), strict=True))
    assert (optimizer.loss_scale_factor, inner.loss_scale_factor) == (8.0, None)
    assert rate_of(model) == pytest.approx(0.05)


@once
def test_the_scale_of_the_loss_does_not_change_the_step():
    X, y, _ = data()
    start = initialise(Architecture(FEATURES, (HIDDEN,)), np.random.default_rng(7))
    weights = []
    for scale in (None, 64.0):
        model = network(start)
        model.compile(
            SlopeRateOptimizer(keras.optimizers.SGD(0.1, loss_scale_factor=scale), 0.1),
            loss=GMNLoss(),
        )
        fit(model, X, y, epochs=2)
        weights.append(model.get_weights())
    for found, expected in zip(*weights, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@once
def test_best_after_burn_in_keeps_the_best_epoch():
    X, y, _ = data()
    seen = []

    class Look(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append((logs["val_soft_g_mean"], self.model.get_weights()))

    model = network()
    model.compile(adam(0.3), loss=GMNLoss(), metrics=[SoftGMean()])
    best = BestAfterBurnIn("val_soft_g_mean", burn_in=3)
    fit(
        model,
        X,
        y,
        batch_size=30,
        epochs=8,
        validation_data=data(seed=1)[:2],
        callbacks=[best, Look()],
    )
    scores = [score for score, _ in seen[3:]]
    assert best.best_epoch == 3 + int(np.argmax(scores))
    assert best.best == max(scores)
    for found, expected in zip(model.get_weights(), seen[best.best_epoch][1], strict=True):
        np.testing.assert_array_equal(found, expected)


@once
def test_keras_own_callbacks_take_the_metrics(tmp_path):
    X, y, _ = data()
    model = network()
    model.compile(adam(), loss=GMNLoss(), metrics=[SoftGMean(), SoftFNR()])
    path = tmp_path / "best.keras"
    callbacks = [
        keras.callbacks.ModelCheckpoint(
            path, monitor="val_soft_g_mean", save_best_only=True, mode="max"
        ),
        keras.callbacks.EarlyStopping(
            monitor="val_soft_fnr", mode="min", patience=1, min_delta=1.0
        ),
    ]
    history = fit(model, X, y, epochs=9, validation_data=(X, y), callbacks=callbacks)
    assert path.exists()
    assert len(history.history["loss"]) < 9  # nothing gets better by 1


@once
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: SlopeRateOptimizer(keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())),
            ValueError,
            "must be the outer one",
        ),
        (lambda: SlopeRateOptimizer(adam()), ValueError, "only once"),
        (
            lambda: SlopeRateOptimizer(several()),
            ValueError,
            "an optimizer with one learning rate, which a MultiOptimizer has not",
        ),
        (
            lambda: SlopeRateOptimizer("adam", 0.0),
            ValueError,
            "slope_rate must be above 0; found 0.0",
        ),
        (
            lambda: adam().apply([None], [slope_variable()]),
            ValueError,
            "No gradients provided for any variable",
        ),
        (lambda: adam().build([keras.Variable([1.0])]), ValueError, "no learnable ASTra layer"),
        (lambda: SlopeRate(minimum=1.0), ValueError, "0 < minimum <= maximum"),
        (
            lambda: run(keras.optimizers.SGD(), SlopeRate()),
            ValueError,
            "SlopeRate needs a SlopeRateOptimizer; found SGD",
        ),
        (
            lambda: run(adam(), SlopeRate("missing")),
            ValueError,
            "monitors 'missing', which the logs lack",
        ),
        (
            lambda: run(adam(), BestAfterBurnIn("missing", 0, "min")),
            ValueError,
            "monitors 'missing', which the logs lack",
        ),
        (
            lambda: BestAfterBurnIn("accuracy"),
            ValueError,
            "mode must be 'min' or 'max' for monitor='accuracy'",
        ),
    ],
)
def test_mistakes_get_a_clear_error(call, error, message):
    with pytest.raises(error, match=message):
        call()


@once
def test_a_burn_in_longer_than_training_warns():
    with pytest.warns(UserWarning, match="no epoch after the burn-in of 5"):
        run(adam(), BestAfterBurnIn("loss", 5))


@once
def test_epochs_without_validation_leave_the_rate_alone():
    X, y, _ = data()
    model = network()
    model.compile(adam(), loss=GMNLoss(), metrics=[ERatio()])
    options = {
        "validation_data": (X, y),
        "validation_freq": 2,
        "callbacks": [SlopeRate("val_e_ratio")],
    }
    history = fit(model, X, y, epochs=4, **options).history
    first, second = (
        float(slope_rate(rate, ratio))
        for rate, ratio in zip(history["slope_rate"][::2], history["val_e_ratio"], strict=True)
    )
    np.testing.assert_allclose(history["slope_rate"], [0.01, first, first, second], rtol=1e-5)


@once
def test_a_rate_that_nothing_ever_set_warns():
    with pytest.warns(UserWarning, match="no epoch has 'val_e_ratio' in its logs"):
        run(adam(), SlopeRate("val_e_ratio"))


def several():
    if not hasattr(keras.optimizers, "MultiOptimizer"):
        pytest.skip("this Keras has no MultiOptimizer")
    return keras.optimizers.MultiOptimizer(keras.optimizers.OptimizerMap(keras.optimizers.SGD()))


def slope_variable():
    slope = keras.Variable(np.full(1, 3.0, "float32"), name="slope")
    slope.is_astra_slope = True
    return slope


def run(optimizer, callback):
    X, y, _ = data()
    model = network()
    model.compile(optimizer, loss=GMNLoss(), metrics=[ERatio()])
    fit(model, X, y, callbacks=[callback])
