"""Five eights among 900 digits to learn from, 169 eights to find: the README's example."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix
from sklearn.neural_network import MLPClassifier

from astralearn import ASTraClassifier

X, digit = load_digits(return_X_y=True)
y = np.where(digit == 8, "eight", "other")
eights, others = np.flatnonzero(y == "eight"), np.flatnonzero(y == "other")
train = np.r_[eights[:5], others[:900]]  # five positives in all
test = np.setdiff1d(np.arange(len(y)), train)

for model in (MLPClassifier(random_state=0, max_iter=2000), ASTraClassifier(random_state=0)):
    found = model.fit(X[train], y[train]).predict(X[test])
    (hits, missed), (alarms, _) = confusion_matrix(y[test], found, labels=["eight", "other"])
    print(
        f"{type(model).__name__}: {hits} of {hits + missed} eights found, {alarms} false alarms "
        f"among {np.sum(y[test] == 'other')}"
    )
