"""A table of cards with few frauds, and a model of it in a folder."""

import numpy as np
import pandas as pd

from astralearn import ASTraClassifier
from astralearn.fit_score import fit_table
from astralearn.tabular import TabularASTraClassifier

ROWS = 1500
QUICK = ASTraClassifier(committee=False, epochs=60, n_estimators=2, random_state=0)


def table(seed, positives):
    """Rows in which a positive's amount is the culprit, and nothing else tells."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": np.arange(ROWS),
            "amount": random.lognormal(3, 0.5, ROWS).round(2),
            "age": random.normal(40, 10, ROWS).round(1),
            "shop": random.choice(["a", "b", "c"], ROWS),
            "fraud": np.where(np.arange(ROWS) < positives, "yes", "no"),
        }
    )
    frame.loc[: positives - 1, "amount"] += 800
    return frame.sample(frac=1, random_state=seed)


def write_cards(folder):
    """A fitted model, and a table to score: row 5 is bad."""
    table(0, 12).to_csv(folder / "cards.csv", index=False)
    fitted = fit_table(
        folder / "cards.csv",
        "fraud",
        model=TabularASTraClassifier(QUICK),
        out=folder / "cards.astra",
    )
    assert fitted.model.minority_class_ == "yes"
    assert any("'id' has another whole number" in note for note in fitted.notes)
    new = table(1, 60).drop(columns="fraud")
    new.to_parquet(folder / "new.parquet")
    new["amount"] = new["amount"].astype(object)
    new.iloc[5, 1] = "oops"
    new.to_csv(folder / "new.csv", index=False)
    return folder
