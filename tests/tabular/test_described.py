import numpy as np
import pandas as pd

from astralearn.tabular.described import described_columns


def test_what_is_done_is_said():
    mixed = pd.DataFrame(
        {
            "amount": [1.0, np.nan, 3.0, 4.0],
            "when": pd.to_datetime(["2020-01-01", None, "2020-01-03", "2020-01-03"]),
            "kind": ["a", "b", None, "a"],
        }
    )
    assert described_columns(mixed) == [
        "one column per category, at most 20, missing as one of them: kind",
        "when became its weekday",
        "gaps are filled with the column's median and marked in a column of their own: "
        "amount, when",
    ]
    many = pd.DataFrame({"code": [f"c{i % 50}" for i in range(500)]})
    said = "many categories, so one more column tells how common the row's own is: code"
    assert described_columns(many)[1] == said
    assert described_columns(np.ones((3, 2))) == []
