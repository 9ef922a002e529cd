"""
The curve and the warp
======================

ASTra as a slider would show it: the threshold τ falls from ½ to 0.01 from left to right. Above, the
output ŷ with its threshold. Below, the rebalanced logit g, which is what training sees.
"""

# %%
# A slope b belongs to each threshold (Eq. 5). b = 1 is the plain sigmoid.
import matplotlib.pyplot as plt
import numpy as np

import astralearn

x = np.linspace(-3, 3, 601)
taus = (0.5, 0.25, 0.1, 0.05, 0.01)

# %%
# g always has the sign of x: the decision does not move. Its slope is b on the left, where
# negatives are, and 1 on the right.
figure, axes = plt.subplots(
    2, len(taus), figsize=(11, 4.6), sharex=True, sharey="row", layout="constrained"
)
for (above, below), tau in zip(axes.T, taus, strict=True):
    b = float(astralearn.slope(tau))
    above.plot(x, astralearn.astra(x, b), linewidth=2)
    above.axhline(tau, color="C3", linewidth=1)
    above.set(title=f"τ = {tau:g}, b = {b:.3g}", ylim=(0, 1))
    below.plot(x, astralearn.rebalanced_logit(x, b), linewidth=2, color="C1")
    below.plot(x, x, color="0.7", linewidth=1, zorder=0)
    below.set(ylim=(-12, 9), xlabel="x, the network's output")
    for each in (above, below):
        each.axvline(0, color="0.85", linewidth=0.8, zorder=0)
        each.spines[["top", "right"]].set_visible(False)
axes[0, 0].set_ylabel("ŷ, and its threshold")
axes[1, 0].set_ylabel("g(x, b)")
plt.show()
