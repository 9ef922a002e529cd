import contextlib
import copy
import json
import os
import zipfile

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import OneHotEncoder

from astralearn import ASTraClassifier, model_file
from astralearn.classifier import trees
from astralearn.model_file import ModelFileError, load, save
from astralearn.tabular import TabularASTraClassifier


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:6] += 3
    return X, np.where(np.arange(300) < 6, "fraud", "fine")


@pytest.fixture(scope="module")
def model(rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "TREES", 3)
        return ASTraClassifier(epochs=50, random_state=0, class_weight={"fraud": 2.0}).fit(*rows)


@pytest.fixture
def path(model, tmp_path):
    save(model, tmp_path / "model.astra")
    return tmp_path / "model.astra"


def rewritten(path, *, manifest=None, arrays=None):
    """The file with another manifest (its sum included) or other arrays."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
        comment = archive.comment
    if manifest is not None:
        tree = json.loads(content["model.json"])
        manifest(tree)
        content["model.json"] = json.dumps(tree).encode()
        comment = model_file.hashlib.sha256(content["model.json"]).hexdigest().encode()
    content |= arrays or {}
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = comment
        for name, data in content.items():
            archive.writestr(name, data)


def test_a_loaded_model_is_the_saved_one(model, rows, path):
    loaded = load(path)
    X, _ = rows
    assert loaded.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.get_params() == model.get_params()
    assert loaded.history_.keys() == model.history_.keys()


def test_a_generator_of_random_numbers_is_none_in_a_loaded_model(model, rows, tmp_path):
    drawn = copy.copy(model).set_params(random_state=np.random.RandomState(0))
    drawn.save(tmp_path / "model.astra")
    loaded = load(tmp_path / "model.astra")
    assert loaded.get_params() == model.get_params() | {"random_state": None}
    decided, expected = loaded.decide("mcc"), model.decide("mcc")
    assert decided.predict(rows[0]).tolist() == expected.predict(rows[0]).tolist()


def test_encoders_are_models_too(tmp_path):
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=3)
    words = np.asarray([["a"], ["b"], ["b"], [None], ["c"]], dtype=object)
    encoder.fit(words)
    save(encoder, tmp_path / "encoder")
    again = load(tmp_path / "encoder").transform(words).toarray()
    np.testing.assert_array_equal(again, encoder.transform(words).toarray())


def test_odd_numbers_survive(tmp_path, model):
    copy = load_of(model, tmp_path)
    copy.odd_ = (float("nan"), float("inf"), np.float32(1.5), {1: "a", "b": None}, slice(0, 3))
    nan, inf, single, mapping, part = load_of(copy, tmp_path).odd_
    assert np.isnan(nan)
    assert (inf, single, mapping, part) == (float("inf"), 1.5, {1: "a", "b": None}, slice(0, 3))
    assert single.dtype == np.float32


def load_of(model, folder):
    save(model, folder / "copy")
    return load(folder / "copy")


def test_what_a_file_cannot_hold_is_named(model, tmp_path):
    copy = load_of(model, tmp_path)
    copy.hook_ = print
    with pytest.raises(TypeError, match="builtin_function_or_method, which a model file cannot"):
        save(copy, tmp_path / "copy")
    assert load(tmp_path / "copy").minority_class_ == "fraud"


def test_a_write_that_fails_leaves_the_old_file(model, path, monkeypatch):
    before = path.read_bytes()

    def full(_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        save(model, path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("keep", [0, 1, 10, 1000, -1])
def test_a_part_of_a_file_is_refused(path, keep):
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ModelFileError, match=r"no model file|damaged|was changed"):
        load(path)


@pytest.mark.slow
def test_any_changed_byte_is_refused_or_without_effect(model, rows, path):
    data, expected = path.read_bytes(), model.decision_function(rows[0]).tobytes()
    for place in np.linspace(0, len(data) - 1, 150).astype(int):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        with contextlib.suppress(ModelFileError):
            assert load(path).decision_function(rows[0]).tobytes() == expected


def test_a_changed_manifest_or_array_is_refused(path):
    with zipfile.ZipFile(path) as archive:
        first = archive.read("arrays/0.npy")
    rewritten(path, arrays={"arrays/0.npy": first[:-1] + b"\x01"})
    with pytest.raises(ModelFileError, match="was changed: array 0"):
        load(path)
    rewritten(path, arrays={"model.json": b"{}"})
    with pytest.raises(ModelFileError, match=r"was changed: model\.json"):
        load(path)


def test_a_newer_format_asks_for_an_upgrade(path):
    rewritten(path, manifest=lambda tree: tree.update(format=model_file.FORMAT + 1))
    with pytest.raises(ModelFileError, match="upgrade astralearn"):
        load(path)


@pytest.mark.parametrize("name", ["Popen", "os.system", "_object", "GridSearchCV"])
def test_no_other_class_is_made(path, name):
    rewritten(path, manifest=lambda tree: tree["model"].update(object=name))
    with pytest.raises(ModelFileError, match="which no model has"):
        load(path)


def test_pickles_inside_are_refused(path):
    import io
    import pickle

    buffer = io.BytesIO()
    np.save(buffer, np.asarray([print], dtype=object), allow_pickle=True)
    assert pickle.dumps(print)[:2] in buffer.getvalue()
    checksum = model_file.hashlib.sha256(buffer.getvalue()).hexdigest()

    def swapped(tree):
        tree["arrays"][0] = checksum

    rewritten(path, manifest=swapped, arrays={"arrays/0.npy": buffer.getvalue()})
    with pytest.raises(ModelFileError, match=r"damaged: ValueError: .*allow_pickle"):
        load(path)


@pytest.mark.parametrize("other", ["missing", "folder", "text"])
def test_what_is_no_model_is_said_in_one_sentence(tmp_path, other):
    target = tmp_path / other
    if other == "folder":
        target.mkdir()
    if other == "text":
        target.write_text("hello")
    with pytest.raises(ModelFileError, match=r"no such file|cannot be read|no model file"):
        load(target)


def test_a_bomb_is_not_unpacked(path, monkeypatch):
    monkeypatch.setattr(model_file, "LARGEST_ARRAYS", 100)
    with pytest.raises(ModelFileError, match="more than a model can hold"):
        load(path)


def test_places_that_hold_no_model_are_named(model, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"'.*none/m\.astra'$"):
        save(model, tmp_path / "none" / "m.astra")
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        save(model, tmp_path)
    for path in (None, 5, b"m.astra"):
        with pytest.raises(TypeError, match="path must be that of a file; found"):
            load(path)
    with pytest.raises(NotFittedError):
        TabularASTraClassifier().save(tmp_path / "m.astra")
    assert not os.listdir(tmp_path)


def test_trees_of_a_stranger_that_know_more_features_than_a_row_has(model, rows, path):
    """They would read beyond it."""

    def wider(tree):
        committee = dict(tree["model"]["state"]["dict"])["committee_"]
        forest = dict(dict(committee["state"]["dict"])["members"]["dict"])["trees"]
        for one in dict(forest["state"]["dict"])["trees"]:
            for pair in one["tree"]["dict"]:
                if pair[0] == "n_features":
                    pair[1] = 10**6

    rewritten(path, manifest=wider)
    with pytest.raises(ValueError, match=r"trees of \[1000000\] features cannot judge"):
        load(path).predict(rows[0])
