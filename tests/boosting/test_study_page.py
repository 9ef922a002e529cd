"""docs/boosting.md shows what docs/boosting_study.csv holds, and that file holds whole studies."""

import importlib.util
from pathlib import Path

import pytest

for library in ("lightgbm", "xgboost", "catboost"):
    pytest.importorskip(library)

PATH = Path(__file__).parents[2] / "benchmarks" / "boosting_study.py"


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("boosting_study", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_made_from_the_records(study):
    text = study.PAGE.read_text(encoding="utf-8")
    assert study.paged(text, study.read()) == text


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
    monkeypatch.setattr(study, "RESULTS", tmp_path / "again.csv")
    study.write(results)
    assert study.read() == results
