"""
LightGBM with another objective
===============================

`ASTraLGBMClassifier` is an `LGBMClassifier` that boosts the paper's losses: every parameter passes
through. The same trees, the same data, four ways to learn: GMN finds the most positives, and raises
the most false alarms.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from lightgbm import LGBMClassifier
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from astralearn.boosting import ASTraLGBMClassifier

X, y = make_classification(
    20_000, 15, n_informative=6, weights=[0.99], class_sep=1.2, flip_y=0.002, random_state=0
)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
settings = {"n_estimators": 100, "n_jobs": 1, "random_state": 0, "verbose": -1}
models = {
    "LGBMClassifier": LGBMClassifier(**settings),
    "balanced weights": LGBMClassifier(class_weight="balanced", **settings),
    "ASTra, BCE": ASTraLGBMClassifier(loss="bce", **settings),
    "ASTra, GMN": ASTraLGBMClassifier(**settings),
}

# %%
# Recall and false alarms at each model's own decision.
recall, alarms = [], []
for model in models.values():
    flagged = model.fit(X, y).predict(X_test) == 1
    recall.append(flagged[y_test == 1].mean())
    alarms.append(1000 * flagged[y_test == 0].mean())

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
places = np.arange(len(models))
left.barh(places, recall, color="C0")
left.set(yticks=places, yticklabels=list(models), title="recall", xlim=(0, 1))
right.barh(places, alarms, color="C3")
right.set(title="false alarms per 1,000")
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)
left.invert_yaxis()
plt.show()
