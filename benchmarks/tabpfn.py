"""TabPFN-v1 beside the default on RareBench, from the source archive of pfns 0.3.0.

    python benchmarks/tabpfn.py FOLDER PROBLEM ...   # k = 5 and 20, one draw, into FOLDER

The archive (Apache-2.0) is used for reports only. Its transformer takes about 1,000 rows of
context. So it is given all positives and as many negatives, drawn at random, as fit; columns beyond
its hundred are left out at random. It has three ensemble members, as the archive has by default.
The archive unpickles its weights, so it is run where its checksum is right and nowhere else.
"""

from __future__ import annotations

import argparse
import sys
import tarfile
import typing
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from astralearn.bench import bench
from astralearn.datasets.source import cache_folder, fetch
from astralearn.study import Method

FILE = "pfns-0.3.0.tar.gz"
ADDRESS = (
    "https://files.pythonhosted.org/packages/b3/08/"
    f"e9c24f3f0f1532eca1461c0533c50d9803c06485ea3fd06a83b82f11703c/{FILE}"
)
SHA256 = "1b48899b4485188978930c76ce6eeea927ae468355ab9e636c9e583696943544"
CONTEXT_ROWS, MOST_COLUMNS, ROWS_AT_ONCE = 1_000, 100, 2_000


class TabPFN(ClassifierMixin, BaseEstimator):
    """TabPFN-v1 with all positives and some negatives as its context."""

    def __init__(self, folder: str = "", random_state: Any = None) -> None:
        self.folder = folder
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> TabPFN:
        random = np.random.default_rng(self.random_state)
        common = random.permutation(np.flatnonzero(y == 0))[: CONTEXT_ROWS - int(y.sum())]
        rows = random.permutation(np.concatenate([np.flatnonzero(y == 1), common]))
        self.columns_ = np.sort(random.permutation(X.shape[1])[:MOST_COLUMNS])
        self.classes_ = np.unique(y)
        self.model_ = _classifier(self.folder)
        self.model_.fit(X[np.ix_(rows, self.columns_)], y[rows])
        return self

    def predict_proba(self, X: Any) -> Any:
        parts = np.array_split(X[:, self.columns_], max(1, len(X) // ROWS_AT_ONCE))
        return np.concatenate([self.model_.predict_proba(part) for part in parts])

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _classifier(folder: str) -> Any:
    """The archive's classifier, with what newer libraries have renamed."""
    import torch
    from torch.nn.modules import transformer

    for name in ("Any", "Callable", "Optional", "Union"):
        vars(transformer).setdefault(name, getattr(typing, name))
    sys.path.insert(0, folder)
    from pfns.scripts import tabpfn_interface as archive

    def unrenamed(check: Any) -> Any:
        def call(*values: Any, force_all_finite: Any = True, **options: Any) -> Any:
            return check(*values, ensure_all_finite=force_all_finite, **options)

        return call

    if archive.check_array.__name__ != "call":
        archive.check_array = unrenamed(archive.check_array)
        archive.check_X_y = unrenamed(archive.check_X_y)
        load = torch.load
        torch.load = lambda *values, **options: load(*values, weights_only=False, **options)
        # Its search for the weights begins at epoch 100, and downloads what is not there.
        workflow = archive.load_model_workflow
        archive.load_model_workflow = lambda i, _e, **options: workflow(i, 42, **options)
    return archive.TabPFNClassifier(device="cpu", base_path=Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("problems", nargs="+")
    options = parser.parse_args()
    # Beside this script there is one called torch.py.
    sys.path.remove(str(Path(__file__).parent.resolve()))
    unpacked = cache_folder() / FILE.removesuffix(".tar.gz")
    if not unpacked.is_dir():
        with tarfile.open(fetch(FILE, ADDRESS, SHA256)) as tar:
            tar.extractall(cache_folder(), filter="data")
    method = Method("TabPFN-v1", TabPFN(str(unpacked)))
    # Its seconds are not what is asked.
    bench(
        options.problems,
        methods=[method, "ASTraClassifier"],
        draws=1,
        quick=True,
        limit=7_200,
        n_jobs=1,
        out=options.folder,
    )


if __name__ == "__main__":
    main()
