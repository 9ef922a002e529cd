"""One model, one file, no code in it: a zip of JSON and NumPy arrays.

    model.json     format version, library version, SHA-256 of every array, the model as a tree
    arrays/N.npy   the arrays that the tree names by their number

The archive's comment is the SHA-256 of model.json.

The tree holds numbers, texts, lists, and objects of the classes in `CLASSES`. Loading makes those
objects and fills in their attributes; it runs nothing that the file contains, so a file from a
stranger can mislead but not act.
"""

from __future__ import annotations

import errno
import hashlib
import importlib
import io
import json
import math
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from astralearn import __version__

FORMAT = 1
MANIFEST = "model.json"
LARGEST_MANIFEST = 1 << 28  # A model's tree is a few hundred bytes per column; more is an attack.
LARGEST_ARRAYS = 1 << 33

# The classes that a file may name, and where each is defined.
CLASSES = {
    "ASTraClassifier": "astralearn.classifier",
    "Committee": "astralearn.classifier.committee",
    "Evidence": "astralearn.classifier.evidence",
    "Forest": "astralearn.classifier.trees",
    "Linear": "astralearn.classifier.linear",
    "LeftOut": "astralearn.classifier.decision",
    "Neighbours": "astralearn.classifier.neighbours",
    "ColumnTransformer": "sklearn.compose",
    "OneHotEncoder": "sklearn.preprocessing",
    "Pipeline": "sklearn.pipeline",
    "MissingIndicator": "sklearn.impute",
    "SimpleImputer": "sklearn.impute",
    "TableEncoder": "astralearn.tabular",
    "TabularASTraClassifier": "astralearn.tabular",
}

# Types of numbers, which encoders have as parameters.
TYPES = {
    **{kind.__name__: kind for kind in (float, int, str, bool)},
    **{kind.__name__: kind for kind in (np.float32, np.float64, np.int32, np.int64)},
}


