"""
What to expect, with intervals
==============================

Recall on new rows, as the model expects it from 2, 5, 20 and 80 training positives, beside what it
turns out to be on positives that were not among them.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from astralearn import ASTraClassifier

X, digit = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
eights, others = (rng.permutation(np.flatnonzero((digit == 8) == what)) for what in (True, False))
ks = (2, 5, 20, 80)
expected, found = [], []
for k in ks:
    rows = np.r_[eights[:k], others[:900]]
    model = ASTraClassifier(random_state=0).fit(X[rows], digit[rows] == 8)
    expected.append(model.expectations_.recall)
    found.append(model.predict(X[eights[80:]]).mean())

# %%
# The interval narrows with positives, and hardly with anything else.
mean, low, high = np.transpose(expected)
places = np.arange(len(ks))
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.errorbar(
    places,
    mean,
    yerr=[mean - low, high - mean],
    fmt="o",
    capsize=6,
    linewidth=2,
    label="expected, with its 90 % interval",
)
axes.plot(places, found, "x", color="C3", markersize=10, markeredgewidth=2, label="on new rows")
axes.set(
    xticks=places,
    xticklabels=ks,
    ylim=(0, 1.03),
    xlabel="training positives",
    ylabel="recall",
    title="What a handful of positives can tell",
)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="lower right")
plt.show()
