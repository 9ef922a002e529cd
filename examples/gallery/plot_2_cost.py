"""
Choosing a cut by cost
======================

A missed positive costs a hundred wasted looks. Where should the order of the rows be cut, and what
does each aim make of the same model?
"""

# %%
# Twenty positives among 3,000 rows, learned once.
import matplotlib.pyplot as plt
import numpy as np

from astralearn import ASTraClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 6))
y = np.where(np.arange(3000) < 20, "fault", "fine")
X[:20, :3] += 2.0
model = ASTraClassifier(random_state=0).fit(X, y)

# %%
# The expected cost of a row, along all cuts, with its 90 % interval. A curve has a mean and two
# ends; what is missed is 1 − recall.
curve = model.expectations_.curve
share, miss, alarm = 20 / 3000, 100.0, 1.0
mean, low, high = (
    share * miss * (1 - curve["recall"][end])
    + (1 - share) * alarm * curve["false_alarms"][end] / 1000
    for end in (0, 2, 1)
)

# %%
# Three aims, three cuts. `decide` moves the cut without a new fit.
aims = {
    "g_mean": "g_mean",
    "mcc": "mcc",
    "cost 100 : 1": {"cost": {"fault": miss, "fine": alarm}},
}
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
flagged_share = curve["false_alarms"][0] / 1000
axes.fill_between(flagged_share, np.minimum(low, high), np.maximum(low, high), alpha=0.2)
axes.plot(flagged_share, mean, linewidth=2)
for number, (name, aim) in enumerate(aims.items()):
    cut = model.decide(aim).cut_
    at = np.interp(cut, curve["cut"], flagged_share), np.interp(cut, curve["cut"], mean)
    axes.plot(*at, "o", color=f"C{number + 1}", markersize=9, label=name)
axes.set(
    xscale="log",
    xlabel="share of negatives flagged",
    ylabel="expected cost of a row",
    title="One model, three cuts",
)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
