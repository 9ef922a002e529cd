"""
A rare class of images in PyTorch
=================================

Ten handwritten eights among 1,300 other digits, and a small convolutional network. Three lines turn
a plain loop into one that finds them.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

from astralearn.torch import ASTra, GMNLoss, parameter_groups

images, digit = load_digits(return_X_y=True)
images = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
rng = np.random.default_rng(0)
eights, others = (rng.permutation(np.flatnonzero((digit == 8) == what)) for what in (True, False))
train, test = np.r_[eights[:10], others[:1300]], np.r_[eights[10:], others[1300:]]
y = torch.tensor(digit == 8, dtype=torch.float32)[:, None]


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(256, 1),
    )


# %%
# The plain loop, and the same with three lines changed. Every step sees every row, as in the paper;
# for batches there is `RareHead` (:doc:`/pytorch`).
def trained(rebalanced):
    model = network()
    loss = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    if rebalanced:
        model = nn.Sequential(model, ASTra())  # 1
        loss = GMNLoss()  # 2
        optimizer = torch.optim.Adam(parameter_groups(model, lr=2e-3))  # 3
    for _ in range(60):
        optimizer.zero_grad()
        loss(model(images[train]), y[train]).backward()
        optimizer.step()
    with torch.no_grad():
        return model(images[test])[:, 0].numpy()


scores = {"BCE": trained(False), "ASTra + GMN": trained(True)}

# %%
# Where the test rows lie: positive is predicted at 0 and above.
is_eight = digit[test] == 8
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for axis, (name, score) in zip(axes, scores.items(), strict=True):
    bins = np.linspace(score.min(), score.max(), 41)
    axis.hist(score[~is_eight], bins, color="0.75", label="other digits")
    axis.hist(score[is_eight], bins, color="C0", alpha=0.8, label="eights")
    axis.axvline(0, color="C3")
    found, alarms = (score[is_eight] >= 0).sum(), (score[~is_eight] >= 0).sum()
    axis.set(
        title=f"{name}: {found} of {is_eight.sum()} found, {alarms} false alarms",
        xlabel="output",
        yscale="symlog",
    )
    axis.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("test rows")
axes[0].legend(frameon=False)
plt.show()
