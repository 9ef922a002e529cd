"""Model files that a stranger made: every sum is right, and a number in them is not."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from trial import Forks, Trial, works

NUMBERS = (-(2**63), -2, -1, 0, 1, 2, 7, 10**6, 2**31, 2**63 - 1, 1e308, None, "x", [], {})
IMPORTS = """
import warnings
import numpy as np
import astralearn
from astralearn.model_file import ModelFileError
warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(50, 3))
astralearn.load({whole!r}).predict(X)
"""
WORK = """
try:
    model = astralearn.load(arguments[0])
except ModelFileError:
    sys.exit(0)
try:
    model.predict(X)
    model.predict_risk(X)
    model.predict(X[:1])
except Exception:
    pass  # It may mislead and fail, and not act or crash.
"""


def _members(path: Path) -> tuple[dict[str, Any], list[bytes]]:
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("model.json"))
        count = len(manifest["arrays"])
        return manifest, [archive.read(f"arrays/{number}.npy") for number in range(count)]


def _leaves(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of the tree that holds a plain value: what holds it, and its key."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in pairs:
        if isinstance(value, (dict, list)):
            yield from _leaves(value)
        else:
            yield tree, key


def _array(content: bytes, rng: np.random.Generator) -> bytes:
    """The array with some of its bytes, or a number of one field, changed."""
    array = np.load(io.BytesIO(content), allow_pickle=False).copy()
    if array.dtype.names and array.size:
        field = array.dtype.names[int(rng.integers(len(array.dtype.names)))]
        place = int(rng.integers(len(array)))
        array[field][place] = (-7, -2, -1, 0, 1, 3, 100, 10**6)[int(rng.integers(8))]
    elif array.size:
        raw = bytearray(array.tobytes())
        for _ in range(int(rng.integers(1, 20))):
            raw[int(rng.integers(len(raw)))] = int(rng.integers(256))
        array = np.frombuffer(bytes(raw), array.dtype).reshape(array.shape)
        array = array if rng.random() < 0.7 else array.ravel()[: int(rng.integers(array.size))]
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _write(path: Path, manifest: dict[str, Any], arrays: list[bytes]) -> None:
    manifest["arrays"] = [hashlib.sha256(data).hexdigest() for data in arrays]
    described = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = hashlib.sha256(described).hexdigest().encode()
        archive.writestr("model.json", described)
        for number, data in enumerate(arrays):
            archive.writestr(f"arrays/{number}.npy", data)


def _a_committee(path: Path) -> None:
    """A small model of every member."""
    from astralearn import ASTraClassifier
    from astralearn.classifier import trees

    trees.TREES = 5
    y = np.arange(200) < 8
    X = np.random.default_rng(0).normal(size=(200, 3)) + 3 * y[:, None]
    ASTraClassifier(epochs=5, n_estimators=2, random_state=0).fit(X, y).save(path)


def strangers(rng: np.random.Generator, folder: Path) -> Iterator[Trial]:
    """Refused, or a model that may mislead and fail, and neither crashes nor hangs."""
    whole, made = folder / "whole.astra", folder / "made.astra"
    _a_committee(whole)
    forks = Forks(IMPORTS.format(whole=str(whole)), WORK, folder)
    while True:
        manifest, arrays = _members(whole)
        if rng.random() < 0.5:
            what = "number in the tree"
            leaves = [*_leaves(manifest["model"])]
            holder, key = leaves[int(rng.integers(len(leaves)))]
            holder[key] = NUMBERS[int(rng.integers(len(NUMBERS)))]
        else:
            what = "numbers in an array"
            number = int(rng.integers(len(arrays)))
            arrays[number] = _array(arrays[number], rng)
        _write(made, manifest, arrays)
        process = forks.start(made)
        state = works(process, 20)
        code = process.end()
        held = state == "ended" and code == 0
        yield Trial(f"made by a stranger: {what}", "" if held else f"{state}, {code}")