class ModelFileError(ValueError):
    """The file is not a model that this version can read; the message says why."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file.

    The file appears under its name when it is whole: an interrupted write leaves the old one.

    model: an object of one of `CLASSES`, fitted.
    path: where to, whatever the ending.
    """
    arrays: list[bytes] = []
    tree = _to_tree(model, arrays, "model")
    manifest = {
        "format": FORMAT,
        "astralearn": __version__,
        "arrays": [hashlib.sha256(data).hexdigest() for data in arrays],
        "model": tree,
    }
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        described = json.dumps(manifest, allow_nan=False).encode()
        archive.comment = hashlib.sha256(described).hexdigest().encode()
        archive.writestr(_dated(MANIFEST), described)
        for number, data in enumerate(arrays):
            archive.writestr(_dated(_member(number)), data)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Yield a file to write, which takes the place of `path` when it is whole."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    try:
        handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:  # which names the file beside
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        # mkstemp's files are the owner's alone; a model is as readable as any new file.
        umask = os.umask(0)
        os.umask(umask)
        os.fchmod(handle, 0o666 & ~umask)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote; run nothing of what the file contains.

    path: the file.

    Raises ModelFileError for a file that is damaged, tampered with, or of a newer format.

    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from astralearn import ASTraClassifier
    >>> X, y = np.random.default_rng(0).normal(size=(200, 3)), np.repeat([1, 0], [5, 195])
    >>> model = ASTraClassifier(epochs=5, random_state=0).fit(X + 3 * y[:, None], y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rare.astra"
    ...     model.save(path)
    ...     again = load(path)
    >>> bool((again.predict_risk(X) == model.predict_risk(X)).all())
    True
    """
    _check_path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _manifest(archive, path)
            arrays = _arrays(archive, manifest["arrays"])
            return _from_tree(manifest["model"], arrays)
    except ModelFileError:
        raise
    except FileNotFoundError:
        raise ModelFileError(f"no such file: {path}") from None
    except (IsADirectoryError, PermissionError) as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror}") from error
    except zipfile.BadZipFile as error:
        raise ModelFileError(f"{path} is no model file, or only a part of one") from error
    except Exception as error:  # What the readers of a damaged zip, JSON or array raise is open.
        raise ModelFileError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _check_path(path: Any) -> None:
    if not isinstance(path, (str, os.PathLike)) and not hasattr(path, "read"):
        raise TypeError(f"path must be that of a file; found {type(path).__name__}")


def _dated(member: str) -> zipfile.ZipInfo:
    """A member without the time of writing: equal models are equal files."""
    info = zipfile.ZipInfo(member)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _manifest(archive: zipfile.ZipFile, path: str | os.PathLike[str]) -> dict[str, Any]:
    sizes = {info.filename: info.file_size for info in archive.infolist()}
    if MANIFEST not in sizes:
        raise ModelFileError(f"{path} is no model file: it holds no {MANIFEST}")
    if sizes.pop(MANIFEST) > LARGEST_MANIFEST or sum(sizes.values()) > LARGEST_ARRAYS:
        raise ModelFileError(f"{path} unpacks to more than a model can hold")
    described = archive.read(MANIFEST)
    if archive.comment != hashlib.sha256(described).hexdigest().encode():
        raise ModelFileError(f"{path} was changed: {MANIFEST} has another sum than was written")
    manifest: dict[str, Any] = json.loads(described)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
        raise ModelFileError(f"{path} is damaged: {MANIFEST} does not say its format")
    if manifest["format"] > FORMAT:
        raise ModelFileError(
            f"{path} has format {manifest['format']}, written by astralearn "
            f"{manifest.get('astralearn')}; this version reads up to {FORMAT}: upgrade astralearn"
        )
    return manifest


def _arrays(archive: zipfile.ZipFile, checksums: list[str]) -> list[np.ndarray]:
    arrays = []
    for number, checksum in enumerate(checksums):
        data = archive.read(_member(number))
        if hashlib.sha256(data).hexdigest() != checksum:
            raise ModelFileError(f"{archive.filename} was changed: array {number} has another sum")
        arrays.append(np.load(io.BytesIO(data), allow_pickle=False))
    return arrays


def _member(number: int) -> str:
    return f"arrays/{number}.npy"


def _to_tree(value: Any, arrays: list[bytes], place: str) -> Any:
    """The value as JSON; every kind but plain ones is a dict of one key, its kind."""

    def inner(part: Any) -> Any:
        return _to_tree(part, arrays, place)

    match value:
        case None | bool() | int() | str():
            tree: Any = value
        case np.generic():
            tree = {"scalar": inner(np.asarray(value))}
        case float():
            tree = value if math.isfinite(value) else {"float": repr(value)}
        case np.ndarray() if value.dtype.hasobject:
            tree = {"objects": inner(value.tolist())}
        case np.ndarray():
            tree = {"array": _kept(value, arrays)}
        case list():
            tree = [_to_tree(item, arrays, f"{place}[{i}]") for i, item in enumerate(value)]
        case tuple() | slice():
            items = value if isinstance(value, tuple) else (value.start, value.stop, value.step)
            tree = {type(value).__name__: inner(list(items))}
        case dict():
            tree = {"dict": inner([list(pair) for pair in value.items()])}
        case np.dtype() if not value.hasobject:
            tree = {"dtype": value.str}
        case type() if value in TYPES.values():
            tree = {"type": next(name for name, kind in TYPES.items() if kind is value)}
        case _ if is_tree(value):
            tree = {"tree": inner(tree_state(value))}
        case _:
            tree = _object_to_tree(value, arrays, place)
    return tree


def _object_to_tree(value: Any, arrays: list[bytes], place: str) -> Any:
    name = type(value).__name__
    if name not in CLASSES or _class_named(name) is not type(value):
        raise TypeError(f"{place} is a {name}, which a model file cannot hold; pickle can")
    # No fitted model needs its generator of random numbers, but scikit-learn reads all parameters.
    random = (np.random.RandomState, np.random.Generator)
    state = {key: None if isinstance(item, random) else item for key, item in vars(value).items()}
    return {"object": name, "state": _to_tree(state, arrays, f"{place} ({name})")}


def _kept(value: np.ndarray, arrays: list[bytes]) -> int:
    buffer = io.BytesIO()
    np.save(buffer, value, allow_pickle=False)
    arrays.append(buffer.getvalue())
    return len(arrays) - 1


def _from_tree(tree: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(tree, list):
        return [_from_tree(item, arrays) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if "object" in tree:
        return _object(tree["object"], _from_tree(tree["state"], arrays))
    ((kind, content),) = tree.items()
    return _KINDS[kind](content, arrays)


def _object(name: str, state: dict[str, Any]) -> Any:
    if name not in CLASSES:
        raise ModelFileError(f"the file names the class {name!r}, which no model has")
    made: Any = object.__new__(_class_named(name))
    made.__dict__.update(state)
    return made


def _class_named(name: str) -> type:
    found: type = getattr(importlib.import_module(CLASSES[name]), name)
    return found


def _objects(content: Any, arrays: list[np.ndarray]) -> np.ndarray:
    items = _from_tree(content, arrays)
    made: np.ndarray[Any, Any] = np.empty(len(items), dtype=object)
    made[:] = items
    return made


def is_tree(value: Any) -> bool:
    """Whether it is scikit-learn's inner tree, without importing scikit-learn to ask."""
    kind = type(value)
    return (kind.__module__, kind.__name__) == ("sklearn.tree._tree", "Tree")


def tree_state(tree: Any) -> dict[str, Any]:
    """A tree as plain values, the same for the same tree."""
    state = tree.__getstate__()
    # What lies between scikit-learn's fields is not set, and zeros_like would leave it so.
    nodes = np.zeros(state["nodes"].shape, state["nodes"].dtype)
    for name in nodes.dtype.names:
        nodes[name] = state["nodes"][name]
    return {
        "n_features": int(tree.n_features),
        "n_classes": tree.n_classes,
        "n_outputs": int(tree.n_outputs),
        **state,
        "nodes": nodes,
    }


def tree_from_state(state: dict[str, Any]) -> Any:
    """The tree of `tree_state`; ValueError where its nodes lead nowhere.

    Its compiled code trusts the nodes: a child out of range would read foreign memory.
    """
    from sklearn.tree._tree import TREE_LEAF, Tree

    nodes, n = state["nodes"], len(state["nodes"])
    left, right, numbers = nodes["left_child"], nodes["right_child"], np.arange(n)
    is_leaf = left == TREE_LEAF
    is_inner = (left > numbers) & (left < n) & (right > numbers) & (right < n)
    has_feature = (nodes["feature"] >= 0) & (nodes["feature"] < state["n_features"])
    if not n or n != state["node_count"] or not np.all(is_leaf | (is_inner & has_feature)):
        raise ValueError("a tree's nodes lead nowhere")
    tree = Tree(state["n_features"], state["n_classes"], state["n_outputs"])
    tree.__setstate__({key: state[key] for key in ("max_depth", "node_count", "nodes", "values")})
    return tree


_KINDS: dict[str, Any] = {
    "array": lambda content, arrays: arrays[content],
    "scalar": lambda content, arrays: _from_tree(content, arrays)[()],
    "objects": _objects,
    "float": lambda content, _: float(content),
    "tuple": lambda content, arrays: tuple(_from_tree(content, arrays)),
    "slice": lambda content, _: slice(*content),
    "tree": lambda content, arrays: tree_from_state(_from_tree(content, arrays)),
    "dict": lambda content, arrays: dict(_from_tree(content, arrays)),
    "type": lambda content, _: TYPES[content],
    "dtype": lambda content, _: np.dtype(content),
}
