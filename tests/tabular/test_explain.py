import numpy as np
import pandas as pd

from astralearn.tabular import TableEncoder
from astralearn.tabular.explain import contributions, reasons, typical_row

ROWS = 300
RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "amount": RANDOM.normal(size=ROWS),
        "shop": RANDOM.choice(["a", "a", "b"], ROWS),
        "code": RANDOM.choice([f"c{i}" for i in range(40)], ROWS),
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(RANDOM.integers(48, size=ROWS), "h"),
    }
)


def test_typical_is_the_median_and_the_most_common_category():
    encoder = TableEncoder().fit(FRAME)
    encoded = encoder.transform(FRAME)
    typical = typical_row(encoder, encoded)
    names = encoder.get_feature_names_out().tolist()
    assert typical[names.index("amount")] == np.median(FRAME["amount"])
    assert typical[names.index("shop is a")] == 1
    assert typical[names.index("shop is b")] == 0
    assert typical[[name.startswith("code is") for name in names]].sum() == 1


def test_a_linear_score_is_shared_out_exactly():
    encoder = TableEncoder().fit(FRAME)
    encoded = encoder.transform(FRAME)
    typical = typical_row(encoder, encoded)
    weights = RANDOM.normal(size=encoded.shape[1])
    fall = contributions(encoder.features(), encoded, typical, lambda rows: rows @ weights)
    np.testing.assert_allclose(fall.sum(axis=1), (encoded - typical) @ weights, atol=1e-9)


def test_reasons_in_words():
    encoder = TableEncoder().fit(FRAME)
    frame = FRAME.head(2).assign(
        amount=[9120.4, np.nan], shop=["b", "a"], when=["2024-01-01T20:00", "2024-01-01T03:00"]
    )
    encoded = encoder.transform(frame)
    typical = typical_row(encoder, encoder.transform(FRAME))
    names = encoder.get_feature_names_out().tolist()
    weights = np.zeros(len(names))
    weights[names.index("amount")] = 0.001
    weights[names.index("shop is b")] = 2.0
    weights[names.index("hour of when")] = 0.1
    first, second = reasons(
        encoder, frame, encoded, typical, score=lambda rows: rows @ weights, most=2
    )
    usual = f"{np.median(FRAME['amount']):.3g}"
    assert first == f"amount 9,120, typically {usual}: +9.1; shop b, typically a: +2.0"
    assert second == ""
    assert reasons(encoder, frame.head(0), encoded[:0], typical, score=len, most=2) == []


def test_weekdays_and_months_have_names():
    days = pd.to_datetime(["2023-01-02", "2024-03-08", "2024-03-08"])
    frame = pd.DataFrame({"when": days})
    encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["weekday of when", "month of when"]
    encoded = encoder.transform(frame)
    typical = np.asarray([0.5, 1.0])
    said = reasons(encoder, frame, encoded, typical, score=lambda rows: rows.sum(axis=1), most=2)
    expected = (
        "weekday of when Friday, typically 0.5: +3.5; month of when March, typically January: +2.0"
    )
    assert said == ["", expected, expected]
