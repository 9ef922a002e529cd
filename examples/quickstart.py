"""Five eights among 900 digits to learn from, 169 eights to find: `make demo`."""

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score, confusion_matrix
from sklearn.neural_network import MLPClassifier

from astralearn import ASTraClassifier
from astralearn.pages import write_model_page
from astralearn.tabular import TabularASTraClassifier

X, digit = load_digits(return_X_y=True)
y = np.where(digit == 8, "eight", "another")
rng = np.random.default_rng(0)
eights, others = (rng.permutation(np.flatnonzero(y == label)) for label in ("eight", "another"))
train = np.r_[eights[:5], others[:900]]  # five positives in all
test = np.setdiff1d(np.arange(len(y)), train)

print(f"Learned from 5 eights and 900 others; {len(eights) - 5} eights are left to find.\n")
print(f"{'':32s} found  false alarms  average precision")
for model in (
    MLPClassifier(random_state=0, max_iter=2000),
    HistGradientBoostingClassifier(class_weight="balanced", random_state=0),
    ExtraTreesClassifier(200, class_weight="balanced", random_state=0),
    ASTraClassifier(random_state=0),
):
    model.fit(X[train], y[train])
    counts = confusion_matrix(y[test], model.predict(X[test]), labels=["eight", "another"])
    order = model.predict_proba(X[test])[:, list(model.classes_).index("eight")]
    precision = average_precision_score(y[test] == "eight", order)
    name = type(model).__name__
    print(f"{name:32s} {counts[0, 0]:5d} {counts[1, 0]:13d} {precision:18.2f}")

print(f"\nWhat ASTraClassifier expects of itself:\n{model.expectations_}")

# The same from a table with names for its columns, and its page: what to expect at every cut.
names = [f"pixel {place // 8 + 1}.{place % 8 + 1}" for place in range(X.shape[1])]
table = pd.DataFrame(X, columns=names)
tabular = TabularASTraClassifier(model).fit(table.iloc[train], pd.Series(y[train], name="digit"))
page = Path("report.html").resolve()
write_model_page(tabular, page, data=table.iloc[test], command="make demo")
print(f"\nOpen in a browser: {page}")
