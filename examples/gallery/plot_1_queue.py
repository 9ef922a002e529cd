"""
From a fraud table to a queue
=============================

A table of card payments with words, dates and gaps, eight known frauds among them. Which of the new
payments should somebody look at first?
"""

# %%
# The payments. Frauds tend to be larger, at night, and from a kiosk; none of this is sure.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from astralearn.tabular import TabularASTraClassifier


def payments(n, frauds, seed):
    rng = np.random.default_rng(seed)
    is_fraud = np.arange(n) < frauds
    at_night = rng.random(n) < np.where(is_fraud, 0.7, 0.1)
    hour = np.where(at_night, rng.integers(0, 6, n), rng.integers(6, 24, n))
    table = pd.DataFrame(
        {
            "amount": rng.lognormal(np.where(is_fraud, 4.8, 3.2), 0.9).round(2),
            "time": pd.Timestamp("2026-01-01")
            + pd.to_timedelta(rng.integers(0, 60, n) * 24 + hour, unit="h"),
            "shop": np.where(
                rng.random(n) < np.where(is_fraud, 0.6, 0.05),
                "kiosk",
                rng.choice(["food", "fuel", "web"], n),
            ),
            "card age": np.where(rng.random(n) < 0.1, np.nan, rng.exponential(900, n)).round(),
        }
    )
    return table, np.where(is_fraud, "fraud", "fine")


table, label = payments(4000, 8, seed=0)
new, truth = payments(6000, 60, seed=1)

# %%
# One line to learn: words, dates and gaps go in as they come.
model = TabularASTraClassifier(probability="risk", random_state=0).fit(table, label)
risk = model.predict_proba(new)[:, list(model.classes_).index("fraud")]

# %%
# The head of the queue, and why each row is there.
queue = new.assign(risk=risk, truth=truth).sort_values("risk", ascending=False)
pd.set_option("display.max_colwidth", None)
head = queue.head(5)[["amount", "shop", "risk", "truth"]].round({"risk": 3})
head.assign(why=[str(reason) for reason in model.explain(new.loc[head.index])])

# %%
# How many frauds a day's work finds.
found = np.cumsum(queue["truth"] == "fraud")
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(np.arange(1, len(found) + 1), found, linewidth=2, label="in the order of risk")
axes.plot([1, len(found)], [0, found.iloc[-1]], color="0.6", label="in any order")
axes.set(
    xlim=(0, 300),
    ylim=(0, 62),
    xlabel="payments looked at",
    ylabel="frauds found, of 60",
    title="A queue made from eight known frauds",
)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
