"""
A cluster on one machine
========================

The same fit from a table in partitions: Dask holds the rows, the model is the one that a fit in one
place would give, and predictions are lazy.
"""

# %%
# Two workers, in threads here. With a cluster elsewhere only this line differs.
import matplotlib.pyplot as plt
import numpy as np
from dask import array as da
from dask.distributed import Client

from astralearn import ASTraClassifier
from astralearn.dask import DaskASTraClassifier

client = Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)

# %%
# 40,000 rows in eight partitions; 15 positives, wherever they lie.
rng = np.random.default_rng(0)
is_positive = np.zeros(40_000, bool)
is_positive[rng.choice(40_000, 15, replace=False)] = True
rows = rng.normal(size=(40_000, 5)) + 2.0 * is_positive[:, None]
X, y = da.from_array(rows, 5_000), da.from_array(is_positive, 5_000)

model = DaskASTraClassifier(random_state=0).fit(X, y)
risk = model.predict_risk(X)  # a Dask array: nothing is computed yet

# %%
# The model of one place, row for row.
local = ASTraClassifier(random_state=0).fit(rows, is_positive)
figure, axes = plt.subplots(figsize=(5, 4.4), layout="constrained")
axes.loglog(local.predict_risk(rows)[::10], risk.compute()[::10], ".", markersize=3, color="C0")
axes.loglog(
    local.predict_risk(rows)[is_positive],
    risk.compute()[is_positive],
    "o",
    color="C3",
    label="positives",
)
axes.axline((1e-3, 1e-3), (1e-2, 1e-2), color="0.7", linewidth=0.8, zorder=0)
axes.set(
    xlabel="risk, fitted in one place", ylabel="risk, fitted in partitions", title="The same model"
)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
client.close()
plt.show()
