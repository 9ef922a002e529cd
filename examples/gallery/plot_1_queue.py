"""
From a fraud table to a queue
=============================

A table of card payments with words, dates and gaps, eight known frauds among them. Which of the new
payments should somebody look at first?
"""

# %%
# The payments. Frauds are larger, at night, and from a shop that few cards use.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from astralearn.tabular import TabularASTraClassifier


def payments(n, frauds, seed):
    rng = np.random.default_rng(seed)
    is_fraud = np.arange(n) < frauds
    hour = np.where(is_fraud, rng.integers(0, 6, n), rng.integers(7, 24, n))
    table = pd.DataFrame(
        {
            "amount": rng.lognormal(np.where(is_fraud, 4.6, 3.2), 0.9),
            "time": pd.Timestamp("2026-01-01")
            + pd.to_timedelta(rng.integers(0, 60, n) * 24 + hour, unit="h"),
            "shop": np.where(
                is_fraud & (rng.random(n) < 0.7), "kiosk", rng.choice(["food", "fuel", "web"], n)
            ),
            "age of card": np.where(rng.random(n) < 0.1, np.nan, rng.exponential(900, n)),
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
queue.head(5).assign(why=[str(reason) for reason in model.explain(new.loc[queue.index[:5]])])

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
