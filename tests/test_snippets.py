"""The snippets of README and docs, run as they stand.

Each page is one program, after what its reader is said to have already.
"""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

ROWS = """
import numpy as np
X = np.random.default_rng(0).normal(size=(400, 4)); y = (X[:, 0] > 1.5).astype(int)
"""
TORCH = """
import torch
x = torch.randn(200, 4); y = (x[:, :1] > 1.5).float()
model = torch.nn.Linear(4, 1)
"""
ONE_RANK = """
import torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
"""
LOADER = "loader = [(x[:100], y[:100]), (x[100:], y[100:])]"
KERAS = """
import keras, numpy as np
x = np.random.default_rng(0).normal(size=(200, 4)).astype("float32")
y = (x[:, :1] > 1.5).astype("float32")
model = keras.Sequential([keras.layers.Dense(1)])
"""
CARDS = (
    f"{ROWS}import pandas as pd; pd.DataFrame(X).assign(fraud=y).to_csv('cards.csv', index=False)"
)
CARDS_AND_NEW = f"{CARDS}; pd.DataFrame(X).to_csv('new.csv', index=False)"
A_CLUSTER = """
import dask.distributed
local = dask.distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None)
dask.distributed.Client = lambda address=None: type(local).get_client(local)
"""
TRANSACTIONS = f"""{ROWS}{A_CLUSTER}
import pandas as pd, pathlib
pathlib.Path("transactions").mkdir()
table = pd.DataFrame({{"amount": X[:, 0], "hour": X[:, 1], "fraud": y}})
table.to_parquet("transactions/part.parquet")
"""

# The benchmark takes an hour: its arguments are held against its signature.
A_BENCH = """
import inspect
import astralearn.bench
from sklearn.dummy import DummyClassifier as MyClassifier
signature = inspect.signature(astralearn.bench.bench)
astralearn.bench.bench = signature.bind
"""

# Per page: what each snippet finds there, and which packages the page wants.
PAGES = {
    "README.md": (["", TORCH, KERAS, ROWS], ["torch", "keras", "lightgbm"]),
    "docs/index.md": ([f"{ROWS}X_new = X"], []),
    "docs/five_positives.md": ([""] * 6, []),
    "docs/costs.md": (["", ""], []),
    "docs/intervals.md": ([""], []),
    "docs/production.md": (["", "", ""], ["onnx", "onnxruntime"]),
    "docs/pytorch.md": ([TORCH, TORCH, ONE_RANK, LOADER], ["torch"]),
    "docs/keras.md": ([KERAS, KERAS], ["keras"]),
    "docs/boosting.md": ([ROWS], ["lightgbm", "xgboost", "catboost"]),
    "docs/decisions.md": ([CARDS_AND_NEW], []),
    "docs/rarebench.md": ([A_BENCH], []),
    "docs/compare.md": ([CARDS, A_CLUSTER], ["distributed"]),
    "docs/scale.md": ([TRANSACTIONS], ["distributed", "pyarrow"]),
}

# Pages that change nothing outside their own names share a process, which imports JAX once.
TOGETHER = ("docs/index.md", "docs/five_positives.md", "docs/costs.md", "docs/intervals.md")
TOGETHER += ("docs/production.md", "docs/decisions.md")
# What these do is tested in rooms of their own: dask/, test_compare.py and test_bench.py.
LONG = ("docs/compare.md", "docs/scale.md", "docs/rarebench.md")
RUNS = [
    TOGETHER,
    *((page,) for page in PAGES if page not in (*TOGETHER, *LONG)),
    *(pytest.param((page,), marks=pytest.mark.long) for page in LONG),
]
ALL = """
import os, runpy, sys
for folder in sys.argv[1:]:
    os.chdir(folder)
    print(folder, file=sys.stderr)
    runpy.run_path("page.py", run_name="__main__")
"""


def snippets(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def test_every_page_with_snippets_is_run():
    assert {
        page
        for page in ["README.md", *(f"docs/{path.name}" for path in ROOT.glob("docs/*.md"))]
        if snippets(page)
    } == set(PAGES)


@pytest.mark.slow
@pytest.mark.parametrize("pages", RUNS, ids=lambda pages: pages[0])
def test_snippets_run(pages, tmp_path):
    folders = []
    for page in pages:
        given, wanted = PAGES[page]
        missing = [name for name in wanted if find_spec(name) is None]
        if missing:
            pytest.skip(f"{page} wants {', '.join(missing)}")
        parts = [part for pair in zip(given, snippets(page), strict=True) for part in pair]
        folders.append(tmp_path / page.replace("/", "-"))
        folders[-1].mkdir()
        (folders[-1] / "page.py").write_text("\n".join(parts), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ALL, *map(str, folders)],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
