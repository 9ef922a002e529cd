"""The pages show what benchmarks/results holds, and that file holds whole studies."""

import importlib.util
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

for library in ("lightgbm", "xgboost", "catboost"):
    pytest.importorskip(library)

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def study():
    """The script, loaded by path: its folder holds a torch.py and a keras.py too."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("records", "boosting_study"):
            spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
            module = importlib.util.module_from_spec(spec)
            patch.setitem(sys.modules, name, module)
            spec.loader.exec_module(module)
    return module


def test_the_tables_are_made_from_the_records(study):
    results = study.read()
    assert study.ALL_TABLES.read_text(encoding="utf-8") == study.all_tables(results)
    text = study.GUIDE.read_text(encoding="utf-8")
    assert study.guide(text, results) == text


def test_every_library_has_every_fold_of_every_method_once(study):
    results = study.read()
    assert set(results) <= {*study.LIBRARIES, study.ABLATION, study.SHARING}
    for library, records in results.items():
        found = [(r.problem, r.method, r.repetition, r.fold) for r in records]
        expected = {
            (problem, method, repetition, fold)
            for problem in study.PROBLEMS
            for method in study.estimators(library)
            for repetition in range(study.REPETITIONS)
            for fold in range(study.FOLDS)
        }
        assert set(found) == expected, library
        assert len(found) == len(expected), library


def test_records_survive_the_file(study, tmp_path, monkeypatch):
    results = {"LightGBM": study.read()["LightGBM"][:50]}
    monkeypatch.setattr(study, "FILE", tmp_path / "again.csv.gz")
    study.write(results)
    assert study.read() == results
