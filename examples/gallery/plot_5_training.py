"""
Training, watched
=================

How the threshold τ, the e-ratio FNR/FPR and the slope's learning rate move while networks learn
from ten positives among 4,000 rows, under three losses.
"""

# %%
# `committee=False` trains networks alone; `history_` has the means over them.
import matplotlib.pyplot as plt
import numpy as np

from astralearn import ASTraClassifier

rng = np.random.default_rng(1)
X = rng.normal(size=(4000, 8))
X[:10, :4] += 2.2
y = np.arange(4000) < 10
losses = ("bce", "root_gmn", "gmn")
histories = {
    loss: ASTraClassifier(loss, committee=False, slope_limit=None, epochs=400, random_state=0)
    .fit(X, y)
    .history_
    for loss in losses
}

# %%
# While positives are the harder class the e-ratio is above 1, and the slope learns faster
# (Eq. 10): τ falls, and positives pull harder. Under cross-entropy they stay the harder class.
shown = {"threshold": "threshold τ", "e_ratio": "e-ratio FNR/FPR", "slope_rate": "slope's rate"}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for axis, (name, title) in zip(axes, shown.items(), strict=True):
    for loss in losses:
        axis.plot(histories[loss]["epoch"], histories[loss][name], label=loss)
    axis.set(title=title, xlabel="epoch")
    axis.spines[["top", "right"]].set_visible(False)
axes[1].set_yscale("log")
axes[1].axhline(1, color="0.7", linewidth=0.8, zorder=0)
axes[0].legend(frameon=False)
plt.show()
